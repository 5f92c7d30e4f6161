"""Responder: a remote with a policy that answers its questions; what a service needs, an observation at a time.

::

    Observation --> Remote --question--> Policy
                      ^                    |
                      '------ decide ------'      until no question is open
        Action <------'
"""

from __future__ import annotations

from netlab.control.policy import Policy
from netlab.control.remote import Remote
from netlab.messages import Action, Observation

__all__ = ["Responder"]


class Responder:
    """Answer each new observation of one session at once.

    Args:
        remote: Its half of the tick protocol.
        policy: Decides; used by this responder alone, reset at each episode's first observation.
    """

    def __init__(self, remote: Remote, policy: Policy) -> None:
        self.remote = remote
        self._policy = policy
        self._episode = remote.episode

    def receive(self, observation: Observation) -> Action | None:
        """Return the answer to an observation, or None where it is of no use (counted).

        Raises:
            LocalProtocolError: The policy offers an action that is not of the task's space.
        """
        remote, policy = self.remote, self._policy
        if not remote.receive(observation):
            return None
        if remote.episode != self._episode:
            self._episode = remote.episode
            policy.reset()
        while (question := remote.question) is not None:
            remote.decide(policy.decide(question))
        return remote.answer()
