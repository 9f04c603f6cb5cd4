"""Plain data over a pipe: numbers, texts, lists, tuples, dictionaries and arrays of numbers, as JSON in frames.

The receiver gets only built-in values and plain arrays: no object with its own methods, no code, no pickle. Other data
raise ``ValueError``. Random generators are sent as their state. A function, which only the judge can send, is sent as a
number under which it can be called back.

The programs on both sides of the sandbox import this file, which imports nothing of the compendium. It goes out with the
assignments, for `check`.
"""

from __future__ import annotations

import base64
import json
import math
import re
import socket
import struct
import time

import numpy as np

LARGEST = 32 * 2**20  # bytes of one message
_DTYPE = re.compile(r"[<>|][biuf][1248]")


def encode(value, functions: list | None = None):
    """Return `value` in JSON's types. Functions are appended to `functions`, or refused if it is not given."""
    if isinstance(value, np.generic):
        value = float(value) if isinstance(value, np.floating) else value.item()  # a longdouble's item is a longdouble
    if value is None or isinstance(value, (bool, int, float, str)):
        # A subclass may print itself differently: only its value is sent.
        plain = {bool: bool, int: int, float: float, str: str}
        return next((make(value) for kind, make in plain.items() if isinstance(value, kind)), None)
    if isinstance(value, (list, tuple, range)):
        return ["tuple" if isinstance(value, tuple) else "list", *(encode(each, functions) for each in value)]
    if isinstance(value, dict):
        return ["dict", *([encode(key), encode(each, functions)] for key, each in value.items())]
    if isinstance(value, np.random.Generator):
        return ["rng", json.dumps(value.bit_generator.state)]
    if functions is not None and callable(value):
        functions.append(value)
        return ["function", len(functions) - 1]
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        array = np.ascontiguousarray(value)
        array = array.astype(float) if array.dtype == np.longdouble else array
        if _DTYPE.fullmatch(array.dtype.str):
            return ["array", array.dtype.str, list(np.shape(value)), base64.b64encode(array.tobytes()).decode()]
    raise ValueError(
        f"only numbers, texts, lists, tuples, dictionaries and arrays of numbers are accepted, got {type(value).__name__}"
    )


def decode(message, call=None):
    """Return the value that `encode` was given. `call(number)` returns a function; without `call`, functions are
    refused."""
    if message is None or type(message) in (bool, int, float, str):
        return message
    if not isinstance(message, list) or not message or type(message[0]) is not str:
        raise ValueError("not plain data")
    kind, parts = message[0], message[1:]
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(decode(part, call) for part in parts)
    if kind == "dict" and all(isinstance(part, list) and len(part) == 2 for part in parts):
        return {_key(decode(key)): decode(part, call) for key, part in parts}
    if kind == "array" and len(parts) == 3:
        return _array(*parts)
    if kind == "rng" and len(parts) == 1:
        return _generator(parts[0])
    if kind == "function" and call is not None and len(parts) == 1 and type(parts[0]) is int:
        return call(parts[0])
    raise ValueError("not plain data")


def _key(value):
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    raise ValueError("not plain data: a key of a dictionary must be a number, a text or a tuple of these")


def _array(dtype, shape, text) -> np.ndarray:
    if not (isinstance(dtype, str) and _DTYPE.fullmatch(dtype) and isinstance(text, str) and isinstance(shape, list)):
        raise ValueError("not plain data: an array has an invalid form")
    if len(shape) > 16 or not all(type(each) is int and 0 <= each <= LARGEST for each in shape):
        raise ValueError("not plain data: an array has an invalid shape")
    content = base64.b64decode(text, validate=True)
    kind = np.dtype(dtype)
    if math.prod(shape) * kind.itemsize != len(content):
        raise ValueError("not plain data: an array has an invalid size")
    if kind.kind == "b":
        return (np.frombuffer(content, dtype=np.uint8) != 0).reshape(shape)
    return np.frombuffer(content, dtype=kind).astype(kind.newbyteorder("=")).reshape(shape)


def _generator(text) -> np.random.Generator:
    state = json.loads(text) if isinstance(text, str) and len(text) < 1000 else None
    made = np.random.default_rng(0)
    if not isinstance(state, dict) or state.get("bit_generator") != "PCG64":
        raise ValueError("not plain data: a generator must come from numpy.random.default_rng")
    try:
        made.bit_generator.state = state
    except (TypeError, KeyError, OverflowError) as error:
        raise ValueError("not plain data: a generator has an invalid state") from error
    return made


def is_empty(value) -> bool:
    """Return whether `value` contains an empty array, list, tuple or dictionary, which a comparison finds close to
    anything."""
    if isinstance(value, np.ndarray):
        return value.size == 0
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else None
    return parts is not None and (not parts or any(map(is_empty, parts)))


def packed(message) -> bytes:
    """Return a message as it is sent. Raises ``ValueError`` if it is too large."""
    content = json.dumps(message).encode()
    if len(content) > LARGEST:
        raise ValueError(f"more than {LARGEST // 2**20} MiB or 3 million numbers at once: use fewer in each call")
    return content


def accepted(name: str, message):
    """Return the answer that a student's code gives under `name`. Raises ``ValueError`` if it is unusable."""
    try:
        value = decode(message)
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"{name}: {error}") from None
    if value is None:
        raise ValueError(f"{name} gives None: is a return missing, or is something printed instead?")
    if is_empty(value):
        raise ValueError(f"{name} gives a value that is empty or has an empty part")
    return value


class Line:
    """A connection for whole messages over a socket: eight bytes that give the length, then JSON."""

    def __init__(self, end: socket.socket):
        self.end = end
        self.busy = False  # with a question whose reply is on its way
        self.late: BaseException | None = None  # raised once the reply has arrived

    def send(self, message, until: float | None = None) -> None:
        content = packed(message)
        self._wait(until)
        self.end.sendall(struct.pack(">Q", len(content)) + content)

    def receive(self, until: float | None = None):
        """Return the next message. Raises ``TimeoutError`` at the time `until`, ``EOFError`` if the other side is gone."""
        (size,) = struct.unpack(">Q", self._bytes(8, until))
        if size > LARGEST:
            raise ValueError(f"more than {LARGEST // 2**20} MiB at once")
        return json.loads(self._bytes(size, until))

    def _bytes(self, size: int, until) -> bytes:
        parts = []
        while size:
            self._wait(until)
            parts.append(self.end.recv(min(size, 2**20)))
            if not parts[-1]:
                raise EOFError
            size -= len(parts[-1])
        return b"".join(parts)

    def _wait(self, until) -> None:
        if until is not None:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.end.settimeout(left)
