"""The C library: found, loaded, and declared to ctypes as abi.json describes it. Failures as exceptions."""
from __future__ import annotations

import ctypes
import itertools
import json
import os
import sys
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).resolve().parent


def _read_abi() -> Any:
    for place in (HERE / "abi.json", HERE.parents[3] / "abi.json"):  # installed, or in the repository
        if place.exists():
            return json.loads(place.read_text(encoding="utf-8"))
    raise ImportError("abi.json is missing: install the package with pip")


def _load(abi: Any) -> ctypes.CDLL:
    named = os.environ.get("SERVICEKIT_LIBRARY")
    carried = HERE / abi["library"]
    return ctypes.CDLL(named or (str(carried) if carried.exists() else abi["library"]))


_abi = _read_abi()
_library = _load(_abi)

_KINDS: dict[str, Any] = {
    "status": ctypes.c_int32, "int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64, "size": ctypes.c_size_t, "string": ctypes.c_char_p, "pointer": ctypes.c_void_p,
    "callback": ctypes.c_void_p, "void": None,
}
constants: dict[str, int] = {name[4:]: constant["value"] for name, constant in _abi["constants"].items()}


def _struct(description: Any) -> type[ctypes.Structure]:
    fields = [(field["name"], _KINDS[field["kind"]]) for field in description["fields"]]
    struct = type(description["name"], (ctypes.Structure,), {"_fields_": fields})
    if ctypes.sizeof(struct) != description["size"]:
        raise ImportError(f"{description['name']} has another size on this platform")
    return struct


structs: dict[str, type[ctypes.Structure]] = {each["name"]: _struct(each) for each in _abi["structs"]}
callback_types: dict[str, Any] = {
    each["name"]: ctypes.CFUNCTYPE(_KINDS[each["returns"]["kind"]],
                                   *(_KINDS[parameter["kind"]] for parameter in each["parameters"]))
    for each in _abi["callbacks"]
}


class _Functions:
    """svk.resolve(…) calls svk_resolve. ctypes lets other threads run meanwhile."""

    def __init__(self) -> None:
        for each in _abi["functions"]:
            function = getattr(_library, each["name"])
            function.restype = _KINDS[each["returns"]["kind"]]
            function.argtypes = [_KINDS[parameter["kind"]] for parameter in each["parameters"]]
            setattr(self, each["name"][4:], function)

    def __getattr__(self, name: str) -> Any:  # for the type checker, and for a library that is too old
        raise AttributeError(f"libservicekit has no svk_{name}")


svk = _Functions()


def version() -> str:
    """The version of the library that is loaded."""
    text: bytes = svk.version_string()
    return text.decode()


def options(name: str, **values: Any) -> Any:
    """An options struct, with its size."""
    struct = structs[name]
    return struct(size=ctypes.sizeof(struct), **values)


# ---- Failures ----


class ServiceKitError(Exception):
    """A call of the library failed. `status` is its number, and the text says what to do about it."""

    status = -1

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        if status is not None:
            self.status = status

    @property
    def name(self) -> str:
        """The name of the status, such as "SVK_CYCLE"."""
        text: bytes = svk.status_name(self.status)
        return text.decode()


class InvalidArgument(ServiceKitError, ValueError):
    status = constants["INVALID_ARGUMENT"]


class InvalidHandle(ServiceKitError):
    """What was asked has been closed already."""

    status = constants["INVALID_HANDLE"]


class NotFound(ServiceKitError, KeyError):
    status = constants["NOT_FOUND"]
    __str__ = Exception.__str__  # KeyError quotes its text


class AlreadyExists(ServiceKitError):
    status = constants["ALREADY_EXISTS"]


class TypeMismatch(ServiceKitError, TypeError):
    status = constants["TYPE_MISMATCH"]


class Cycle(ServiceKitError):
    status = constants["CYCLE"]


class FactoryFailed(ServiceKitError):
    status = constants["FACTORY_FAILED"]


class ContextMissing(ServiceKitError):
    status = constants["CONTEXT_MISSING"]


class Closed(ServiceKitError):
    status = constants["CLOSED"]


class BufferFull(ServiceKitError):
    status = constants["BUFFER_FULL"]


class TimedOut(ServiceKitError, TimeoutError):
    status = constants["TIMEOUT"]


class Busy(ServiceKitError):
    status = constants["BUSY"]


class Unsupported(ServiceKitError):
    status = constants["UNSUPPORTED"]


class SystemRefused(ServiceKitError, OSError):
    status = constants["SYSTEM_ERROR"]


_errors: dict[int, type[ServiceKitError]] = {
    each.status: each for each in (InvalidArgument, InvalidHandle, NotFound, AlreadyExists, TypeMismatch, Cycle, FactoryFailed,
                                   ContextMissing, Closed, BufferFull, TimedOut, Busy, Unsupported, SystemRefused)
}
OK, DEFERRED, TIMEOUT, CLOSED = (constants[name] for name in ("OK", "DEFERRED", "TIMEOUT", "CLOSED"))
BUFFER_TOO_SMALL = constants["BUFFER_TOO_SMALL"]


class _Thrown:
    """The exceptions of factories by the status that stands for each: so they also reach a thread that waited for
    the same instance. Only the last few are kept."""

    FIRST, KEPT = 1_000_000_000, 64

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._kept: OrderedDict[int, BaseException] = OrderedDict()
        self._lock = threading.Lock()

    def status_for(self, error: BaseException) -> int:
        if isinstance(error, ServiceKitError) and error.status > 0 and error.status < self.FIRST:
            return error.status  # the library's own, which it hands on
        with self._lock:
            status = self.FIRST + next(self._numbers) % 1_000_000_000
            self._kept[status] = error
            while len(self._kept) > self.KEPT:
                self._kept.popitem(last=False)
        return status

    def take(self, status: int) -> BaseException | None:
        with self._lock:
            return self._kept.get(status)


thrown = _Thrown()


def failure(status: int) -> BaseException:
    """The exception for a status: that of a Python factory itself, with its traceback, where it was one."""
    if status >= _Thrown.FIRST and (error := thrown.take(status)) is not None:
        return error
    message: bytes = svk.last_error()
    return _errors.get(status, ServiceKitError)(message.decode("utf-8", "replace"), status)


def check(status: int) -> None:
    """Raises what a status stands for. SVK_DEFERRED is no failure."""
    if status not in (OK, DEFERRED):
        raise failure(status)


def created(function: Callable[..., int], *arguments: Any) -> int:
    """The token that a function writes to its last parameter."""
    out = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(out)))
    assert out.value is not None
    return out.value


# ---- Exceptions in callbacks that nobody waits for ----


class Calls(threading.local):
    """The calls of this thread within which callbacks may run, and the first exception of each. What observers
    raise is raised again by the send or dispatch that called them."""

    def __init__(self) -> None:
        self.open: list[list[BaseException]] = []

    def __enter__(self) -> list[BaseException]:
        self.open.append([])
        return self.open[-1]

    def __exit__(self, kind: object, *_: object) -> None:
        errors = self.open.pop()
        if errors and kind is None:
            raise errors[0]

    def report(self, error: BaseException, callback: object) -> None:
        if self.open and not self.open[-1]:
            self.open[-1].append(error)
        else:
            unraisable(error, callback)


def unraisable(error: BaseException, callback: object) -> None:
    """Where there is nobody to raise it to: the worker thread, a finalizer, a caller written in C."""
    arguments: Any = type("Unraisable", (), {
        "exc_type": type(error), "exc_value": error, "exc_traceback": error.__traceback__,
        "err_msg": "Exception ignored in a callback of servicekit", "object": callback,
    })()
    sys.unraisablehook(arguments)


calls = Calls()


def trampoline(type_name: str, function: Callable[..., Any]) -> int:
    """A C function that calls a Python one. Never freed: the library may call it for as long as the process lives."""
    closure = callback_types[type_name](function)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(closure))
    address = ctypes.cast(closure, ctypes.c_void_p).value
    assert address is not None
    return address


def timeout_ns(timeout: float | None) -> int:
    """Seconds as the library wants them; None is for ever, and a negative time is over already."""
    if timeout is None:
        return -1
    return min(max(int(timeout * 1e9), 0), 2**63 - 1)
