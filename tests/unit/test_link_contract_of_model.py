"""The contract of links, kept by the pure model."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from contract_links import ContractLink, ModelLink
from link_contract import LinkContract

from netlab.traces.qdisc_state import QdiscState


class TestModelLink(LinkContract):
    def open_link(self, state: QdiscState) -> AbstractContextManager[ContractLink]:
        return nullcontext(ModelLink(state))
