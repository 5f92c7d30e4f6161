"""Kernel descriptors: the numbers that a guest kernel's descriptors have in its process, the same in every run.

::

    supervisor's 12, 15, 17, 9 (another number each time) --dup2--> 3, 4, 5, 6    messages, output, errors, control
    job folder -------------------------------------------open----> 7             pid 1 reads the link to it

They stand on the kernel's command line, and from that line, where no other chance is let in, come its first random
numbers (docs/virtual-time.md). The job folder's name is drawn for each run; so pid 1 is told a link of the host's
/proc instead, which it reads before it mounts its own. Standard library only.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence

__all__ = ["JOB_FOLDER_LINK", "KERNEL_FDS", "number_descriptors", "out_of_the_way"]

KERNEL_FDS = (3, 4, 5, 6)
"""Of the kernel's messages, the command's output, its errors, and the control console."""

_JOB_FOLDER_FD = 7

JOB_FOLDER_LINK = f"/proc/self/fd/{_JOB_FOLDER_FD}"
"""Leads to the job folder from within the guest, as long as /proc is the host's."""


def out_of_the_way(fd: int) -> int:
    """Return another descriptor of the same file, with none of the numbers; a successful exec closes it.

    Raises:
        OSError: No descriptors left.
    """
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _JOB_FOLDER_FD + 1)


def number_descriptors(descriptors: Sequence[int], job_folder: str) -> None:
    """Give descriptors the numbers KERNEL_FDS, and the job folder its own; all of them inheritable.

    Args:
        descriptors: As many as KERNEL_FDS, in that order; whatever else has one of the numbers is closed.
        job_folder: An existing folder.

    Raises:
        OSError: No such folder, or no descriptors left.
    """
    folder_fd = os.open(job_folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    # First out of the way of the numbers, any of which may be in use.
    high = [out_of_the_way(fd) for fd in (*descriptors, folder_fd)]
    os.close(folder_fd)
    for fd, number in zip(high, (*KERNEL_FDS, _JOB_FOLDER_FD), strict=True):
        os.dup2(fd, number)
