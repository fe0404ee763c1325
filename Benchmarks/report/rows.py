"""What is to be reached, row by row, and how it is judged."""

PEERS = ("plain", "glib", "boost", "sigc++", "qt", "libuv", "zeromq")
OK, BEYOND, GROSS, NONE = "ok", "beyond", "gross", ""

# Operation, title, limit in M (an uncontended mutex lock and unlock); None: for comparison only.
TIMES = [
    ("resolve_key/cached", "svk_resolve_key + svk_release, cached", 2.5),
    ("resolve_key/singleton", "svk_resolve_key + svk_release, singleton", 2.5),
    ("resolve_key/shared", "svk_resolve_key + svk_release, shared", None),
    ("resolve_few/10", "svk_resolve + release, 10 of 10 names", 4.5),
    ("resolve_few/1000", "svk_resolve + release, 10 of 1 000 names", 4.5),
    ("resolve_few/100000", "svk_resolve + release, 10 of 100 000 names", 4.5),
    ("resolve_any/10", "svk_resolve + release, any of 10 names", 4.5),
    ("resolve_any/1000", "svk_resolve + release, any of 1 000 names", 4.5),
    ("resolve_any/100000", "svk_resolve + release, any of 100 000 names", 4.5),
    ("instance", "svk_instance", 0.8),
    ("unique", "unique, trivial factory, + release", 10),
    ("graph", "graph of 3 + release", 60),
    ("register/10", "register + unregister, at 10", 50),
    ("register/100000", "register + unregister, at 100 000", 50),
    ("send/1", "inline send of 32 bytes to 1 observer", 5),
    ("send/10", "inline send of 32 bytes to 10 observers", 10),
    ("send/100", "inline send of 32 bytes to 100 observers", 50),
    ("observe", "observe + cancel", 30),
]

# Throughput of two threads, in that of one; at least.
SCALING = [
    ("threads_different_keys", "two threads, different keys", 1.8),
    ("threads_same_key", "two threads, the same key", 1.5),
]

QUEUE_LENGTH = 20_000  # states in an iteration, as in queue.h
QUEUE_LIMIT = 1.5  # times the best of these
QUEUE_RIVALS = ("plain", "libuv")

LOAD_LIMIT = 2  # times an empty library

MEMORY = [
    ("load_memory", "resident memory after dlopen", 200_000),
    ("registration_memory", "memory of a registration", 300),
    ("handle_memory", "memory of a live handle", 64),
    ("observer_memory", "memory of an observer", None),
]


def evaluate(measured, alone):
    """A dictionary for each row: title, unit, ours, ratio, limit (both as words), verdict, floor, peers.

    Times are judged in a process with threads, and in one that never had a second, whose mutexes are much cheaper.
    """
    result = []
    for operation, title, limit in TIMES:
        result.append(time_row(measured, alone, operation, title, limit))
    for operation, title, limit in SCALING:
        scaling = {who: measured[f"{who}/{operation}/1"] / measured[f"{who}/{operation}/2"]
                   for who in ("servicekit", "floor", *PEERS) if f"{who}/{operation}/2" in measured}
        found = {f"{who}/{operation}": value for who, value in scaling.items()}
        ours = scaling["servicekit"]
        result.append(row(found, operation, title, "times one", ours, f"{ours:.2f}", f"≥ {limit}", [limit / ours]))
    rates = {f"{who}/queue": QUEUE_LENGTH * 1e3 / measured[f"{who}/queue"]
             for who in ("servicekit", "floor", *PEERS) if f"{who}/queue" in measured}
    ours, best = rates["servicekit/queue"], max(rates.get(f"{who}/queue", 0) for who in QUEUE_RIVALS)
    result.append(row(rates, "queue", "producer to consumer, dispatcher, 64 bytes", "million/s", ours,
                      f"{ours / best:.2f} of best", f"≥ {QUEUE_LIMIT}", [QUEUE_LIMIT / (ours / best)]))
    ours, floor = measured["servicekit/load"], measured["floor/load"]
    result.append(row(measured, "load", "dlopen, first", "ns", ours, f"{ours / floor:.2f} of empty",
                      f"≤ {LOAD_LIMIT}", [ours / floor / LOAD_LIMIT]))
    for operation, title, limit in MEMORY:
        ours = measured[f"servicekit/{operation}"]
        result.append(row(measured, operation, title, "bytes", ours, "", limit and f"≤ {limit}",
                          [ours / limit] if limit else []))
    return result


def time_row(measured, alone, operation, title, limit):
    ratios, excesses, granted = [], [], None
    for times in (measured, alone):
        mutex = times["floor/mutex"]
        ratio = times[f"servicekit/{operation}"] / mutex
        ratios.append(f"{ratio:.1f}")
        if not limit:
            continue
        granted = limit
        # Looking anything up among many misses the cache: what that costs the floor's own table is granted.
        if operation.startswith("resolve_any/"):
            granted += max(0, times[f"floor/{operation}"] - times["floor/resolve_any/10"]) / mutex
        excesses.append(ratio / granted)
    limits = limit and (f"≤ {limit:g} M" if granted == limit else f"≤ {limit:g} M + misses")
    ours = measured[f"servicekit/{operation}"]
    return row(measured, operation, title, "ns", ours, " / ".join(ratios) + " M", limits, excesses)


def row(measured, operation, title, unit, ours, ratio, limit, excesses):
    """`excesses`: how many times the limit this is, by each measure of it. All have to be within."""
    verdict = NONE
    if excesses:
        verdict = OK if max(excesses) <= 1 else BEYOND if min(excesses) <= 2 else GROSS
    return {
        "operation": operation, "title": title, "unit": unit, "ours": ours, "ratio": ratio, "limit": limit or "",
        "verdict": verdict, "floor": measured.get(f"floor/{operation}"),
        "peers": {peer: measured[f"{peer}/{operation}"] for peer in PEERS if f"{peer}/{operation}" in measured},
    }
