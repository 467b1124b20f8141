# SPDX-License-Identifier: MIT
"""worker_asyncio.py SETTINGS: as worker_threads.py, with asyncio."""
import asyncio
import collections
import io
import json
import os
import sys
import threading
import traceback

import redis.asyncio
import redis.asyncio.cluster
from pawl.asyncio import Queue, Worker

settings = json.loads(sys.argv[1])
gates = collections.defaultdict(asyncio.Event)


def say(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def make_client():
    if settings.get("ports"):
        return redis.asyncio.cluster.RedisCluster(
            startup_nodes=[redis.asyncio.cluster.ClusterNode("127.0.0.1", port) for port in settings["ports"]])
    return redis.asyncio.Redis.from_url(os.environ["REDIS_URL"])


async def handle(task):
    n = task.payload.decode("latin1") if settings["queue"].get("raw") else task.payload["n"]
    act = None if settings["queue"].get("raw") else task.payload.get("act")
    say(event="start", n=n, id=task.id, key=task.key, tries=task.tries, due=task.due, fence=task.fence)
    if act == "fail":
        raise TypeError(f"no luck with {n}")
    if act == "wait":
        await gates[n].wait()
    if act == "lost":
        await task.lost.wait()
        say(event="lost", n=n)
    say(event="done", n=n)


def on_error(error, task, outcome):
    traceback.print_exception(error)
    if outcome:
        say(event="outcome", n=task.payload["n"], outcome=outcome, text=str(error))


async def call(queue, order):
    try:
        say(event="reply", value=await getattr(queue, order["method"])(*order["args"], **order["options"] or {}))
    except Exception as error:
        say(event="reply", error=str(error))


def read_orders(loop, obey):
    for line in io.FileIO(0, closefd=False):  # sys.stdin has a lock, for which the end of the process would wait
        loop.call_soon_threadsafe(obey, json.loads(line))
    os._exit(1)  # the tests are gone


async def main():
    client = make_client()
    if settings.get("ports"):
        await client.initialize()  # as the README says
    queue = Queue(client, settings["name"], **settings["queue"])
    worker = Worker(queue, handle, **settings["worker"] or {}, on_error=on_error)
    calls = set()

    def obey(order):
        if order["do"] == "open":
            gates[order["n"]].set()
        elif order["do"] == "stop":
            worker.stop()
        else:
            calls.add(asyncio.ensure_future(call(queue, order)))

    threading.Thread(target=read_orders, args=(asyncio.get_running_loop(), obey), daemon=True).start()
    say(event="ready")
    ended = {}
    if settings["worker"]:
        try:
            await worker.run()
        except RuntimeError as error:
            ended["error"] = str(error)
    else:
        await gates["never"].wait()
    say(event="ended", **ended)
    await getattr(client, "aclose", client.close)()


asyncio.run(main())
