"""Numbers that no float holds, or that Python does not even write, are refused like all others."""

from __future__ import annotations

import msgspec
import pytest

from netlab.envs.cartpole import CartPole
from netlab.envs.doorkey import doorkey_description
from netlab.envs.registry import make_task
from netlab.envs.task import MAX_RATE_HZ
from netlab.envs.virtual.options import NetworkOptions
from netlab.errors import NetlabError, ProfileError, SpecError
from netlab.messages import TaskDescription
from netlab.traces.bound import bounded_count, bounded_duration_s, bounded_number, bounded_ratio

NO_NUMBERS = [10**400, -(10**400), 10**5000, float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize(
    "value", NO_NUMBERS, ids=lambda value: f"{value:.3g}" if isinstance(value, float) else "huge"
)
def test_what_no_float_holds_is_refused(value: float) -> None:
    with pytest.raises(ProfileError, match=r"n = .*: must be"):
        bounded_number("n", value, 0.0, 1e9)
    with pytest.raises(ProfileError, match=r"loss = .*: must be"):
        bounded_ratio("loss", value)
    with pytest.raises(ProfileError, match=r"delay = .*: must be"):
        bounded_duration_s("delay", value)
    with pytest.raises(ProfileError, match=r"limit = .*: must be"):
        bounded_count("limit", value, 0, 2**64)
    for refused in (
        lambda: CartPole(push_n=value),
        lambda: doorkey_description(10.0, value),  # type: ignore[arg-type]
        lambda: make_task("CartPole-v1", rate_hz=value),
    ):
        with pytest.raises(NetlabError, match="must be"):
            refused()


def test_the_highest_rate_is_the_same_everywhere() -> None:
    make_task("CartPole-v1", rate_hz=MAX_RATE_HZ)
    NetworkOptions(rate_hz=MAX_RATE_HZ).check()
    with pytest.raises(SpecError):
        make_task("CartPole-v1", rate_hz=MAX_RATE_HZ + 1)
    with pytest.raises(SpecError):
        NetworkOptions(rate_hz=MAX_RATE_HZ + 1).check()
    described = msgspec.to_builtins(make_task("CartPole-v1").description)
    msgspec.convert(described | {"rate_hz": MAX_RATE_HZ}, TaskDescription)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(described | {"rate_hz": MAX_RATE_HZ + 1}, TaskDescription)
