# SPDX-License-Identifier: MIT
"""No question changes anything: not the value, not what is saved, replicated or notified, and not what is delivered later,
whatever has fallen due or lapsed meanwhile."""
import os
import random
import unittest

from support import START, Server, ServerTest
from test_replication import Pair as PairOfServers, follow, in_step

SEEDS = range(1, 201 if os.environ.get("PAWL_LONG") else 13)
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


# A command's record is in the file before its reply: writing waits for no fsync.
OPTIONS = (*PairOfServers.options, "--appendfsync", "no")


class Questions(ServerTest):
    """On a server with an append-only file and a replica, so that anything written to either is seen."""
    options = OPTIONS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.replica = Server(*cls.options, clock=cls.clock)
        follow(cls.replica, cls.server)

    @classmethod
    def tearDownClass(cls):
        try:
            cls.replica.stop()
        finally:
            super().tearDownClass()

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

    def field(self, section, name):
        return int(self.call("INFO", section).decode().split(f"\n{name}:")[1].split()[0])

    def state_of(self, key):
        """Everything that a question could change and that the server shows."""
        return {"DUMP": self.call("DUMP", key), "digest": self.call("DEBUG", "DIGEST"),
                "memory": self.call("MEMORY", "USAGE", key, "SAMPLES", 0),
                "changes": self.field("persistence", "rdb_changes_since_last_save"),
                "file": self.field("persistence", "aof_current_size"),
                "offset": self.field("replication", "master_repl_offset"), "keys": self.call("DBSIZE")}

    def ask_all_at(self, key, clock):
        """Ask every question at that time, and compare the state after each."""
        self.set_clock(clock)
        before = self.state_of(key)
        for question in questions(key):
            self.call(*question)
            after = self.state_of(key)
            self.assertEqual(after, before, f"{question}, {clock - START} ms after the start")

    def ask_at_every_step(self, key="q"):
        clock = self.now
        for step in STEPS:
            clock += step
            self.ask_all_at(key, clock)

    def test_the_questions_are_all_the_commands_that_read(self):
        read = {info[0] for info in self.call("COMMAND") if info[0].startswith(b"pawl.") and "readonly" in info[2]}
        self.assertEqual(read, {question[0].lower().encode() for question in questions("q")})

    def test_a_write_changes_all_that_is_compared_here_but_the_number_of_keys(self):
        self.fill()
        before = self.state_of("q")
        self.call("PAWL.TAKE", "q", "LEASE", 5)
        after = self.state_of("q")
        self.assertEqual([what for what in before if before[what] == after[what]], ["keys"])

    def test_a_small_queue(self):
        self.fill()
        self.ask_at_every_step()

    def test_a_large_queue(self):
        self.make_large()
        self.fill()
        self.ask_at_every_step()

    def test_a_queue_whose_leases_have_all_lapsed(self):
        for n in range(20):
            self.call("PAWL.PUT", "q", 0, "p", "ID", n, "MAXTRIES", 1 + n % 2)
        self.call("PAWL.TAKE", "q", "COUNT", 20, "LEASE", 5)
        self.ask_at_every_step()
        self.assertEqual(self.call("PAWL.LEN", "q"), 20)

    def test_a_missing_key(self):
        self.ask_at_every_step("none")

    def test_after_a_reload(self):
        self.make_large()
        self.fill()
        self.call("DEBUG", "RELOAD")
        self.server.wait_for_rewrite()
        self.ask_at_every_step()

    def test_in_a_transaction_and_in_a_script(self):
        self.fill()
        self.pass_ms(90)
        before = self.state_of("q")
        self.call("MULTI")
        for question in questions("q"):
            self.call(*question)
        self.call("EXEC")
        for command, key, *arguments in questions("q"):
            script = "return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))"
            self.call("EVAL", script, 1, key, command, *arguments)
            self.call("EVAL_RO", script, 1, key, command, *arguments)
        self.assertEqual(self.state_of("q"), before)

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

    def test_a_question_does_not_change_what_is_delivered(self):
        """Two queues with the same random commands; one of them is also asked every question."""
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.play_on_two_queues(random.Random(seed), large=seed % 3 == 0)

    def play_on_two_queues(self, rng, large):
        self.call("FLUSHALL")
        self.set_clock(START)
        if large:
            for key in ("asked", "quiet"):
                self.call("PAWL.MPUT", key, *(word for n in range(4500) for word in (n * n % 9973, n)))
        held = []
        for n in range(150):
            self.pass_ms(rng.choice((0, 0, 1, 7, 60, 700, 2500, -50)))
            for question in rng.sample([*questions("asked", f"t{rng.randrange(n + 1)}")], 3):
                self.call(*question)
            act, delay = rng.choice(("put", "put", "put", "take", "take", "ack", "cancel")), rng.choice((0, 3, 80, 900, 4000))
            lease, some = rng.choice((0, 4, 300, 3000)), f"t{rng.randrange(n + 1)}"
            if act == "put":
                self.both("PAWL.PUT", delay, n, "ID", f"t{n}", *rng.choice(((), ("MAXTRIES", 1))))
            elif act == "cancel":
                self.both("PAWL.CANCEL", some, "FORCE")
            elif act == "take":
                taken = self.both("PAWL.TAKE", "COUNT", rng.choice((1, 5)), "LEASE", lease)
                held += zip(*taken) if lease and taken[0] else ()
            elif held:
                one, other = held.pop(rng.randrange(len(held)))
                self.assertEqual(self.call("PAWL.ACK", "asked", one[0], one[4]),
                                 self.call("PAWL.ACK", "quiet", other[0], other[4]))
        self.pass_ms(HOUR)
        self.both("PAWL.TAKE", "COUNT", 10_000)
        self.both("PAWL.LEN")

    def both(self, command, *arguments):
        """Send the command to both. The replies must be the same, except for made ids and tokens."""
        replies = [self.call(command, key, *arguments) for key in ("asked", "quiet")]
        plain = [[task[1:4] for task in reply] if isinstance(reply, list) else reply for reply in replies]
        self.assertEqual(plain[0], plain[1], (command, *arguments))
        return replies


class OnAReplica(PairOfServers):
    options = OPTIONS

    def test_questions_to_a_replica_change_nothing_there(self):
        for n in range(30):
            self.p.call("PAWL.PUT", "q", n * 30, "p", "ID", n, "MAXTRIES", 1 + n % 2)
        self.p.call("PAWL.CLOCK", START + 200)
        self.p.call("PAWL.TAKE", "q", "COUNT", 5, "LEASE", 50)
        in_step(self.replica, self.primary)
        self.replica.wait_for_rewrite()  # it began when the replica had synchronised
        clock = START + 200
        for step in STEPS:
            clock += step
            self.r.call("PAWL.CLOCK", clock)
            before = self.state_of_replica()
            self.assertEqual(before[1], self.p.call("DEBUG", "DIGEST"))
            for question in questions("q", "7"):
                self.r.call(*question)
                self.assertEqual(self.state_of_replica(), before, question)

    def state_of_replica(self):
        info = self.r.call("INFO").decode()
        return (self.r.call("DUMP", "q"), self.r.call("DEBUG", "DIGEST"),
                *(info.split(f"\n{name}:")[1].split()[0] for name in
                  ("master_repl_offset", "slave_repl_offset", "rdb_changes_since_last_save", "aof_current_size")))


if __name__ == "__main__":
    unittest.main()
