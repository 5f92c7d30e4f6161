"""serve_agent: from what a person asks for to a running AgentService; what ``netlab agent serve`` calls."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from netlab.agents.policy import find_policy
from netlab.agents.service import AgentCounters, AgentService
from netlab.errors import SpecError
from netlab.stop_signals import stop_on_signals
from netlab.wire.address import Address
from netlab.wire.key import Key
from netlab.wire.listener import Listener

__all__ = ["AgentConfig", "serve_agent"]


class AgentConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``netlab agent serve`` is asked for.

    Attributes:
        address: Where to listen, ``host:port``; port 0 takes any free one.
        key_path: Key file; empty on loopback without a key.
        transport: ``datagram`` or ``stream``.
        policy: Name of the policy.
        ready_path: File that appears, with the bound address in it, once edges may dial; empty for none.
        inference_s: What one decision is declared to cost: spent in virtual time, where computing is free.
    """

    address: str = "127.0.0.1:0"
    key_path: str = ""
    transport: Literal["datagram", "stream"] = "datagram"
    policy: str = "linear-predict"
    ready_path: str = ""
    inference_s: float = 0.0


def serve_agent(
    config: AgentConfig,
    *,
    on_ready: Callable[[Address], None] = lambda address: None,
    report: Callable[[str], None] = lambda line: None,
    verbose: bool = False,
) -> AgentCounters:
    """Serve until SIGTERM or Ctrl-C, then say goodbye to every edge and return what was done.

    Args:
        config: What is asked for.
        on_ready: Told the bound address once edges may dial.
        report: Told each event worth a line.
        verbose: Report the traceback of a policy that fails.

    Raises:
        SpecError: No such policy or address, a cost below 0, or the ready file cannot be written.
        AuthError: The key is missing or unsafe.
        KernelError: The address cannot be had.
    """
    if not (math.isfinite(config.inference_s) and config.inference_s >= 0.0):
        raise SpecError(f"{config.inference_s}: must be finite and not below 0", key="inference_s")
    recipe = find_policy(config.policy)
    key = Key.read(config.key_path) if config.key_path else None
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(Listener(Address.parse(config.address), key, config.transport))
        service = AgentService(listener, recipe, report, inference_s=config.inference_s, verbose=verbose)
        stack.enter_context(stop_on_signals(service.stop))
        if config.ready_path:
            _write_ready(config.ready_path, listener.address)
        on_ready(listener.address)
        return service.run()


def _write_ready(path: str, address: Address) -> None:
    """Write the address so that whoever waits for the file never reads half of it."""
    draft = Path(f"{path}.{os.getpid()}")
    try:
        draft.write_text(f"{address}\n")
        draft.replace(path)
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}", key="ready_path", hint="name a file you may write") from error
