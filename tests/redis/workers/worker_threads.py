# SPDX-License-Identifier: MIT
"""worker_threads.py SETTINGS: a worker of clients/python for the tests. What it is to do comes as lines of JSON, and so does
what it has to say: test_workers.py has the words."""
import collections
import io
import json
import os
import sys
import threading
import traceback

import redis
import redis.cluster
from pawl import Queue, Worker

settings = json.loads(sys.argv[1])
if settings.get("ports"):
    client = redis.cluster.RedisCluster(
        startup_nodes=[redis.cluster.ClusterNode("127.0.0.1", port) for port in settings["ports"]])
else:
    client = redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True)  # pawl takes bytes all the same
queue = Queue(client, settings["name"], **settings["queue"])
gates = collections.defaultdict(threading.Event)


def say(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def handle(task):
    n = task.payload.decode("latin1") if queue.raw else task.payload["n"]
    act = None if queue.raw else task.payload.get("act")
    say(event="start", n=n, id=task.id, key=task.key, tries=task.tries, due=task.due, fence=task.fence)
    if act == "fail":
        raise TypeError(f"no luck with {n}")
    if act == "wait":
        gates[n].wait()
    if act == "lost":
        task.lost.wait()
        say(event="lost", n=n)
    say(event="done", n=n)


def on_error(error, task, outcome):
    traceback.print_exception(error)
    if outcome:
        say(event="outcome", n=task.payload["n"], outcome=outcome, text=str(error))


def obey():
    for line in io.FileIO(0, closefd=False):  # sys.stdin has a lock, for which the end of the process would wait
        order = json.loads(line)
        if order["do"] == "open":
            gates[order["n"]].set()
        elif order["do"] == "stop":
            worker.stop()
        else:
            try:
                say(event="reply", value=getattr(queue, order["method"])(*order["args"], **order["options"] or {}))
            except Exception as error:
                say(event="reply", error=str(error))
    os._exit(1)  # the tests are gone


worker = Worker(queue, handle, **settings["worker"] or {}, on_error=on_error)
threading.Thread(target=obey, daemon=True).start()
say(event="ready")
ended = {}
if settings["worker"]:
    try:
        worker.run()
    except RuntimeError as error:
        ended["error"] = str(error)
else:
    gates["never"].wait()
say(event="ended", **ended)
