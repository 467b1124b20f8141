# SPDX-License-Identifier: MIT
"""worker_threads.py SETTINGS: a worker of module/clients/python for the tests, with threads. It reads orders and
writes events as lines of JSON: see test_workers.py."""
import collections
import os
import threading

import redis
import redis.cluster
import redis.sentinel
import worker_python
from pawl import Queue, Worker
from worker_python import on_error, read_orders, say, settings

if settings.get("ports"):
    client = redis.cluster.RedisCluster(
        startup_nodes=[redis.cluster.ClusterNode("127.0.0.1", port) for port in settings["ports"]])
elif settings.get("sentinel"):
    client = redis.sentinel.Sentinel([("127.0.0.1", settings["sentinel"])]).master_for("watched")
else:
    client = redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True)  # pawl asks for bytes nevertheless
queue = Queue(client, settings["name"], **settings["queue"])
gates = collections.defaultdict(threading.Event)


def handle(task):
    for event in worker_python.handle(task, gates):
        event.wait()


def obey(order):
    if order["do"] == "open":
        gates[order["n"]].set()
    elif order["do"] == "stop":
        worker.stop()
    else:
        try:
            say(event="reply", value=getattr(queue, order["method"])(*order["args"], **order["options"] or {}))
        except Exception as error:
            say(event="reply", error=str(error))


worker = Worker(queue, handle, **settings["worker"] or {}, on_error=on_error)
if settings["stopped"]:
    worker.stop()
threading.Thread(target=read_orders, args=(obey,), daemon=True).start()
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
