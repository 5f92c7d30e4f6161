"""TwoLinkArm: the motion of two rigid links in a horizontal plane, driven at both joints.

::

                       o fingertip          q1  angle of the first link against the x axis
                     /                      q2  angle of the second against the first
        base o----o'                        no gravity: the plane is horizontal

The equations are Lagrange's, as R. Murray, Z. Li and S. Sastry derive them ("A Mathematical Introduction to
Robotic Manipulation", 1994, section 4.2.3), with viscous friction d at each joint:

    M(q) q'' + C(q, q') q' + d q' = torque
    M = [[a + 2 b cos q2, c + b cos q2], [c + b cos q2, c]]
    C q' = b sin q2 [-(2 q1' q2' + q2'^2), q1'^2]

where a = I1 + I2 + m1 r1^2 + m2 (l1^2 + r2^2), b = m2 l1 r2, c = I2 + m2 r2^2, and r is the distance from a joint
to its link's centre of mass. A step is semi-implicit Euler: the new speeds move the angles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["FULL_TORQUES_N_M", "LINKS_M", "ArmMotion", "fingertip_m", "move"]

LINKS_M = (0.5, 0.5)
FULL_TORQUES_N_M = (2.0, 1.0)
"""At the first joint and at the second, of an action of 1."""

_MASSES_KG = (1.0, 1.0)
_CENTRES_M = (0.5 * LINKS_M[0], 0.5 * LINKS_M[1])
# A thin rod about its centre of mass.
_INERTIAS_KG_M2 = (_MASSES_KG[0] * LINKS_M[0] ** 2 / 12.0, _MASSES_KG[1] * LINKS_M[1] ** 2 / 12.0)
_FRICTION_N_M_S = 0.2

_A = (
    sum(_INERTIAS_KG_M2)
    + _MASSES_KG[0] * _CENTRES_M[0] ** 2
    + _MASSES_KG[1] * (LINKS_M[0] ** 2 + _CENTRES_M[1] ** 2)
)
_B = _MASSES_KG[1] * LINKS_M[0] * _CENTRES_M[1]
_C = _INERTIAS_KG_M2[1] + _MASSES_KG[1] * _CENTRES_M[1] ** 2


class ArmMotion(NamedTuple):
    """Angles in rad and their speeds in rad/s: numbers for one arm, arrays ``[n]`` for many.

    Attributes:
        q1: Angle of the first link against the x axis.
        q2: Angle of the second link against the first.
        v1: Speed of ``q1``.
        v2: Speed of ``q2``.
    """

    q1: Any
    q2: Any
    v1: Any
    v2: Any


def move(motion: ArmMotion, torque1: Any, torque2: Any, step_s: float, steps: int) -> ArmMotion:
    """Return the motion after some steps under constant torques in N m, of one arm or of many: to the same bit."""
    q1, q2, v1, v2 = motion
    for _ in range(steps):
        coupling = _B * np.cos(q2)
        whirl = _B * np.sin(q2)
        m11 = _A + 2.0 * coupling
        m12 = _C + coupling
        force1 = torque1 - _FRICTION_N_M_S * v1 + whirl * (2.0 * v1 + v2) * v2
        force2 = torque2 - _FRICTION_N_M_S * v2 - whirl * v1 * v1
        pace = step_s / (m11 * _C - m12 * m12)
        v1, v2 = v1 + pace * (_C * force1 - m12 * force2), v2 + pace * (m11 * force2 - m12 * force1)
        q1 = q1 + step_s * v1
        q2 = q2 + step_s * v2
    return ArmMotion(q1, q2, v1, v2)


def fingertip_m(motion: ArmMotion) -> tuple[Any, Any]:
    """Return x and y in m of the second link's end; the base is at 0, 0."""
    both = motion.q1 + motion.q2
    x = LINKS_M[0] * np.cos(motion.q1) + LINKS_M[1] * np.cos(both)
    return x, LINKS_M[0] * np.sin(motion.q1) + LINKS_M[1] * np.sin(both)
