# SPDX-License-Identifier: MIT
"""The client libraries that people use, redis and ioredis of npm: in RESP2 and RESP3, and in a cluster. They are run by
Node.js, with the packages that module/scripts/fetch-clients fetched into PAWL_BUILD."""
import os
import pathlib
import subprocess
import threading
import unittest

import test_cluster
from support import HANG, ServerTest

HERE = pathlib.Path(__file__).resolve().parent


def node(script, *args, **options):
    environment = dict(os.environ, NODE_PATH=os.path.join(os.environ["PAWL_BUILD"], "npm/node_modules"))
    environment.pop("LD_PRELOAD", None)
    return subprocess.Popen(["node", str(HERE / script), *map(str, args)], env=environment, text=True, **options)


class Lines:
    """The output of a script so far."""

    def __init__(self, script, *args):
        self.process = node(script, *args, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = []
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(HANG)
        finally:
            self.process.kill()
            self.thread.join(HANG)
            self.process.stdout.close()


class Clients(ServerTest):
    clock = None

    def test_the_whole_life_of_tasks_in_every_client(self):
        process = node("talk.js", self.server.port, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=HANG)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 0, output)
        self.assertEqual(output.split("\n"), ["redis, RESP2: ok", "redis, RESP3: ok", "ioredis: ok", ""])


class InACluster(test_cluster.ClusterTest):
    def test_redis_takes_the_tasks_of_ioredis_and_wait_confirmed_tasks_survive(self):
        self.nothing_confirmed_is_lost(Lines("produce.js", test_cluster.KEYS, *self.ports),
                                       Lines("consume.js", test_cluster.KEYS, *self.ports))


if __name__ == "__main__":
    unittest.main()
