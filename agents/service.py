"""AgentService: answers the observations of many edges, each with a policy of its own.

::

    Opened   -> may this task be served? -> Welcome | Goodbye(refused)
    Received -> the session's Responder -> Action -> back at once
    Closed   -> forget the session

Between the arrival of an observation and the sending of its answer stand only the remote and the wire; in
virtual time also what a decision is declared to cost.

A policy is code of somebody else's, and an edge's task chooses what it meets: whatever a policy raises, and
whatever of its answer cannot be sent, ends that one session and is reported. The other edges go on.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable

from msgspec import Struct, structs

import netlab
from netlab.agents.policy import Recipe
from netlab.charge import charge
from netlab.control.counters import RemoteCounters
from netlab.control.remote import Remote
from netlab.control.responder import Responder
from netlab.errors import SpecError
from netlab.messages import PROTOCOL_VERSION, Hello, Observation, Welcome, horizon_word
from netlab.wire.channel import Received
from netlab.wire.listener import Listener
from netlab.wire.session import Closed, Opened, Refused, Session

__all__ = ["AgentCounters", "AgentService"]

_POLL_S = 0.2
"""How soon a stop is noticed when nothing arrives."""


class AgentCounters(Struct, kw_only=True):
    """What an agent has done.

    Attributes:
        sessions_opened: Edges that were welcomed.
        sessions_refused: Edges whose task the policy does not serve.
        sessions_failed: Sessions ended because the policy failed on them.
        sessions_closed: Sessions that their edge or the network ended.
        strangers: Times somebody was turned away before a session (counted at most once a second).
        unexpected: Messages that an edge should not send.
        send_dropped: Answers that did not leave.
        inference_s: What each decision was declared to cost; 0 where nothing was declared.
        remote: Sum over sessions.
    """

    sessions_opened: int = 0
    sessions_refused: int = 0
    sessions_failed: int = 0
    sessions_closed: int = 0
    strangers: int = 0
    unexpected: int = 0
    send_dropped: int = 0
    inference_s: float = 0.0
    remote: RemoteCounters


class AgentService:
    """Serve a policy.

    Args:
        listener: Where edges come in; the service closes it.
        recipe: Makes a policy and its predictor for each session.
        report: Told each event worth a line, in words for a person; must return at once.
        inference_s: What one decision is declared to cost; spent in virtual time alone.
        verbose: Report the traceback of a policy that fails, too.
    """

    def __init__(
        self,
        listener: Listener,
        recipe: Recipe,
        report: Callable[[str], None] = lambda line: None,
        *,
        inference_s: float = 0.0,
        verbose: bool = False,
    ) -> None:
        self._listener = listener
        self._recipe = recipe
        self._report = report
        self._inference_s = inference_s
        self._verbose = verbose
        self._responders: dict[Session, Responder] = {}
        self._counters = AgentCounters(inference_s=inference_s, remote=RemoteCounters())
        self._stopped_by = ""

    @property
    def counters(self) -> AgentCounters:
        """Return the counts so far, open sessions included."""
        remote = RemoteCounters()
        remote.add(self._counters.remote)
        for responder in self._responders.values():
            remote.add(responder.remote.counters)
        return structs.replace(self._counters, remote=remote)

    def stop(self, reason: str) -> None:
        """End ``run`` soon; may be called from a signal handler or another thread."""
        self._stopped_by = self._stopped_by or reason

    def run(self) -> AgentCounters:
        """Serve until stopped; then say goodbye to every edge and return the counts."""
        try:
            while not self._stopped_by:
                self.serve(_POLL_S)
        finally:
            self._listener.close(self._stopped_by or "the agent failed")
        return self.counters

    def serve(self, timeout_s: float) -> None:
        """Wait for something to happen, at most so long, and answer it."""
        responders, counters = self._responders, self._counters
        for event in self._listener.poll(timeout_s):
            if not isinstance(event, Received):
                self._take_event(event)
                continue
            session, message = event.session, event.message
            responder = None if session is None else responders.get(session)
            if session is None or responder is None or not isinstance(message, Observation):
                counters.unexpected += 1
            else:
                self._answer(session, responder, message)

    def _answer(self, session: Session, responder: Responder, observation: Observation) -> None:
        try:
            action = responder.receive(observation)
            if action is None:
                return
            charge(self._inference_s)
            if not session.send(action):
                self._counters.send_dropped += 1
        except Exception as error:  # whatever a policy may raise
            self._fail(session, error, refused=False)

    def _take_event(self, event: Opened | Closed | Refused) -> None:
        if isinstance(event, Opened):
            self._open(event)
        elif isinstance(event, Closed):
            self._counters.sessions_closed += 1
            self._forget(event.session)
            self._report(f"{event.session.peer}: closed: {event.reason}")
        else:
            self._counters.strangers += 1
            self._report(f"{event.peer}: turned away: {event.error}")

    def _open(self, event: Opened) -> None:
        session, hello = event.session, event.hello
        try:
            responder = self._make_responder(hello)
            session.send(
                Welcome(
                    protocol=PROTOCOL_VERSION,
                    version=netlab.__version__,
                    policy=self._recipe.name,
                    policy_sha256=self._recipe.sha256,
                )
            )
        except SpecError as error:
            self._counters.sessions_refused += 1
            self._end(session, f"policy {self._recipe.name!r} does not serve this edge: {error}", refused=True)
            return
        except Exception as error:  # whatever a policy may raise
            self._fail(session, error, refused=True)
            return
        self._responders[session] = responder
        self._counters.sessions_opened += 1
        task, ahead = hello.task, horizon_word(hello.horizon_ticks)
        self._report(f"{session.peer}: {task.name} at {task.rate_hz:g} Hz, {hello.actuator}, horizon {ahead}")

    def _make_responder(self, hello: Hello) -> Responder:
        refusal = self._recipe.refusal(hello.task) or self._recipe.problem_with(hello.actuator)
        if refusal:
            raise SpecError(refusal)
        policy, predictor = self._recipe.make(hello.task, hello.seed)
        remote = Remote(hello.task, predictor, hello.horizon_ticks, hello.run, hello.actuator)
        return Responder(remote, policy)

    def _fail(self, session: Session, error: Exception, *, refused: bool) -> None:
        """End a session whose policy has failed; the other edges are none the worse.

        Args:
            session: The session.
            error: What the policy raised.
            refused: Whether the edge would meet the same error at once if it dialled again.
        """
        self._counters.sessions_failed += 1
        # Not str(error), which is the policy's code as well.
        words = " ".join("".join(traceback.format_exception_only(error)).split())
        self._end(session, f"policy {self._recipe.name!r} failed: {words}", refused=refused)
        if self._verbose:
            self._report("".join(traceback.format_exception(error)).rstrip())

    def _end(self, session: Session, reason: str, *, refused: bool) -> None:
        self._forget(session)
        reason = reason.encode("utf-8", "replace").decode(
            "utf-8"
        )  # words of a policy may be what no message holds
        session.close(reason, refused=refused)
        self._report(f"{session.peer}: {reason}")

    def _forget(self, session: Session) -> None:
        responder = self._responders.pop(session, None)
        if responder is not None:
            self._counters.remote.add(responder.remote.counters)
