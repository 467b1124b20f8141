# SPDX-License-Identifier: MIT
"""Queues and workers on the module pawl.so, through redis.asyncio. asyncio.pyi has the types."""
import asyncio

from ._core import Outcome, QueueCore, Task, WorkerCore

__all__ = ["Outcome", "Queue", "Task", "Worker"]


class Queue(QueueCore):
    async def _each(self, keys, command, words, then):
        calls = [self.client.execute_command(command, key, *words, NEVER_DECODE=[]) for key in keys]
        return then(await asyncio.gather(*calls))


class Worker(WorkerCore):
    event, queue_class, coroutines = asyncio.Event, Queue, True

    async def run(self):
        if self.in_cluster:
            try:  # in redis-py 8.0.0 the first commands of a client fail at times if they are sent together
                await self.client.initialize()
            except Exception as error:
                self.on_error(error, None, None)
        await self._run()

    def stop(self):
        self._stopping.set()

    async def _open(self):
        return self.client.client()

    async def _call(self, client, *words):
        return await client.execute_command(*words, NEVER_DECODE=[])

    async def _work(self, task):
        await self.handler(task)

    async def _close(self, client):
        await client.connection_pool.disconnect()  # a reply may still be on its way
        await getattr(client, "aclose", client.close)()  # its name in redis-py 5 and later
