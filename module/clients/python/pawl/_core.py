# SPDX-License-Identifier: MIT
"""The code that pawl and pawl.asyncio share: nearly all of it. With threads there is also an asyncio loop; the threads run
only the commands and the handlers."""
from __future__ import annotations

import asyncio, copy, inspect, itertools, json, logging, math, random, time, zlib
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Literal, Optional

from redis.backoff import NoBackoff
from redis.exceptions import RedisError

Outcome = Literal["retry", "dead", "lost"]
OnError = Callable[[BaseException, "Optional[Task]", Optional[Outcome]], None]
NO_MODULE = "unknown command PAWL.MTAKE: load the module pawl.so into the server; see Install in module/docs/running.md"
OUTCOMES: tuple[Outcome, ...] = ("lost", "retry", "dead")  # by the reply to NACK


@dataclass(eq=False)
class Task:
    """The argument of a handler. Times are milliseconds; `due` is Unix time."""
    id: str
    key: str
    payload: Any
    tries: int
    due: int
    fence: int
    lost: Any  # threading.Event or asyncio.Event: the lease is lost, or the worker gives the task back after `grace`
    _id: bytes = field(repr=False)
    _token: bytes = field(repr=False)
    _end: float = field(repr=False)  # of the lease, by time.monotonic()
    _work: Any = field(repr=False, default=None)


def check(name: str, value: int, least: int, most: int = 2**53 - 1) -> int:
    must(type(value) is int and least <= value <= most, name, value, f"a whole number from {least} to {most}")
    return value


def must(good: bool, name: str, value: Any, allowed: str) -> None:
    if not good:
        raise ValueError(f"pawl: {name} is {value!r}, and must be {allowed}")


def own_client(client: Any, retry: Any, connections: int, timeout: int, coroutines: bool) -> Any:
    """A copy of the client with its own pool. On its connections a reply that does not come in time is an error, so that
    one that was cut silently is noticed. They do not retry: the worker decides whether to send a command again. After an
    error redis-py opens them again, since the server may be a primary that became a replica, and the address may lead to
    another by now."""
    own, pool = copy.copy(client), copy.copy(client.connection_pool)
    kwargs = pool.connection_kwargs = {k: v for k, v in pool.connection_kwargs.items() if not k.startswith("retry")}
    kwargs["retry"], kwargs["retry_on_error"] = retry(NoBackoff(), 0), [RedisError]
    kwargs["socket_timeout"], pool.max_connections = timeout / 1000, connections
    if coroutines:  # _call() of pawl.asyncio waits for replies
        kwargs.update(socket_timeout=None, socket_connect_timeout=kwargs.get("socket_connect_timeout") or timeout / 1000)
    pool.reset()
    own.connection_pool = pool
    return own


def back_off(first: int, most: int, tries: int) -> int:
    """Doubles with each try, up to most. A random part of at most half is subtracted, so that tasks that failed together do
    not come back together."""
    return math.ceil(min(most, first * 2 ** min(tries - 1, 64)) * (1 - random.random() / 2))


def reason_of(error: BaseException) -> bytes:
    """At most 1,024 bytes, without a character cut in two."""
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:  # of its __str__
        text = f"{type(error).__name__}, which has no text"
    return text.encode(errors="replace")[:1024].decode(errors="ignore").encode()


def report(error: BaseException, task: Optional[Task], outcome: Optional[Outcome]) -> None:
    what = f"task {task.id}, try {task.tries}, {outcome or 'not acknowledged yet'}" if task else "trying again"
    logging.getLogger("pawl").warning("%s: %r", what, error, exc_info=error if task and outcome != "lost" else None)


def guarded(on_error: OnError) -> OnError:
    """The callback, but an error of its own is only logged: otherwise it would end the loop that takes tasks."""
    def tell(error: BaseException, task: Optional[Task], outcome: Optional[Outcome]) -> None:
        try:
            on_error(error, task, outcome)
        except Exception:
            logging.getLogger("pawl").exception("on_error failed")
    return tell


async def in_time(all: Iterable[Any], ms: float) -> None:
    """Waits until all are done, or the time is over; then cancels the rest."""
    futures = [asyncio.ensure_future(each) for each in all]
    if futures:
        _, late = await asyncio.wait(futures, timeout=ms / 1000)
        for each in late:
            each.cancel()


class QueueCore:
    """The commands of a queue. `_each` sends a command to each of the keys. With asyncio all methods are awaited."""

    def __init__(self, client: Any, name: str, *, shards: Optional[int] = None, max_tries: int = 25, raw: bool = False) -> None:
        must(hasattr(client, "execute_command"), "client", client, "a client of redis-py")
        must(isinstance(name, str) and name != "", "name", name, "text that is not empty")
        self.client, self.raw, self.keys = client, raw, [name]
        if shards is not None:
            self.keys = [f"{name}:{{{n}}}" for n in range(check("shards", shards, 1, 1024))]
        self.max_tries = check("max_tries", max_tries, 0, 65535)
        self._next = itertools.count(random.randrange(1024))  # shard for a task without `about`

    def put(self, payload: Any, *, delay: Optional[int] = None, at: Optional[int] = None, id: Optional[str] = None,
            about: Optional[str] = None, nx: bool = False, replace: bool = False,
            max_tries: Optional[int] = None) -> Optional[str]:
        must(delay is None or at is None, "delay", delay, "left out where at is given")
        words: list[Any] = [check("delay", 0 if delay is None else delay, 0), self.encode(payload)] + ([] if at is None else ["AT", check("at", at, 0)])
        words += ([] if id is None else ["ID", id]) + (["NX"] if nx else []) + (["REPLACE"] if replace else [])
        tries = self.max_tries if max_tries is None else check("max_tries", max_tries, 0, 65535)
        words += ["MAXTRIES", tries] if tries else []
        return self._each([self.key_of(id if about is None else about)], "PAWL.PUT", words,
                          lambda replies: replies[0] and replies[0].decode())

    def every(self, id: str, period: int, payload: Any, *, at: Optional[int] = None, about: Optional[str] = None) -> bool:
        words = [id, period, self.encode(payload)] + ([] if at is None else ["AT", check("at", at, 0)])
        return self._each([self.key_of(id if about is None else about)], "PAWL.EVERY", words, lambda replies: replies[0] == 1)

    def cancel(self, id: str, *, about: Optional[str] = None, force: bool = False) -> bool:
        words = [id] + (["FORCE"] if force else [])
        return self._each([self.key_of(about)] if about is not None else self.keys, "PAWL.CANCEL", words,
                          lambda replies: sum(replies) > 0)

    def get(self, id: str, *, about: Optional[str] = None) -> Optional[dict[str, Any]]:
        return self._each([self.key_of(about)] if about is not None else self.keys, "PAWL.GET", [id],
                          lambda replies: self._found(id, replies))

    def count(self, state: Optional[str] = None) -> int:
        return self._each(self.keys, "PAWL.LEN", ["STATE", state] if state else [], sum)

    def pause(self) -> None:
        return self._each(self.keys, "PAWL.PAUSE", [], lambda _: None)

    def resume(self) -> None:
        return self._each(self.keys, "PAWL.RESUME", [], lambda _: None)

    def requeue(self, ids: Optional[list[str]] = None) -> int:
        must(ids is None or isinstance(ids, list), "ids", ids, "a list of ids")
        # The first id is sent twice: a single id ALL would mean all tasks. DELAY is sent: an id DELAY would be the
        # option.
        words = ["ALL"] if ids is None else [*ids[:1], *ids, "DELAY", 0]
        return self._each(self.keys if ids != [] else [], "PAWL.DEAD", ["REQUEUE", *words], sum)

    def key_of(self, about: Optional[str]) -> str:
        """The shard for `about`, the same in every language; without it, the shards round robin."""
        return self.keys[(next(self._next) if about is None else zlib.crc32(str(about).encode())) % len(self.keys)]

    def _found(self, id: str, replies: list[Any]) -> Optional[dict[str, Any]]:
        reply = next((reply for reply in replies if reply is not None), None)
        if reply is None:
            return None
        found = reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))
        reason = found[b"reason"]
        return {"id": id, "state": found[b"state"].decode(), "payload": self.decode(found[b"payload"]),
                "due": found[b"due-ms"], "tries": found[b"tries"], "max_tries": found[b"maxtries"],
                "period": found[b"period-ms"], "reason": reason.decode(errors="replace") if reason else None}

    def encode(self, payload: Any) -> Any:
        if self.raw and not isinstance(payload, (str, bytes)):
            raise TypeError(f"pawl: a payload must be text or bytes, and is {type(payload).__name__}")
        return payload if self.raw else json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    def decode(self, payload: bytes) -> Any:
        return payload if self.raw else json.loads(payload)


class WorkerCore:
    """A worker. Its subclasses open and close a client with one connection (`_open`, `_close`), send a command (`_call`) and
    run a handler (`_work`). They have the classes of a task's event, of their queue and of redis-py's retries, and say whether a
    handler may be a coroutine function."""
    event: Any
    queue_class: type[QueueCore]
    retry: Any
    coroutines: bool

    def __init__(self, queue: Any, handler: Callable[[Task], Any], *, concurrency: int = 10, lease: int = 30000,
                 extend_every: Optional[int] = None, backoff: int = 1000, backoff_max: int = 3600000, block: int = 2000,
                 timeout: int = 5000, grace: int = 25000, on_error: OnError = report) -> None:
        must(isinstance(queue, self.queue_class), "queue", queue, f"a Queue of {self.queue_class.__module__}")
        must(callable(handler), "handler", handler, "a function")
        # A thread would get a coroutine and not run it, and the task would be acknowledged.
        must(self.coroutines or not inspect.iscoroutinefunction(handler), "handler", handler,
             "a plain function; an async one is for the Worker of pawl.asyncio")
        must(callable(on_error), "on_error", on_error, "a function")
        self.queue, self.handler, self.on_error = queue, handler, guarded(on_error)
        self.concurrency, self.lease = check("concurrency", concurrency, 1, 10000), check("lease", lease, 1)
        self.extend_every = check("extend_every", math.ceil(lease / 3) if extend_every is None else extend_every, 1, lease)
        self.backoff, self.backoff_max = check("backoff", backoff, 0), check("backoff_max", backoff_max, 0)
        self.grace, self.block, self.timeout = check("grace", grace, 0), check("block", block, 1), check("timeout", timeout, 1)
        self.in_cluster = not hasattr(queue.client, "connection_pool")
        # One connection waits for all keys. A cluster refuses keys of several slots, so there each shard has its own.
        self.groups = [[key] for key in queue.keys] if self.in_cluster else [queue.keys]
        self.connections = len(self.groups) * (self.concurrency + 2) + len(queue.keys)  # at once, at most
        self.client = queue.client if self.in_cluster else own_client(
            queue.client, self.retry, self.connections, block + timeout, self.coroutines)
        self._failed: Optional[Exception] = None
        self._running: dict[bytes, Task] = {}  # by token; the function that removes one sends ACK or NACK
        self._stopping = asyncio.Event()

    async def _run(self) -> None:
        takers = [Taker(self, keys) for keys in self.groups]
        own = [asyncio.ensure_future(each) for each in [self._keep(), *(taker.take_all() for taker in takers)]]
        try:
            await self._stopping.wait()
            own += [asyncio.ensure_future(taker.unblock()) for taker in takers]
            await in_time((taker.done.wait() for taker in takers), self.grace)
            await in_time((taker.ended.wait() for taker in takers), self.block + self.timeout)  # or it takes them again
            await in_time((self._give_up(task) for task in list(self._running.values())), self.lease)
        finally:
            for each in [*own, *(task._work for task in self._running.values())]:  # the latter only if _run() is cancelled
                each.cancel()
            await asyncio.gather(*own, return_exceptions=True)
            for taker in takers:
                if taker.client is not None and not self.in_cluster:
                    await self._close(taker.client)
        if self._failed:
            raise self._failed

    async def _give_up(self, task: Task) -> None:
        if self._running.pop(task._token, None):
            task.lost.set()
            task._work.cancel()
            task._end = 0  # NACK is not retried
            await self._give_back(task, 0, RuntimeError("the worker stopped before the work was done"))

    async def _handle(self, task: Task) -> None:
        failed: Optional[BaseException] = None
        try:
            task.payload = self.queue.decode(task.payload)
            await self._work(task)
        except BaseException as error:
            failed = error
        if not self._running.pop(task._token, None):
            return  # _give_up() has it
        if failed is not None:
            await self._give_back(task, back_off(self.backoff, self.backoff_max, task.tries), failed)
        elif await self._finish(task, "PAWL.ACK") == 0:
            self.on_error(RuntimeError("the lease was lost before the work was done"), task, "lost")

    async def _give_back(self, task: Task, delay: int, error: BaseException) -> None:
        reply = await self._finish(task, "PAWL.NACK", "DELAY", delay, "REASON", reason_of(error))
        self.on_error(error, task, OUTCOMES[reply])

    async def _finish(self, task: Task, command: str, *options: Any) -> int:
        """Sends ACK or NACK, and retries until the lease ends if the connection is broken. 0: the lease is lost."""
        for failures in itertools.count(1):
            try:
                return int(await self._call(self.client, command, task.key, task._id, task._token, *options))
            except Exception as error:
                self.on_error(error, task, None)
                pause = back_off(100, 5000, failures) / 1000
                if time.monotonic() + pause >= task._end:
                    break
                await asyncio.sleep(pause)
        return 0

    async def _keep(self) -> None:
        """Every `extend_every`: sets `lost` of the tasks whose lease is over by the local clock, since the server may be
        unreachable, and extends the other leases."""
        extending: set[asyncio.Future[Any]] = set()
        while True:
            await asyncio.sleep(self.extend_every / 1000)
            held: dict[str, list[Task]] = {}
            for task in self._running.values():
                if task._end <= time.monotonic():
                    task.lost.set()
                if not task.lost.is_set():
                    held.setdefault(task.key, []).append(task)
            if all(each.done() for each in extending):
                extending = {asyncio.ensure_future(self._extend(key, tasks)) for key, tasks in held.items()}

    async def _extend(self, key: str, tasks: list[Task]) -> None:
        end = time.monotonic() + self.lease / 1000
        words = [word for task in tasks for word in (task._id, task._token, self.lease)]
        try:
            reply = await self._call(self.client, "PAWL.EXTEND", key, *words)
        except Exception as error:
            return self.on_error(error, None, None)
        for task, held in zip(tasks, reply if isinstance(reply, list) else [reply]):
            if held == 1:
                task._end = end
            elif task._token in self._running:
                task.lost.set()


class Taker:
    """Takes tasks from some of the keys, on its own connection."""

    def __init__(self, worker: WorkerCore, keys: list[str]) -> None:
        self.worker, self.keys = worker, keys
        self.client = worker.client if worker.in_cluster else None  # None: not opened yet
        self.id: Optional[int] = None  # of the connection
        self.busy: set[asyncio.Future[None]] = set()
        self.ended = asyncio.Event()  # no more tasks are taken
        self.done = asyncio.Event()  # and all handlers are done

    async def unblock(self) -> None:
        """Ends the wait of MTAKE, also of one that has not reached the server yet. If it fails, that ends after `block`."""
        while self.id is not None and not self.ended.is_set():
            await self.worker._call(self.worker.client, "CLIENT", "UNBLOCK", self.id)
            await in_time([self.ended.wait()], 100)

    async def take_all(self) -> None:
        failures = 0
        while not self.worker._stopping.is_set():
            try:
                if len(self.busy) == self.worker.concurrency:
                    await asyncio.wait(self.busy, return_when=asyncio.FIRST_COMPLETED)
                elif self.client is None:
                    self.client = await self.worker._open()
                elif self.id is None and not self.worker.in_cluster:
                    self.id = await self.worker._call(self.client, "CLIENT", "ID")
                else:
                    await self._take()
                    failures = 0
            except Exception as error:
                self.id = None
                if "unknown command" in str(error).lower():  # retrying does not help, so run() fails with it
                    self.worker._failed = RuntimeError(NO_MODULE)
                    self.worker._stopping.set()
                    break
                self.worker.on_error(error, None, None)
                failures += 1
                await in_time([self.worker._stopping.wait()], back_off(100, 5000, failures))
        self.ended.set()
        while self.busy:
            await asyncio.wait(self.busy)
        self.done.set()

    async def _take(self) -> None:
        worker, room = self.worker, self.worker.concurrency - len(self.busy)
        reply = await worker._call(self.client, "PAWL.MTAKE", len(self.keys), *self.keys, "COUNT", room,
                                   "LEASE", worker.lease, "BLOCK", worker.block)
        for id, payload, tries, due, token in reply[1] if reply else []:
            task = Task(id.decode(errors="replace"), reply[0].decode(), payload, tries, due, int(token.split(b"-")[0]),
                        worker.event(), id, token, time.monotonic() + worker.lease / 1000)
            worker._running[token] = task
            task._work = asyncio.ensure_future(worker._handle(task))
            self.busy.add(task._work)
            task._work.add_done_callback(self.busy.discard)
