# SPDX-License-Identifier: MIT
"""The part that worker_threads.py and worker_asyncio.py share: their settings, and the lines of JSON that they read and
write. test_workers.py describes these."""
import io
import json
import os
import sys
import time
import traceback

settings = json.loads(sys.argv[1])


def say(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Textless(Exception):
    def __str__(self):
        raise ValueError("no text")


def handle(task, gates, jump=lambda ms: None):
    """The handler. It yields the events for which it waits: each flavour waits in its own way."""
    raw = settings["queue"].get("raw")
    n = task.payload.decode("latin1") if raw else task.payload["n"]
    act = None if raw else task.payload.get("act")
    say(event="start", n=n, id=task.id, key=task.key, tries=task.tries, due=task.due, fence=task.fence)
    if act == "fail without text":
        raise Textless()
    if act in ("wait", "wait and fail", "compute"):
        yield gates[n]
    if act in ("fail", "fail twice", "wait and fail"):
        raise TypeError(f"no luck with {n}")
    if act == "compute":
        compute(jump)
    if act == "lost":
        yield task.lost
        say(event="lost", n=n)
    say(event="done", n=n)


def compute(jump):
    """Blocks the thread until the tests have made the file, and then for the time that timers see."""
    say(event="computing")
    while not os.path.exists(settings["computes"]["until"]):
        time.sleep(0.005)
    jump(settings["computes"]["ms"])


def on_error(error, task, outcome):
    traceback.print_exception(error)
    if outcome:
        say(event="outcome", n=task.payload["n"], outcome=outcome, text=None if isinstance(error, Textless) else str(error))
        if isinstance(error, Textless):
            raise error
        if task.payload.get("act") == "fail twice":
            raise RuntimeError("on_error fails, too")


def read_orders(obey):
    """Calls obey for each order, until the tests close stdin; then ends the process."""
    for line in io.FileIO(0, closefd=False):  # sys.stdin has a lock, for which the end of the process would wait
        obey(json.loads(line))
    os._exit(1)
