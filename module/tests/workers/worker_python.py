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


def begin(task):
    """Says that the handler has started. Returns the task's number, and what the handler is to do."""
    raw = settings["queue"].get("raw")
    n = task.payload.decode("latin1") if raw else task.payload["n"]
    say(event="start", n=n, id=task.id, key=task.key, tries=task.tries, due=task.due, fence=task.fence)
    return n, None if raw else task.payload.get("act")


class Textless(Exception):
    def __str__(self):
        raise ValueError("no text")


def compute(jump=lambda ms: None):
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
