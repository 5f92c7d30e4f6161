"""What a decoder says of a value, in the words of whoever wrote the file."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from netlab.decoder_words import choices_of, plain_rule


class Sample(Struct, forbid_unknown_fields=True):
    whole: Annotated[int, Meta(ge=1, le=9)] = 1
    share: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    pair: tuple[str, str] = ("a", "b")
    some: Annotated[list[int], Meta(max_length=2)] = []
    maybe: int | None = None
    table: dict[str, int] = {}
    flag: bool = False
    kind: Literal["one", "two"] = "one"


class Needy(Struct):
    must: int


def rule_of(table: object, kind: type = Sample) -> str:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(table, kind)
    return plain_rule(str(refused.value).partition(" - at ")[0])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"whole": "x"}, "must be a whole number, not a text in quotes"),
        ({"whole": 0}, "must be a whole number, 1 or more"),
        ({"whole": 10}, "must be a whole number, at most 9"),
        ({"share": 0.0}, "must be a number, above 0.0"),
        ({"share": 1.0}, "must be a number, below 1.0"),
        ({"pair": ["a"]}, "must be a list of 2"),
        ({"some": [1, 2, 3]}, "must be a list of at most 2"),
        ({"maybe": "x"}, "must be a whole number or left out, not a text in quotes"),
        ({"table": 1}, "must be a table, not a whole number"),
        ({"flag": 1}, "must be true or false, not a whole number"),
        (7, "must be a table, not a whole number"),
    ],
)
def test_a_rule_in_plain_words(table: object, words: str) -> None:
    assert rule_of(table) == words


def test_a_missing_key_is_named() -> None:
    assert rule_of({}, Needy) == "the key 'must' is missing"


def test_choices_are_listed() -> None:
    assert choices_of(Sample, "kind") == ("one", "two")
    assert choices_of(Sample, "whole") == choices_of(Sample, "nosuch") == ()
    assert plain_rule("Invalid enum value 'x'", ("one", "two")) == "must be one of one, two"


def test_what_is_not_known_is_left_as_it_is() -> None:
    assert plain_rule("Something new") == "something new"
