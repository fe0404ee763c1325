"""Containers: factories in, instances out."""
from __future__ import annotations

import atexit
import ctypes
import inspect
import itertools
import logging
import weakref
from contextlib import contextmanager
from typing import Any, Callable, Generic, Iterator, Sequence, TypeVar, overload

from ._library import (BUFFER_TOO_SMALL, OK, FactoryFailed, calls, check, constants, created, failure, options, svk, thrown,
                       trampoline, unraisable)
from ._states import BYTES, Codec, Service, _Owned

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_SCOPES = {name[6:].lower(): value for name, value in constants.items()
           if name.startswith("SCOPE_") and name != "SCOPE_CUSTOM"}
_FORMATS = {"text": constants["FORMAT_TEXT"], "json": constants["FORMAT_JSON"], "dot": constants["FORMAT_DOT"]}


class Key(Generic[T]):
    """A key that knows the type of its instances: LOGGER: Key[Logger] = Key("logger")."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Key({self.name!r})"


def _name(key: str | Key[Any]) -> bytes:
    text = key.name if isinstance(key, Key) else key
    if "\0" in text:
        raise ValueError("a key has no NUL in it")
    return text.encode()


# ---- Factories, as the library sees them ----


class _Factory:
    """A registration, and the instances that it made. Its container keeps it, and the library while it has to."""

    _numbers = itertools.count(1)
    _all: weakref.WeakValueDictionary[int, _Factory] = weakref.WeakValueDictionary()
    _outliving: dict[int, _Factory] = {}  # those of containers that are gone
    # Where an instance is to be found. The library has a number in place of an address, or a service's token.
    _owners: weakref.WeakValueDictionary[int, _Factory] = weakref.WeakValueDictionary()

    def __init__(self, function: Callable[..., Any], on_destroy: Callable[[Any], object] | None,
                 home: dict[int, _Factory]) -> None:
        self.function, self.on_destroy, self.home = function, on_destroy, home
        self.wants_resolver = _takes_resolver(function)
        self.instances: dict[int, Any] = {}
        self.number = next(self._numbers)
        self._all[self.number] = self
        home[self.number] = self

    @classmethod
    def at(cls, number: int | None) -> _Factory:
        found = cls._outliving.get(number or 0) or cls._all.get(number or 0)
        assert found is not None
        return found

    @classmethod
    def instance(cls, address: int) -> Any:
        """The object of an instance; for one that another language made, its address."""
        owner = cls._owners.get(address)
        return address if owner is None else owner.instances.get(address, address)

    def build(self, resolver: int) -> int:
        made = self.function(Resolver(resolver)) if self.wants_resolver else self.function()
        if made is None:
            raise FactoryFailed(f"the factory {getattr(self.function, '__qualname__', self.function)} returned None")
        # So that other languages find what they expect behind the key of a service.
        address = made.token if isinstance(made, Service) else next(_addresses)
        self.instances[address] = made
        self._owners[address] = self
        return address

    def destroy(self, address: int) -> None:
        made = self.instances.pop(address, None)
        self._owners.pop(address, None)
        try:
            if self.on_destroy is not None:
                self.on_destroy(made)
        finally:
            if isinstance(made, Service):
                made.close()

    def free(self) -> None:
        self.home.pop(self.number, None)
        self._outliving.pop(self.number, None)


_addresses = itertools.count(1 << 20, 16)


def _takes_resolver(function: Callable[..., Any]) -> bool:
    """Whether it has a positional parameter without a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(parameter.default is parameter.empty and
               parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD) for parameter in parameters)


def _call_create(resolver: int, instance: int, user_data: int | None) -> int:
    try:
        ctypes.c_void_p.from_address(instance).value = _Factory.at(user_data).build(resolver)
        return OK
    except BaseException as error:
        return thrown.status_for(error)


def _call_destroy(instance: int, user_data: int | None) -> None:
    try:
        _Factory.at(user_data).destroy(instance)
    except BaseException as error:
        calls.report(error, _Factory.destroy)


def _call_free(user_data: int | None) -> None:
    _Factory.at(user_data).free()


_create = trampoline("svk_create_fn", _call_create)
_destroy = trampoline("svk_destroy_fn", _call_destroy)
_free = trampoline("svk_free_fn", _call_free)

_decorators: dict[int, Callable[..., object]] = {}
_decorator_numbers = itertools.count(1)


def _call_decorator(instance: int, key: bytes, is_new: int, user_data: int | None) -> None:
    function = _decorators.get(user_data or 0)
    try:
        if function is not None:
            function(_Factory.instance(instance), key.decode(), bool(is_new))
    except BaseException as error:
        unraisable(error, function)


def _call_decorator_free(user_data: int | None) -> None:
    _decorators.pop(user_data or 0, None)


_decorate = trampoline("svk_decorator_fn", _call_decorator)
_decorator_free = trampoline("svk_free_fn", _call_decorator_free)


# ---- What users see ----


class Resolver:
    """The resolve in progress, for its factory: valid until that returns, on its thread.

    What it gives is leased to the instance under construction: it outlives it.
    """

    def __init__(self, token: int) -> None:
        self._token = token

    @overload
    def __getitem__(self, key: Key[T]) -> T: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: str | Key[Any]) -> Any:
        return _Factory.instance(created(svk.require, self._token, _name(key)))

    def require(self, key: str | Key[Any], parameter: bytes) -> Any:
        """The same, with a parameter for the dependency's factory."""
        return _Factory.instance(created(svk.require_with, self._token, _name(key), parameter, len(parameter)))

    @property
    def parameter(self) -> bytes:
        """What this instance was asked for with; b"" without a parameter."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        check(svk.resolver_parameter(self._token, ctypes.byref(data), ctypes.byref(size)))
        return ctypes.string_at(data.value, size.value) if data.value else b""


class Lease(_Owned, Generic[T]):
    """A lease on an instance, which lives at least until it is released: by `with`, or when nobody has it any more."""

    _end_order = 1

    def __init__(self, handle: int) -> None:
        address = svk.instance(handle)
        self.instance: T = _Factory.instance(address)
        self.address: int = address
        self._adopt(handle)

    def release(self) -> None:
        self.close()

    def _end(self, token: int) -> None:
        svk.release(token)

    def __enter__(self) -> T:
        return self.instance


class Container(_Owned):
    """Holds factories, and the instances that they made. Use it with `with`, or close it."""

    _end_order = 0

    def __init__(self, parent: Container | None = None) -> None:
        self._factories: dict[int, _Factory] = {}
        self._leases: dict[int, Lease[Any]] = {}
        self._adopt(created(svk.container_create) if parent is None else
                    created(svk.container_create_child, parent.token))

    @classmethod
    def shared(cls) -> Container:
        """The one container that the whole process shares, whatever languages it has. Closing it does nothing."""
        global _shared
        if _shared is None:
            _shared = cls.__new__(cls)
            _shared._factories, _shared._leases = {}, {}
            _shared._token = svk.container_shared()
        return _shared

    def close(self) -> None:
        """Destroys it and its instances, dependents first."""
        if self is not _shared:
            super().close()

    def _end(self, token: int) -> None:
        # Leases may be held, and singletons live on: the library says when it needs a factory no more.
        _Factory._outliving.update(self._factories)
        for lease in self._leases.values():
            handle, lease._token = lease._token, None
            svk.release(handle)
        self._leases.clear()
        svk.container_destroy(token)

    # ---- registering ----

    def register(self, key: str | Key[Any], function: Callable[..., Any], *, scope: str = "default",
                 context: str | None = None, time_to_live: float = 0, type: str | None = None,
                 requires: Sequence[str | Key[Any]] = (), cache_by_parameter: bool = False,
                 on_destroy: Callable[[Any], object] | None = None) -> None:
        """Registers a factory: a function or a class, called with nothing, or with a Resolver if it has a parameter.

        `scope`: "unique", "cached", "shared", "singleton", "graph" or "default". `context`: for that one only, such as
        "test". `time_to_live`: seconds. `requires`: for validate(). `on_destroy`: called with the instance when the
        library gives it up.
        """
        if scope not in _SCOPES:
            raise ValueError(f"scope is one of {', '.join(_SCOPES)}")
        factory = _Factory(function, on_destroy, self._factories)
        keys = (ctypes.c_char_p * (len(requires) + 1))(*(_name(each) for each in requires), None)
        made = options("svk_factory_options", flags=constants["FACTORY_CACHE_BY_PARAMETER"] if cache_by_parameter else 0,
                       create=_create, destroy=_destroy, user_data=factory.number, user_data_free=_free,
                       scope=_SCOPES[scope], time_to_live_ns=int(time_to_live * 1e9), type=type.encode() if type else None,
                       required_keys=ctypes.addressof(keys) if requires else None)
        if context is None:
            status = svk.register(self.token, _name(key), ctypes.byref(made))
        else:
            status = svk.register_for(self.token, _name(key), context.encode(), ctypes.byref(made))
        if status != OK:
            factory.free()
            raise failure(status)

    def factory(self, key: str | Key[Any], **how: Any) -> Callable[[F], F]:
        """The same as a decorator:  @container.factory("logger", scope="cached")"""

        def decorate(function: F) -> F:
            self.register(key, function, **how)
            return function

        return decorate

    def unregister(self, key: str | Key[Any]) -> None:
        check(svk.unregister(self.token, _name(key)))

    def decorate(self, see: Callable[[Any, str, bool], object] | None, key: str | Key[Any] | None = None) -> None:
        """Calls `see(instance, key, is_new)` on every resolve, of one key or of all; None ends that."""
        name = _name(key) if key is not None else None
        if see is None:
            check(svk.decorate(self.token, name, None, None, None))
            return
        number = next(_decorator_numbers)
        _decorators[number] = see
        status = svk.decorate(self.token, name, _decorate, number, _decorator_free)
        if status != OK:
            del _decorators[number]
            raise failure(status)

    # ---- resolving ----

    @overload
    def __getitem__(self, key: Key[T]) -> T: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: str | Key[Any]) -> Any:
        """The instance of a key, leased until the container is closed. See resolve() for less."""
        lease: Lease[Any] = self.resolve(key)
        kept = self._leases.setdefault(lease.address, lease)
        if kept is not lease:
            lease.close()
        return kept.instance

    @overload
    def resolve(self, key: Key[T], parameter: bytes | None = None) -> Lease[T]: ...
    @overload
    def resolve(self, key: str, parameter: bytes | None = None) -> Lease[Any]: ...
    def resolve(self, key: str | Key[Any], parameter: bytes | None = None) -> Lease[Any]:
        """A lease on the instance of a key:  with container.resolve("logger") as logger: …

        What a factory raises comes out of here as it is. `parameter`: for the factory's Resolver.
        """
        if parameter is None:
            return Lease(created(svk.resolve, self.token, _name(key)))
        return Lease(created(svk.resolve_with, self.token, _name(key), parameter, len(parameter)))

    def service(self, key: str | Key[Any], codec: Codec[T] = BYTES) -> Service[T]:  # type: ignore[assignment]
        """A service that any language registered, with a lease on it that ends when this Service is closed."""
        lease: Lease[Any] = self.resolve(key)
        return Service.borrowed(lease.address, codec, lease)

    # ---- the rest ----

    def use_contexts(self, *contexts: str) -> None:
        """Sets the active contexts, most important first. Without any: inherit."""
        check(svk.container_set_contexts(self.token, ",".join(contexts).encode() or None))

    def set_strict(self, strict: bool = True) -> None:
        """Refuses, under the context "test", whatever has no registration for it."""
        check(svk.container_set_strict(self.token, int(strict)))

    def set_default_scope(self, scope: str) -> None:
        check(svk.container_set_default_scope(self.token, _SCOPES[scope]))

    def reset(self, key: str | Key[Any] | None = None, *, registrations: bool = False, contexts: bool = False,
              scopes: bool = False) -> None:
        """Drops plain registrations, context registrations or cached instances, of one key or of all; by default
        all three."""
        what = (registrations * constants["RESET_REGISTRATIONS"] + contexts * constants["RESET_CONTEXTS"] +
                scopes * constants["RESET_SCOPES"]) or constants["RESET_ALL"]
        with calls:
            if key is None:
                check(svk.container_reset(self.token, what))
            else:
                check(svk.reset(self.token, _name(key), what))

    @contextmanager
    def pushed(self) -> Iterator[Container]:
        """`with container.pushed():` brings back, at its end, registrations, contexts, caches and settings."""
        check(svk.container_push(self.token))
        try:
            yield self
        finally:
            with calls:
                check(svk.container_pop(self.token))

    def validate(self) -> None:
        """Checks what was declared with `requires`, without building anything."""
        check(svk.container_validate(self.token))

    def describe(self, format: str = "text") -> str:
        """Keys, scopes, instances and the dependency graph so far: "text", "json" or "dot"."""
        needed, capacity = ctypes.c_size_t(), 0
        while True:
            buffer = ctypes.create_string_buffer(max(capacity, 1))
            status = svk.container_describe(self.token, _FORMATS[format], buffer if capacity else None, capacity,
                                            ctypes.byref(needed))
            if status != BUFFER_TOO_SMALL:
                check(status)
                return buffer.value.decode()
            capacity = needed.value


_shared: Container | None = None


def reset_singletons(key: str | Key[Any] | None = None) -> None:
    """Retires one singleton of the process, or all."""
    with calls:
        check(svk.singleton_reset(_name(key) if key is not None else None))


# ---- Log ----

_LEVELS = {constants["LOG_ERROR"]: logging.ERROR, constants["LOG_WARNING"]: logging.WARNING,
           constants["LOG_INFO"]: logging.INFO, constants["LOG_DEBUG"]: logging.DEBUG}


def _call_log(level: int, message: bytes, _: int | None) -> None:
    try:
        logging.getLogger("servicekit").log(_LEVELS.get(level, logging.DEBUG), message.decode("utf-8", "replace"))
    except BaseException as error:
        unraisable(error, logging)


_log = trampoline("svk_log_fn", _call_log)


def log(level: int | None) -> None:
    """Hands the library's messages of that level of `logging` and above to the logger "servicekit"; None: no more."""
    if level is None:
        check(svk.set_log(None, 0, None, None))
    else:
        most_detailed = max(number for number, name in _LEVELS.items() if name >= min(level, logging.ERROR))
        check(svk.set_log(_log, most_detailed, None, None))


atexit.register(log, None)
