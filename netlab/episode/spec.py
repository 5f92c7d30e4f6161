"""EpisodeSpec: what ``netlab lab run`` plays in a lab, as the ``[episode]`` table of its TOML file says it.

::

    [episode]
    edge = "edge"                  # host of the environment
    agent = "agent"                # host of the policy, its neighbour
    policy = "linear-predict"
    actuator = "scheduled"

Knows no lab, task or policy: their names are looked up where they are run.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from netlab.envs.clash import Clash, Combination, Words, refuse_clashes
from netlab.errors import SpecError
from netlab.messages import ActuatorName, FallbackName, HorizonWord
from netlab.units import parse_duration_s

__all__ = ["EpisodeSpec"]

MAX_EPISODES = 100_000
MAX_INFERENCE_S = 60.0

_WORDS = {
    Clash.HORIZON: Words("episode.horizon", 'actuator = "scheduled" or "planned", or no horizon'),
    Clash.FALLBACK: Words("episode.fallback", 'fallback = "neutral"'),
}


class EpisodeSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Episodes of one task, controlled over a link of the lab.

    Attributes:
        edge: Host that the environment runs in.
        agent: Host that the policy runs in; one link joins the two.
        task: What is controlled.
        options: Numbers that change the task, by name.
        policy: What controls it.
        actuator: ``newest``, ``scheduled``, ``planned`` or ``stop-and-wait``.
        fallback: ``neutral`` or ``hold``.
        horizon: D of ``scheduled`` or ``planned`` in ticks; ``adaptive`` leaves it to the agent. Unless given what
            the policy was made for, else what fits the link.
        rate_hz: Ticks a second; the task's own unless given.
        episodes: How many.
        transport: ``datagram`` or ``stream``.
        inference: What one decision is declared to cost, as a duration; only virtual time lets it pass.
    """

    edge: str
    agent: str
    task: str = "CartPole-v1"
    options: dict[str, float] = {}
    policy: str = "linear-predict"
    actuator: ActuatorName = "scheduled"
    fallback: FallbackName = "neutral"
    horizon: HorizonWord | None = None
    rate_hz: Annotated[float, Meta(ge=0.1, le=10_000)] | None = None
    episodes: Annotated[int, Meta(ge=1, le=MAX_EPISODES)] = 1
    transport: Literal["datagram", "stream"] = "datagram"
    inference: str = ""

    @property
    def inference_s(self) -> float:
        """The declared cost of one decision in seconds."""
        return parse_duration_s(self.inference) if self.inference else 0.0

    def check(self, hosts: Container[str], links: Sequence[tuple[str, str]], path: str = "") -> None:
        """Refuse what cannot be played in a lab of these hosts and links.

        Args:
            hosts: Names of the lab's hosts.
            links: Ends of its links.
            path: The file the spec came from; empty for none.

        Raises:
            SpecError: An unknown host, hosts without a link of their own, a horizon without use.
        """
        for key, host in (("edge", self.edge), ("agent", self.agent)):
            if host not in hosts:
                raise SpecError(
                    f"{host!r:.80} is no host of this lab", path, f"episode.{key}", f"add [hosts.{host}]"
                )
        if self.edge == self.agent:
            problem = f"{self.agent!r} is the edge as well: an episode needs two hosts and the link between them"
            raise SpecError(problem, path, "episode.agent", "name another host, and a [[link]] to it")
        between = [ends for ends in links if set(ends) == {self.edge, self.agent}]
        if len(between) != 1:
            problem = f"{len(between)} links join {self.edge!r} and {self.agent!r}: an episode needs exactly one"
            raise SpecError(problem, path, "episode", f'[[link]] ends = ["{self.edge}", "{self.agent}"]')
        # What D is left to is found out once the policy and the link are known.
        asked = Combination(actuator=self.actuator, fallback=self.fallback, horizon=self.horizon)
        refuse_clashes(asked, _WORDS, path)
        self._check_inference(path)

    def _check_inference(self, path: str) -> None:
        try:
            cost_s = self.inference_s
        except ValueError as error:
            raise SpecError(f"{self.inference!r:.80}: {error}", path, "episode.inference", '"2ms"') from error
        if not 0.0 <= cost_s <= MAX_INFERENCE_S:
            problem = f"{self.inference!r}: must be 0 .. {MAX_INFERENCE_S:g} s"
            raise SpecError(problem, path, "episode.inference", '"2ms", as a decision takes on the real machine')
