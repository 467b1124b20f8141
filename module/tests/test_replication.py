# SPDX-License-Identifier: MIT
"""Primaries and replicas: what a promoted replica knows, and what a failover may not break. test_model.py compares a
replica with its primary after random commands."""
import threading
import time
import unittest

from support import HANG, START, Error, Gone, Server, in_pairs, wait_until


def offset(server):
    return int(server.info("replication").split("master_repl_offset:")[1].split()[0])


def follow(replica, primary):
    replica.call("REPLICAOF", "127.0.0.1", primary.port)
    in_step(replica, primary)


def in_step(replica, primary):
    wait_until(lambda: "master_link_status:up" in replica.info("replication"), "linked")
    wait_until(lambda: offset(replica) == offset(primary), "in step")


class Pair(unittest.TestCase):
    """A primary and its replica, both with an append-only file. Only commands move the offset, and no link times out on a
    slow machine."""
    options = ("--repl-diskless-sync-delay", "0", "--appendonly", "yes", "--repl-ping-replica-period", "3600",
               "--repl-timeout", "7200")
    clock = START

    def setUp(self):
        self.primary = Server(*self.options, clock=self.clock)
        self.replica = Server(*self.options, clock=self.clock)
        follow(self.replica, self.primary)
        self.p, self.r = self.primary.client(), self.replica.client()

    def tearDown(self):
        try:
            self.primary.stop()
        finally:
            self.replica.stop()


class Replication(Pair):
    def set_clocks(self, ms):
        self.p.call("PAWL.CLOCK", ms)
        self.r.call("PAWL.CLOCK", ms)

    def same(self):
        in_step(self.replica, self.primary)
        self.assertEqual(self.r.call("DEBUG", "DIGEST"), self.p.call("DEBUG", "DIGEST"))

    def test_passing_time_replicates_nothing(self):
        self.p.call("PAWL.CONFIG", "q", "MAXDEAD", 1)
        for n in range(4):
            self.p.call("PAWL.PUT", "q", 0, n, "MAXTRIES", 1 + n // 2)
        self.p.call("PAWL.TAKE", "q", "COUNT", 4, "LEASE", 50)
        self.p.call("PAWL.PUT", "q", 100, "p")
        self.same()
        before = offset(self.primary)
        self.set_clocks(START + 100)
        for client in (self.p, self.r):
            self.assertEqual([client.call("PAWL.LEN", "q", "STATE", state) for state in ("due", "dead")], [3, 2])
        self.assertEqual(offset(self.primary), before)

    def test_many_tasks_put_at_once_are_replicated_in_order(self):
        words = []
        for n in range(2000):
            words += [n % 3, n, "ID", n, *(("MAXTRIES", n % 7) if n % 7 else ())]
        self.p.call("PAWL.MPUT", "q", *words)
        self.same()
        for n in (0, 749, 750, 1999):
            self.assertEqual(self.r.call("PAWL.GET", "q", n), self.p.call("PAWL.GET", "q", n))
        self.p.call("PAWL.MPUT", "q", *(word for n in range(1000) for word in (2, "anew", "ID", n, "REPLACE")))
        self.same()
        self.replica.call("REPLICAOF", "NO", "ONE")
        self.set_clocks(START + 10)
        taken = [[task[:2] for task in server.call("PAWL.TAKE", "q", "COUNT", 2000)] for server in (self.p, self.r)]
        self.assertEqual(len(taken[0]), 2000)
        self.assertEqual(taken[0], taken[1])

    def test_an_mput_is_replicated_from_a_script(self):
        put = "return redis.call('PAWL.MPUT', KEYS[1], 0, 'x' .. ARGV[1], 'ID', ARGV[1], ARGV[2], ARGV[1], 3, 4)"
        for n in range(3):  # a script's arguments are used again for its next command
            self.p.call("EVAL", put + " and redis.call('PAWL.MPUT', KEYS[1], 1, 'after')", 1, "q", f"id{n}", n)
            self.same()
        self.assertEqual(self.r.call("PAWL.LEN", "q"), 12)
        self.assertEqual(in_pairs(self.r.call("PAWL.GET", "q", "id1"))[b"payload"], b"xid1")

    def test_a_refused_or_skipped_mput_replicates_nothing(self):
        self.p.call("PAWL.MPUT", "q", 5, "a", "ID", "a", 5, "b", "ID", "b")
        in_step(self.replica, self.primary)
        before = offset(self.primary)
        for words in ((0, "c", 0, "b", "ID", "b"), (0, "c", "ID", "c", 0, "d", "ID", "c"), (0, "c", 0, "d", "MAXTRIES", 0)):
            with self.assertRaises(Error):
                self.p.call("PAWL.MPUT", "q", *words)
        self.assertEqual(self.p.call("PAWL.MPUT", "q", 0, "A", "ID", "a", "NX", 0, "B", "ID", "b", "NX"), [None, None])
        self.assertEqual(offset(self.primary), before)
        self.same()
        self.p.call("PAWL.MPUT", "q", 0, "A", "ID", "a", "NX", 0, "c", "ID", "c", 0, "B", "ID", "b", "NX")
        self.same()
        self.assertEqual(self.r.call("PAWL.LEN", "q"), 3)
        self.assertEqual(in_pairs(self.r.call("PAWL.GET", "q", "b"))[b"payload"], b"b")

    def test_a_replica_notifies_of_an_mput_once(self):
        self.r.call("CONFIG", "SET", "notify-keyspace-events", "KEAd")
        listener = self.replica.client()
        listener.call("SUBSCRIBE", "__keyspace@0__:q")
        self.p.call("PAWL.MPUT", "q", *(word for n in range(20) for word in (n, n)))
        self.p.call("PAWL.CANCEL", "q", self.p.call("PAWL.PUT", "q", 5, "last"))
        self.assertEqual([listener.read()[2] for _ in range(3)], [b"pawl.put", b"pawl.put", b"pawl.drop"])

    def test_a_blocked_taker_s_delivery_is_replicated(self):
        for n, take in enumerate((("PAWL.TAKE", "q"), ("PAWL.MTAKE", 2, "other", "q")), 1):
            taker = self.primary.client()
            taker.send(*take, "BLOCK", 0, "LEASE", 50)
            wait_until(lambda: self.primary.blocked() == 1, "blocked")
            self.p.call("PAWL.PUT", "q", 10, "p")
            self.set_clocks(START + 10 * n)
            taker.read()
            self.same()
            self.assertEqual(self.r.call("PAWL.LEN", "q", "STATE", "leased"), n)

    def test_a_replica_reads_by_its_own_clock_and_does_not_take(self):
        self.p.call("PAWL.PUT", "q", 100, "p")
        self.same()
        self.r.call("PAWL.CLOCK", START + 40)
        self.assertEqual(self.r.call("PAWL.NEXT", "q"), 60)
        self.r.call("PAWL.CLOCK", START + 100)
        self.assertEqual(self.r.call("PAWL.LEN", "q", "STATE", "due"), 1)
        for command in (("PAWL.TAKE", "q"), ("PAWL.TAKE", "q", "BLOCK", 0), ("PAWL.MTAKE", 1, "q"), ("PAWL.PUT", "q", 0, "p")):
            with self.assertRaisesRegex(Error, "^READONLY"):
                self.r.call(*command)
        self.same()

    def test_a_promoted_replica_keeps_leases_and_tokens(self):
        for name in "abc":
            self.p.call("PAWL.PUT", "q", 0, name, "ID", name)
        tokens = [task[4] for task in self.p.call("PAWL.TAKE", "q", "COUNT", 3, "LEASE", 100)]
        made = {self.p.call("PAWL.PUT", "other", 0, "p") for _ in range(50)}
        self.same()
        self.primary.kill()
        self.r.call("REPLICAOF", "NO", "ONE")
        self.assertIsNone(self.r.call("PAWL.TAKE", "q"))
        self.assertEqual(self.r.call("PAWL.ACK", "q", "a", tokens[0]), 1)
        self.assertEqual(self.r.call("PAWL.EXTEND", "q", "b", tokens[1], 500), 1)
        self.r.call("PAWL.CLOCK", START + 100)
        [[name, _, tries, due, token]] = self.r.call("PAWL.TAKE", "q", "COUNT", 9, "LEASE", 100)
        self.assertEqual((name, tries, due), (b"c", 2, START + 100))
        self.assertEqual(self.r.call("PAWL.ACK", "q", "c", tokens[2]), 0)
        self.assertEqual(self.r.call("PAWL.ACK", "q", "c", token), 1)
        self.r.call("PAWL.CLOCK", START)  # the same milliseconds again, but other ids
        self.r.call("DEL", "other")
        self.assertFalse(made & {self.r.call("PAWL.PUT", "other", 0, "p") for _ in range(50)})
        self.primary.start()

    def fence(self, client):
        client.call("PAWL.PUT", "f", 0, "p")
        return int(client.call("PAWL.TAKE", "f", "LEASE", 100)[0][4].split(b"-")[0])

    def test_a_promoted_replica_whose_clock_is_behind_goes_on_with_greater_fences(self):
        """It learns the fence from the stream, and, if it comes late, from a snapshot."""
        for late in (False, True):
            if late:
                self.r.call("REPLICAOF", "NO", "ONE")
            before = self.fence(self.p)
            self.r.call("PAWL.CLOCK", START - 60_000)
            follow(self.replica, self.primary)
            self.r.call("REPLICAOF", "NO", "ONE")
            self.assertGreater(self.fence(self.r), before, "late" if late else "in step")
            follow(self.replica, self.primary)
            self.p.call("PAWL.CLOCK", START + 60_000)

    def test_a_replica_s_own_file_has_it_all(self):
        self.p.call("PAWL.MPUT", "q", 5, "a", 0, "b", 0, "c")
        self.p.call("PAWL.TAKE", "q", "LEASE", 500)
        self.p.call("PAWL.TAKE", "q")
        self.same()
        digest = self.r.call("DEBUG", "DIGEST")
        self.replica.wait_for_rewrite()  # it began when the replica had synchronised
        self.r.call("DEBUG", "LOADAOF")
        self.assertEqual(self.r.call("DEBUG", "DIGEST"), digest)

    def test_takers_of_a_demoted_primary_are_sent_away(self):
        taker = self.primary.client()
        taker.send("PAWL.TAKE", "q", "BLOCK", 0)
        wait_until(lambda: self.primary.blocked() == 1, "blocked")
        self.r.call("REPLICAOF", "NO", "ONE")
        self.p.call("REPLICAOF", "127.0.0.1", self.replica.port)
        with self.assertRaisesRegex(Error, "UNBLOCKED"):
            taker.read()
        in_step(self.primary, self.replica)
        self.r.call("PAWL.PUT", "q", 0, "p")
        in_step(self.primary, self.replica)


class FailoverUnderLoad(Pair):
    """On the real clock, with takers waiting and tasks falling due all the time."""
    clock = None

    def work(self, servers, done, stop):
        """Take and acknowledge, from the server that is the primary at the time."""
        client = None
        while not stop.is_set():
            try:
                client = client or next(server for server in servers if server.is_primary()).client()
                for task in client.call("PAWL.TAKE", "q", "BLOCK", 100, "COUNT", 5, "LEASE", 1000) or []:
                    client.call("PAWL.ACK", "q", task[0], task[4])
                    done.add(task[1])
            except (Error, Gone, StopIteration, OSError, ValueError):
                client = None
                time.sleep(0.01)

    def under_load(self, disturb):
        """Calls disturb(put, done) while tasks fall due and are taken. These are sets of payloads; disturb may put more."""
        done, stop = set(), threading.Event()
        workers = [threading.Thread(target=self.work, args=((self.primary, self.replica), done, stop)) for _ in range(4)]
        put = {b"%d" % n for n in range(2000)}
        self.p.calls([("PAWL.PUT", "q", n, n) for n in range(2000)])
        in_step(self.replica, self.primary)
        for worker in workers:
            worker.start()
        try:
            disturb(put, done)
            wait_until(lambda: put <= done, "every task was delivered")
        finally:
            stop.set()
            for worker in workers:
                worker.join(HANG)

    def test_client_pause_while_tasks_fall_due(self):
        def disturb(put, done):
            for pause in range(5):
                more = {b"pause %d: %d" % (pause, n) for n in range(20)}
                put |= more
                self.p.calls([*(("PAWL.PUT", "q", 100, payload) for payload in more), ("CLIENT", "PAUSE", 10**9, "WRITE")])
                wait_until(lambda: self.p.call("PAWL.LEN", "q", "STATE", "due") >= len(more - done),
                           "as many are due as were not taken before the pause")
                self.p.call("CLIENT", "UNPAUSE")
        self.under_load(disturb)

    def test_failover_while_tasks_fall_due(self):
        def failover(old, new):
            old.call("FAILOVER")
            wait_until(lambda: new.is_primary() and not old.is_primary(), "failed over")
            in_step(old, new)

        def disturb(put, done):
            failover(self.primary, self.replica)
            failover(self.replica, self.primary)
        self.under_load(disturb)


if __name__ == "__main__":
    unittest.main()
