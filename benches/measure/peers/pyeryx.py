"""Runs scripts in sandboxes of pyeryx, as a benchmark asks: a line of JSON in, a line of JSON out."""

import ctypes
import json
import os
import signal
import sys
import threading
import time
from time import perf_counter

import eryx

# What `imports.py` of the load imports.
IMPORTS = ["argparse", "csv", "datetime", "hashlib", "json", "pathlib", "re"]

preloaded = None


def maker(preload):
    """Sandboxes as a program makes them that runs scripts it does not know, or one that has named their imports ahead."""
    global preloaded
    if not preload:
        return eryx.Sandbox
    if preloaded is None:
        preloaded = eryx.SandboxFactory(imports=IMPORTS)
    return preloaded.create_sandbox


def once(make, code):
    """Seconds to the result of a fresh sandbox, and until it is gone."""
    began = perf_counter()
    sandbox = make()
    result = sandbox.execute(code)
    took = perf_counter() - began
    printed = result.stdout
    del sandbox, result
    whole = perf_counter() - began
    if not printed:
        raise SystemExit("the script printed nothing")
    return took, whole


def in_threads(count, work):
    """What `work(index)` returned in each of these threads."""
    done = [None] * count

    def thread(index):
        done[index] = work(index)

    threads = [threading.Thread(target=thread, args=(index,)) for index in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return done


def window(code, preload, callers, seconds):
    """Runs for a while, by this many callers; the first one always ends."""
    make = maker(preload)
    began = perf_counter()

    def caller(_):
        took = []
        while not took or perf_counter() - began < seconds:
            took.append(once(make, code))
        return took

    runs = in_threads(callers, caller)
    return {"seconds": perf_counter() - began, "runs": sum(runs, [])}


alive = []


def live(code, count):
    """Returns once this many sandboxes have printed something. They stay alive as long as this process."""
    limits = eryx.ResourceLimits(execution_timeout_ms=600_000)

    def sandbox(ready):
        try:
            eryx.Sandbox(resource_limits=limits, on_stdout=lambda _: ready.set()).execute(code)
        finally:
            ready.set()

    while len(alive) < count:
        ready = threading.Event()
        alive.append(threading.Thread(target=sandbox, args=(ready,), daemon=True))
        alive[-1].start()
        ready.wait()
    return sum(thread.is_alive() for thread in alive)


def late(code, callers, limit):
    """Seconds between the limit and the return of a run, with this many sandboxes all the time. Each caller makes three runs, of
    which the second counts: then all the others run too. They begin one after the other within the time of a limit."""
    limits = eryx.ResourceLimits(execution_timeout_ms=int(limit * 1000))

    def stopped():
        began = perf_counter()
        try:
            eryx.Sandbox(resource_limits=limits).execute(code)
        except eryx.TimeoutError:
            return perf_counter() - began - limit
        raise SystemExit("the script was not stopped")

    def caller(index):
        time.sleep(limit * index / callers)
        return [stopped() for _ in range(3)][1]

    return in_threads(callers, caller)


# Ends with the benchmark, whatever it is doing: PR_SET_PDEATHSIG is 1.
ctypes.CDLL(None).prctl(1, signal.SIGKILL)

ASKED = {"window": window, "live": live, "late": late}

for line in sys.stdin:
    what, script, *rest = json.loads(line)
    with open(script, encoding="utf-8") as file:
        # Scripts know where they are.
        source = f"__file__ = {script!r}\n" + file.read()
    print(json.dumps(ASKED[what](source, *rest)), flush=True)
# Threads with sleeping sandboxes would be waited for.
os._exit(0)
