"""Fixtures of the kernel tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from netlab.bench.netem_rig import NetemRig, netem_rig
from netlab.namespaces.features import kernel_features


@pytest.fixture
def fresh_rig() -> Iterator[NetemRig]:
    """A rig without netem yet."""
    with netem_rig() as rig:
        yield rig


@pytest.fixture
def seeded_rig() -> Iterator[NetemRig]:
    """A rig without netem yet, on a kernel whose netem heeds seeds."""
    if not kernel_features().seed:
        pytest.skip("this kernel's netem has no seed")
    with netem_rig() as rig:
        yield rig
