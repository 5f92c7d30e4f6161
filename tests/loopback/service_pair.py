"""The two services in threads and processes of a test, and ways to wait for what they do."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from netlab.agents.service import AgentService
from netlab.control import Edge, Neutral, Newest
from netlab.envs.loop import RealTimeLoop
from netlab.envs.registry import make_task
from netlab.envs.result import RunResult
from netlab.envs.run import EnvConfig
from netlab.envs.service import EnvService
from netlab.envs.uplink import Uplink
from netlab.messages import PROTOCOL_VERSION, Hello
from netlab.wire.dialer import Dialer
from netlab.wire.listener import Listener
from netlab.wire.pulse import Timing

QUICK = Timing(heartbeat_s=0.05, silence_s=5.0, attempt_s=1.0)
"""Both dial and beat quickly; a machine that stops for a second or two makes nobody give the other up."""

AGENT = """
from netlab.agents.serve import AgentConfig, serve_agent
counters = serve_agent(AgentConfig(address={address!r}, ready_path={ready!r}, policy="linear"))
print(counters.sessions_opened, counters.remote.answered)
"""

PATIENCE_S = 30.0
"""How long a test waits for what must come; only a bound, on a machine as busy as it may be."""


def until(condition):
    """Wait until something holds; fail if it never does."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, "waited in vain"
        time.sleep(0.005)


def wait_for(path):
    until(path.exists)
    return path.read_text().strip()


class Running:
    """An EnvService in a thread, whose progress the test can follow."""

    def __init__(self, service):
        self.service = service
        self.ticks = lambda: service._loop.tick
        self.results: list[RunResult] = []
        self._thread = threading.Thread(target=lambda: self.results.append(service.run()))
        self._thread.start()

    def is_connected(self):
        return self.service._uplink.is_connected

    def connections(self):
        return self.service._uplink.connections

    def run_on(self, ticks):
        """Wait until so many more ticks have been played."""
        end = self.ticks() + ticks
        until(lambda: self.ticks() >= end)

    def be_served(self, ticks):
        """Wait until so many more ticks have played what the agent decided."""
        end = self.played() + ticks
        until(lambda: self.played() >= end)

    def played(self):
        return self.service._counters.played_remote + self.service._edge.counters.played_remote

    def stop(self):
        self.service.stop("enough")
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        return self.results[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.service.stop("the test is over")
        self._thread.join(PATIENCE_S)


def start_agent(ready, address):
    """Start an agent as a process of its own."""
    code = AGENT.format(ready=str(ready), address=address)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


class ServedAgent:
    """An AgentService in a thread."""

    def __init__(self, recipe, address=("127.0.0.1", 0), key=None, transport="datagram", verbose=False):
        self.lines: list[str] = []
        listener = Listener(address, key, transport, timing=QUICK)
        self.service = AgentService(listener, recipe, self.lines.append, verbose=verbose)
        self.address = self.service._listener.address
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            self.service.run()
        except BaseException as error:
            self.error = error

    def stop(self):
        self.service.stop("the test is over")
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        assert self.error is None
        return self.service.counters

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def config(agent, **options):
    if options.get("actuator") == "scheduled":
        options.setdefault("horizon_ticks", 10)
    return EnvConfig(address=str(agent.address), **{"rate_hz": 500.0, "wait_s": PATIENCE_S} | options)


def restartable_run(address, ticks_hz=100.0):
    """A service whose uplink notices a dead agent soon, with the neutral fallback."""
    task = make_task("CartPole-v1", ticks_hz)
    edge = Edge(task.description, Newest(), Neutral(), run=77)
    hello = Hello(protocol=PROTOCOL_VERSION, version="test", run=77, task=task.description, horizon_ticks=1)
    uplink = Uplink(Dialer(address, None, hello, timing=QUICK))
    return EnvService(task, uplink, edge, RealTimeLoop(ticks_hz), episodes=1000, seed=1, wait_s=3.0)
