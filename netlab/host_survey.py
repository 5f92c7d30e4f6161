"""HostSurvey: what labs can have on the kernel this process runs on, as we are or in a user namespace of ours.

Roof.

::

    survey_host --we may make namespaces--> probe here
                `-we may not--------------> probe in a child's user namespace (netlab.rootless)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from netlab.errors import KernelError, PrivilegeError

if TYPE_CHECKING:
    from netlab.namespaces.features import KernelFeatures

__all__ = ["HostSurvey", "host_netem_problem", "host_problem", "survey_host"]


class HostSurvey(NamedTuple):
    """What labs can have here.

    Attributes:
        features: What the kernel can do for them; None where they cannot run on it at all.
        problem: Why links cannot be impaired by its netem, and what would mend that; None when they can.
        rootless: True when they need a user namespace of ours.
    """

    features: KernelFeatures | None
    problem: KernelError | None
    rootless: bool = False

    @property
    def can_relay(self) -> bool:
        """Tell whether a relay process can carry packets here."""
        return self.features is not None and bool(getattr(self.features, "tun", False))


def survey_host() -> HostSurvey:
    """Find out by trying, in namespaces that are thrown away."""
    from netlab.namespaces.user_namespace import has_capabilities

    return _survey_as_we_are() if has_capabilities() else _survey_rootless()


def host_netem_problem() -> str | None:
    """Say why labs with netem cannot run on this kernel; None when they can."""
    problem = host_problem()
    return None if problem is None else str(problem)


def host_problem() -> KernelError | None:
    """Return why labs with netem cannot run on this kernel, with what would mend that; None when they can."""
    return survey_host().problem


def _survey_as_we_are() -> HostSurvey:
    from netlab.namespaces.features import probe_features

    try:
        features = probe_features()
    except PrivilegeError as error:
        problem = PrivilegeError(
            "run labs on this kernel", error.errno, f"no rights to {error.attempt}", error.hint
        )
        return HostSurvey(None, problem)
    except KernelError as error:
        return HostSurvey(None, error)
    return HostSurvey(features, _netem_problem(features))


def _survey_rootless() -> HostSurvey:
    from netlab.rootless import no_rights, try_rootless

    trial = try_rootless()
    if trial.features is None:
        return HostSurvey(None, no_rights(trial.problem))
    return HostSurvey(trial.features, _netem_problem(trial.features), rootless=True)


def _netem_problem(features: KernelFeatures) -> KernelError | None:
    from netlab.namespaces.features import require_netem

    try:
        require_netem(features)
    except KernelError as error:
        return error
    return None
