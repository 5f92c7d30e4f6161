"""NetemQdisc: one netem qdisc of one interface, put in a state and proven to be in it.

::

    apply(state)       encode in full -> change -> read -> decode -> compare -> ok | error naming fields
    apply_fast(state)  patch the bytes of the last change -> send -> acknowledgement
    stage(state)       patch them; whoever sends them, with those of others, says how it went: settle()
    prepare(state)     patch them ahead of time, so that stage(state) has nothing left to do
    board(flight)      they are sent with others by whoever asked; it says how that went: land()

Knows the socket and the codec, no link; what the kernel does not tell is noted in a HeldState.
"""

from __future__ import annotations

import contextlib
import struct
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from netlab.errors import KernelError
from netlab.namespaces.held_state import HeldState, unproven
from netlab.namespaces.kernel_objects import ROOT, QdiscEntry
from netlab.namespaces.netem_codec import (
    H_JITTER64,
    H_LATENCY64,
    H_RATE,
    H_RATE64,
    H_SEED,
    HOT,
    TICK_SHIFT,
    U32_MAX,
    decode_netem,
    encode_netem,
)
from netlab.traces.qdisc_state import QdiscState

if TYPE_CHECKING:
    from netlab.namespaces.features import KernelFeatures
    from netlab.namespaces.held_state import Flight
    from netlab.namespaces.prebuilt_request import PrebuiltRequest
    from netlab.namespaces.rtnetlink import RouteSocket

__all__ = ["DEFAULT_HANDLE", "NetemQdisc"]

DEFAULT_HANDLE = 0x10000
"""``1:``, as tc would write it."""

_read_hot = attrgetter(
    "latency_ns", "jitter_ns", "limit_packets", "loss", "duplicate", "gap", "rate_bytes_per_s", "seed"
)
_read_cold = attrgetter(
    "packet_overhead_bytes", "cell_size_bytes", "cell_overhead_bytes", "delay_correlation",
    "loss_correlation", "duplicate_correlation", "reorder", "reorder_correlation", "corrupt",
    "corrupt_correlation", "ecn", "slot", "loss_model", "delay_table", "slot_table",
)  # fmt: skip


class _Rebuilt(NamedTuple):
    """A message laid out anew, the state it is for with all tables, and the cold fields if it can be patched."""

    request: PrebuiltRequest
    complete: QdiscState
    cold: tuple[object, ...] | None


class NetemQdisc:
    """A netem qdisc at the root of an interface (or under another parent).

    One thread at a time changes it; another may ``verify`` it meanwhile, through a socket of its own. Inside
    ``socket.batch()`` only ``add(state, verify=False)``.

    Args:
        socket: Socket in the interface's namespace; stays the caller's to close.
        ifindex: The interface.
        handle: The qdisc's handle; stays the same for its life, since a new one would drop its packets.
        parent: Where it sits.
        features: What this kernel can do, for the comparison; None for everything.
        readings: Socket to read by, in the same namespace; ``socket`` unless given.
    """

    def __init__(
        self,
        socket: RouteSocket,
        ifindex: int,
        handle: int = DEFAULT_HANDLE,
        parent: int = ROOT,
        features: KernelFeatures | None = None,
        readings: RouteSocket | None = None,
    ) -> None:
        self.ifindex = ifindex
        self.handle = handle
        self._socket = socket
        self._readings = readings or socket
        self._parent = parent
        self._features = features
        self._forget()

    def _forget(self) -> None:
        self._held = HeldState()
        self._request: PrebuiltRequest | None = None
        self._options_at = 0
        # The cold fields that the prebuilt message holds; None when it holds no message fit for patching.
        self._cold: tuple[object, ...] | None = None
        self._staged_cold: tuple[object, ...] | None = None
        # Whose bytes the prebuilt message holds ahead of time; None for nobody's.
        self._prepared: QdiscState | None = None

    @property
    def asked(self) -> QdiscState | None:
        """The state last taken, linear tables included where they stand for none; None before ``add``."""
        return self._held.taken

    def add(self, state: QdiscState, *, verify: bool = True) -> None:
        """Make the qdisc.

        Args:
            state: Its first state.
            verify: Read it back at once; False where it is added in a batch and ``verify`` called after it.

        Raises:
            FeatureMissing: This kernel has no netem.
            KernelError: The kernel refuses, or shows another state afterwards.
        """
        self._held.leave()
        self._forget()
        options = encode_netem(state)
        accepted = False
        try:
            self._held.begin(state)
            self._socket.qdisc_add(self.ifindex, self.handle, self._parent, "netem", options)
            accepted = True
        finally:
            self._held.settle(accepted)
        if verify:
            try:
                self._prove()
            except BaseException:  # what is not as asked for must not be in the way of the next try
                with contextlib.suppress(KernelError):
                    self.delete()
                raise

    def apply(self, state: QdiscState) -> None:
        """Put the qdisc in this state and prove it; packets in flight stay in flight.

        Everything is sent, tables included, whatever the qdisc held before.

        Raises:
            KernelError: The kernel refuses, or shows another state afterwards.
        """
        complete = self._held.complete(state)
        options = encode_netem(complete)
        self._cold = None
        accepted = False
        try:
            self._held.begin(complete)
            self._socket.qdisc_change(self.ifindex, self.handle, self._parent, "netem", options)
            accepted = True
        finally:
            self._held.settle(accepted)
        self._prove()

    def apply_fast(self, state: QdiscState) -> None:
        """Put the qdisc in this state at the least cost; the acknowledgement is all that is checked.

        The same bytes as ``apply`` sends, but for tables that the kernel already holds. Cheapest when a seed
        is given and only delay, jitter, loss, duplication, gap, limit, rate or seed differ from last time.

        Raises:
            KernelError: The kernel refuses.
        """
        accepted = False
        try:
            self.stage(state).send()
            accepted = True
        finally:
            self.settle(accepted)

    def stage(self, state: QdiscState) -> PrebuiltRequest:
        """Return the message that puts the qdisc in this state; once it is answered, ``settle`` must be called.

        Args:
            state: As for ``apply_fast``.
        """
        request = self._request
        prepared, self._prepared = self._prepared, None  # whatever follows changes the bytes
        if request is None or self._cold is None or not (prepared is state or self._patch(request, state)):
            return self._stage_rebuilt(state)
        self._staged_cold = self._cold
        self._held.begin(self._held.complete(state))  # the table that stands for none is there already
        return request

    def prepare(self, state: QdiscState) -> None:
        """Make the message for a state ahead of time; nothing where it carries tables or no seed.

        Whatever happens before that state is staged, nothing is sent that was not asked for.

        Args:
            state: The next state, as it will be given to ``stage``: the same object.
        """
        request = self._request
        self._prepared = None
        self._held.leave()
        if request is None or self._cold is None or not self._patch(request, state):
            complete = self._held.complete(state)
            if not _is_patchable(state, complete, self._held.lacking(complete)):
                return
            self._cold = self._rebuild(state).cold
        self._prepared = state

    def prepared(self, state: QdiscState) -> PrebuiltRequest | None:
        """Return the message for a state if ``prepare`` has made it and nothing has come in between."""
        return self._request if self._prepared is state and self._cold is not None else None

    def board(self, flight: Flight) -> None:
        """Go with others: what ``prepared`` returned is sent as it stands when the flight is under way.

        Once it is answered, ``land`` must be called; before it is sent, anything else may be asked for instead.
        """
        assert self._prepared is not None  # asked for by prepared
        self._held.board(flight, self._held.complete(self._prepared))

    def land(self, accepted: bool) -> None:
        """Take note of what has become of what went with others.

        Args:
            accepted: Whether the kernel is known to have taken it.
        """
        self._prepared = None
        if not accepted:
            self._cold = None
        self._held.land(accepted)

    def _patch(self, request: PrebuiltRequest, state: QdiscState) -> bool:
        """Put a state's hot fields into the message; False where its cold ones are not those in it."""
        if _read_cold(state) != self._cold:
            return False
        latency_ns, jitter_ns, limit, loss, duplicate, gap, rate, seed = _read_hot(state)
        try:
            HOT.pack_into(
                request.message, self._options_at,
                latency_ns >> TICK_SHIFT, limit, loss, gap, duplicate, jitter_ns >> TICK_SHIFT,
                H_LATENCY64, latency_ns, H_JITTER64, jitter_ns, H_SEED, seed,
                H_RATE64, rate, H_RATE, rate if rate < U32_MAX else U32_MAX,
            )  # fmt: skip
        except struct.error:  # no seed, or a delay beyond the old field: laid out the long way
            return False
        return True

    def settle(self, accepted: bool) -> None:
        """Take note of what has become of what was staged; nothing where nothing was.

        Args:
            accepted: Whether the kernel is known to have taken it.
        """
        # Otherwise the message's bytes are those of a state that is not in force.
        self._cold = self._staged_cold if accepted else None
        self._held.settle(accepted)

    def read(self) -> QdiscState:
        """Return the state the kernel shows now; it never shows tables.

        Raises:
            KernelError: The qdisc is gone, or is no netem.
        """
        return decode_netem(self.counters().options)

    def counters(self) -> QdiscEntry:
        """Return the kernel's entry: packets sent, dropped and queued now.

        Raises:
            KernelError: The qdisc is gone, or is no netem.
        """
        entry = self._readings.qdisc_read(self.ifindex, self.handle, self._parent)
        if entry.kind != "netem":
            raise KernelError(f"read the netem qdisc of interface {self.ifindex}", 0, f"it is a {entry.kind}")
        return entry

    def verify(self) -> bool:
        """Check that the kernel shows the state last taken.

        Returns:
            False where another thread was changing it meanwhile: then nothing can be said, and nothing is proven.

        Raises:
            KernelError: It shows another; names each field.
        """
        if self._held.taken is None:
            attempt = f"verify the netem qdisc of interface {self.ifindex}"
            raise KernelError(attempt, 0, "nothing was sent yet", "add it first")
        differences = self._held.differences(self.read, self._features)
        if differences is None:
            return False
        if differences:
            raise KernelError(
                self._attempt,
                0,
                "; ".join(differences),
                "did another program change it? else this kernel lacks a feature: netlab doctor",
            )
        return True

    def delete(self) -> None:
        """Delete the qdisc and the packets in it."""
        self._held.leave()
        self._socket.qdisc_delete(self.ifindex, self.handle, self._parent)
        self._forget()

    @property
    def _attempt(self) -> str:
        return f"put the netem qdisc of interface {self.ifindex} in the state asked for"

    def _prove(self) -> None:
        if not self.verify():
            raise unproven(self._attempt)

    def _stage_rebuilt(self, state: QdiscState) -> PrebuiltRequest:
        """Stage a change whose layout differs from the last one's."""
        rebuilt = self._rebuild(state)
        self._staged_cold = rebuilt.cold
        self._held.begin(rebuilt.complete)
        return rebuilt.request

    def _rebuild(self, state: QdiscState) -> _Rebuilt:
        """Lay the message out anew; tables only where they are new."""
        complete = self._held.complete(state)
        carried = self._held.lacking(complete)
        self._cold = None  # before the bytes change
        request = self._load(encode_netem(carried))
        return _Rebuilt(request, complete, _read_cold(state) if _is_patchable(state, complete, carried) else None)

    def _load(self, options: bytes) -> PrebuiltRequest:
        """Return the prebuilt message with these options in it; a new one where the size differs."""
        request = self._request
        if request is None or len(request.message) != self._options_at + len(options):
            request, self._options_at = self._socket.qdisc_prebuilt_change(
                self.ifindex, self.handle, self._parent, "netem", options
            )
            self._request = request
        request.message[self._options_at :] = options
        return request


def _is_patchable(state: QdiscState, complete: QdiscState, carried: QdiscState) -> bool:
    """Tell whether the message of a state can be patched to be another's.

    Not one without a seed, which has no room for it; nor one that carries tables, which would be sent each time;
    nor one whose slot stands for another's spacing, which is not what the next state asks for.
    """
    has_tables = carried.delay_table is not None or carried.slot_table is not None
    return carried.seed is not None and not has_tables and complete.slot is state.slot
