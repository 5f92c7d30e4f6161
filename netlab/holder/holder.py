"""LabHolder: the process that holds a lab which stays; a program of its own, started by ``netlab lab up``.

::

    netlab lab up --LabOrder--> holder: folder, control groups, Lab, door
                  <-Published-- up
                  ---Kept-----> it stays.  End of file instead: all is taken away again
    netlab lab show|set|exec|down ------> door (netlab/holder/door.py)
                  <-LabEnded--- all is closed; the folder goes last, and stays where nobody heard of a problem

Everything hangs on it: on its descriptors and on the lab's PID namespace. Its death, however it dies, is the
lab's; its folder and its control groups are then removed by the next ``netlab lab up`` or ``gc``.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import socket
import sys
import threading
import time
from pathlib import Path

from netlab import __version__
from netlab.closers import Closers
from netlab.errors import NetlabError, WireError
from netlab.holder.departure import Departure
from netlab.holder.desk import Desk
from netlab.holder.directory import LabDirectory, LabFolder
from netlab.holder.door import Door
from netlab.holder.farewell import Farewell
from netlab.holder.frames import MAX_REQUEST_BYTES, receive_frame, send_frame
from netlab.holder.messages import BIRTH_ORDERS, Kept, LabOrder, Published, Refused, problems_of
from netlab.holder.process_identity import ProcessIdentity
from netlab.holder.record import LOG_FILE, LabRecord
from netlab.holder.signals import EndSignals, GivenUp
from netlab.lab import Lab
from netlab.namespaces.cgroup_folder import CgroupFolder
from netlab.namespaces.kernel_wire import KernelWiring
from netlab.namespaces.wire import Wiring

__all__ = ["LabHolder", "main"]

_LOG = logging.getLogger("netlab.lab")
_LOG_BYTES = 1 << 16
_GIVE_UP_WITHIN_S = 20.0


class LabHolder:
    """Makes a lab and keeps it until it is told to end.

    Args:
        order: Which lab.
        birth: Whoever ordered it.
    """

    def __init__(self, order: LabOrder, birth: socket.socket) -> None:
        self._order = order
        self._birth = birth
        self._signals = EndSignals()
        self._kept = threading.Event()
        self._closers = Closers("the lab")
        self._farewell = Farewell()
        self._folder: LabFolder | None = None

    def run(self) -> list[str]:
        """Make the lab, keep it, end it.

        Returns:
            What went wrong while it was closed; whoever asked for its end has been told.

        Raises:
            GivenUp: Whoever ordered it has gone before it was up.
            BaseException: What kept it from being made.
        """
        threading.Thread(target=self._watch_birth, name="netlab-birth", daemon=True).start()
        try:
            published = self._make()
            with self._signals.breaking_off():
                send_frame(self._birth, published)
                self._kept.wait()
        except BaseException as error:
            self._closers.close_after(error)
            self._remove_folder()
            raise
        let_go_of_streams()
        self._signals.wait()
        problems = self._close()
        if self._farewell.say(problems) or not problems:
            self._remove_folder()
        return problems

    def _close(self) -> list[str]:
        try:
            self._closers.close()
        except BaseException as error:  # whatever it is, it is told, and we end
            problems = problems_of(error)
            for text in problems:
                _LOG.error("the lab has ended badly: %s", text)
            return problems
        return []

    def _remove_folder(self) -> None:
        if self._folder is not None:
            self._folder.remove()

    def _make(self) -> Published:
        lab = Lab.from_toml(
            self._order.spec,
            name=self._order.name,
            seed=self._order.seed,
            wiring=_wiring(self._order.engine),
        )
        group = CgroupFolder.plan(lab.id)
        record = self._record(lab, group)
        folder = self._folder = LabDirectory.of_this_user().publish(record)
        _log_to(folder)
        no_group = group.enter()
        self._closers.push("remove the lab's control groups", group.leave)
        departure = Departure(lab)
        self._closers.push("see the lab off", departure.wait)
        self._closers.push("close the lab", lab.close)
        with self._signals.breaking_off():
            lab.open()
            lab.play()
            lab.start_commands()
        self._closers.push("watch the lab go", departure.begin)
        desk = Desk(lab, record, folder.path, group, no_group, self._farewell, self._signals.send)
        door = Door(folder.fd, desk.answer)
        self._closers.push("close the lab's door", door.close)
        door.open()
        return Published(record, lab.warnings)

    def _record(self, lab: Lab, group: CgroupFolder) -> LabRecord:
        return LabRecord(
            id=lab.id,
            name=lab.name,
            holder=ProcessIdentity.own(),
            engine=self._order.engine,
            spec=self._order.spec,
            seed=lab.seed,
            version=__version__,
            made_s=time.time(),
            cgroup=[str(path) for path in group.paths],
        )

    def _watch_birth(self) -> None:
        """Wait for whoever ordered the lab to take note of it, or to go."""
        try:
            received = receive_frame(self._birth, BIRTH_ORDERS, MAX_REQUEST_BYTES, first_within_s=None)
        except WireError:
            received = None
        if received is not None and isinstance(received.message, Kept):
            self._kept.set()
            return
        self._signals.send()
        time.sleep(_GIVE_UP_WITHIN_S)
        os._exit(1)  # stuck: the kernel takes the lab back all the same


def main() -> int:
    """Hold the lab that is ordered at the inherited socket whose number is our argument."""
    birth = socket.socket(fileno=int(sys.argv[1]))
    birth.set_inheritable(False)
    received = receive_frame(birth, BIRTH_ORDERS, MAX_REQUEST_BYTES)
    if received is None or not isinstance(received.message, LabOrder):
        return 1
    try:
        return 1 if LabHolder(received.message, birth).run() else 0
    except GivenUp:
        return 1
    except BaseException as error:  # told to whoever waits for the lab, if anybody does
        if not isinstance(error, NetlabError):
            _LOG.exception("the lab could not be made")
        with contextlib.suppress(WireError):
            send_frame(birth, Refused.of(error))
        return 1


def let_go_of_streams() -> None:
    """Let go of the stderr we were born with; stdin and stdout have been nothing from the start."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(nothing, 2)
    os.close(nothing)


def _log_to(folder: LabFolder) -> None:
    """Write our log into the lab's folder, its newest 64 to 128 KiB; a full disk loses lines, not the lab."""
    logging.raiseExceptions = False
    path: Path = folder.path / LOG_FILE
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=1, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _LOG.addHandler(handler)
    _LOG.setLevel(logging.INFO)


def _wiring(engine: str) -> Wiring:
    if engine == "relay":
        from netlab.namespaces.relay.wiring import RelayWiring

        return RelayWiring()
    return KernelWiring()


if __name__ == "__main__":
    sys.exit(main())
