"""Streams, services, observers, dispatchers, asyncio."""
from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from typing import Any, Iterator

import pytest

import servicekit
from servicekit import (BYTES, JSON, TEXT, Container, Dispatcher, Service, Stream, blocking, newest, oldest,
                        struct_codec)

Numbers = Stream[Any]


def send_all(stream: Numbers, values: range, finish: bool = False) -> threading.Thread:
    """A thread that sends them."""

    def send() -> None:
        for value in values:
            stream.send(value)
        if finish:
            stream.finish()

    return threading.Thread(target=send)


@pytest.fixture
def stream() -> Iterator[Numbers]:
    with Stream(JSON) as made:
        yield made


@pytest.fixture
def service(stream: Numbers) -> Iterator[Service[Any]]:
    with Service(0, stream) as made:
        yield made


def test_state_and_versions(stream: Numbers, service: Service[Any]) -> None:
    assert service.state == 0
    stream.send({"degrees": 20.5})
    assert service.state == {"degrees": 20.5}
    assert service.read().version == 1
    assert service.wait(0, 5) == 1
    with pytest.raises(TimeoutError):
        service.wait(1, 0)


@pytest.mark.parametrize("codec, value", [(BYTES, b"\0\xff"), (BYTES, b""), (TEXT, "héllo"), (JSON, [1, None]),
                                          (struct_codec("=qd"), (1, 2.5))])
def test_codecs(codec: Any, value: Any) -> None:
    with Stream(codec) as stream, Service(value, stream) as service:
        assert service.state == value
        stream.send(value)
        assert service.read() == servicekit.State(value, 1, 0)


def test_observers(stream: Numbers, service: Service[Any]) -> None:
    seen: list[Any] = []
    first = service.observe(seen.append, current=True)
    service.observe(lambda state: seen.append(("details", state.value, state.version)), lambda: seen.append("end"),
                    details=True)
    gc.collect()  # nobody keeps the second: it observes all the same
    stream.send(1)
    first.cancel()
    first.cancel()
    stream.send(2)
    stream.finish()
    assert seen == [0, 1, ("details", 1, 1), ("details", 2, 2), "end"]
    with pytest.raises(servicekit.Closed):
        stream.send(3)


def test_exceptions_of_observers_are_raised_by_the_send(stream: Numbers, service: Service[Any]) -> None:
    seen: list[int] = []

    def fail(_: int) -> None:
        raise LookupError("observer")

    service.observe(fail)
    service.observe(seen.append)
    with pytest.raises(LookupError, match="observer") as caught:
        stream.send(1)
    assert seen == [1] and any(entry.name == "fail" for entry in caught.traceback)


def test_exceptions_on_the_worker_thread(stream: Numbers, service: Service[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    hooked: list[Any] = []
    done = threading.Event()
    monkeypatch.setattr(sys, "unraisablehook", hooked.append)

    def fail(_: int) -> None:
        raise LookupError("worker")

    service.observe(fail, done.set, delivery="background")
    stream.send(1)
    stream.finish()
    assert done.wait(30)
    assert [str(each.exc_value) for each in hooked] == ["worker"] and hooked[0].exc_traceback is not None


def test_pulling_and_drops(stream: Numbers, service: Service[Any]) -> None:
    subscription = service.subscribe(buffer=newest(2))
    for value in range(1, 6):
        stream.send(value)
    assert subscription.next() == servicekit.State(4, 4, 3)
    assert subscription.next(5).value == 5
    assert subscription.dropped == 3
    with pytest.raises(servicekit.TimedOut):
        subscription.next(0.01)
    stream.send(6)
    stream.finish()
    assert [state.value for state in subscription] == [6]
    with pytest.raises(servicekit.Closed):
        subscription.next()


def test_bounded_streams() -> None:
    with Stream(JSON, buffer=oldest(1)) as stream:
        stream.send(1)
        with pytest.raises(servicekit.BufferFull):
            stream.send(2)
    with Stream(JSON, buffer=blocking(1)) as stream:
        stream.send(1)
        with pytest.raises(TimeoutError):
            stream.send(2, timeout=0.01)


def test_dispatcher(stream: Numbers, service: Service[Any]) -> None:
    seen: list[tuple[int, int]] = []
    with Dispatcher() as dispatcher:
        service.observe(lambda value: seen.append((value, threading.get_ident())), dispatcher=dispatcher)
        assert dispatcher.dispatch() == 0
        sender = send_all(stream, range(1, 4))
        sender.start()
        sender.join()
        assert seen == []
        assert dispatcher.dispatch(30, most=2) == 2
        assert dispatcher.dispatch(30) == 1
        assert seen == [(value, threading.get_ident()) for value in (1, 2, 3)]
        dispatcher.wake()
        assert dispatcher.dispatch(None) == 0

        def fail(_: int) -> None:
            raise LookupError("dispatched")

        service.observe(fail, dispatcher=dispatcher)
        stream.send(4)
        with pytest.raises(LookupError, match="dispatched"):
            dispatcher.dispatch()
        assert seen[-1][0] == 4
    with pytest.raises(servicekit.InvalidHandle):
        dispatcher.fileno()


def test_states_with_asyncio(stream: Numbers, service: Service[Any]) -> None:
    async def watch() -> list[Any]:
        seen: list[Any] = []
        sender = send_all(stream, range(1, 101), finish=True)
        async for state in service.states():
            if state == 0:
                sender.start()
            seen.append(state)
        sender.join()
        return seen

    assert asyncio.run(asyncio.wait_for(watch(), 60)) == list(range(101))
    assert not service._subscriptions


def test_closing_ends_async_iteration(stream: Numbers, service: Service[Any]) -> None:
    async def watch() -> str:
        started = asyncio.Event()

        async def take() -> str:
            async for _ in service.states():
                started.set()
            return "ended"

        task = asyncio.ensure_future(take())
        await started.wait()
        await asyncio.sleep(0)
        closer = threading.Thread(target=service.close)
        closer.start()
        result = await asyncio.wait_for(task, 30)
        closer.join()
        return result

    assert asyncio.run(watch()) == "ended"


def test_cancelling_the_task_cancels_the_subscription(stream: Numbers, service: Service[Any]) -> None:
    async def watch() -> None:
        started = asyncio.Event()

        async def take() -> None:
            async for _ in service.states():
                started.set()

        task = asyncio.ensure_future(take())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(watch())
    gc.collect()
    assert not service._subscriptions


def test_dispatcher_in_asyncio(stream: Numbers, service: Service[Any]) -> None:
    async def watch() -> list[Any]:
        seen: list[Any] = []
        done = asyncio.Event()

        def see(value: int) -> None:
            seen.append(value)
            if value == 3:
                done.set()

        with Dispatcher() as dispatcher:
            dispatcher.attach()
            service.observe(see, dispatcher=dispatcher)
            sender = send_all(stream, range(1, 4))
            sender.start()
            await asyncio.wait_for(done.wait(), 30)
            sender.join()
        return seen

    assert asyncio.run(watch()) == [1, 2, 3]


def test_callbacks_of_the_service(stream: Numbers) -> None:
    seen: list[Any] = []
    with Service(1, stream, on_state=seen.append, on_finish=lambda: seen.append("end"), skip_equal=True) as service:
        stream.send(1)
        stream.send(2)
        stream.close()
        assert seen == [2, "end"] and service.state == 2
        with pytest.raises(servicekit.ServiceKitError):
            Service(0, stream)


def test_a_service_in_a_container(stream: Numbers) -> None:
    with Container() as container:
        container.register("counter", lambda: Service(0, stream), scope="cached")
        service = container["counter"]
        assert isinstance(service, Service)
        stream.send(5)
        assert service.state == 5
        view = container.service("counter", JSON)  # as any language would see it
        assert view.state == 5
        seen: list[Any] = []
        view.observe(seen.append)
        stream.send(6)
        view.close()
        stream.send(7)
        assert seen == [6] and service.state == 7
    assert service.closed
    with pytest.raises(servicekit.Closed):
        stream.send(8)


def test_what_nobody_has_is_closed() -> None:
    seen: list[Any] = []

    def use() -> tuple[weakref.ref[Any], ...]:
        stream: Numbers = Stream(JSON)
        service = Service(0, stream)
        # A cycle through the callback.
        subscription = service.observe(lambda value: seen.append((service, value)), lambda: seen.append("end"))
        pull = service.subscribe()
        stream.send(1)
        return tuple(map(weakref.ref, (stream, service, subscription, pull)))

    gone = use()
    assert seen[0][1] == 1 and seen[1:] == ["end"]  # nobody could send any more
    seen.clear()
    gc.collect()
    assert [each() for each in gone] == [None] * 4


def test_cancel_from_inside_the_callback(stream: Numbers, service: Service[Any]) -> None:
    seen: list[Any] = []

    def see(value: int) -> None:
        seen.append(value)
        subscription.cancel()

    subscription = service.observe(see)
    stream.send(1)
    stream.send(2)
    assert seen == [1]


def test_storm(stream: Numbers, service: Service[Any]) -> None:
    counts = [0, 0]

    def count(index: int) -> Any:
        def add(_: int) -> None:
            counts[index] += 1

        return add

    service.observe(count(0))
    barrier = threading.Barrier(5)

    def send() -> None:
        barrier.wait(30)
        for value in range(250):
            stream.send(value)

    def come_and_go() -> None:
        barrier.wait(30)
        for _ in range(250):
            service.observe(count(1)).cancel()

    threads = [threading.Thread(target=send) for _ in range(4)] + [threading.Thread(target=come_and_go)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert counts[0] == 1000 and service.read().version == 1000
