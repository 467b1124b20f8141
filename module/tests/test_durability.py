# SPDX-License-Identifier: MIT
"""The data of a server that was killed and started again."""
import base64
import os
import threading
import unittest

from support import HANG, START, Error, Gone, Server, ServerTest, crc64, in_pairs, wait_until

ROUNDS = 40 if os.environ.get("PAWL_LONG") else 4
ACTS = 300  # a server is killed after twice as many puts and acknowledgements


# The DUMP of a queue with tasks of every kind, at START + 10 on Redis 7.0.15, by a module that wrote encoding 1. It wrote all
# tasks in the order of their times, whatever their state.
WRITTEN_BEFORE = base64.b64decode(
    "B4GlrCWq5654AQISBcNBD0FjHxBN//8DBwBiaW5hcnkEAA0K/xqzn/HCsTQBAQZidXJpFWVkABkFAQKUCHNQn4OgCgZsYXBzZWSg"
    "BgwZAAEBJaGhUUVUCVcLgBkELWRlYWTgAwsSGe8DAQFyMlubJyRjCgVkeWluZ4AFCgD0AwJ3MAl3YWl0IBMGIDAAAAJ3M+AADgAz"
    "QA4ANuAADgU2AAECdzHgAA4AMUAdADTgAA4ANEAOADfgAA4AN0AsADLgAA4AMkAdADXgAA4ANUAOADjgAA4JOATmBwGjGFxQAEAA"
    "DDneDFIGbWFkZSAwBADgABYEAZ111PuAFgAx4AIWBAJafD8AgBYRMgmQxQMBH6cznXRV/WUGbGVhYSUgBgFlZAUAAAoArPipZYTC"
    "TSQ=")


def all_ids(client, key="q"):
    found, cursor = set(), b"0"
    while True:
        cursor, ids = client.call("PAWL.SCAN", key, cursor, "COUNT", 1000)
        found |= set(ids)
        if cursor == b"0":
            return found


class Traffic:
    """A producer and a worker that record what the server has confirmed, until it is killed."""

    def __init__(self, server, round):
        self.server, self.round = server, round
        self.put, self.done, self.doubtful = set(), set(), set()
        self.acts, self.failures = 0, []
        self.threads = [threading.Thread(target=self.guard, args=(act,)) for act in (self.produce, self.work)]
        for thread in self.threads:
            thread.start()

    def guard(self, act):
        try:
            act(self.server.client())
        except (Gone, OSError, ValueError):
            pass  # the server was killed
        except Exception as error:
            self.failures.append(error)

    def produce(self, client):
        for n in range(10_000_000):
            name = b"r%d-%d" % (self.round, n)
            client.call("PAWL.PUT", "q", n % 20, name, "ID", name)
            self.put.add(name)
            self.acts += 1

    def work(self, client):
        while True:
            for task in client.call("PAWL.TAKE", "q", "LEASE", 60_000, "COUNT", 3, "BLOCK", 1000) or []:
                self.doubtful.add(task[0])  # acknowledged or not: that is known only when the reply is here
                if client.call("PAWL.ACK", "q", task[0], task[4]) == 1:
                    self.done.add(task[0])
                self.acts += 1

    def has_passed(self, acts):
        """Whether there were so many acts, and acknowledgements among them. Fails if a thread has failed."""
        if self.failures:
            raise self.failures[0]
        return self.acts > acts and self.done

    def end(self):
        for thread in self.threads:
            thread.join(HANG)


class Killed(unittest.TestCase):
    def traffic_and_kill(self, server, round):
        traffic = Traffic(server, round)
        wait_until(lambda: traffic.has_passed(ACTS), "there is traffic")
        safe = self.written(server, traffic)
        wait_until(lambda: traffic.has_passed(2 * ACTS), "there is more")
        server.kill()
        traffic.end()
        server.start()
        return traffic, safe

    @staticmethod
    def written(server, traffic):
        """Tasks that are no longer in the server's buffer: the operating system has them."""
        confirmed = set(traffic.put)
        wait_until(lambda: "aof_buffer_length:0\r" in server.info("persistence"), "written to the file")
        return confirmed

    def test_with_fsync_at_every_write_nothing_confirmed_is_lost(self):
        server = Server("--appendonly", "yes", "--appendfsync", "always")
        put, done, doubtful = set(), set(), set()
        for round in range(ROUNDS):
            traffic, _ = self.traffic_and_kill(server, round)
            put |= traffic.put
            done |= traffic.done
            doubtful |= traffic.doubtful
            there = all_ids(server.client())
            self.assertEqual(put - doubtful - there, set(), "confirmed, and lost")
            self.assertEqual(done & there, set(), "acknowledged, and there again")
        server.stop()

    def test_with_fsync_every_second_nothing_is_lost_that_was_written_to_the_file(self):
        server = Server("--appendonly", "yes", "--appendfsync", "everysec")
        traffic, safe = self.traffic_and_kill(server, 0)
        self.assertGreater(len(safe), 0)
        self.assertEqual(safe - traffic.doubtful - all_ids(server.client()), set())
        server.stop()


def rewrite(server):
    server.call("BGREWRITEAOF")
    server.wait_for_rewrite()


def save_in_the_background(server):
    server.call("BGSAVE")
    wait_until(lambda: "rdb_bgsave_in_progress:0" in server.info("persistence"), "saved")


# The files from which a server starts: its options, and what writes the file.
APPENDS = ("--appendonly", "yes", "--appendfsync", "always")
FILES = {"append-only file": (APPENDS, lambda server: None),
         "rewritten, with a snapshot in front": ((*APPENDS, "--aof-use-rdb-preamble", "yes"), rewrite),
         "rewritten as commands": ((*APPENDS, "--aof-use-rdb-preamble", "no"), rewrite),
         "snapshot": ((), lambda server: server.call("SAVE")),
         "snapshot made in the background": ((), save_in_the_background)}


class Restarted(unittest.TestCase):
    """Every state a task can have, through every kind of file."""

    def fill(self, client):
        call = client.call
        call("PAWL.PUT", "q", 0, "dead", "ID", "dead", "MAXTRIES", 1)
        call("PAWL.TAKE", "q", "LEASE", 1)
        call("PAWL.CLOCK", START + 1)
        call("PAWL.PUT", "q", 0, "buried", "ID", "buried", "MAXTRIES", 1)
        token = call("PAWL.TAKE", "q", "LEASE", 100)[0][4]
        call("PAWL.NACK", "q", "buried", token, "REASON", b"its\0end\r\n")
        call("PAWL.PUT", "q", 0, "leased", "ID", "leased", "MAXTRIES", 3)
        token = call("PAWL.TAKE", "q", "LEASE", 5000)[0][4]
        call("PAWL.NACK", "q", "leased", token, "REASON", "first")
        token = call("PAWL.TAKE", "q", "LEASE", 5000)[0][4]
        call("PAWL.EXTEND", "q", "leased", token, 60_000)
        call("PAWL.PUT", "q", 0, b"\0\r\n\xff", "ID", b"\0binary")
        call("PAWL.PUT", "q", 50, "moved", "ID", "moved")
        call("PAWL.MOVE", "q", "moved", 5)
        call("PAWL.PUT", "q", 50, "replaced", "ID", "replaced")
        call("PAWL.PUT", "q", 70, "anew", "ID", "replaced", "REPLACE")
        call("PAWL.PUT", "q", 50, "gone", "ID", "gone")
        call("PAWL.CANCEL", "q", "gone")
        call("PAWL.MPUT", "q", 10, "a", 20, "b")
        call("PAWL.MPUT", "many", *(word for n in range(1600) for word in (n % 9, n, "ID", n, "MAXTRIES", n % 5 + 1)))
        call("PAWL.MPUT", "many", *(word for n in range(9) for word in (5, b"\0\r\n", "ID", n, "REPLACE")))
        call("PAWL.EVERY", "periodic", "x", 700, "p", "AT", START)
        call("PAWL.EVERY", "periodic", "y", 30, "p", "AT", START)
        held = call("PAWL.TAKE", "periodic", "LEASE", 50)[0][4]
        call("PAWL.NACK", "periodic", "x", held, "REASON", "why", "DELAY", 10)
        call("PAWL.TAKE", "periodic")
        call("PAWL.PAUSE", "empty")
        call("PAWL.CONFIG", "empty", "MAXDEAD", 5, "BACKOFF", 6, 7)
        call("PAWL.CONFIG", "q", "MAXDEAD", 1000)
        client.calls([("PAWL.PUT", "large", n * 37 % 9000, n, "ID", n) for n in range(6000)])
        return token

    def test_nothing_is_lost(self):
        for file, (options, write) in FILES.items():
            with self.subTest(file):
                self.restarted(options, write)

    def restarted(self, options, write):
        server = Server(*options, clock=START)
        client = server.client()
        token = self.fill(client)
        write(server)
        digest = client.call("DEBUG", "DIGEST")
        server.kill()
        server.module[2] = str(START + 1)  # the time of its clock
        server.start()
        client = server.client()
        self.assertEqual(client.call("DEBUG", "DIGEST"), digest)
        self.assertEqual(client.call("PAWL.LEN", "q", "STATE", "dead"), 2)
        self.assertEqual(in_pairs(client.call("PAWL.GET", "periodic", "x")), {
            b"state": b"waiting", b"payload": b"p", b"due-ms": START + 11, b"tries": 1, b"maxtries": 0, b"reason": b"why",
            b"period-ms": 700})
        self.assertEqual(in_pairs(client.call("PAWL.GET", "periodic", "y"))[b"due-ms"], START + 30)
        self.assertEqual(list(in_pairs(client.call("PAWL.CONFIG", "empty")).values()), [1, 5, 6, 7])
        self.assertEqual(list(in_pairs(client.call("PAWL.CONFIG", "q")).values()), [0, 1000, 0, 0])
        self.assertEqual(in_pairs(client.call("PAWL.GET", "q", "replaced"))[b"payload"], b"anew")
        self.assertEqual(in_pairs(client.call("PAWL.GET", "q", "buried"))[b"reason"], b"its\0end\r\n")
        self.assertEqual(in_pairs(client.call("PAWL.GET", "q", "leased"))[b"reason"], b"first")
        self.assertEqual(in_pairs(client.call("PAWL.GET", "many", 1599))[b"maxtries"], 5)
        self.assertEqual(in_pairs(client.call("PAWL.GET", "many", 8))[b"payload"], b"\0\r\n")
        self.assertEqual(client.call("PAWL.TAKE", "q"), [[b"\0binary", b"\0\r\n\xff", 1, START + 1, None]])
        self.assertEqual(client.call("PAWL.ACK", "q", "leased", token), 1)
        client.call("PAWL.CLOCK", START + 10_000)
        client.call("PAWL.TAKE", "periodic", "COUNT", 2)
        self.assertEqual([in_pairs(client.call("PAWL.GET", "periodic", name))[b"due-ms"] - START for name in "xy"],
                         [10_500, 10_020])
        due = [int(task[3]) for task in client.call("PAWL.TAKE", "large", "COUNT", 10_000)]
        self.assertEqual(len(due), 6000)
        self.assertEqual(due, sorted(due))
        server.stop()

    def test_a_fence_grows_over_a_restart_even_if_the_clock_was_set_back(self):
        for file, (options, write) in FILES.items():
            server, fences = Server(*options, clock=START), []
            for clock in (START, START - 3_600_000):
                client = server.client()
                client.call("PAWL.CLOCK", clock)
                client.call("PAWL.MPUT", "q", 0, "a", 3_600_000, "b")
                [task] = client.call("PAWL.TAKE", "q", "LEASE", 100)
                fences.append(int(task[4].split(b"-")[0]))
                client.call("PAWL.ACK", "q", task[0], task[4])
                write(server)
                server.kill()
                server.start()
            server.stop()
            self.assertGreater(fences[1], fences[0], file)

YEAR = 366 * 24 * 3_600_000  # ms


class FencesAhead(unittest.TestCase):
    """A fence more than a year ahead of the clock would stay for good: it is not learnt."""

    def setUp(self):
        self.server = Server(clock=START)
        self.redis = self.server.client()

    def tearDown(self):
        self.server.stop()

    def restart(self, clock):
        self.server.kill()
        self.server.module[2] = str(clock)
        self.server.start()
        self.redis = self.server.client()

    def fence(self):
        self.redis.call("PAWL.PUT", "q", 0, "p")
        return int(self.redis.call("PAWL.TAKE", "q", "LEASE", 10**12)[0][4].split(b"-")[0])

    def restore(self, fence):
        """A queue that was dumped where this was the last fence."""
        here, body = self.fence(), self.redis.call("DUMP", "q")[:-8]
        self.assertEqual(body.count(here.to_bytes(8, "big")), 1)
        body = body.replace(here.to_bytes(8, "big"), fence.to_bytes(8, "big"))
        self.redis.call("RESTORE", "r", 0, body + crc64(body), "REPLACE")

    def test_restore_refuses_it_and_says_why(self):
        most = (START + YEAR) * 2048
        for fence in (most + 1, 2**53 - 1, 2**53, 2**64 - 1):
            with self.assertRaisesRegex(Error, "Bad data format"):
                self.restore(fence)
            self.assertIn(f"pawl: a queue cannot be loaded: its fence is {fence}, must be at most {most}, a year ahead of this "
                          "server's clock", self.server.log_text())
        self.assertEqual(self.redis.call("EXISTS", "r"), 0)
        self.assertLess(self.fence(), START * 2048 + 100)
        self.restore(most)
        self.assertEqual(self.fence(), most + 1)

    def test_a_server_does_not_load_it(self):
        self.restart(START + YEAR + 10)
        self.fence()
        self.redis.call("SAVE")
        with self.assertRaisesRegex(AssertionError, r"pawl: a queue cannot be loaded: its fence is \d+, must be at most"):
            self.restart(START)
        self.restart(START + 10)  # set the clock, and it does
        self.assertEqual(self.redis.call("PAWL.LEN", "q"), 1)

    def test_a_token_of_the_stream_holds_its_lease_but_its_fence_is_not_learnt(self):
        for name, token in (("x", "%d-00000000000000aa" % (2**53 - 1)), ("y", "%d-00000000000000aa" % (2**64 - 10))):
            self.redis.call("PAWL.PUTAT", "q", START + 50, name, "p", 0, "leased", 1, token)
            self.redis.call("PAWL.SETAT", "q", START + 60, "leased", 1, token, name)
            self.assertEqual(self.redis.call("PAWL.ACK", "q", name, token), 1)
        self.assertLess(self.fence(), START * 2048 + 100)

    def test_a_server_loads_its_own_file_after_its_clock_was_two_years_ahead(self):
        for file in ("snapshot", "rewritten, with a snapshot in front", "rewritten as commands"):
            options, write = FILES[file]
            self.server.stop()
            self.server = Server(*options, clock=START + 2 * YEAR)
            self.redis = self.server.client()
            ahead = self.fence()
            self.redis.call("PAWL.CLOCK", START)
            self.assertEqual(self.fence(), ahead + 1)  # it grows as long as the server runs
            write(self.server)
            self.restart(START)
            self.assertEqual(self.redis.call("PAWL.LEN", "q"), 2)
            self.assertLess(self.fence(), ahead, file)


class WrittenBefore(ServerTest):
    """Encoding 1, as an earlier version of the module wrote it."""

    def setUp(self):
        super().setUp()
        self.set_clock(START + 10)
        self.call("RESTORE", "q", 0, WRITTEN_BEFORE)

    def test_every_task_has_its_state(self):
        for state, count in (("waiting", 12), ("due", 2), ("leased", 2), ("dead", 2)):
            self.assertEqual(self.call("PAWL.LEN", "q", "STATE", state), count)
        self.assertEqual(self.call("PAWL.NEXT", "q"), 0)
        self.assertEqual(in_pairs(self.call("PAWL.GET", "q", b"\0binary")), {
            b"state": b"due", b"payload": b"\0\r\n\xff", b"due-ms": 77, b"tries": 0, b"maxtries": 65_535,
            b"reason": None, b"period-ms": 0})

    def test_due_tasks_come_in_order_and_dead_ones_as_they_died(self):
        self.set_clock(START + 3000)
        names = [task[0] for task in self.call("PAWL.TAKE", "q", "COUNT", 100)]
        self.assertEqual(names, [
            b"\0binary", b"lapsed", b"w0", b"w3", b"w6", b"w1", b"w4", b"w7", b"w2", b"w5", b"w8",
            b"1800000000000-0-39de0c52", b"1800000000000-1-9d75d4fb", b"1800000000000-2-5a7c3f00"])
        self.assertEqual(self.call("PAWL.DEAD", "q", "TAKE", "COUNT", 10), [
            [b"buried", b"", 1, START, None, None], [b"lapsed-dead", b"lapsed-dead", 1, START + 5, None, None],
            [b"dying", b"dying", 1, START + 500, None, None]])

    def test_a_lease_goes_on(self):
        self.assertEqual(self.call("PAWL.ACK", "q", "lapsed", "0aa0839f50730894"), 0)
        self.assertEqual(self.call("PAWL.ACK", "q", "leased", "65fd55749d33a71f", "dying", "0a6324279b5b3272"), 2)


if __name__ == "__main__":
    unittest.main()
