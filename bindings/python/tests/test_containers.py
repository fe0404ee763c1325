"""Factories, scopes, contexts, leases, failures."""
from __future__ import annotations

import ctypes
import gc
import json
import logging
import threading
import weakref
from pathlib import Path
from typing import Any, Iterator

import pytest

import servicekit
from servicekit import Container, Key, Resolver
from servicekit._containers import _Factory
from servicekit._library import constants, svk


class Logger:
    def __init__(self) -> None:
        self.lines: list[str] = []


@pytest.fixture
def container() -> Iterator[Container]:
    with Container() as made:
        yield made


def test_version_is_that_of_abi_json() -> None:
    here = Path(servicekit.__file__).resolve().parent
    abi = next(place for place in (here / "abi.json", here.parents[3] / "abi.json") if place.exists())
    assert json.loads(abi.read_text())["version"] == servicekit.version()


def test_every_constant_is_the_librarys() -> None:
    value = ctypes.c_int64()
    for name, expected in constants.items():
        assert svk.constant(b"SVK_" + name.encode(), ctypes.byref(value)) == 0
        assert value.value == expected, name


def test_cached_and_unique(container: Container) -> None:
    container.register("cached", Logger, scope="cached")
    container.register("unique", Logger, scope="unique")
    assert isinstance(container["cached"], Logger)
    assert container["cached"] is container["cached"]
    assert container["unique"] is not container["unique"]


def test_decorator_and_typed_keys(container: Container) -> None:
    key: Key[Logger] = Key("logger")

    @container.factory(key, scope="cached")
    def make_logger() -> Logger:
        return Logger()

    logger: Logger = container[key]
    assert logger is container["logger"]
    assert isinstance(make_logger(), Logger)  # still the function


def test_dependencies_are_leased_and_end_first(container: Container) -> None:
    ended: list[str] = []
    container.register("part", Logger, scope="shared", on_destroy=lambda _: ended.append("part"))

    @container.factory("whole", on_destroy=lambda _: ended.append("whole"))
    def make_whole(resolver: Resolver) -> dict[str, Any]:
        return {"part": resolver["part"]}

    with container.resolve("whole") as whole:
        assert isinstance(whole["part"], Logger)
        with container.resolve("part") as part:
            assert part is whole["part"]
        assert ended == []
    assert ended == ["whole", "part"]


def test_a_lease_ends_when_nobody_has_it(container: Container) -> None:
    ended: list[int] = []
    container.register("x", Logger, on_destroy=lambda _: ended.append(1))
    lease = container.resolve("x")
    assert isinstance(lease.instance, Logger) and ended == []
    del lease
    gc.collect()
    assert ended == [1]


def test_what_is_subscripted_lives_as_long_as_the_container() -> None:
    ended: list[int] = []
    with Container() as container:
        container.register("x", Logger, scope="shared", on_destroy=lambda _: ended.append(1))
        assert container["x"] is container["x"]
        gc.collect()
        assert ended == []
    assert ended == [1]


def test_exceptions_of_factories_come_out_as_they_are(container: Container) -> None:
    @container.factory("broken")
    def make_broken() -> object:
        raise OSError("disk full")

    @container.factory("above")
    def make_above(resolver: Resolver) -> object:
        return [resolver["broken"]]

    for key in ("broken", "above"):
        with pytest.raises(OSError, match="disk full") as caught:
            container[key]
        assert any(entry.name == "make_broken" for entry in caught.traceback), "the traceback names the factory"


def test_an_exception_reaches_the_threads_that_waited(container: Container) -> None:
    entered, go_on = threading.Event(), threading.Event()

    @container.factory("slow", scope="cached")
    def make_slow() -> object:
        entered.set()
        go_on.wait(30)
        raise OSError("disk full")

    caught: list[BaseException] = []

    def ask() -> None:
        try:
            container["slow"]
        except BaseException as error:
            caught.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    threads[0].start()
    entered.wait(30)
    for thread in threads[1:]:
        thread.start()
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert [type(error) for error in caught] == [OSError] * 4


def test_failures_have_their_own_classes(container: Container) -> None:
    container.register("a", lambda resolver: resolver["b"])
    container.register("b", lambda resolver: resolver["a"])
    with pytest.raises(servicekit.Cycle, match="a → b → a"):
        container["a"]
    with pytest.raises(KeyError, match="nobody") as missing:
        container["nobody"]
    assert isinstance(missing.value, servicekit.NotFound) and missing.value.name == "SVK_NOT_FOUND"
    with pytest.raises(ValueError):
        container.register("", Logger)
    with pytest.raises(ValueError):
        container.register("a\0b", Logger)
    with pytest.raises(ValueError, match="cached"):
        container.register("x", Logger, scope="eternal")
    container.register("nothing", lambda: None)
    with pytest.raises(servicekit.FactoryFailed):
        container["nothing"]
    container.close()
    container.close()
    with pytest.raises(servicekit.InvalidHandle):
        container["a"]


def test_contexts(container: Container) -> None:
    container.register("place", lambda: "live")
    container.register("place", lambda: "test", context="test")
    container.register("only live", lambda: "live")
    assert container["place"] == "live"
    container.use_contexts("test")
    assert container["place"] == "test"
    container.set_strict()
    with pytest.raises(servicekit.ContextMissing):
        container["only live"]
    container.use_contexts()
    assert container["place"] == "live"


def test_children_and_pushes(container: Container) -> None:
    container.register("x", lambda: "parent")
    with Container(container) as child:
        assert child["x"] == "parent"
        child.register("x", lambda: "child")
        assert child["x"] == "child" and container["x"] == "parent"
    with container.pushed():
        container.register("x", lambda: "pushed")
        assert container["x"] == "pushed"
    assert container["x"] == "parent"
    assert Container.shared() is Container.shared()
    Container.shared().close()
    assert not Container.shared().closed


def test_parameters(container: Container) -> None:
    container.register("echo", lambda resolver: resolver.parameter.decode(), cache_by_parameter=True, scope="cached")
    container.register("outer", lambda resolver: resolver.require("echo", b"inner"))
    assert container.resolve("echo", b"one").instance == "one"
    assert container.resolve("echo", b"two").instance == "two"
    assert container["outer"] == "inner"
    assert container["echo"] == ""


def test_validation_description_and_resets(container: Container) -> None:
    container.register("needs", Logger, scope="cached", requires=["needed"])
    with pytest.raises(servicekit.NotFound, match="needed"):
        container.validate()
    container.register("needed", Logger, scope="cached")
    container.validate()
    first = container["needs"]
    assert {"needs", "needed"} == {each["key"] for each in json.loads(container.describe("json"))["keys"]}
    assert "digraph" in container.describe("dot") and "needs" in container.describe()
    container.reset("needs", scopes=True)
    assert container["needs"] is not first
    container.unregister("needs")
    with pytest.raises(servicekit.NotFound):
        container["needs"]


def test_decorators(container: Container) -> None:
    seen: list[tuple[object, str, bool]] = []
    container.register("x", Logger, scope="cached")
    container.decorate(lambda *what: seen.append(what))
    first = container["x"]
    container["x"]
    assert seen == [(first, "x", True), (first, "x", False)]
    container.decorate(None)
    container["x"]
    assert len(seen) == 2


def test_singletons() -> None:
    ended: list[int] = []
    with Container() as first:
        first.register("python singleton", Logger, scope="singleton", on_destroy=lambda _: ended.append(1))
        one = first["python singleton"]
        assert one is first["python singleton"]
    gc.collect()
    assert ended == []  # outlives its container
    servicekit.reset_singletons("python singleton")
    assert ended == [1]


def test_replaced_factories_are_let_go(container: Container) -> None:
    def make() -> Logger:
        return Logger()

    gone = weakref.ref(make)
    container.register("x", make, scope="cached")
    container["x"]
    del make
    container.register("x", Logger)
    container.close()
    gc.collect()
    assert gone() is None


def test_a_container_in_a_cycle_is_collected() -> None:
    ended: list[int] = []

    def use() -> weakref.ref[Container]:
        container = Container()
        container.register("x", lambda: [container], scope="cached", on_destroy=lambda _: ended.append(1))
        assert container["x"] == [container]
        return weakref.ref(container)

    before = len(_Factory._outliving)
    gone = use()
    gc.collect()
    assert gone() is None and ended == [1] and len(_Factory._outliving) == before


def test_many_threads_build_once(container: Container) -> None:
    built: list[int] = []

    def build() -> Logger:
        built.append(1)
        return Logger()

    container.register("x", build, scope="cached")
    barrier, got = threading.Barrier(8), []

    def ask() -> None:
        barrier.wait(30)
        for _ in range(200):
            with container.resolve("x") as instance:
                got.append(instance)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(got) == 1600 and len(set(map(id, got))) == 1 and built == [1]


def test_exceptions_of_on_destroy_are_raised_by_who_gives_up(container: Container) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("at the end")

    container.register("x", Logger, on_destroy=fail)
    lease = container.resolve("x")
    with pytest.raises(RuntimeError, match="at the end"):
        lease.release()


def test_log(caplog: pytest.LogCaptureFixture) -> None:
    servicekit.log(logging.WARNING)
    try:
        container = Container()
        container.register("held", Logger)
        lease = container.resolve("held")
        with caplog.at_level(logging.DEBUG, "servicekit"):
            container.close()
        assert any("held" in record.message and record.levelno == logging.WARNING for record in caplog.records)
        lease.release()
    finally:
        servicekit.log(None)
