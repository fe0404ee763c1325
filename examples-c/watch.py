#!/usr/bin/env python3
"""Watches a service of libservicekit from Python, with ctypes only:  watch.py path/to/libservicekit.so

The service is called "sampler", and its state is the text of /proc/loadavg. A thread publishes it; this one pulls.
"""
import struct, sys, threading, time
from ctypes import CDLL, CFUNCTYPE, POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p, cast, \
    create_string_buffer

svk = CDLL(sys.argv[1] if len(sys.argv) > 1 else "libservicekit.so.1")
svk.svk_last_error.restype, svk.svk_version_string.restype, svk.svk_instance.restype = c_char_p, c_char_p, c_void_p

# The fields of the options structs in servicekit.h, one letter each. The first is the size; 0 is every default.
FACTORY, SERVICE, OBSERVER = "IIPPPPiPQPP", "IIPPNPiPPPPP", "IIiPiNPPPP"


def options(fields, *values):
    missing = len(fields) - 1 - len(values)
    return struct.pack("@" + fields, struct.calcsize("@" + fields), *values, *[0] * missing)


def check(status):
    if status != 0:
        raise RuntimeError(svk.svk_last_error().decode())


def get(kind, function, *arguments):
    """What the function writes to where its last argument points."""
    check(function(*arguments, byref(result := kind())))
    return result


@CFUNCTYPE(c_int32, c_void_p, POINTER(c_void_p), c_void_p)
def create(resolver, instance, user_data):
    return svk.svk_service_create(options(SERVICE, 0, 0, 0, 0, stream.value), instance)


@CFUNCTYPE(None, c_void_p, c_void_p)
def destroy(instance, user_data):
    svk.svk_service_close(c_void_p(instance))


def publish():
    for _ in range(5):
        with open("/proc/loadavg", "rb") as file:
            state = file.read().strip()
        check(svk.svk_stream_send(stream, state, c_size_t(len(state))))
        time.sleep(0.3)
    check(svk.svk_stream_finish(stream))


pull, closed = (get(c_int64, svk.svk_constant, name).value for name in (b"SVK_DELIVER_PULL", b"SVK_CLOSED"))
stream = get(c_void_p, svk.svk_stream_create, None)
container = get(c_void_p, svk.svk_container_create)
factory = options(FACTORY, 0, cast(create, c_void_p).value, cast(destroy, c_void_p).value)
check(svk.svk_register(container, b"sampler", factory))
handle = get(c_void_p, svk.svk_resolve, container, b"sampler")
sampler = c_void_p(svk.svk_instance(handle))
subscription = get(c_void_p, svk.svk_service_observe, sampler, options(OBSERVER, 0, pull))

print("libservicekit", svk.svk_version_string().decode(), "from Python", sys.version.split()[0])
threading.Thread(target=publish).start()
text, size, wait = create_string_buffer(256), c_size_t(), c_int64(-1)
while (status := svk.svk_subscription_next_copy(subscription, wait, text, c_size_t(256), byref(size), None,
                                                None)) != closed:
    check(status)
    print("load", text.raw[:size.value].decode())

for end, token in ((svk.svk_subscription_cancel, subscription), (svk.svk_release, handle),
                   (svk.svk_container_destroy, container), (svk.svk_stream_destroy, stream)):
    check(end(token))
