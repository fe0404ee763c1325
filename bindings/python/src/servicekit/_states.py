"""Streams, services, observers and dispatchers."""
from __future__ import annotations

import asyncio
import atexit
import ctypes
import json
import os
import struct
import time
import weakref
from dataclasses import dataclass
from typing import Any, AsyncIterator, Callable, Generic, Iterator, Optional, TypeVar

from ._library import (CLOSED, TIMEOUT, InvalidHandle, ServiceKitError, calls, check, constants, created, failure, options,
                       structs, svk, timeout_ns, trampoline)

T = TypeVar("T")


# ---- What states are made of ----


@dataclass(frozen=True)
class Codec(Generic[T]):
    """Turns states into the bytes that the library keeps, and back. Other languages see these bytes."""

    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]


BYTES: Codec[bytes] = Codec(bytes, bytes)
TEXT: Codec[str] = Codec(lambda text: text.encode(), lambda data: data.decode())
JSON: Codec[Any] = Codec(lambda value: json.dumps(value).encode(), json.loads)


def struct_codec(layout: str) -> Codec[tuple[Any, ...]]:
    """A C struct, as the struct module describes it: struct_codec("=qd")."""
    packer = struct.Struct(layout)
    return Codec(lambda values: packer.pack(*values), packer.unpack)


@dataclass(frozen=True)
class State(Generic[T]):
    """One state: which of the stream's sends it was, and how many this observer lost before it."""

    value: T
    version: int
    dropped: int


@dataclass(frozen=True)
class Buffer:
    """What happens when the consumer lags."""

    buffering: int
    capacity: int = 0


unbounded = Buffer(constants["BUFFER_UNBOUNDED"])


def newest(capacity: int) -> Buffer:
    """The oldest of `capacity` states makes room."""
    return Buffer(constants["BUFFER_NEWEST"], capacity)


def oldest(capacity: int) -> Buffer:
    """The new state is not taken."""
    return Buffer(constants["BUFFER_OLDEST"], capacity)


def blocking(capacity: int) -> Buffer:
    """The sender waits for room."""
    return Buffer(constants["BUFFER_BLOCK"], capacity)


def _value(codec: Codec[T], address: Any) -> State[T]:
    """Copies the svk_state at an address, or in a struct."""
    state: Any = structs["svk_state"].from_address(address) if isinstance(address, int) else address
    data = ctypes.string_at(state.data, state.size) if state.size else b""
    return State(codec.decode(data), state.version, state.dropped)


def _wait(call: Callable[[int], int], timeout: float | None) -> int:
    """Waits in slices, so that Ctrl-C is noticed: a signal does not end a wait in C."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        left = 0.2 if end is None else min(0.2, end - time.monotonic())
        status = call(timeout_ns(left))
        if status != TIMEOUT or (end is not None and time.monotonic() >= end):
            return status


# ---- Callbacks ----


class _Callbacks:
    """What an observer or a service wants to have called. Its owner keeps it alive; the library has its number."""

    _numbers = iter(range(1, 2**62))
    _all: weakref.WeakValueDictionary[int, _Callbacks] = weakref.WeakValueDictionary()

    def __init__(self, codec: Codec[Any], on_state: Callable[..., object] | None,
                 on_finish: Callable[[], object] | None, with_details: bool) -> None:
        self.codec, self.on_state, self.on_finish, self.with_details = codec, on_state, on_finish, with_details
        self.number = next(self._numbers)
        self._all[self.number] = self

    @classmethod
    def at(cls, number: int | None) -> _Callbacks | None:
        return cls._all.get(number or 0)

    def fill(self, made: Any) -> None:
        made.user_data = self.number
        if self.on_state is not None:
            made.on_state = _on_state
        if self.on_finish is not None:
            made.on_finish = _on_finish


def _call_on_state(state: int, user_data: int | None) -> None:
    callbacks = _Callbacks.at(user_data)
    if callbacks is None or callbacks.on_state is None:
        return
    try:
        seen = _value(callbacks.codec, state)
        callbacks.on_state(seen if callbacks.with_details else seen.value)
    except BaseException as error:
        calls.report(error, callbacks.on_state)


def _call_on_finish(user_data: int | None) -> None:
    callbacks = _Callbacks.at(user_data)
    if callbacks is None or callbacks.on_finish is None:
        return
    try:
        callbacks.on_finish()
    except BaseException as error:
        calls.report(error, callbacks.on_finish)


_on_state = trampoline("svk_state_fn", _call_on_state)
_on_finish = trampoline("svk_finish_fn", _call_on_finish)


class _Owned:
    """Something that is closed once: by close(), by `with`, by the garbage collector, or when the program ends."""

    _token: int | None = None
    _alive: weakref.WeakSet[_Owned] = weakref.WeakSet()
    _end_order = 0  # at the end of the program, lower ones are closed first

    def _adopt(self, token: int) -> None:
        self._token = token
        _Owned._alive.add(self)

    @property
    def token(self) -> int:
        """The token, for the C functions; InvalidHandle when it is closed."""
        if self._token is None:
            raise InvalidHandle(f"this {type(self).__name__} is closed")
        return self._token

    @property
    def closed(self) -> bool:
        return self._token is None

    def close(self) -> None:
        """Ends it. A second time does nothing."""
        token, self._token = self._token, None
        if token is not None:
            _Owned._alive.discard(self)
            with calls:
                self._end(token)

    def _end(self, token: int) -> None:
        raise NotImplementedError

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._token is not None:
            self.close()


@atexit.register
def _close_all() -> None:
    """No callback may come into an interpreter that is gone."""
    for item in sorted(_Owned._alive, key=lambda item: item._end_order):
        item.close()


# ---- Streams ----


class Stream(_Owned, Generic[T]):
    """The right to publish. The stream ends when it is closed, or nobody has it any more."""

    _end_order = 5

    def __init__(self, codec: Codec[T] = BYTES, *, buffer: Buffer = unbounded) -> None:  # type: ignore[assignment]
        self.codec = codec
        made = options("svk_stream_options", buffering=buffer.buffering, capacity=buffer.capacity)
        self._adopt(created(svk.stream_create, ctypes.byref(made)))

    def send(self, state: T, *, timeout: float | None = None) -> None:
        """Sends a new state. What an observer raises that is called inline is raised here; the state was sent.

        `timeout`, in seconds, limits the wait for room in a blocking buffer.
        """
        data = self.codec.encode(state)
        with calls:
            if timeout is None:
                check(svk.stream_send(self.token, data, len(data)))
            else:
                check(svk.stream_send_within(self.token, data, len(data), timeout_ns(timeout)))

    def finish(self) -> None:
        """Ends the stream: what was kept is still delivered, then observers learn of the end."""
        with calls:
            check(svk.stream_finish(self.token))

    def _end(self, token: int) -> None:
        svk.stream_destroy(token)


# ---- Dispatchers ----


class Dispatcher(_Owned):
    """A queue of callbacks that a thread of yours runs when it likes."""

    _end_order = 4

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._adopt(created(svk.dispatcher_create))

    def fileno(self) -> int:
        """Readable while there is work: for select and event loops."""
        fd: int = svk.dispatcher_fd(self.token)
        if fd < 0:
            raise failure(constants["SYSTEM_ERROR"])
        return fd

    def dispatch(self, timeout: float | None = 0, most: int = 0) -> int:
        """Runs the callbacks that are ready, waiting for the first if need be, and says how many it ran.

        What a callback raises is raised here, after the others have run.
        """
        count = ctypes.c_size_t()
        with calls:
            status = _wait(lambda slice_: int(svk.dispatcher_dispatch(self.token, most, slice_, ctypes.byref(count))),
                           timeout)
            if status != TIMEOUT:
                check(status)
        return count.value

    def wake(self) -> None:
        """Makes a dispatch that waits return."""
        check(svk.dispatcher_wake(self.token))

    def attach(self, loop: Optional[asyncio.AbstractEventLoop] = None) -> None:
        """Lets an asyncio loop, by default the running one, dispatch from now on. Exceptions go to its handler."""
        loop = loop or asyncio.get_running_loop()
        self.detach()
        self._loop = loop
        loop.add_reader(self.fileno(), self.dispatch)

    def detach(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self.fileno())
        self._loop = None

    def _end(self, token: int) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(svk.dispatcher_fd(token))
        svk.dispatcher_destroy(token)


# ---- Services ----


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Subscription(_Owned, Generic[T]):
    """One observer of a service, until it is cancelled or the service is closed.

    Those of Service.subscribe are iterated, with `for` or `async for`; each of their states goes to one taker.
    """

    _end_order = 2

    def __init__(self, service: Service[T], made: Any, callbacks: _Callbacks | None, dispatcher: Dispatcher | None) -> None:
        self.codec = service.codec
        self._kept = (callbacks, dispatcher)
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = set()
        # Before the first callback may come.
        service._subscriptions.add(self)
        self._service = weakref.ref(service)
        try:
            with calls:
                self._adopt(created(svk.service_observe, service.token, ctypes.byref(made)))
        except BaseException:
            if self._token is None:
                service._subscriptions.discard(self)
            raise

    def cancel(self) -> None:
        """Ends it. When this returns, no callback of it runs or will run, except the one that calls this."""
        self.close()

    def _end(self, token: int) -> None:
        svk.subscription_cancel(token)
        self._forget()

    def __del__(self) -> None:
        token, self._token = self._token, None
        if token is not None:
            svk.subscription_cancel_nowait(token)

    def _forget(self) -> None:
        """Its service is closed, or it was cancelled: who waits for a state learns of it."""
        self._token = None
        _Owned._alive.discard(self)
        if (service := self._service()) is not None:
            service._subscriptions.discard(self)
        for loop, future in list(self._waiting):
            if not loop.is_closed():
                loop.call_soon_threadsafe(_set, future)

    @property
    def dropped(self) -> int:
        """How many states this observer lost to its buffer in all."""
        total = ctypes.c_uint64()
        check(svk.subscription_dropped(self.token, ctypes.byref(total)))
        return total.value

    def fileno(self) -> int:
        """Readable while there is a state to take."""
        fd: int = svk.subscription_fd(self.token)
        if fd < 0:
            raise failure(constants["UNSUPPORTED"])
        return fd

    def next(self, timeout: float | None = None) -> State[T]:
        """Takes the next state. Closed at the end of the stream, TimedOut after `timeout` seconds."""
        snapshot, state = ctypes.c_void_p(), structs["svk_state"]()
        check(_wait(lambda slice_: int(svk.subscription_next(self.token, slice_, ctypes.byref(snapshot),
                                                              ctypes.byref(state))), timeout))
        try:
            return _value(self.codec, state)
        finally:
            svk.snapshot_release(snapshot)

    def _take(self, timeout: float | None) -> State[T] | int:
        """The next state, or the status that says why there is none."""
        try:
            return self.next(timeout)
        except ServiceKitError as error:
            if error.status in (TIMEOUT, CLOSED, InvalidHandle.status):
                return error.status
            raise

    def __iter__(self) -> Iterator[State[T]]:
        while not isinstance(taken := self._take(None), int):
            yield taken

    def __aiter__(self) -> Subscription[T]:
        return self

    async def __anext__(self) -> State[T]:
        while isinstance(taken := self._take(0), int):
            if taken != TIMEOUT:
                raise StopAsyncIteration
            await self._readable()
        return taken

    async def _readable(self) -> None:
        # A duplicate, which stays open when the library closes its own.
        loop, fd = asyncio.get_running_loop(), os.dup(self.fileno())
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.add((loop, future))
        loop.add_reader(fd, _set, future)
        try:
            if not self.closed:
                await future
        finally:
            self._waiting.discard((loop, future))
            loop.remove_reader(fd)
            os.close(fd)


_DELIVERIES = {"inline": constants["DELIVER_INLINE"], "background": constants["DELIVER_BACKGROUND"]}


class Service(_Owned, Generic[T]):
    """The right to read: a current state, and its observers. They are cancelled when it is closed.

    A service that nobody has any more is closed too; one that a factory returned is closed by its container.
    """

    _end_order = 3

    def __init__(self, initial: T, stream: Stream[T] | None = None, *, codec: Codec[T] | None = None, api: object = None,
                 on_state: Callable[[T], object] | None = None, on_finish: Callable[[], object] | None = None,
                 skip_equal: bool = False, delivery: str = "inline", dispatcher: Dispatcher | None = None) -> None:
        """`delivery` is "inline" or "background"; with a dispatcher, callbacks run in its dispatch()."""
        chosen = codec or (stream.codec if stream is not None else None)
        self.codec: Codec[T] = chosen if chosen is not None else BYTES  # type: ignore[assignment]
        self.api = api
        self._subscriptions: set[Subscription[T]] = set()
        self._lease: object = None
        self._callbacks = _Callbacks(self.codec, on_state, on_finish, with_details=False)
        self._dispatcher = dispatcher
        data = self.codec.encode(initial)
        kept = ctypes.create_string_buffer(data, max(len(data), 1))
        made = options("svk_service_options", flags=constants["SERVICE_SKIP_EQUAL"] if skip_equal else 0,
                       initial=ctypes.addressof(kept), initial_size=len(data),
                       stream=stream.token if stream is not None else None)
        self._deliver(made, delivery, dispatcher)
        self._callbacks.fill(made)
        with calls:
            self._adopt(created(svk.service_create, ctypes.byref(made)))

    @classmethod
    def borrowed(cls, token: int, codec: Codec[T], lease: object) -> Service[T]:
        """A service of somebody else's, such as C's, which stays open."""
        service = cls.__new__(cls)
        service.codec, service.api, service._subscriptions, service._lease = codec, None, set(), lease
        service._token = token
        return service

    @staticmethod
    def _deliver(made: Any, delivery: str, dispatcher: Dispatcher | None) -> None:
        if dispatcher is not None:
            made.delivery, made.dispatcher = constants["DELIVER_DISPATCHER"], dispatcher.token
        else:
            if delivery not in _DELIVERIES:
                raise ValueError(f"delivery is one of {', '.join(_DELIVERIES)}")
            made.delivery = _DELIVERIES[delivery]

    @property
    def state(self) -> T:
        """The current state."""
        return self.read().value

    def read(self) -> State[T]:
        """The current state, and its version."""
        snapshot, state = ctypes.c_void_p(), structs["svk_state"]()
        check(svk.service_acquire(self.token, ctypes.byref(snapshot), ctypes.byref(state)))
        try:
            return _value(self.codec, state)
        finally:
            svk.snapshot_release(snapshot)

    def wait(self, after: int, timeout: float | None = None) -> int:
        """Waits for a newer state than that of the version `after`, and gives its version."""
        version = ctypes.c_uint64()
        check(_wait(lambda slice_: int(svk.service_wait(self.token, after, slice_, ctypes.byref(version))), timeout))
        return version.value

    def observe(self, on_state: Callable[..., object], on_finish: Callable[[], object] | None = None, *,
                current: bool = False, details: bool = False, buffer: Buffer = unbounded, delivery: str = "inline",
                dispatcher: Dispatcher | None = None) -> Subscription[T]:
        """Calls `on_state` on each state from now on, with its value, or with a State if `details`.

        It goes on until the subscription is cancelled or the service closed, also if nobody keeps the subscription.
        `current`: begin with the current state. `delivery` is "inline" or "background"; with a dispatcher, callbacks
        run in its dispatch().
        """
        callbacks = _Callbacks(self.codec, on_state, on_finish, details)
        made = self._observer(current, buffer)
        self._deliver(made, delivery, dispatcher)
        callbacks.fill(made)
        return Subscription(self, made, callbacks, dispatcher)

    def subscribe(self, *, current: bool = False, buffer: Buffer = unbounded) -> Subscription[T]:
        """Gathers the states for whoever takes them from the subscription, with `for`, `async for` or next()."""
        made = self._observer(current, buffer)
        made.delivery = constants["DELIVER_PULL"]
        return Subscription(self, made, None, None)

    async def states(self, *, current: bool = True, buffer: Buffer = unbounded) -> AsyncIterator[T]:
        """`async for state in service.states()`: the current state and each new one, until the stream's end."""
        with self.subscribe(current=current, buffer=buffer) as subscription:
            async for state in subscription:
                yield state.value

    @staticmethod
    def _observer(current: bool, buffer: Buffer) -> Any:
        return options("svk_observer_options", flags=constants["OBSERVE_CURRENT"] if current else 0,
                       buffering=buffer.buffering, capacity=buffer.capacity)

    def _end(self, token: int) -> None:
        if self._lease is None:
            svk.service_close(token)
            for subscription in list(self._subscriptions):
                subscription._forget()
        else:
            for subscription in list(self._subscriptions):
                subscription.close()
            self._lease = None

    def __del__(self) -> None:
        if self._token is not None:
            self.close()
