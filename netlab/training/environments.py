"""What a recipe trains in: N rows of a vectorised task, or N single ones side by side where it has no such twin.

::

    recipe --has a twin--> VectorTask --> VectorNetwork             N rows at once
       `---- has none ---> N Task ------> SyncVectorEnv of N VirtualNetworks, one after another: slower

Row i is the run with the seed ``seed + i`` in both, on the same networks, so both give the same numbers.
"""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from netlab.envs.registry import find_task, make_task, make_vector_task
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.errors import SpecError
from netlab.network_words import training_network
from netlab.training.recipe import TrainingRecipe

__all__ = ["has_twin", "make_environment"]


def has_twin(recipe: TrainingRecipe) -> bool:
    """Return whether a recipe's task is there as columns too.

    Raises:
        SpecError: There is no such task.
    """
    return find_task(recipe.task).columns is not None


def make_environment(recipe: TrainingRecipe, seed: int) -> VectorEnv[Any, Any, Any]:
    """Return the environments that a recipe trains in; they reset themselves in the step that ends an episode.

    Args:
        recipe: What trains.
        seed: Of the networks that are drawn.

    Raises:
        NetlabError: There is no such task or network, or the task has no such option or aid.
    """
    n, rate_hz, control = recipe.ppo.environments, recipe.control.rate_hz, recipe.control
    network = training_network(recipe.network, seed)
    if has_twin(recipe):
        columns = make_vector_task(recipe.task, n, rate_hz, options=recipe.options, aids=recipe.aids)
        return VectorNetwork(columns, network, control, is_privileged=recipe.ppo.privileged_critic)
    if recipe.aids:
        problem = f"{recipe.task} has no vectorised twin, whose aids they are"
        raise SpecError(problem, key="aids", hint="leave [aids] out")

    def single() -> VirtualNetwork:
        return VirtualNetwork(make_task(recipe.task, rate_hz, options=recipe.options), network, control)

    return SyncVectorEnv([single] * n, autoreset_mode=AutoresetMode.SAME_STEP)
