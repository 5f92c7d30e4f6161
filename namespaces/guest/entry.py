"""Entry: starts one of the guest's three standard-library programs by path.

    python -IS  .../entry.py supervise FD       on the host, started by the launcher
    python -BsS .../entry.py init LINK          pid 1 of the guest; its environment is the kernel's, which is ours
    python -IS  .../entry.py guard FD ARGV...   on the host, around a build's make, tar, dpkg-deb

By path, because none sees site-packages: pid 1 may be another interpreter than the caller's.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    """Run the program that the first argument names."""
    # .../netlab/namespaces/guest/entry.py; at the end, so that no file of ours hides one of the library's. Where
    # Python is not isolated and before 3.11, our own folder stands first.
    here = Path(__file__).resolve().parent
    sys.path[:] = [folder for folder in sys.path if not folder or Path(folder).resolve() != here]
    sys.path.append(str(Path(__file__).parents[3]))
    if arguments[0] == "supervise":
        from netlab.namespaces.guest import supervisor

        supervisor.main(int(arguments[1]))
    elif arguments[0] == "guard":
        from netlab.namespaces.guest import guard

        guard.main(int(arguments[1]), arguments[2:])
    else:
        from netlab.namespaces.guest import pid1

        pid1.main(arguments[1])


if __name__ == "__main__":
    main(sys.argv[1:])
