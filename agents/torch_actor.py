"""TorchActor: the policy network's forward pass in torch, for what numpy is slower at.

Numpy's matrix products go to a BLAS that takes a second thread for all but small ones; where the cores are shared,
that one waits by spinning. So numpy acts for an MLP in up to a hundred environments, torch for the rest.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from netlab.agents.acting import Actor, make_actor
from netlab.agents.networks import ActorCritic
from netlab.agents.one_thread import one_thread
from netlab.agents.ppo_config import PPOConfig

__all__ = ["TorchActor", "make_training_actor"]

_MOST_FOR_NUMPY = 100

Floats = NDArray[np.float32]


class TorchActor:
    """An actor that asks the network itself.

    Args:
        network: The network.
        state_units: Of its state; 0 for none.
    """

    def __init__(self, network: ActorCritic, state_units: int) -> None:
        self._network, self.state_units = network, state_units

    @one_thread()
    @torch.no_grad()
    def act(self, observations: Floats, state: Floats) -> tuple[Floats, Floats]:
        """Return the output ``[n, k]`` and the next state ``[2, n, state_units]``."""
        output, after = self._network.act(torch.from_numpy(observations), torch.from_numpy(state))
        return output.numpy(), after.numpy()


def make_training_actor(network: ActorCritic, config: PPOConfig) -> Actor:
    """Return the faster actor for so many environments; both read the weights as they are at each call."""
    if config.network == "mlp" and config.environments <= _MOST_FOR_NUMPY:
        return make_actor({name: weight.detach().numpy() for name, weight in network.named_parameters()}, config)
    return TorchActor(network, config.lstm_units if config.network == "lstm" else 0)
