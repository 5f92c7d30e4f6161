"""What ``netlab lab set`` is told, and how a state reads."""

from __future__ import annotations

import pytest

from netlab.errors import SpecError
from netlab.holder.report import state_document
from netlab.holder.report_text import state_text
from netlab.holder.set_words import parse_wishes
from netlab.traces.qdisc_state import GilbertElliottState, QdiscState


@pytest.mark.parametrize(
    ("words", "wishes"),
    [
        (("radio", "wifi-normal"), {"radio": "wifi-normal"}),
        (("radio", "delay=30ms,loss=2%"), {"radio": "delay=30ms,loss=2%"}),
        (("radio=delay=30ms",), {"radio": "delay=30ms"}),
        (("a-b=wifi-normal", "c-d=loss=100%"), {"a-b": "wifi-normal", "c-d": "loss=100%"}),
    ],
)
def test_one_link_or_several(words: tuple[str, ...], wishes: dict[str, str]) -> None:
    assert {wish.link: wish.profile for wish in parse_wishes(words)} == wishes


def test_a_file_is_named_from_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/usr")
    (wish,) = parse_wishes(("radio", "a/b.toml"))
    assert wish.profile == "/usr/a/b.toml"


@pytest.mark.parametrize("words", [("radio",), ("radio", "a", "b"), ("=x",), ("radio=",), ("a=b", "c")])
def test_what_is_no_wish(words: tuple[str, ...]) -> None:
    with pytest.raises(SpecError, match="names no link and profile"):
        parse_wishes(words)


def test_a_link_is_named_once() -> None:
    with pytest.raises(SpecError, match="named twice"):
        parse_wishes(("a=b", "a=c"))


def test_a_state_reads_as_a_line() -> None:
    assert state_text(state_document(QdiscState())) == "netem that does nothing"
    state = QdiscState(latency_ns=1_500_000, loss=2**31, seed=5)
    assert state_text(state_document(state)) == "latency 1.5 ms, loss 50.0000%, seed 5"
    chain = QdiscState(loss_model=GilbertElliottState(p=1, r=2, h=3, k1=4), delay_table=(1, 2))
    assert state_document(chain)["loss_model"]["kind"] == "GilbertElliott"
    assert state_document(chain)["delay_table"] is None
