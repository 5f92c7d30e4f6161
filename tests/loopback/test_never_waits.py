"""An agent that is there and says nothing costs the environment no tick."""

from __future__ import annotations

import threading

from netlab.envs.run import EnvConfig, run_env_service
from netlab.messages import PROTOCOL_VERSION, Welcome
from netlab.wire.address import Address
from netlab.wire.listener import Listener
from netlab.wire.session import Opened

RATE_HZ = 250.0


class SilentAgent:
    """Welcomes every edge and never answers an observation."""

    def __init__(self) -> None:
        self._listener = Listener(Address("127.0.0.1", 0))
        self.address = self._listener.address
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while not self._stop.is_set():
            for event in self._listener.poll(0.05):
                if isinstance(event, Opened):
                    event.session.send(Welcome(protocol=PROTOCOL_VERSION, version="test", policy="silent"))

    def __enter__(self) -> SilentAgent:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self._listener.close("the test is over")


def test_ticks_keep_their_rate_beside_an_agent_that_never_answers() -> None:
    """Waiting only 15 ms a tick would skip three ticks of four at 250 Hz; a busy machine skips a few.

    Judged on the better of three runs, so that one stall of the machine does not decide.
    """
    shares = []
    with SilentAgent() as agent:
        for seed in range(3):
            result = run_env_service(
                EnvConfig(address=str(agent.address), rate_hz=RATE_HZ, episodes=4, seed=seed, actuator="newest")
            )
            played = result.counters.ticks
            assert result.counters.missed == played > 40
            shares.append(result.skipped_ticks / (played + result.skipped_ticks))
    assert min(shares) < 0.25, shares
