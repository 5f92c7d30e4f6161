"""The contract of links, kept by a relay on this kernel."""

from __future__ import annotations

from contextlib import AbstractContextManager

from contract_links import ContractLink, lab_link
from link_contract import LinkContract

from netlab.namespaces.relay.wiring import RelayWiring
from netlab.traces.qdisc_state import QdiscState


class TestRelayedLink(LinkContract):
    def open_link(self, state: QdiscState) -> AbstractContextManager[ContractLink]:
        return lab_link(RelayWiring(), state)
