# SPDX-License-Identifier: MIT
"""A cluster of three primaries and three replicas, one queue a key: produced by ioredis, taken by redis, resharded under
load, and one primary killed. What WAIT 1 confirmed is delivered."""
import subprocess
import threading
import unittest

from support import HANG, Error, Gone, Server, cli, node, wait_until

KEYS = 6


class Lines:
    """What a script of Node.js has printed so far."""

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


class Cluster(unittest.TestCase):
    def setUp(self):
        self.servers = [Server("--cluster-enabled", "yes", "--cluster-node-timeout", "3000", "--appendonly", "yes",
                               "--repl-diskless-sync-delay", "0") for _ in range(6)]
        self.cli("create", *(f"127.0.0.1:{server.port}" for server in self.servers), "--cluster-replicas", 1)
        wait_until(lambda: all(self.is_whole(server) for server in self.servers), "the cluster is whole")

    def tearDown(self):
        for server in self.servers:
            server.stop()

    def cli(self, *args):
        done = subprocess.run([cli(), "--cluster", *map(str, args), "--cluster-yes"], capture_output=True, text=True,
                              timeout=HANG * 2)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr)

    @staticmethod
    def is_whole(server):
        info = server.client().call("CLUSTER", "INFO").decode()
        nodes = server.client().call("CLUSTER", "NODES").decode().splitlines()
        roles = [line.split()[2] for line in nodes]
        return ("cluster_state:ok" in info and len(nodes) == 6 and sum("slave" in role for role in roles) == 3
                and all(line.split()[7] == "connected" for line in nodes))

    def primaries(self):
        return [server for server in self.servers if server.process.poll() is None
                and "role:master" in server.client().call("INFO", "replication").decode()]

    def owner(self, key):
        slot = self.servers[0].client().call("CLUSTER", "KEYSLOT", key)
        for server in self.primaries():
            for line in server.client().call("CLUSTER", "NODES").decode().splitlines():
                fields = line.split()
                for part in fields[8:] if "myself" in fields[2] else ():
                    first, _, last = part.partition("-")
                    if not part.startswith("[") and int(first) <= slot <= int(last or first):
                        return server
        return None

    def move_slots(self, count):
        one, other = self.primaries()[:2]
        names = [server.client().call("CLUSTER", "MYID").decode() for server in (one, other)]
        self.cli("reshard", f"127.0.0.1:{one.port}", "--cluster-from", names[0], "--cluster-to", names[1],
                 "--cluster-slots", count, "--cluster-pipeline", 10)

    def kill_a_primary(self):
        victim = self.owner("q{0}")
        victim.kill()
        wait_until(lambda: self.owner("q{0}") not in (None, victim), "its replica took over")
        return victim

    def test_nothing_that_wait_confirmed_is_lost(self):
        ports = [server.port for server in self.servers]
        producer, consumer = Lines("produce.js", KEYS, *ports), Lines("consume.js", KEYS, *ports)
        try:
            wait_until(lambda: len(producer.lines) > 200 and len(consumer.lines) > 100, "there is traffic")
            self.move_slots(1700)  # the slot of q{3} is among them
            before = len(consumer.lines)
            wait_until(lambda: len(consumer.lines) > before + 100, "it goes on after resharding")
            victim = self.kill_a_primary()
            before = len(producer.lines)
            wait_until(lambda: len(producer.lines) > before + 100, "it goes on after the failover")
            producer.end()
            wait_until(lambda: set(producer.lines) <= set(consumer.lines), "every confirmed task was delivered")
            self.assertGreater(len(producer.lines), 300)
            victim.start()
        finally:
            for script in (producer, consumer):
                if script.process.poll() is None:
                    script.end()

    def test_a_blocked_taker_is_sent_on_when_its_slot_leaves(self):
        key = "q{0}"
        old = self.owner(key)
        new = next(server for server in self.primaries() if server is not old)
        slot = old.client().call("CLUSTER", "KEYSLOT", key)
        with self.assertRaises(Error) as caught:
            new.client().call("PAWL.PUT", key, 0, "p")
        self.assertTrue(str(caught.exception).startswith(f"MOVED {slot} "))
        taker = old.client()
        taker.send("PAWL.TAKE", key, "BLOCK", 0)
        wait_until(lambda: "blocked_clients:1\r" in old.client().call("INFO", "clients").decode(), "blocked")
        name = new.client().call("CLUSTER", "MYID").decode()
        for server in (new, old, *self.primaries()):
            server.client().call("CLUSTER", "SETSLOT", slot, "NODE", name)
        with self.assertRaises(Error) as caught:
            taker.read()
        self.assertTrue(str(caught.exception).startswith(f"MOVED {slot} "), caught.exception)


if __name__ == "__main__":
    unittest.main()
