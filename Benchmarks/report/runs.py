"""Starts the programs, all of their repetitions mixed, and gives the median of each figure by its name."""

import ctypes.util
import json
import statistics
import subprocess

SIZES = {"registrations": (10, 100, 1_000, 10_000, 100_000, 1_000_000), "observers": (1, 10, 100, 1_000, 10_000)}
HANDLES = 1_000_000
LARGEST_QUICK = 100_000


ROUNDS = 3  # of each kind of process, by turns


def run(build, library, quick):
    """Nanoseconds for times, bytes for memory; those of a process that never had a second thread; peers left out."""
    measured, alone, missing = google_benchmark(build, quick)
    measured |= loading(build, library, 9 if quick else 31)
    measured |= memory(build, 1 if quick else 3, LARGEST_QUICK if quick else max(SIZES["registrations"]))
    return measured, alone, missing


def google_benchmark(build, quick):
    growth = "growth/resolve/1000000" if quick else "nothing"
    threaded, alone = {}, {}
    for _ in range(ROUNDS):
        one_process(build, quick, ["--threaded"], f"-{growth}", threaded)
        written = one_process(build, quick, [], "-growth|queue|threads_", alone)
    missing = written["context"].get("missing_peers", "")
    return medians(threaded), medians(alone), missing


def one_process(build, quick, arguments, which, samples):
    """Adds to the samples, by name; gives what was written."""
    out = build / "google-benchmark.json"
    command = [
        build / "benchmarks",
        *arguments,
        f"--benchmark_filter={which}",
        f"--benchmark_min_time={0.01 if quick else 0.04}",
        f"--benchmark_repetitions={(9 if quick else 33) // ROUNDS}",
        "--benchmark_enable_random_interleaving=true",
        f"--benchmark_out={out}",
        "--benchmark_out_format=json",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stderr}\nbenchmarks: exit status {done.returncode}")
    written = json.loads(out.read_text())
    for entry in written["benchmarks"]:
        if entry["run_type"] != "iteration":
            continue
        # What one thread does is timed by its own clock, which stands still while another program has the processor.
        name = entry["run_name"]
        time = entry["real_time" if name.endswith("/manual_time") else "cpu_time"]
        samples.setdefault(name.removesuffix("/manual_time"), []).append(time)
    return written


def medians(samples):
    return {name: statistics.median(values) for name, values in samples.items()}


def loading(build, library, repetitions):
    libraries = {"servicekit": library, "floor": build / "libempty.so"}
    for peer, name in {"libuv": "uv", "glib": "gobject-2.0", "zeromq": "zmq", "qt": "Qt5Core"}.items():
        if found := ctypes.util.find_library(name):
            libraries[peer] = found
    times = {name: [] for name in libraries}
    resident = {name: [] for name in libraries}
    for _ in range(repetitions):
        for name, path in libraries.items():
            result = output(build / "load", path)
            times[name].append(result["nanoseconds"])
            resident[name].append(result["bytes"])
    measured = {f"{name}/load": statistics.median(values) for name, values in times.items()}
    return measured | {f"{name}/load_memory": statistics.median(values) for name, values in resident.items()}


def memory(build, repetitions, largest):
    def measure(what, count):
        return statistics.median(output(build / "memory", what, count)["bytes"] for _ in range(repetitions))

    measured = {
        f"memory/{what}/{size}": measure(what, size)
        for what, sizes in SIZES.items()
        for size in sizes
        if size <= largest
    }
    measured["servicekit/registration_memory"] = measured["memory/registrations/100000"] / 100_000
    measured["servicekit/observer_memory"] = measured["memory/observers/10000"] / 10_000
    measured["servicekit/handle_memory"] = measure("handles", HANDLES) / HANDLES
    return measured


def output(program, *arguments):
    command = [str(program), *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
