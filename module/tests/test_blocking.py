# SPDX-License-Identifier: MIT
"""Blocked takers: which one is served, when, and what happens to the others."""
import itertools
import resource
import selectors
import time
import unittest

from support import HANG, START, Client, Error, ServerTest, wait_until


# The ways to wait at the key q.
TAKES = {"due": ("PAWL.TAKE", "q"), "dead": ("PAWL.DEAD", "q", "TAKE"), "several keys": ("PAWL.MTAKE", 2, "other", "q")}


def payloads(reply):
    """Of the tasks in a reply to any of these."""
    return [task[1] for task in (reply[1] if isinstance(reply[0], bytes) else reply)]


class OnAClockThatStands(ServerTest):
    options = ("--appendonly", "yes")

    def put_for(self, how, delay, payload, key="q"):
        """A task that such a taker gets after the delay. If it takes dead tasks: its last lease ends then."""
        state = ("leased", 1) if how == "dead" else ("waiting", 0)
        self.call("PAWL.PUTAT", key, self.now + delay, payload, payload, 1, *state, "0" * 16)

    def test_a_taker_is_served_when_a_task_is_put(self):
        taker = self.block("PAWL.TAKE", "q", "BLOCK", 0)
        self.call("PAWL.PUT", "q", 0, "p", "ID", "x")
        self.assertEqual(taker.read(), [[b"x", b"p", 1, START, None]])
        self.assertEqual(self.call("EXISTS", "q"), 0)

    def test_a_taker_is_served_when_a_task_falls_due(self):
        self.call("PAWL.PUT", "q", 100, "p", "ID", "x")
        taker = self.block("PAWL.TAKE", "q", "BLOCK", 0, "LEASE", 50)
        self.pass_ms(99)
        self.assertEqual(self.blocked(), 1)
        self.pass_ms(1)
        [[name, _, tries, due, token]] = taker.read()
        self.assertEqual((name, tries, due), (b"x", 1, START + 100))
        self.assertEqual(self.call("PAWL.ACK", "q", "x", token), 1)

    def test_a_taker_is_served_when_a_lease_lapses(self):
        self.call("PAWL.PUT", "q", 0, "p", "ID", "x", "MAXTRIES", 2)
        self.call("PAWL.TAKE", "q", "LEASE", 100)
        taker = self.block("PAWL.TAKE", "q", "BLOCK", 0, "LEASE", 100)
        self.pass_ms(100)
        self.assertEqual(taker.read()[0][2], 2)
        taker = self.block("PAWL.TAKE", "q", "BLOCK", 0)
        self.pass_ms(100)  # now it is dead: no taker gets it
        self.assertEqual(self.call("PAWL.LEN", "q", "STATE", "dead"), 1)
        self.assertEqual(self.blocked(), 1)
        self.call("PAWL.DEAD", "q", "REQUEUE", "x")
        self.assertEqual(taker.read()[0][0], b"x")

    def test_takers_of_a_paused_queue_wait_until_it_is_resumed(self):
        takers = [self.block("PAWL.TAKE", "q", "BLOCK", 0), self.block("PAWL.TAKE", "q", "BLOCK", 0)]
        self.call("PAWL.PAUSE", "q")
        takers.append(self.block("PAWL.TAKE", "q", "BLOCK", 0))
        self.call("PAWL.MPUT", "q", 0, "a", 5, "b", 50, "c")
        self.pass_ms(10)
        self.call("DEBUG", "RELOAD")
        self.assertEqual(self.blocked(), 3)
        self.assertEqual(self.call("PAWL.LEN", "q", "STATE", "due"), 2)
        self.call("PAWL.RESUME", "q")
        self.assertEqual([taker.read()[0][1] for taker in takers[:2]], [b"a", b"b"])
        self.pass_ms(40)
        self.assertEqual(takers[2].read()[0][1], b"c")

    def put_leased(self, *names):
        """The last try of each; returns their tokens."""
        for name in names:
            self.call("PAWL.PUT", "q", 0, name, "ID", name, "MAXTRIES", 1)
        return [task[4] for task in self.call("PAWL.TAKE", "q", "COUNT", len(names), "LEASE", 100)]

    def test_a_taker_of_dead_tasks_is_served_when_one_dies(self):
        tokens = self.put_leased("a", "b", "c")
        takers = [self.block("PAWL.DEAD", "q", "TAKE", "BLOCK", 0, "LEASE", 50) for _ in range(3)]
        self.call("PAWL.NACK", "q", "b", tokens[1], "REASON", "why")
        name, payload, tries, died, token, reason = takers[0].read()[0]
        self.assertEqual((name, payload, tries, died, reason), (b"b", b"b", 1, START, b"why"))
        self.assertEqual(self.blocked(), 2)
        self.pass_ms(99)
        self.assertEqual(takers[1].read()[0][0], b"b")  # the first one's lease lapsed
        self.assertEqual(self.blocked(), 1)
        self.pass_ms(1)
        self.assertEqual(takers[2].read()[0][:4], [b"a", b"a", 1, START + 100])
        self.assertEqual(self.call("PAWL.LEN", "q", "STATE", "dead"), 1)

    def test_nack_and_move_also_serve(self):
        self.call("PAWL.PUT", "q", 0, "p", "ID", "x")
        token = self.call("PAWL.TAKE", "q", "LEASE", 100)[0][4]
        taker = self.block("PAWL.TAKE", "q", "BLOCK", 0, "LEASE", 100)
        self.call("PAWL.NACK", "q", "x", token)
        self.assertEqual(taker.read()[0][2], 2)
        taker = self.block("PAWL.TAKE", "q", "BLOCK", 0)
        self.call("PAWL.MOVE", "q", "x", 0, "FORCE")
        self.assertEqual(taker.read()[0][2], 3)

    def test_one_due_task_wakes_one_taker(self):
        self.call("PAWL.PUT", "q", 5, "p")
        self.call("PAWL.PUT", "q", 5000, "keeps the key")
        takers = [self.block("PAWL.TAKE", "q", "BLOCK", 0) for _ in range(3)]
        self.pass_ms(5)
        self.assertEqual(takers[0].read()[0][1], b"p")
        self.assertEqual(self.blocked(), 2)

    def test_takers_are_served_in_the_order_in_which_they_blocked(self):
        takers = [self.block("PAWL.TAKE", "q", "BLOCK", 0) for _ in range(20)]
        for n in range(10):  # each creates the key again
            self.call("PAWL.PUT", "q", 0, n)
            self.assertEqual(takers[n].read()[0][1], b"%d" % n)
        self.call("PAWL.PUT", "q", 5000, "keeps the key")
        self.redis.calls([("PAWL.PUT", "q", 0, n) for n in range(10, 20)])
        for n in range(10, 20):
            self.assertEqual(takers[n].read()[0][1], b"%d" % n)

    def test_one_taker_gets_as_many_as_it_asked_for(self):
        first = self.block("PAWL.TAKE", "q", "BLOCK", 0, "COUNT", 3)
        second = self.block("PAWL.TAKE", "q", "BLOCK", 0, "COUNT", 3)
        self.call("PAWL.MPUT", "q", 0, "a", 0, "b", 0, "c", 0, "d")
        self.assertEqual([t[1] for t in first.read()], [b"a", b"b", b"c"])
        self.assertEqual([t[1] for t in second.read()], [b"d"])

    def test_a_taker_that_is_gone_is_passed_over(self):
        for how, command in TAKES.items():
            takers = [self.block(*command, "BLOCK", 0) for _ in range(5)]
            for gone in takers[:3]:
                gone.close()
            wait_until(lambda: self.blocked() == 2, "the server noticed")
            self.put_for(how, 0, "first")
            self.assertEqual(payloads(takers[3].read()), [b"first"], how)
            self.assertEqual(self.blocked(), 1)
            self.put_for(how, 0, "second")
            self.assertEqual(payloads(takers[4].read()), [b"second"], how)

    def test_a_time_out_is_nil_and_takes_nothing(self):
        for how, command in TAKES.items():
            taker = self.server.client()
            self.assertIsNone(taker.call(*command, "BLOCK", 1), how)
            self.put_for(how, 0, "p")
            self.assertEqual(self.call("PAWL.LEN", "q"), 1)
            self.call("DEL", "q")

    def test_in_a_transaction_no_command_waits(self):
        for how, command in TAKES.items():
            self.assertEqual(self.redis.calls([("MULTI",), (*command, "BLOCK", 0), ("EXEC",)])[-1], [None], how)

    def test_client_unblock_ends_the_wait_with_nil_or_with_an_error(self):
        taker = self.server.client()
        number = taker.call("CLIENT", "ID")
        for how, command in TAKES.items():
            for end in ("TIMEOUT", "ERROR"):
                taker.send(*command, "BLOCK", 0)
                wait_until(lambda: self.blocked() == 1, "blocked")
                self.assertEqual(self.call("CLIENT", "UNBLOCK", number, end), 1)
                if end == "TIMEOUT":
                    self.assertIsNone(taker.read())
                else:
                    self.assertRaises(Error, taker.read)
            self.put_for(how, 0, "p")
            self.assertEqual(self.call("PAWL.LEN", "q"), 1, how)
            self.call("DEL", "q")

    def test_takers_stay_when_the_key_goes_and_are_served_when_it_comes_again(self):
        ways = [("DEL", "q"), ("UNLINK", "q"), ("FLUSHALL",), ("FLUSHALL", "ASYNC"), ("FLUSHDB",), ("PEXPIRE", "q", 1),
                ("RENAME", "q", "elsewhere"), ("SWAPDB", 0, 1), ("DEBUG", "RELOAD")]
        for how, way in itertools.product(TAKES, ways):
            self.call("FLUSHALL")
            self.put_for(how, 5000, "waits")
            taker = self.block(*TAKES[how], "BLOCK", 0)
            self.call(*way)
            if way[0] == "PEXPIRE":
                wait_until(lambda: self.call("EXISTS", "q") == 0, "the key has expired")
            self.assertEqual(self.blocked(), 1, (how, way))
            self.put_for(how, 0, "comes")
            self.assertEqual(payloads(taker.read()), [b"comes"], (how, way))

    def test_a_taker_stays_while_its_key_has_another_type(self):
        for how, command in TAKES.items():
            self.put_for(how, 5, "goes")
            taker = self.block(*command, "BLOCK", 0)
            self.call("SET", "q", "text")
            self.pass_ms(5)
            self.assertEqual(self.blocked(), 1, how)
            self.call("DEL", "q")
            self.put_for(how, 0, "comes")
            self.assertEqual(payloads(taker.read()), [b"comes"], how)

    def test_takers_are_served_by_a_queue_that_is_renamed_copied_restored_moved_or_swapped_in(self):
        other = self.server.client()
        other.call("SELECT", 1)
        ways = {"rename": lambda: self.call("RENAME", "r", "q"),
                "copy": lambda: self.call("COPY", "r", "q"),
                "restore": lambda: self.call("RESTORE", "q", 0, self.call("DUMP", "r")),
                "swap": lambda: self.call("COPY", "r", "q", "DB", 1) and self.call("SWAPDB", 0, 1),
                "move": lambda: self.call("COPY", "r", "q", "DB", 1) and other.call("MOVE", "q", 0)}
        for how, way in itertools.product(TAKES, ways):
            self.call("FLUSHALL")
            self.set_clock(START)
            self.put_for(how, 0, "now", key="r")
            self.put_for(how, 100, "later", key="r")
            first, second = (self.block(*TAKES[how], "BLOCK", 0) for _ in range(2))
            ways[way]()
            self.assertEqual(payloads(first.read()), [b"now"], (how, way))
            self.pass_ms(100)
            self.assertEqual(payloads(second.read()), [b"later"], (how, way))

    def test_a_step_of_the_clock_reaches_waiting_takers(self):
        hour = 3_600_000
        self.call("PAWL.PUT", "q", hour, "far")
        taker = self.block("PAWL.TAKE", "q", "BLOCK", 0)
        self.pass_ms(hour)
        self.assertEqual(taker.read()[0][1], b"far")
        self.pass_ms(-hour)
        self.call("PAWL.PUT", "q", 10, "near")
        taker = self.block("PAWL.TAKE", "q", "BLOCK", 0)
        self.pass_ms(9)
        self.assertEqual(self.blocked(), 1)
        self.pass_ms(1)
        self.assertEqual(taker.read()[0][1], b"near")

    def let_timers_run(self, ms):
        """Wait until this time has passed by the server's own clock. It runs its timers before it sends a reply, so those
        of this time have run."""
        def now():
            seconds, microseconds = self.call("TIME")
            return int(seconds) * 1000 + int(microseconds) // 1000
        end = now() + ms
        wait_until(lambda: now() >= end, "the server's clock goes on")

    def test_no_taker_is_served_while_writes_are_paused(self):
        self.call("PAWL.PUT", "q", 100, "p")
        taker = self.block("PAWL.TAKE", "q", "BLOCK", 0)
        self.call("CLIENT", "PAUSE", 10**9, "WRITE")
        self.addCleanup(lambda: self.server.call("CLIENT", "UNPAUSE"))
        self.pass_ms(100)
        self.assertEqual(self.call("PAWL.LEN", "q", "STATE", "due"), 1)
        self.let_timers_run(50)
        self.assertEqual(self.blocked(), 1)
        self.call("CLIENT", "UNPAUSE")
        self.assertEqual(taker.read()[0][1], b"p")

    def test_a_taker_blocked_by_one_name_in_two_databases(self):
        other = self.server.client()
        other.call("SELECT", 1)
        other.send("PAWL.TAKE", "q", "BLOCK", 0)
        wait_until(lambda: self.blocked() == 1, "blocked")
        self.call("PAWL.PUT", "q", 0, "in 0", "ID", "x")
        self.assertEqual(self.blocked(), 1)
        self.call("SELECT", 1)
        self.call("PAWL.PUT", "q", 10, "in 1")
        self.pass_ms(10)
        self.assertEqual(other.read()[0][1], b"in 1")
        self.call("SELECT", 0)
        self.assertEqual(self.take_all(), [b"in 0"])

    def test_a_put_inside_multi_serves_after_exec(self):
        taker = self.block("PAWL.TAKE", "q", "BLOCK", 0)
        self.call("MULTI")
        self.call("PAWL.PUT", "q", 0, "p", "ID", "x")
        self.call("PAWL.CANCEL", "q", "x")
        self.call("PAWL.PUT", "q", 0, "p", "ID", "y")
        self.assertEqual(self.call("EXEC"), [b"x", 1, b"y"])
        self.assertEqual(taker.read()[0][0], b"y")

    def many_clients(self, count):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= most < 11_000:
            self.skipTest(f"needs 11,000 open files, the hard limit (ulimit -Hn) is {most}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))
        self.call("CONFIG", "SET", "maxclients", 9000)
        takers = [Client(self.server.port) for _ in range(count)]
        self.server.clients += takers
        return takers

    def test_5000_takers_in_one_line(self):
        takers = self.many_clients(5000)
        for taker in takers:
            taker.send("PAWL.TAKE", "q", "BLOCK", 0)
            if taker is takers[0] or taker is takers[1]:  # of the others the order does not matter here
                wait_until(lambda: self.blocked() >= 1 + (taker is takers[1]), "blocked")
        wait_until(lambda: self.blocked() == 5000, "all are blocked")
        self.call("PAWL.PUT", "q", 0, "first")
        self.assertEqual(takers[0].read()[0][1], b"first")
        self.call("PAWL.PUT", "q", 5, "second")
        self.pass_ms(5)
        self.assertEqual(takers[1].read()[0][1], b"second")
        self.call("PAWL.PUT", "q", 10**9, "keeps the key")  # else each task brings it back, and the server asks all of them
        for _ in range(10):
            self.redis.calls([("PAWL.PUT", "q", 0, n) for n in range(500)])
        for reply in self.read_each(takers[2:]):
            self.assertEqual(len(reply), 1)
        self.assertEqual(self.blocked(), 0)
        self.assertEqual(self.call("PAWL.LEN", "q"), 3)

    def read_each(self, takers):
        """A reply to each, in any order."""
        replies = []
        with selectors.DefaultSelector() as selector:
            for taker in takers:
                selector.register(taker.socket, selectors.EVENT_READ, taker)
            while len(replies) < len(takers):
                ready = selector.select(HANG)
                self.assertTrue(ready, f"{len(replies)} of {len(takers)} takers were served, and no other after {HANG} s")
                for key, _ in ready:
                    replies.append(key.data.read())
                    selector.unregister(key.fileobj)
        return replies

    # Several keys

    def test_a_taker_at_several_keys_is_served_by_any_of_them(self):
        for key in "abc":
            taker = self.block("PAWL.MTAKE", 3, "a", "b", "c", "BLOCK", 0)
            self.call("PAWL.PUT", key, 0, "p", "ID", "x")
            self.assertEqual(taker.read(), [key.encode(), [[b"x", b"p", 1, self.now, None]]])
        for key in "abc":
            self.call("PAWL.PUT", key, 10, "p", "ID", "y")
            taker = self.block("PAWL.MTAKE", 3, "c", "b", "a", "BLOCK", 0, "LEASE", 5)
            self.pass_ms(10)
            name, [[_, _, _, _, token]] = taker.read()
            self.assertEqual(name, key.encode())
            self.assertEqual(self.call("PAWL.ACK", key, "y", token), 1)
        self.assertEqual(self.call("DBSIZE"), 0)

    def test_it_is_served_once(self):
        first = self.block("PAWL.MTAKE", 2, "a", "b", "BLOCK", 0, "COUNT", 10)
        second = self.block("PAWL.MTAKE", 2, "b", "a", "BLOCK", 0, "COUNT", 10)
        self.call("EVAL", "for _, key in ipairs(KEYS) do redis.call('PAWL.MPUT', key, 0, key, 0, key) end", 3, "a", "b", "c")
        self.assertEqual(sorted(taker.read()[0] for taker in (first, second)), [b"a", b"b"])
        self.assertEqual(self.blocked(), 0)
        self.call("PAWL.PUT", "a", 0, "stays")
        self.assertEqual(self.take_all("a"), [b"stays"])
        self.assertEqual(first.call("PING"), "PONG")


class OnTheRealClock(ServerTest):
    clock = None

    def test_a_taker_gets_a_task_at_its_time_and_never_before(self):
        taker = self.server.client()
        for delay in (0, 1, 2, 5, 30, 300):
            taker.send("PAWL.TAKE", "q", "BLOCK", 0)
            wait_until(lambda: self.blocked() == 1, "blocked")
            self.call("PAWL.PUT", "q", delay, "p")
            due = taker.read()[0][3]
            self.assertGreaterEqual(time.time() * 1000, due)

    def test_many_keys_many_takers_and_every_task_arrives_once(self):
        takers = {key: self.server.client() for key in range(50)}
        for key, taker in takers.items():
            taker.send("PAWL.TAKE", f"q{key}", "BLOCK", 0)
        wait_until(lambda: self.blocked() == 50, "all are blocked")
        for round in range(5):
            self.redis.calls([("PAWL.PUT", f"q{key}", (key * 7 + round) % 60, f"{key}:{round}") for key in takers])
            for key, taker in takers.items():
                self.assertEqual(taker.read()[0][1], b"%d:%d" % (key, round))
                taker.send("PAWL.TAKE", f"q{key}", "BLOCK", 0)

if __name__ == "__main__":
    unittest.main()
