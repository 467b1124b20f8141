# SPDX-License-Identifier: MIT
"""worker_asyncio.py SETTINGS: as worker_threads.py, with asyncio."""
import asyncio
import collections
import os
import threading

import redis.asyncio
import redis.asyncio.cluster
import redis.asyncio.sentinel
import worker_python
from pawl.asyncio import Queue, Worker
from worker_python import on_error, read_orders, say, settings

gates = collections.defaultdict(asyncio.Event)


def make_client():
    if settings.get("ports"):
        return redis.asyncio.cluster.RedisCluster(
            startup_nodes=[redis.asyncio.cluster.ClusterNode("127.0.0.1", port) for port in settings["ports"]])
    if settings.get("sentinel"):
        return redis.asyncio.sentinel.Sentinel([("127.0.0.1", settings["sentinel"])]).master_for("watched")
    return redis.asyncio.Redis.from_url(os.environ["REDIS_URL"])


def jump(ms):
    """The loop's clock jumps, so that it sees as much time as if the handler had computed for so long."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + ms / 1000


async def handle(task):
    for event in worker_python.handle(task, gates, jump):
        await event.wait()


async def call(queue, order):
    try:
        say(event="reply", value=await getattr(queue, order["method"])(*order["args"], **order["options"] or {}))
    except Exception as error:
        say(event="reply", error=str(error))


async def main():
    client = make_client()
    if settings.get("ports"):
        await client.initialize()  # as the README says
    queue = Queue(client, settings["name"], **settings["queue"])
    worker = Worker(queue, handle, **settings["worker"] or {}, on_error=on_error)
    if settings["stopped"]:
        worker.stop()
    calls = set()

    def obey(order):
        if order["do"] == "open":
            gates[order["n"]].set()
        elif order["do"] == "stop":
            worker.stop()
        else:
            calls.add(asyncio.ensure_future(call(queue, order)))

    loop = asyncio.get_running_loop()
    threading.Thread(target=read_orders, args=(lambda order: loop.call_soon_threadsafe(obey, order),), daemon=True).start()
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
