"""A tree that looks like Linux to netlab and to make, whose kernel is a shell script: a build in a moment."""

from __future__ import annotations

from pathlib import Path

__all__ = ["FakeTree"]

# As Linux's own: answers allnoconfig and linux, works below another make, prints what it compiles.
_MAKEFILE = """\
VERSION = 7
PATCHLEVEL = 2
SUBLEVEL = 12
EXTRAVERSION =
allnoconfig:
\tgrep '^CONFIG' $(KCONFIG_ALLCONFIG) | grep -v '=n$$' | sh configure.sh > $(O)/.config
linux:
\t@echo $(MFLAGS) $(ARCH) $(KBUILD_BUILD_USER) $(KCFLAGS) > $(O)/arguments
\t@$(MAKE) O=$(O) compile
compile:
\t@echo '  CC      init/main.o'
\t@sh compile.sh $(O)
"""

_COMPILE = """\
cat > $1/linux <<'END'
#!/bin/sh
case $1 in
--version) echo 7.2.12-netlab;;
--showconfig) echo CONFIG_UML_TIME_TRAVEL_SUPPORT=y;;
esac
END
chmod +x $1/linux
"""


class FakeTree:
    """A source tree in a folder.

    Args:
        folder: Made; where the tree is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "arch" / "um").mkdir(parents=True)
        (folder / "arch" / "um" / "Makefile").touch()
        (folder / "Kconfig").touch()
        (folder / "Makefile").write_text(_MAKEFILE)
        (folder / "configure.sh").write_text("cat\n")
        (folder / "compile.sh").write_text(_COMPILE)

    def compile_first(self, script: str) -> None:
        """Have a script run (its first argument is the output folder) before there is a kernel."""
        (self.folder / "compile.sh").write_text(f"{script}\n{_COMPILE}")

    def drop(self, option: str) -> None:
        """Have the configuration leave an option out, as kconfig does."""
        (self.folder / "configure.sh").write_text(f"grep -v '^{option}='\n")
