# SPDX-License-Identifier: MIT
"""The worker libraries on servers that a Sentinel watches: a worker asks it for the primary, before and after a failover."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import test_workers
from support import SERVER, Error, Gone, Server, call_once, free_port, wait_until
from test_replication import follow
from test_workers import Program

setUpModule = test_workers.setUpModule

IOREDIS = """
import Redis from 'ioredis';
import { Queue, Worker } from 'pawl';
const sentinels = [{ host: '127.0.0.1', port: Number(process.argv[2]) }];
const jobs = new Queue(new Redis({ sentinels, name: 'watched', lazyConnect: true }), process.argv[3]);
await new Worker(jobs, async (task) => console.log(`did ${task.payload}`), { onError: () => {} }).run();
"""

THREADS = """
import redis.sentinel, sys
from pawl import Queue, Worker
sentinel = redis.sentinel.Sentinel([("127.0.0.1", int(sys.argv[1]))])
jobs = Queue(sentinel.master_for("watched"), sys.argv[2])
Worker(jobs, lambda task: print("did", task.payload), on_error=lambda *_: None).run()
"""

ASYNCIO = """
import asyncio, redis.asyncio.sentinel, sys
from pawl.asyncio import Queue, Worker

async def handle(task):
    print("did", task.payload)

async def main():
    sentinel = redis.asyncio.sentinel.Sentinel([("127.0.0.1", int(sys.argv[1]))])
    await Worker(Queue(sentinel.master_for("watched"), sys.argv[2]), handle, on_error=lambda *_: None).run()

asyncio.run(main())
"""

NODE_REDIS = """
import { createSentinel } from 'redis';
import { Queue } from 'pawl';
try {
	new Queue(createSentinel({ name: 'watched', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }), 'jobs');
} catch (error) {
	console.log(error.message);
}
"""


class Sentinel:
    """A Sentinel that watches this primary under the name `watched`, and whose word alone makes a failover."""

    def __init__(self, primary):
        self.directory = tempfile.TemporaryDirectory(prefix="pawl-sentinel-")
        self.port = free_port()
        file = pathlib.Path(self.directory.name, "sentinel.conf")
        file.write_text(f"port {self.port}\nbind 127.0.0.1\ndir {self.directory.name}\nlogfile {self.directory.name}/log\n"
                        f"sentinel monitor watched 127.0.0.1 {primary.port} 1\n")
        self.process = subprocess.Popen([SERVER, str(file), "--sentinel"], stdin=subprocess.DEVNULL)
        wait_until(self._sees_the_replica, "the Sentinel sees the replica")

    def call(self, *args):
        return call_once(self.port, *args)

    def _sees_the_replica(self):
        try:
            replicas = self.call("SENTINEL", "REPLICAS", "watched")
        except (Error, Gone, OSError):
            return False
        states = [dict(zip(replica[::2], replica[1::2])) for replica in replicas]
        return any(state[b"flags"] == b"slave" and state[b"master-link-status"] == b"ok" for state in states)

    def primary_port(self):
        return int(self.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "watched")[1])

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.directory.cleanup()


class WithASentinel(unittest.TestCase):
    def setUp(self):
        self.servers = [Server(), Server()]
        for server in self.servers:
            self.addCleanup(server.stop)
        follow(self.servers[1], self.servers[0])
        self.sentinel = Sentinel(self.servers[0])
        self.addCleanup(self.sentinel.stop)

    def program(self, name, text):
        """The queue has the program's name."""
        file = pathlib.Path(test_workers.DIRECTORY, name)
        file.write_text(text)
        interpreter = test_workers.PYTHON if name.endswith(".py") else "node"
        return Program(self, [interpreter, str(file), str(self.sentinel.port), name], 0)

    def all_do(self, workers, server, payload):
        for name in workers:
            server.call("PAWL.PUT", name, 0, json.dumps(payload))
        for name, worker in workers.items():
            worker.wait_for_line(f"did {payload}")
            wait_until(lambda: server.call("PAWL.LEN", name) == 0, f"{name} acknowledges it")

    def test_ioredis_and_redis_py_follow_a_failover(self):
        programs = {"ioredis.mjs": IOREDIS, "threads.py": THREADS, "with_asyncio.py": ASYNCIO}
        workers = {name: self.program(name, text) for name, text in programs.items()}
        self.all_do(workers, self.servers[0], "before")
        self.sentinel.call("SENTINEL", "FAILOVER", "watched")
        wait_until(lambda: self.sentinel.primary_port() == self.servers[1].port, "the failover")
        wait_until(lambda: not self.servers[0].is_primary(), "the old primary is a replica")
        self.all_do(workers, self.servers[1], "after")


class NodeRedis(unittest.TestCase):
    def test_a_client_of_create_sentinel_is_refused(self):
        file = pathlib.Path(test_workers.DIRECTORY, "refused.mjs")
        file.write_text(NODE_REDIS)
        program = Program(self, ["node", str(file)], 0)
        program.wait()
        self.assertEqual(program.lines, ["pawl: client is [object Object], and must be by ioredis, createClient or "
                                         "createCluster"])


if __name__ == "__main__":
    unittest.main()
