# SPDX-License-Identifier: MIT
"""Blocked takers: which one is served, when, and what happens to the others."""
import resource
import selectors
import time
import unittest

from support import HANG, START, Client, Error, ServerTest, wait_until


class OnAClockThatStands(ServerTest):
    options = ("--appendonly", "yes")

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

    def test_takers_of_due_and_of_dead_tasks_do_not_stand_in_each_others_way(self):
        dead = [self.block("PAWL.DEAD", "q", "TAKE", "BLOCK", 0)]
        due = [self.block("PAWL.TAKE", "q", "BLOCK", 0, "LEASE", 10), self.block("PAWL.TAKE", "q", "BLOCK", 0)]
        dead.append(self.block("PAWL.DEAD", "q", "TAKE", "BLOCK", 0, "COUNT", 5))
        self.call("PAWL.PUT", "q", 0, "first", "MAXTRIES", 1)  # it makes the key: all of them are asked
        self.assertEqual(due[0].read()[0][1], b"first")
        self.assertEqual(self.blocked(), 3)
        self.call("PAWL.PUT", "q", 20, "second")
        self.pass_ms(10)
        self.assertEqual(dead[0].read()[0][1], b"first")
        self.pass_ms(10)
        self.assertEqual(due[1].read()[0][1], b"second")
        self.assertEqual(self.blocked(), 1)
        self.put_leased("x", "y")
        self.pass_ms(100)
        self.assertEqual([task[0] for task in dead[1].read()], [b"x", b"y"])

    def test_a_taker_of_dead_tasks_is_served_by_a_queue_that_comes_with_some(self):
        for way in (("RENAME", "r", "q"), ("COPY", "r", "q"), "restore"):
            self.call("FLUSHALL")
            self.put_leased("a")
            self.call("RENAME", "q", "r")
            self.pass_ms(100)
            taker = self.block("PAWL.DEAD", "q", "TAKE", "BLOCK", 0)
            if way == "restore":
                self.call("RESTORE", "q", 0, self.call("DUMP", "r"))
            else:
                self.call(*way)
            self.assertEqual(taker.read()[0][0], b"a", way)

    def test_a_taker_of_dead_tasks_times_out_and_does_not_wait_in_a_transaction(self):
        taker = self.server.client()
        taker.send("PAWL.DEAD", "q", "TAKE", "BLOCK", 1)
        self.assertIsNone(taker.read())
        self.call("MULTI")
        self.call("PAWL.DEAD", "q", "TAKE", "BLOCK", 0)
        self.assertEqual(self.call("EXEC"), [None])

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
        takers = [self.block("PAWL.TAKE", "q", "BLOCK", 0) for _ in range(5)]
        for gone in takers[:3]:
            gone.close()
        wait_until(lambda: self.blocked() == 2, "the server noticed")
        self.call("PAWL.PUT", "q", 0, "p")
        self.assertEqual(takers[3].read()[0][1], b"p")
        self.assertEqual(self.blocked(), 1)

    def test_a_time_out_is_nil_and_takes_nothing(self):
        taker = self.server.client()
        taker.send("PAWL.TAKE", "q", "BLOCK", 1)
        self.assertIsNone(taker.read())
        self.call("PAWL.PUT", "q", 0, "p")
        self.assertEqual(self.call("PAWL.LEN", "q"), 1)

    def unblock_either_way(self, *command):
        """CLIENT UNBLOCK ends the wait of this command with nil or with an error."""
        taker = self.server.client()
        number = taker.call("CLIENT", "ID")
        for how in ("TIMEOUT", "ERROR"):
            taker.send(*command)
            wait_until(lambda: self.blocked() == 1, "blocked")
            self.assertEqual(self.call("CLIENT", "UNBLOCK", number, how), 1)
            if how == "TIMEOUT":
                self.assertIsNone(taker.read())
            else:
                self.assertRaises(Error, taker.read)

    def test_client_unblock(self):
        self.unblock_either_way("PAWL.TAKE", "q", "BLOCK", 0)
        self.call("PAWL.PUT", "q", 0, "p")
        self.assertEqual(self.call("PAWL.LEN", "q"), 1)

    def test_takers_stay_when_the_key_goes_and_are_served_when_it_comes_again(self):
        ways = [("DEL", "q"), ("UNLINK", "q"), ("FLUSHALL",), ("FLUSHALL", "ASYNC"), ("FLUSHDB",), ("PEXPIRE", "q", 1),
                ("RENAME", "q", "elsewhere"), ("SWAPDB", 0, 1), ("DEBUG", "RELOAD")]
        for way in ways:
            self.call("FLUSHALL")
            self.call("PAWL.PUT", "q", 5000, "waits")
            taker = self.block("PAWL.TAKE", "q", "BLOCK", 0)
            self.call(*way)
            if way[0] == "PEXPIRE":
                wait_until(lambda: self.call("EXISTS", "q") == 0, "the key has expired")
            self.assertEqual(self.blocked(), 1, way)
            self.call("PAWL.PUT", "q", 0, "comes")
            self.assertEqual(taker.read()[0][1], b"comes", way)

    def test_a_taker_stays_while_its_key_has_another_type(self):
        for command, state in ((("PAWL.TAKE", "q"), "waiting"), (("PAWL.DEAD", "q", "TAKE"), "dead"),
                               (("PAWL.MTAKE", 2, "other", "q"), "waiting")):
            self.call("PAWL.PUT", "q", 5, "goes")
            taker = self.block(*command, "BLOCK", 0)
            self.call("SET", "q", "text")
            self.pass_ms(5)
            self.assertEqual(self.blocked(), 1, command)
            self.call("DEL", "q")
            self.call("PAWL.PUTAT", "q", self.now, "x", "comes", 1, state, 1, "0" * 16)
            self.assertIn("comes", str(taker.read()), command)

    def test_takers_are_served_by_a_queue_that_is_renamed_copied_restored_moved_or_swapped_in(self):
        other = self.server.client()
        other.call("SELECT", 1)
        for way in (("RENAME", "r", "q"), ("COPY", "r", "q"), "restore", ("SWAPDB", 0, 1), "move"):
            self.call("FLUSHALL")
            self.set_clock(START)
            self.call("PAWL.PUT", "r", 0, "due")
            self.call("PAWL.PUT", "r", 100, "later")
            first = self.block("PAWL.TAKE", "q", "BLOCK", 0)
            second = self.block("PAWL.TAKE", "q", "BLOCK", 0)
            if way == "restore":
                self.call("RESTORE", "q", 0, self.call("DUMP", "r"))
            elif way == "move":
                self.call("COPY", "r", "q", "DB", 1)
                self.assertEqual(other.call("MOVE", "q", 0), 1)
            elif way[0] == "SWAPDB":
                self.call("COPY", "r", "q", "DB", 1)
                self.call(*way)
            else:
                self.call(*way)
            self.assertEqual(first.read()[0][1], b"due", way)
            self.pass_ms(100)
            self.assertEqual(second.read()[0][1], b"later", way)

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
        self.call("PAWL.PUT", "q", 0, "in 1")
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

    def test_each_line_keeps_the_order_in_which_takers_came(self):
        for key in "ab":
            self.call("PAWL.PUT", key, 10**6, "keeps the key")
        one = self.block("PAWL.TAKE", "a", "BLOCK", 0)
        two = self.block("PAWL.MTAKE", 2, "a", "b", "BLOCK", 0)
        three = self.block("PAWL.TAKE", "b", "BLOCK", 0)
        four = self.block("PAWL.MTAKE", 2, "b", "a", "BLOCK", 0)
        self.call("PAWL.PUT", "b", 0, "1")
        self.assertEqual(two.read()[1][0][1], b"1")
        self.call("PAWL.PUT", "b", 0, "2")
        self.assertEqual(three.read()[0][1], b"2")
        self.call("PAWL.PUT", "a", 0, "3")
        self.assertEqual(one.read()[0][1], b"3")
        self.call("PAWL.PUT", "a", 0, "4")
        self.assertEqual(four.read()[0], b"a")

    def test_the_key_that_fell_due_first_serves(self):
        """The clock leaps over both times at once."""
        for first, second in ("ab", "ba"):
            self.call("PAWL.PUT", first, 10, "early")
            self.call("PAWL.PUT", second, 20, "late")
            taker = self.block("PAWL.MTAKE", 2, "a", "b", "BLOCK", 0)
            self.pass_ms(1000)
            self.assertEqual(taker.read()[1][0][1], b"early")
            self.assertEqual(self.take_all(second), [b"late"])

    def test_a_time_out_or_a_disconnect_leaves_every_line(self):
        taker = self.server.client()
        taker.send("PAWL.MTAKE", 2, "a", "b", "BLOCK", 1)
        self.assertIsNone(taker.read())
        gone = self.block("PAWL.MTAKE", 2, "a", "b", "BLOCK", 0)
        last = self.block("PAWL.MTAKE", 2, "a", "b", "BLOCK", 0)
        gone.close()
        wait_until(lambda: self.blocked() == 1, "the server noticed")
        self.call("PAWL.PUT", "b", 0, "p")
        self.assertEqual(last.read()[0], b"b")
        self.call("PAWL.PUT", "a", 0, "p")
        self.assertEqual(self.call("PAWL.LEN", "a"), 1)

    def test_client_unblock_at_several_keys(self):
        self.unblock_either_way("PAWL.MTAKE", 3, "a", "b", "a", "BLOCK", 0)
        for key in "ab":
            self.call("PAWL.PUT", key, 0, "p")
            self.assertEqual(self.call("PAWL.LEN", key), 1)

    def test_keys_that_go_and_come_again(self):
        for way in (("DEL", "a", "b"), ("FLUSHALL",), ("RENAME", "a", "elsewhere"), ("SWAPDB", 0, 1), ("DEBUG", "RELOAD")):
            for key in "ba":
                self.call("FLUSHALL")
                self.call("PAWL.PUT", "a", 5000, "waits")
                self.call("PAWL.PUT", "b", 6000, "waits")
                taker = self.block("PAWL.MTAKE", 2, "a", "b", "BLOCK", 0)
                self.call(*way)
                self.assertEqual(self.blocked(), 1, way)
                self.call("PAWL.PUT", key, 0, "comes")
                self.assertEqual(taker.read()[1][0][1], b"comes", way)

    def test_a_queue_that_is_renamed_or_copied_to_one_of_the_keys(self):
        for way in ("RENAME", "COPY"):
            self.call("FLUSHALL")
            self.call("PAWL.PUT", "other", 50, "p")
            taker = self.block("PAWL.MTAKE", 2, "a", "b", "BLOCK", 0)
            self.call(way, "other", "b")
            self.pass_ms(50)
            self.assertEqual(taker.read()[0], b"b", way)

    def test_1000_takers_at_16_keys_each(self):
        takers, keys = self.many_clients(1000), [f"q{n}" for n in range(16)]
        for key in keys:
            self.call("PAWL.PUT", key, 10**9, "keeps the key")
        for taker in takers:
            taker.send("PAWL.MTAKE", 16, *keys, "BLOCK", 0)
        wait_until(lambda: self.blocked() == 1000, "all are blocked")
        self.redis.calls([("PAWL.PUT", keys[n % 16], n % 50, n) for n in range(1000)])
        for ms in range(50):
            self.pass_ms(1)
        replies = self.read_each(takers)
        self.assertEqual(sorted(int(task[1]) for _, tasks in replies for task in tasks), list(range(1000)))
        self.assertEqual([self.call("PAWL.LEN", key) for key in keys], [1] * 16)
        self.assertEqual(self.blocked(), 0)


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

    def test_a_few_takers_at_16_keys_and_every_task_arrives_once(self):
        keys, arrived = [f"q{n}" for n in range(16)], []
        takers = [self.server.client() for _ in range(4)]
        self.redis.calls([("PAWL.PUT", keys[n % 16], n * 7 % 60, n) for n in range(400)])
        while len(arrived) < 400:
            for taker in takers:
                taker.send("PAWL.MTAKE", 16, *keys, "BLOCK", 1000, "COUNT", 3)
            for taker in takers:
                for task in (taker.read() or [None, []])[1]:
                    self.assertGreaterEqual(time.time() * 1000, task[3])
                    arrived.append(int(task[1]))
        self.assertEqual(sorted(arrived), list(range(400)))


if __name__ == "__main__":
    unittest.main()
