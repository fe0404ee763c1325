"""Dependency injection and stateful services: libservicekit for Python.

    from servicekit import Container

    with Container() as container:
        @container.factory("logger", scope="cached")
        def make_logger():
            return Logger()

        container["logger"].line("hello")

What the library means by scopes, contexts, deliveries and buffers is in its header, servicekit.h.
"""
from ._containers import Container, Key, Lease, Resolver, log, reset_singletons
from ._library import (AlreadyExists, BufferFull, Busy, Closed, ContextMissing, Cycle, FactoryFailed, InvalidArgument,
                       InvalidHandle, NotFound, ServiceKitError, SystemRefused, TimedOut, TypeMismatch, Unsupported,
                       version)
from ._states import (BYTES, JSON, TEXT, Buffer, Codec, Dispatcher, Service, State, Stream, Subscription, blocking, newest,
                      oldest, struct_codec, unbounded)

__all__ = [
    "AlreadyExists", "BYTES", "Buffer", "BufferFull", "Busy", "Closed", "Codec", "Container", "ContextMissing", "Cycle",
    "Dispatcher", "FactoryFailed", "InvalidArgument", "InvalidHandle", "JSON", "Key", "Lease", "NotFound", "Resolver",
    "Service", "ServiceKitError", "State", "Stream", "Subscription", "SystemRefused", "TEXT", "TimedOut", "TypeMismatch",
    "Unsupported", "blocking", "log", "newest", "oldest", "reset_singletons", "struct_codec", "unbounded", "version",
]
