"""The interpreter ends while all is in use: no crash, no hang, no noise."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import servicekit

PROGRAMS = {
    "everything left open": """
container = Container()
container.register("x", lambda: [container], scope="cached", on_destroy=lambda _: print("destroyed"))
container.register("single", lambda: object(), scope="singleton")
stream = Stream(JSON)
service = Service(0, stream, on_state=lambda _: None)
dispatcher = Dispatcher()
keep = [service.observe(print), service.observe(print, dispatcher=dispatcher), service.subscribe(),
        service.observe(lambda _: None, delivery="background"), container.resolve("x")]
container["x"], container["single"]
stream.send(1)
""",
    "threads that send and wait": """
import threading
stream = Stream(JSON)
service = Service(0, stream)
service.observe(lambda _: None, delivery="background")
def send():
    value = 0
    while True:
        value += 1
        stream.send(value)
def wait():
    subscription = service.subscribe(buffer=newest(1))
    while True:
        subscription.next()
for target in (send, wait, send):
    threading.Thread(target=target, daemon=True).start()
service.wait(50, 30)
threading.excepthook = lambda _: None  # they find all closed, at the end
""",
    "an exception at the end": """
with Container() as container:
    container.register("x", lambda: object(), scope="cached", on_destroy=lambda _: print("destroyed"))
    container["x"]
print("closed")
""",
    "sys.exit in a callback": """
import sys
stream = Stream(JSON)
service = Service(0, stream)
service.observe(lambda _: sys.exit(0))
stream.send(1)
print("not reached")
""",
}
OUTPUT = {"everything left open": "1\ndestroyed\n", "threads that send and wait": "",
          "an exception at the end": "destroyed\nclosed\n", "sys.exit in a callback": ""}


@pytest.mark.parametrize("name", PROGRAMS)
def test_exit(name: str) -> None:
    path = str(Path(servicekit.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONMALLOC": "debug"}
    program = "from servicekit import *\n" + PROGRAMS[name]
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-W", "error", "-c", program], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, OUTPUT[name], "")
