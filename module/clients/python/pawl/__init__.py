# SPDX-License-Identifier: MIT
"""Queues and workers on the module pawl.so, through redis-py, with threads; pawl.asyncio is the same with asyncio.
module/clients/README.md has a complete worker. The library for Node.js is built the same way."""
from __future__ import annotations

import asyncio as aio  # the name asyncio is that of pawl.asyncio, once that is imported
import concurrent.futures, queue, threading
from typing import Any, Callable, Optional

from redis.retry import Retry

from ._core import Outcome, QueueCore, Task, WorkerCore

__all__ = ["Outcome", "Queue", "Task", "Worker"]


class Queue(QueueCore):
    def _each(self, keys: list[str], command: str, words: list[Any], then: Callable[[list[Any]], Any]) -> Any:
        return then([self.client.execute_command(command, key, *words, NEVER_DECODE=[]) for key in keys])


class Worker(WorkerCore):
    event, queue_class, retry, coroutines = threading.Event, Queue, Retry, False
    _loop: Optional[aio.AbstractEventLoop] = None

    def stop(self) -> None:
        """Asks run() to end. A signal handler may call it, and any thread."""
        self._loop.call_soon_threadsafe(self._stopping.set) if self._loop else self._stopping.set()

    def run(self) -> None:
        """Takes tasks and handles them, until stop()."""
        aio.run(self._lead())

    async def _lead(self) -> None:
        # One thread for each handler, which also sends ACK or NACK; for each connection one for MTAKE and one for EXTEND.
        self._threads = Threads(self.connections)
        self._loop = aio.get_running_loop()
        try:
            await self._run()
        finally:
            self._loop = None
            self._threads.todo.put(None)  # ends the threads

    async def _open(self) -> Any:
        return await self._threads.run(self.client.client)  # redis-py connects at once

    async def _call(self, client: Any, *words: Any) -> Any:
        return await self._threads.run(lambda: client.execute_command(*words, NEVER_DECODE=[]))

    async def _work(self, task: Task) -> None:
        await self._threads.run(lambda: self.handler(task))

    async def _close(self, client: Any) -> None:
        if client.connection:
            client.connection.disconnect()  # a reply may still be on its way
        client.close()  # the other connections end with the pool: a thread may still be reading from one


class Threads:
    """A pool of threads. They live as long as the worker, for handlers that keep a database connection a thread. The process
    does not wait for them when it ends, as it would for those of concurrent.futures."""

    def __init__(self, count: int) -> None:
        self.todo: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(count):
            threading.Thread(target=self._work, daemon=True).start()

    def run(self, function: Callable[[], Any]) -> aio.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self.todo.put((future, function))
        return aio.wrap_future(future)

    def _work(self) -> None:
        for future, function in iter(self.todo.get, None):
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except BaseException as error:
                    future.set_exception(error)
        self.todo.put(None)  # for the next thread
