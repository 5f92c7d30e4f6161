"""What ``render`` does where there are no pictures: what Gymnasium's environments do without a render mode."""

from __future__ import annotations

from gymnasium import logger

__all__ = ["warn_of_no_pictures"]


def warn_of_no_pictures(name: str) -> None:
    """Say that nothing is drawn."""
    logger.warn(f"{name} has no render mode, so that render() draws nothing: render the task's own environment")
