"""Door: the socket at which a lab's holder is asked; a thread a client, so that nobody waits for another.

::

    RUNTIME/<id>/socket --accept--> thread: who is it? --one request--> answer(link, request)
                                       `- a stranger, garbage, silence: told so, and shown out

Knows frames and threads; what is asked and answered is not its affair.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading
from collections.abc import Callable

from netlab.errors import LabError, WireError
from netlab.holder.frames import MAX_REQUEST_BYTES, Received, receive_frame, send_frame, wait_readable
from netlab.holder.messages import REQUESTS, Refused
from netlab.holder.record import SOCKET_FILE
from netlab.namespaces.unix_peer import unix_peer

__all__ = ["Door"]

Answer = Callable[[socket.socket, Received], None]

MAX_CLIENTS = 128
_BREATHER_S = 0.1
_LOG = logging.getLogger("netlab.lab")


class Door:
    """A listening socket and its clients.

    Args:
        folder_fd: An open descriptor of the lab's folder.
        answer: Called in the client's thread with its first request; the link is closed afterwards.

    Raises:
        LabError: The socket cannot be made.
    """

    def __init__(self, folder_fd: int, answer: Answer) -> None:
        self._answer = answer
        self._clients: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        self._bell, self._far_bell = socket.socketpair()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            os.fchmod(self._listener.fileno(), 0o600)  # what the file will have
            # By way of the descriptor: a path may be longer than a socket's address.
            self._listener.bind(f"/proc/self/fd/{folder_fd}/{SOCKET_FILE}")
            self._listener.listen(MAX_CLIENTS)
        except OSError as error:
            self._close_sockets()
            hint = "name a folder that can hold sockets in NETLAB_RUNTIME_DIR"
            raise LabError(f"cannot make the socket of a lab: {error.strerror}", hint=hint) from error
        self._thread = threading.Thread(target=self._admit, name="netlab-door", daemon=True)

    def open(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """Admit nobody any more; hang up on those who are here, and wait until they have been seen out."""
        self._far_bell.close()
        if self._thread.ident is not None:
            self._thread.join()
        with self._lock:
            clients = dict(self._clients)
        for link in clients:  # all first: the patience with the slowest is the patience with all
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RD)
        for thread in clients.values():
            thread.join()
        self._close_sockets()

    def _close_sockets(self) -> None:
        for one in (self._listener, self._bell, self._far_bell):
            one.close()

    def _admit(self) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(self._bell, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self._bell.fileno() in ready:
                return
            try:
                link, _ = self._listener.accept()
            except OSError as error:  # it has gone already, or we have no descriptor left
                _LOG.warning("a client could not be admitted: %s", error)
                wait_readable(self._bell, _BREATHER_S)
                continue
            problem = self._begin_to_serve(link)
            if problem:
                _LOG.warning("a client was turned away: %s", problem)
                _refuse(link, problem, "wait until one of them has ended, then ask again")
                link.close()

    def _begin_to_serve(self, link: socket.socket) -> str:
        """Start a client's thread; return why there is none."""
        thread = threading.Thread(target=self._serve, args=(link,), name="netlab-client", daemon=True)
        with self._lock:
            if len(self._clients) >= MAX_CLIENTS:
                return f"the lab has {MAX_CLIENTS} clients: no more at once"
            self._clients[link] = thread
            try:
                thread.start()
            except RuntimeError as error:  # no memory, or no task left to this user or control group
                del self._clients[link]
                return f"the lab's holder has no thread for another client: {error}"
        return ""

    def _serve(self, link: socket.socket) -> None:
        try:
            if _is_stranger(link):
                _refuse(link, "the lab is another user's")
                return
            received = receive_frame(link, REQUESTS, MAX_REQUEST_BYTES)
            if received is not None:
                try:
                    self._answer(link, received)
                finally:
                    received.close()
        except WireError as error:
            _LOG.warning("a client was shown out: %s", error)
            _refuse(link, str(error))
        except Exception:  # a bug of ours must not take the lab along, and must be found
            _LOG.exception("a request could not be answered")
            _refuse(link, "an error of netlab's own", "the lab's log has more: netlab lab show")
        finally:
            with self._lock:
                self._clients.pop(link, None)
            link.close()


def _is_stranger(link: socket.socket) -> bool:
    """Tell whether the client's user is neither ours nor root."""
    return unix_peer(link).user_id not in (os.geteuid(), 0)


def _refuse(link: socket.socket, message: str, hint: str = "") -> None:
    with contextlib.suppress(WireError):
        send_frame(link, Refused(message=message, hint=hint), within_s=0.5)
