"""The contract of links, kept by the kernel's netem, and by a relay on the same kernel: by both clocks."""

from __future__ import annotations

from contextlib import AbstractContextManager

from contract_links import ContractLink, lab_link
from link_contract import LinkContract

from netlab.namespaces.kernel_wire import KernelWiring
from netlab.namespaces.relay.wiring import RelayWiring
from netlab.traces.qdisc_state import QdiscState


class TestNetemLink(LinkContract):
    def open_link(self, state: QdiscState) -> AbstractContextManager[ContractLink]:
        return lab_link(KernelWiring(), state)


class TestRelayedLink(LinkContract):
    def open_link(self, state: QdiscState) -> AbstractContextManager[ContractLink]:
        return lab_link(RelayWiring(), state)
