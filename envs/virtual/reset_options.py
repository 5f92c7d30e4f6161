"""What Gymnasium's ``reset`` takes by the name of options: nothing, here."""

from __future__ import annotations

from netlab.errors import SpecError
from netlab.traces.quantity import shown

__all__ = ["refuse_reset_options"]


def refuse_reset_options(options: object) -> None:
    """Refuse what would have no effect.

    Raises:
        SpecError: It is neither None nor an empty dict.
    """
    if options is None or (isinstance(options, dict) and not options):
        return
    raise SpecError(
        f"{shown(options)}: must be None or {{}}: a reset has no options",
        key="options",
        hint="give what changes the task to whatever makes it, what changes control as NetworkOptions; rows of "
        "many begin anew by themselves, each in the step that ends its episode",
    )
