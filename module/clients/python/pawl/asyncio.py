# SPDX-License-Identifier: MIT
"""Queues and workers on the module pawl.so, through redis.asyncio. asyncio.pyi has the types."""
import asyncio

from redis.asyncio.retry import Retry

from ._core import Outcome, QueueCore, Task, WorkerCore

__all__ = ["Outcome", "Queue", "Task", "Worker"]
PARTS = 10


class Queue(QueueCore):
    async def _each(self, keys, command, words, then):
        calls = [self.client.execute_command(command, key, *words, NEVER_DECODE=[]) for key in keys]
        return then(await asyncio.gather(*calls))


class Worker(WorkerCore):
    event, queue_class, retry, coroutines = asyncio.Event, Queue, Retry, True

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
        """Fails if there is no reply after `block` and `timeout`, unless in a cluster. No reply is read while a handler
        computes: however long it does, that counts as one part of the timeout."""
        call = asyncio.ensure_future(client.execute_command(*words, NEVER_DECODE=[]))
        part = None if self.in_cluster else self.timeout / 1000 / PARTS
        try:
            for _ in range(PARTS + PARTS * self.block // self.timeout):
                if (await asyncio.wait([call], timeout=part))[0]:
                    return call.result()
            raise TimeoutError(f"no reply to {words[0]} within {self.block + self.timeout} ms")
        finally:
            call.cancel()  # then redis-py closes the connection
            await asyncio.wait([call])

    async def _work(self, task):
        await self.handler(task)

    async def _close(self, client):
        await client.connection_pool.disconnect()  # a reply may still be on its way
        await getattr(client, "aclose", client.close)()  # its name in redis-py 5 and later
