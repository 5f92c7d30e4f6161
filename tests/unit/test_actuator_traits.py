"""What actuators differ in is said of each, and says what is so."""

from __future__ import annotations

from typing import get_args

import pytest

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.control.actuators import ACTUATORS
from netlab.control.agenda import EachTurn, make_agenda
from netlab.control.each_plan import EachPlan
from netlab.envs.cartpole import CartPole
from netlab.envs.vector.actuators import ACTUATOR_PARTS
from netlab.errors import SpecError
from netlab.messages import ADAPTIVE_HORIZON, ActuatorName, horizon_number, horizon_word

NAMES = get_args(ActuatorName)


def test_each_name_has_them() -> None:
    assert set(ACTUATOR_TRAITS) == set(ACTUATORS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_one_with_a_horizon_refuses_none_that_is_out_of_range_and_the_others_have_a_tick(name: str) -> None:
    if ACTUATOR_TRAITS[name].has_horizon:
        assert ACTUATORS[name](7).horizon_ticks == 7
        with pytest.raises(SpecError):
            ACTUATORS[name](257)
    else:
        assert ACTUATORS[name](7).horizon_ticks == 1


@pytest.mark.parametrize("name", NAMES)
def test_what_is_decided_for_it_is_what_its_traits_say(name: str) -> None:
    agenda, traits = make_agenda(name, CartPole().description, 3), ACTUATOR_TRAITS[name]
    assert isinstance(agenda, EachTurn) == traits.goes_by_turns
    assert isinstance(agenda, EachPlan) == traits.asks_again


def test_those_in_columns_have_columns() -> None:
    assert {name for name, traits in ACTUATOR_TRAITS.items() if traits.in_columns} == set(ACTUATOR_PARTS)


@pytest.mark.parametrize(("ticks", "word"), [(ADAPTIVE_HORIZON, "adaptive"), (1, 1), (256, 256), (None, None)])
def test_a_horizon_is_a_number_and_a_word(ticks: int | None, word: int | str | None) -> None:
    assert horizon_word(ticks) == word
    assert horizon_number(word) == ticks
