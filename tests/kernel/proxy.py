"""A TCP proxy in front of a metastore: it loses calls and answers, keeps calls for later, and sends them twice.

It reads messages of Thrift's binary protocol to their end, so it knows which call it passes on, and when the call is
carried out. A client sends one call, and then waits for its answer.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

_CALL = 0x80010000
_STOP, _STRING, _STRUCT, _MAP, _SET, _LIST = 0, 11, 12, 13, 14, 15
_SIZES = {2: 1, 3: 1, 4: 8, 6: 2, 8: 4, 10: 8}
_MOST_SECONDS = 60.0


class _Gone(Exception):
    """A connection has ended."""


class _Message:
    """One message of a stream, read to its end.

    Attributes:
        name: of the call.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._data = bytearray()
        version = self._number(">I", 4)
        assert version & 0xFFFF0000 == _CALL, f"no message of Thrift's binary protocol: {version:#x}"
        self.name = self._text().decode()
        self._take(4)
        self._skip(_STRUCT)

    def __bytes__(self) -> bytes:
        return bytes(self._data)

    def _take(self, size: int) -> bytes:
        found = self._stream.read(size) if size else b""
        if len(found) < size:
            raise _Gone
        self._data += found
        return found

    def _number(self, form: str, size: int) -> int:
        return int(struct.unpack(form, self._take(size))[0])

    def _text(self) -> bytes:
        return self._take(self._number(">i", 4))

    def _skip(self, kind: int) -> None:
        if kind == _STRING:
            self._text()
        elif kind == _STRUCT:
            while (member := self._number(">B", 1)) != _STOP:
                self._take(2)
                self._skip(member)
        elif kind == _MAP:
            key, value, count = self._number(">B", 1), self._number(">B", 1), self._number(">i", 4)
            for _ in range(count):
                self._skip(key)
                self._skip(value)
        elif kind in (_SET, _LIST):
            member, count = self._number(">B", 1), self._number(">i", 4)
            for _ in range(count):
                self._skip(member)
        else:
            self._take(_SIZES[kind])


class _End:
    """One end of a connection."""

    def __init__(self, of: socket.socket) -> None:
        self._socket = of
        self._stream = of.makefile("rb")

    def read(self) -> _Message:
        try:
            return _Message(self._stream)
        except OSError as error:
            raise _Gone from error

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise _Gone from error

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._stream.close()
        self._socket.close()


@dataclass(frozen=True)
class Exchange:
    """A call and its answer, by their bytes."""

    call: str
    sent: int
    answered: int


@dataclass
class _Fault:
    """What happens to the next calls of a name."""

    call: str
    kind: str
    times: int
    action: Callable[[], None]


class Proxy:
    """Listens on a port of its own, and has a connection to the server for each of its clients'.

    Attributes:
        port: where clients connect to.
        traffic: the calls that were answered, one after the other.
    """

    def __init__(self, port: int) -> None:
        """
        Args:
            port: the server's.
        """
        self._server = ("localhost", port)
        self._listener = socket.create_server(("localhost", 0))
        self.port: int = self._listener.getsockname()[1]
        self.traffic: list[Exchange] = []
        self._faults: list[_Fault] = []
        self._held: list[tuple[_End, _Message]] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        """Listen no more; connections that are open end with their clients."""
        self._listener.close()

    # -- what goes wrong -----------------------------------------------------------------------

    def lose_request(self, call: str, times: int = 1) -> None:
        """Cut the connection on which a call of this name comes next, without passing it on."""
        self._fail(call, "lose request", times)

    def lose_answer(self, call: str, times: int = 1) -> None:
        """Pass the next call of this name on, and cut its connection when the server has carried it out."""
        self._fail(call, "lose answer", times)

    def hold(self, call: str, times: int = 1) -> None:
        """Cut the connection of the next call of this name, and pass it on at :meth:`release`."""
        self._fail(call, "hold", times)

    def repeat(self, call: str, times: int = 1) -> None:
        """Pass the next call of this name on twice; its client gets the second answer."""
        self._fail(call, "repeat", times)

    def echo(self, call: str, times: int = 1) -> None:
        """Pass the next call of this name on, and once more at :meth:`release`."""
        self._fail(call, "echo", times)

    def before(self, call: str, action: Callable[[], None]) -> None:
        """Do something before the next call of this name is passed on."""
        self._fail(call, "act", 1, action)

    def _fail(self, call: str, kind: str, times: int, action: Callable[[], None] = lambda: None) -> None:
        with self._lock:
            self._faults.append(_Fault(call, kind, times, action))

    def release(self) -> list[str]:
        """Pass on the calls that were held, one after the other, until each is carried out; their names."""
        with self._lock:
            held, self._held = self._held, []
        for server, message in held:
            server.send(bytes(message))
            server.read()
            server.close()
        return [message.name for _, message in held]

    def clear(self) -> None:
        """Let nothing fail any more, and forget calls that are held."""
        with self._lock:
            self._faults.clear()
            held, self._held = self._held, []
        for server, _ in held:
            server.close()

    @property
    def pending(self) -> list[str]:
        """The calls that are still to fail."""
        return [fault.call for fault in self._faults]

    # -- connections ---------------------------------------------------------------------------

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, connected: socket.socket) -> None:
        """Pass calls on, until one of the two ends its connection, or a fault does."""
        client, server = _End(connected), self._connect()
        with contextlib.suppress(_Gone):
            while True:
                message = client.read()
                fault = self._fault_of(message.name)
                kind = fault.kind if fault else ""
                if kind == "lose request":
                    break
                if kind == "hold":
                    self._keep(server, message)
                    client.close()
                    return
                if fault is not None:
                    fault.action()
                for _ in range(2 if kind == "repeat" else 1):
                    server.send(bytes(message))
                    answer = server.read()
                self.traffic.append(Exchange(message.name, len(bytes(message)), len(bytes(answer))))
                if kind == "echo":
                    self._keep(self._connect(), message)
                if kind == "lose answer":
                    break
                client.send(bytes(answer))
        client.close()
        server.close()

    def _keep(self, server: _End, message: _Message) -> None:
        with self._lock:
            self._held.append((server, message))

    def _connect(self) -> _End:
        return _End(socket.create_connection(self._server, timeout=_MOST_SECONDS))

    def _fault_of(self, name: str) -> _Fault | None:
        with self._lock:
            for fault in self._faults:
                if name.startswith(fault.call):
                    fault.times -= 1
                    if not fault.times:
                        self._faults.remove(fault)
                    return fault
        return None
