# SPDX-License-Identifier: MIT
"""No question changes anything: not the value, and not what is saved, replicated or notified, whatever has fallen due or
lapsed meanwhile. (test_model.py asks between random commands, and compares what is delivered later.)"""
import unittest

from support import START, Server, ServerTest
from test_replication import Pair, follow, in_step

HOUR = 3_600_000
# How far the clock goes before each round of questions: tasks fall due, leases lapse, and it is set back.
STEPS = (0, 1, 9, 90, 900, 2100, HOUR, -HOUR, 2 * HOUR, 300 * HOUR)


def questions(key, name="waiting"):
    """Every command that reads, with all of its options."""
    for state in ("waiting", "due", "leased", "dead"):
        yield "PAWL.LEN", key, "STATE", state
        yield "PAWL.SCAN", key, 0, "COUNT", 10_000, "STATE", state
        yield "PAWL.LEN", key, "STATE", state, "FROM", START, "TO", START + 1000
        yield "PAWL.RANGE", key, 0, START + 2 * HOUR, "STATE", state
    yield "PAWL.RANGE", key, START, START + 100, "COUNT", 10_000
    yield "PAWL.SCAN", key, 0, "COUNT", 10_000, "MATCH", "*a*", "FROM", START, "PAYLOADS"
    yield "PAWL.LEN", key
    yield "PAWL.NEXT", key
    yield "PAWL.INFO", key
    yield "PAWL.SCAN", key, 0
    yield "PAWL.SCAN", key, 0, "COUNT", 10_000
    yield "PAWL.GET", key, name
    yield "PAWL.GET", key, "nobody"


class Questions(ServerTest):
    """To a server with an append-only file and to its replica, so that anything written is seen."""
    # A command's record is in the file before its reply: writing waits for no fsync.
    options = (*Pair.options, "--appendfsync", "no")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.replica = Server(*cls.options, clock=cls.clock)
        follow(cls.replica, cls.server)
        cls.replica.wait_for_rewrite()  # it began when the replica had synchronised

    @classmethod
    def tearDownClass(cls):
        try:
            cls.replica.stop()
        finally:
            super().tearDownClass()

    def setUp(self):
        self.at_replica = self.replica.client()
        super().setUp()

    def set_clock(self, ms):
        super().set_clock(ms)
        self.at_replica.call("PAWL.CLOCK", ms)

    def fill(self, key="q"):
        """Tasks of every kind. As the clock advances, they pass through every state."""
        for n, (lease, tries) in enumerate(((1, 1), (5, 1), (50, 2), (800, 1), (2050, 3), (HOUR, 1), (HOUR, 0))):
            self.call("PAWL.PUT", key, 0, "p", "ID", f"leased-{n}", *(("MAXTRIES", tries) if tries else ()))
            self.call("PAWL.TAKE", key, "LEASE", lease)
        self.call("PAWL.PUT", key, 0, "p", "ID", "long-due", "AT", 5)
        for n, delay in enumerate((0, 0, 1, 5, 9, 50, 99, 500, 2000, 2100, 5000, HOUR, 100 * HOUR)):
            self.call("PAWL.PUT", key, delay, "p", "ID", f"waiting-{n}" if n else "waiting")
        self.call("PAWL.EVERY", key, "every", 70, "p")
        self.call("PAWL.CONFIG", key, "MAXDEAD", 1, "BACKOFF", 10, 1000)  # more will be dead, and go with the next write

    def state(self):
        """Everything that a question could change and that the servers show."""
        in_step(self.replica, self.server)
        return [self.state_of(client) for client in (self.redis, self.at_replica)]

    @staticmethod
    def state_of(client):
        info = client.call("INFO").decode()
        numbers = ("rdb_changes_since_last_save", "aof_current_size", "master_repl_offset")
        return {"DUMP": client.call("DUMP", "q"), "memory": client.call("MEMORY", "USAGE", "q", "SAMPLES", 0),
                "keys": client.call("DBSIZE"), **{name: info.split(f"\n{name}:")[1].split()[0] for name in numbers}}

    def ask_at_every_step(self):
        for step in STEPS:
            self.pass_ms(step)
            before = self.state()
            for question in questions("q"):
                for client in (self.redis, self.at_replica):
                    client.call(*question)
                after = [self.state_of(client) for client in (self.redis, self.at_replica)]
                self.assertEqual(after, before, f"{question}, {self.now - START} ms after the start")

    def test_the_questions_are_all_the_commands_that_read(self):
        read = {info[0] for info in self.call("COMMAND") if info[0].startswith(b"pawl.") and "readonly" in info[2]}
        self.assertEqual(read, {question[0].lower().encode() for question in questions("q")})

    def test_a_write_changes_all_that_is_compared_here_but_the_number_of_keys(self):
        self.fill()
        before = self.state()
        self.call("PAWL.PUT", "q", 5, "p")
        for old, new in zip(before, self.state()):
            self.assertEqual([what for what in old if old[what] == new[what]], ["keys"])

    def test_a_missing_key(self):
        self.ask_at_every_step()

    def test_a_small_queue(self):
        self.fill()
        self.ask_at_every_step()

    def test_a_large_queue_before_and_after_it_is_loaded(self):
        self.make_large()
        self.fill()
        self.ask_at_every_step()
        self.call("DEBUG", "RELOAD")
        self.server.wait_for_rewrite()
        self.set_clock(START)
        self.ask_at_every_step()

    def test_in_a_transaction_and_in_a_script(self):
        self.fill()
        self.pass_ms(90)
        before = self.state()
        self.call("MULTI")
        for question in questions("q"):
            self.call(*question)
        self.call("EXEC")
        for command, key, *arguments in questions("q"):
            script = "return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))"
            self.call("EVAL", script, 1, key, command, *arguments)
            self.call("EVAL_RO", script, 1, key, command, *arguments)
        self.assertEqual(self.state(), before)

    def test_no_watcher_and_no_listener_is_told(self):
        self.call("CONFIG", "SET", "notify-keyspace-events", "KEAd")
        self.addCleanup(lambda: self.server.call("CONFIG", "SET", "notify-keyspace-events", ""))
        self.fill()
        listener, other = self.server.client(), self.server.client()
        listener.call("PSUBSCRIBE", "*")
        for step in (0, 9, 2100, HOUR):
            self.pass_ms(step)
            self.call("WATCH", "q")
            for question in questions("q"):
                other.call(*question)
            self.call("MULTI")
            self.call("PING")
            self.assertEqual(self.call("EXEC"), ["PONG"])
        self.call("PUBLISH", "end", "all asked")
        self.assertEqual(listener.read(), [b"pmessage", b"*", b"end", b"all asked"])


if __name__ == "__main__":
    unittest.main()
