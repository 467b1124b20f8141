# SPDX-License-Identifier: MIT
"""The client libraries that people use, redis and ioredis of npm: in RESP2 and RESP3, and in a cluster. They are run by
Node.js, with the packages that module/scripts/fetch-clients fetched into PAWL_BUILD."""
import os
import pathlib
import subprocess
import unittest

import test_cluster
from support import HANG, Lines, ServerTest

HERE = pathlib.Path(__file__).resolve().parent


class Node(Lines):
    """A script."""

    def __init__(self, script, *args, **options):
        environment = dict(os.environ, NODE_PATH=os.path.join(os.environ["PAWL_BUILD"], "npm/node_modules"))
        environment.pop("LD_PRELOAD", None)
        super().__init__(["node", str(HERE / script), *map(str, args)], env=environment, **options)

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(HANG)
        finally:
            self.process.kill()
            self.reader.join(HANG)
            self.process.stdout.close()


class Clients(ServerTest):
    clock = None

    def test_the_whole_life_of_tasks_in_every_client(self):
        talk = Node("talk.js", self.server.port, stderr=subprocess.STDOUT)
        talk.end()
        self.assertEqual(talk.process.returncode, 0, talk.lines)
        self.assertEqual(talk.lines, ["redis, RESP2: ok", "redis, RESP3: ok", "ioredis: ok"])


class InACluster(test_cluster.ClusterTest):
    def test_redis_takes_the_tasks_of_ioredis_and_wait_confirmed_tasks_survive(self):
        self.nothing_confirmed_is_lost(Node("produce.js", test_cluster.KEYS, *self.ports),
                                       Node("consume.js", test_cluster.KEYS, *self.ports))


if __name__ == "__main__":
    unittest.main()
