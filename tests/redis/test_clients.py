# SPDX-License-Identifier: MIT
"""The client libraries that people use, redis and ioredis of npm, in RESP2 and RESP3."""
import subprocess
import unittest

from support import HANG, ServerTest, node


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


if __name__ == "__main__":
    unittest.main()
