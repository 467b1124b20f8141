# SPDX-License-Identifier: MIT
"""Queues in a cluster, one a key: resharding under load, a killed primary, a blocked taker whose slot moves. Other tests use
the cluster of three primaries and three replicas, and the clients that follow its redirections."""
import re
import subprocess
import threading
import time
import unittest

from support import HANG, Client, Error, Gone, Server, cli, wait_until

KEYS = 6


class Wanderer:
    """A client for one key of a cluster. It follows redirections."""

    def __init__(self, ports):
        self.ports, self.client = list(ports), None

    def calls(self, commands):
        """The replies, all from one connection; or None, if the commands must be sent again."""
        try:
            self.client = self.client or Client(self.ports[0])
            replies = self.client.calls(commands)
        except (Gone, OSError):
            self.go_to(self.ports[1])
            return None
        if not isinstance(replies[0], Error):
            return replies
        sent = re.match(r"(MOVED|ASK) \d+ \S*:(\d+)", str(replies[0]))
        if sent and sent[1] == "MOVED":
            self.go_to(int(sent[2]))
        elif sent:
            return self.ask(int(sent[2]), commands)
        return None

    def go_to(self, port):
        """Try this node first, and then the others."""
        self.close()
        at = self.ports.index(port)
        self.ports = self.ports[at:] + self.ports[:at]
        time.sleep(0.01)

    def ask(self, port, commands):
        """Send these commands there, once: the slot is being moved."""
        try:
            other = Client(port)
        except OSError:
            return None
        try:
            replies = other.calls([("ASKING",), *commands])[1:]
        except (Gone, OSError):
            return None
        finally:
            other.close()
        return None if isinstance(replies[0], Error) else replies

    def close(self):
        if self.client:
            self.client.close()
        self.client = None


class Traffic:
    """A thread for each key, until the end. It records its results in `lines`."""

    def __init__(self, ports):
        self.lines, self.failures, self.over = [], [], threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(ports, f"q{{{n}}}")) for n in range(KEYS)]
        for thread in self.threads:
            thread.start()

    def _run(self, ports, key):
        client = Wanderer(ports)
        try:
            self.work(client, key)
        except Exception as error:
            self.failures.append(error)
        finally:
            client.close()

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(HANG)
        if self.failures:
            raise self.failures[0]


class Producer(Traffic):
    """Puts tasks. Records the payload of each task that is also on a replica, by WAIT 1.

    WAIT is about the writes of its own connection, so a task that exists already is put again."""

    def work(self, client, key):
        n = 0
        while not self.over.is_set():
            payload = f"{key}:{n}"
            replies = client.calls([("PAWL.PUT", key, 5, payload, "ID", payload, "REPLACE"), ("WAIT", 1, 1000)])
            if replies and isinstance(replies[1], int) and replies[1] >= 1:
                self.lines.append(payload)
                n += 1


class Consumer(Traffic):
    """Takes tasks with BLOCK. Records the payload of each delivery."""

    def work(self, client, key):
        while not self.over.is_set():
            replies = client.calls([("PAWL.TAKE", key, "COUNT", 10, "LEASE", 2000, "BLOCK", 200)])
            for name, payload, _, _, token in replies[0] or [] if replies else []:
                self.lines.append(payload.decode())
                client.calls([("PAWL.ACK", key, name, token)])


class ClusterTest(unittest.TestCase):
    def setUp(self):
        # Until a server is killed none is given up, however slow the machine.
        self.servers = [Server("--cluster-enabled", "yes", "--cluster-node-timeout", "3600000", "--appendonly", "yes",
                               "--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0")
                        for _ in range(6)]
        self.ports = [server.port for server in self.servers]
        self.cli("create", *(f"127.0.0.1:{port}" for port in self.ports), "--cluster-replicas", 1)
        wait_until(lambda: all(self.is_whole(server) for server in self.servers), "the cluster is whole")

    def tearDown(self):
        for server in self.servers:
            server.stop()

    def cli(self, *args):
        done = subprocess.run([cli(), "--cluster", *map(str, args), "--cluster-yes"], capture_output=True, text=True,
                              timeout=HANG)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr)

    @staticmethod
    def is_whole(server):
        info = server.call("CLUSTER", "INFO").decode()
        nodes = server.call("CLUSTER", "NODES").decode().splitlines()
        roles = [line.split()[2] for line in nodes]
        return ("cluster_state:ok" in info and len(nodes) == 6 and sum("slave" in role for role in roles) == 3
                and all(line.split()[7] == "connected" for line in nodes))

    def primaries(self):
        return [server for server in self.servers if server.process.poll() is None and server.is_primary()]

    def owner(self, key):
        for server in self.primaries():
            slot = server.call("CLUSTER", "KEYSLOT", key)
            for line in server.call("CLUSTER", "NODES").decode().splitlines():
                fields = line.split()
                for part in fields[8:] if "myself" in fields[2] else ():
                    first, _, last = part.partition("-")
                    if not part.startswith("[") and int(first) <= slot <= int(last or first):
                        return server
        return None

    def move_slot(self, key):
        """Move the key's slot to another primary, as redis-cli --cluster reshard does it."""
        old = self.owner(key)
        new = next(server for server in self.primaries() if server is not old)
        client, slot = old.client(), old.call("CLUSTER", "KEYSLOT", key)
        self.set_slot(new, slot, "IMPORTING", client.call("CLUSTER", "MYID"))
        self.set_slot(old, slot, "MIGRATING", new.call("CLUSTER", "MYID"))
        while keys := client.call("CLUSTER", "GETKEYSINSLOT", slot, 10):
            client.call("MIGRATE", "127.0.0.1", new.port, "", 0, 3_600_000, "KEYS", *keys)
        self.give_slot(slot, old, new)

    def give_slot(self, slot, old, new):
        name = new.call("CLUSTER", "MYID")
        for server in (new, old, *self.primaries()):
            self.set_slot(server, slot, "NODE", name)

    @staticmethod
    def set_slot(server, *args):
        """Valkey tells its replicas first, and gives up after two seconds if they are slow: then retry."""
        def done():
            try:
                return server.call("CLUSTER", "SETSLOT", *args) == "OK"
            except Error as error:
                if not str(error).startswith("NOREPLICAS"):
                    raise
                return False
        wait_until(done, f"CLUSTER SETSLOT {args}")

    def kill_a_primary(self):
        victim = self.owner("q{0}")
        for server in self.servers:
            server.call("CONFIG", "SET", "cluster-node-timeout", 3000)
        victim.kill()
        wait_until(lambda: self.owner("q{0}") not in (None, victim), "its replica took over")
        return victim


class Cluster(ClusterTest):
    def test_nothing_that_wait_confirmed_is_lost(self):
        """Slots are moved and a primary is killed under load. All tasks that WAIT 1 confirmed are delivered."""
        producer, consumer = Producer(self.ports), Consumer(self.ports)
        try:
            wait_until(lambda: len(producer.lines) > 200 and len(consumer.lines) > 100, "there is traffic")
            for n in range(KEYS // 2):
                self.move_slot(f"q{{{n}}}")
            before = len(consumer.lines)
            wait_until(lambda: len(consumer.lines) > before + 100, "it goes on after the slots have moved")
            victim = self.kill_a_primary()
            before = len(producer.lines)
            wait_until(lambda: len(producer.lines) > before + 100, "it goes on after the failover")
            producer.end()
            wait_until(lambda: set(producer.lines) <= set(consumer.lines), "every confirmed task was delivered")
            victim.start()  # tearDown() stops it
        finally:
            try:
                producer.end()
            finally:
                consumer.end()

    def test_a_blocked_taker_is_sent_on_when_its_slot_leaves(self):
        self.assert_sent_on(("PAWL.TAKE", "q{0}", "BLOCK", 0), "q{0}")

    def assert_sent_on(self, command, key):
        """A PUT at another node, and then a blocked taker, are redirected to the node that has the slot."""
        old = self.owner(key)
        new = next(server for server in self.primaries() if server is not old)
        slot = old.call("CLUSTER", "KEYSLOT", key)
        with self.assertRaisesRegex(Error, f"^MOVED {slot} "):
            new.call("PAWL.PUT", key, 0, "p")
        taker = old.client()
        taker.send(*command)
        wait_until(lambda: old.blocked() == 1, "blocked")
        self.give_slot(slot, old, new)
        with self.assertRaisesRegex(Error, f"^MOVED {slot} "):
            taker.read()

    def test_several_keys_are_of_one_slot(self):
        server = self.owner("{0}a")
        with self.assertRaisesRegex(Error, "^CROSSSLOT"):
            server.call("PAWL.MTAKE", 2, "{0}a", "{1}b")
        server.call("PAWL.PUT", "{0}b", 0, "p")
        self.assertEqual(server.call("PAWL.MTAKE", 2, "{0}a", "{0}b")[0], b"{0}b")
        self.assert_sent_on(("PAWL.MTAKE", 2, "{0}a", "{0}b", "BLOCK", 0), "{0}a")


if __name__ == "__main__":
    unittest.main()
