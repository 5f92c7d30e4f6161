"""Both services over real sockets on 127.0.0.1; a run here takes a second or two."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading

import msgspec
import pytest
from counting_task import use_counting_task
from msgspec import structs
from service_pair import (
    PATIENCE_S,
    Running,
    ServedAgent,
    config,
    restartable_run,
    start_agent,
    until,
    wait_for,
)

from netlab.agents.cartpole_linear import LinearCartPole
from netlab.agents.policy import Recipe, find_policy
from netlab.agents.serve import AgentConfig, serve_agent
from netlab.control import Persistence, Scheduled
from netlab.envs.result import RunResult, encode_result
from netlab.envs.run import EnvConfig, run_env_service
from netlab.errors import AuthError, ConnectionLost, RemoteProtocolError
from netlab.wire.address import Address
from netlab.wire.key import Key

RATES_HZ = (200.0, 200.0, 100.0, 50.0)
"""Of an episode in real time: a machine that was too busy for it, as missed ticks tell, is given another and more
time."""
MOST_MISSED = 5
"""So few cannot be why a pole fell."""
TURNS = 100
ATTEMPTS = 4

ENV = """
import sys
from netlab.envs.result import encode_result
from netlab.envs.run import EnvConfig, run_env_service
from pathlib import Path
progress = Path({progress!r})
result = run_env_service(
    EnvConfig(address={address!r}, episodes=100, actuator="newest"),
    progress=lambda now: progress.touch() if now.ticks >= 50 else None,
)
sys.stdout.buffer.write(encode_result(result))
"""


@pytest.mark.parametrize("transport", ["datagram", "stream"])
@pytest.mark.parametrize(
    ("policy", "actuator", "first_missed"), [("linear", "newest", 1), ("linear-predict", "scheduled", 10)]
)
def test_an_episode_over_sockets_is_balanced_to_its_end(transport, policy, actuator, first_missed):
    for rate_hz in RATES_HZ:
        with ServedAgent(find_policy(policy), transport=transport) as agent:
            asked = config(agent, actuator=actuator, transport=transport, rate_hz=rate_hz)
            result = run_env_service(asked, machine={"cpu": "known to the roof"})
        is_undisturbed = result.returns == [500.0] or result.counters.missed <= first_missed + MOST_MISSED
        if is_undisturbed and agent.service.counters.sessions_opened == 1:
            break
    counters, served = result.counters, agent.service.counters
    assert result.returns == [500.0], f"{counters.missed} missed, {result.skipped_ticks} skipped at {rate_hz} Hz"
    assert result.machine == {"cpu": "known to the roof"}
    assert result.complete
    assert counters.ticks == 500 == counters.played_remote + counters.missed
    assert counters.missed >= first_missed - result.skipped_ticks
    assert result.latency.count > 250
    assert result.latency.p50_ms > 0.0
    assert result.connections == 1
    assert (result.policy, result.transport, result.spec) == (policy, transport, asked)
    assert served.sessions_opened == 1
    assert served.remote.answered + served.remote.dropped_overtaken == served.remote.observations
    assert served.remote.answered >= 490 - counters.missed - result.skipped_ticks


def test_many_edges_are_served_at_once_each_by_a_policy_of_its_own(tmp_path, monkeypatch):
    """Each counts its own turns: a policy that two edges shared would leave out what it said to the other."""
    use_counting_task(monkeypatch, TURNS)
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        results, counters = serve_four(folder)
        if counters.sessions_opened == 4:  # else one was dialled again, since the machine stood still for seconds
            break
    assert counters.sessions_opened == counters.sessions_closed == 4
    assert [result.returns for result in results] == [[float(TURNS)]] * 4
    for log in folder.glob("*.jsonl"):
        ticks = [json.loads(line) for line in log.read_text().splitlines()]
        assert [tick["action"] for tick in ticks if tick["source"] == "remote"] == [*range(TURNS)]
    assert counters.remote.answered >= 4 * TURNS


def serve_four(folder):
    """Play the counting task by four edges that begin at once; return their results and the agent's counters."""
    start = folder / "start"
    results: list[RunResult] = []

    def run(agent, seed):
        asked = config(agent, task="Count", actuator="stop-and-wait", rate_hz=100.0, seed=seed)
        results.append(
            run_env_service(structs.replace(asked, start_path=str(start), tick_log=str(folder / f"{seed}.jsonl")))
        )

    with ServedAgent(find_policy("counter")) as agent:
        threads = [threading.Thread(target=run, args=(agent, seed)) for seed in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: len(agent.service._responders) == 4)
        start.touch()
        for thread in threads:
            thread.join(2 * PATIENCE_S)
        until(lambda: agent.service._responders == {})  # sessions that said goodbye are forgotten
    return results, agent.service.counters


def test_an_agent_that_is_killed_and_returns_is_taken_up_again_and_no_tick_waits_for_it(tmp_path):
    ready = tmp_path / "ready"
    first = start_agent(ready, "127.0.0.1:0")
    processes = [first]
    try:
        address = wait_for(ready)
        with Running(restartable_run(Address.parse(address))) as running:
            running.be_served(ticks=25)
            assert running.is_connected()
            first.kill()
            until(lambda: not running.is_connected())
            running.run_on(ticks=50)
            ready.unlink()
            processes.append(start_agent(ready, address))
            until(lambda: running.connections() == 2)
            running.be_served(ticks=25)
            result = running.stop()
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert result.stopped_by == "enough"
    assert result.connections == 2
    # Ticks that were skipped, on a busy machine, are ticks of the grid all the same.
    assert result.disconnected_ticks >= 50 - result.skipped_ticks
    assert result.counters.missed >= result.disconnected_ticks
    assert result.counters.played_remote >= 50


def test_an_agent_that_says_goodbye_is_missed_at_once():
    agent = ServedAgent(find_policy("linear"))
    with Running(restartable_run(agent.address)) as running:
        running.run_on(ticks=20)
        agent.stop()
        until(lambda: not running.is_connected())
        assert "the test is over" in running.service._uplink.last_loss
        running.run_on(ticks=20)
        result = running.stop()
    assert result.disconnected_ticks >= 10 - result.skipped_ticks
    assert result.connections == 1


def test_a_task_that_the_policy_does_not_serve_is_refused_with_the_reason():
    picky = Recipe(
        name="picky",
        summary="serves nothing",
        make=lambda task, run_seed: (LinearCartPole(), Persistence()),
        refusal=lambda task: f"{task.name} is beneath it",
    )
    with ServedAgent(picky) as agent:
        with pytest.raises(RemoteProtocolError, match="CartPole-v1 is beneath it"):
            run_env_service(config(agent))
        assert agent.service.counters.sessions_refused == 1
        assert agent.service.counters.sessions_opened == 0


def test_the_wrong_key_is_an_error_that_waiting_will_not_mend(tmp_path):
    Key.new().write(tmp_path / "theirs")
    Key.new().write(tmp_path / "ours")
    with ServedAgent(find_policy("linear"), key=Key.read(tmp_path / "theirs")) as agent:
        with pytest.raises(AuthError):
            run_env_service(config(agent, key_path=str(tmp_path / "ours")))
        result = run_env_service(config(agent, rate_hz=200.0, key_path=str(tmp_path / "theirs")))
        assert result.complete
        assert result.connections == 1
        assert result.counters.played_remote > 0


def test_nobody_there_is_connection_lost_or_a_run_without():
    free = Address("127.0.0.1", 9)
    with pytest.raises(ConnectionLost):
        run_env_service(EnvConfig(address=str(free), wait_s=0.3))
    result = run_env_service(EnvConfig(address=str(free), wait_s=0.1, rate_hz=500.0, require_connection=False))
    assert result.complete
    assert result.counters.played_remote == 0
    assert result.connections == 0


def test_a_local_policy_takes_over_where_the_agent_is_missing():
    result = run_env_service(
        EnvConfig(address="127.0.0.1:9", wait_s=0.1, rate_hz=200.0, require_connection=False, fallback="local"),
        make_local_policy=lambda task: LinearCartPole(),
    )
    assert result.returns == [500.0]
    assert result.counters.missed_local == 500


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_both_services_in_order(tmp_path, number):
    ready, progress = tmp_path / "ready", tmp_path / "progress"
    agent = start_agent(ready, "127.0.0.1:0")
    processes = [agent]
    try:
        address = wait_for(ready)
        env = subprocess.Popen(
            [sys.executable, "-c", ENV.format(address=address, progress=str(progress))],
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(env)
        until(progress.exists)
        env.send_signal(number)
        out, _ = env.communicate(timeout=PATIENCE_S)
        assert env.returncode == 0
        document = json.loads(out)
        assert not document["complete"]
        assert document["stopped_by"] == number.name
        assert document["counters"]["played_remote"] > 10
        assert not document["episodes"][-1]["complete"]
        agent.send_signal(number)
        out, _ = agent.communicate(timeout=PATIENCE_S)
        assert agent.returncode == 0
        opened, answered = map(int, out.split())
        assert opened == 1
        assert answered >= document["counters"]["frames_received"]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_the_ready_file_holds_the_address_that_was_bound(tmp_path):
    ready = tmp_path / "ready"
    thread_error: list[BaseException] = []

    def serve():
        try:
            serve_agent(AgentConfig(ready_path=str(ready)), on_ready=lambda address: 1 / 0)
        except ZeroDivisionError as error:
            thread_error.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    thread.join(PATIENCE_S)
    assert thread_error, "the listener is closed when its caller fails"
    address = Address.parse(ready.read_text().strip())
    assert address.host == "127.0.0.1"
    assert address.port > 0
    assert list(tmp_path.iterdir()) == [ready]


def test_a_result_survives_the_journey_through_json():
    with ServedAgent(find_policy("linear-predict")) as agent:
        result = run_env_service(config(agent, actuator="scheduled", horizon_ticks=5))
    assert msgspec.json.decode(encode_result(result), type=RunResult) == result
    assert result.horizon_ticks == Scheduled(5).horizon_ticks
