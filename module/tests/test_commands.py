# SPDX-License-Identifier: MIT
"""The options, errors and bounds of every command, on a clock that stands still. What the commands do, in any order and
together, is compared with a model: test_model.py."""
import random
import re
import subprocess
import unittest

from support import START, Error, Server, ServerTest, cli, in_pairs

MAX = 2**53 - 1
MADE_ID = re.compile(rb"^\d+-\d+-[0-9a-f]{8}$")
TOKEN = re.compile(rb"^[1-9][0-9]*-[0-9a-f]{16}$")


class Put(ServerTest):
    def test_a_task_is_due_after_its_delay(self):
        made = self.call("PAWL.PUT", "q", 100, "hello")
        self.assertRegex(made, MADE_ID)
        self.assertTrue(made.startswith(b"%d-" % START))
        self.assertIsNone(self.call("PAWL.TAKE", "q"))
        self.pass_ms(99)
        self.assertIsNone(self.call("PAWL.TAKE", "q"))
        self.pass_ms(1)
        self.assertEqual(self.call("PAWL.TAKE", "q"), [[made, b"hello", 1, START + 100, None]])

    def test_a_task_put_for_the_past_is_due_at_once_and_comes_in_its_turn(self):
        """Otherwise it would come before tasks that have been due for long, and count as late from the beginning."""
        self.call("PAWL.PUT", "q", 0, "due now")
        self.pass_ms(5)
        self.call("PAWL.PUT", "q", 0, "past", "AT", START - 7)
        self.call("PAWL.MPUT", "q", 0, "1970", "AT", 1)
        self.call("PAWL.EVERY", "q", "x", 10, "periodic", "AT", START - 8)
        self.assertEqual(self.call("PAWL.LEN", "q", "FROM", START + 5, "TO", START + 5), 3)
        self.assertEqual(self.take_all(), [b"due now", b"past", b"1970", b"periodic"])
        self.assertEqual(in_pairs(self.call("PAWL.INFO", "q"))[b"lateness-max-ms"], 5)
        self.assertEqual(in_pairs(self.call("PAWL.GET", "q", "x"))[b"due-ms"], START + 12)
        self.call("PAWL.EVERY", "q", "x", 20, "periodic", "AT", START - 8)
        self.assertEqual(in_pairs(self.call("PAWL.GET", "q", "x"))[b"due-ms"], START + 5)

    def test_made_ids_differ_even_when_the_key_was_emptied_or_deleted(self):
        made = set()
        for n in range(300):
            made.add(self.call("PAWL.PUT", "q", 0, "p"))
            made.add(self.call("PAWL.PUT", "other", 0, "p"))
            if n % 3 == 0:
                self.take_all()
            if n % 7 == 0:
                self.call("DEL", "q", "other")
        self.assertEqual(len(made), 600)

    def test_binary_payloads_and_ids(self):
        payload, name = bytes(range(256)), bytes(range(1, 256))
        self.assertEqual(self.call("PAWL.PUT", "q", 0, payload, "ID", name), name)
        self.assertEqual(self.call("PAWL.PUT", "q", 0, b"", "ID", b"\0"), b"\0")
        self.assertEqual(self.call("PAWL.TAKE", "q", "COUNT", 2),
                         [[name, payload, 1, START, None], [b"\0", b"", 1, START, None]])

    def test_a_payload_of_many_megabytes(self):
        payload = bytes(range(256)) * 100_000
        self.call("PAWL.PUT", "q", 0, payload, "ID", "big")
        self.call("DEBUG", "RELOAD")
        self.assertEqual(self.call("PAWL.TAKE", "q", "LEASE", 1000)[0][1], payload)

    def test_options_that_exclude_or_need_each_other(self):
        for put in (("PAWL.PUT", "q"), ("PAWL.MPUT", "q", 0, "a", "ID", "a")):
            for begins, *words in (
                    ("ERR delay-ms is '5', must be 0 with AT", 5, "p", "AT", START),
                    ("ERR NX and REPLACE exclude", 0, "p", "ID", "x", "NX", "REPLACE"),
                    ("ERR NX and REPLACE need ID", 0, "p", "NX")):
                self.fails(begins, *put, *words)

    def test_an_error_quotes_no_more_than_a_line_can_bear(self):
        self.assertIn("'a??b'", self.fails("ERR delay-ms", "PAWL.PUT", "q", b"a\r\nb", "p"))
        self.assertLess(len(self.fails("ERR delay-ms", "PAWL.PUT", "q", "9" * 100_000, "p")), 250)

    def test_mput_with_options_for_each_task(self):
        made = self.call("PAWL.MPUT", "q", 5, "a", "ID", "x", "MAXTRIES", 3, 0, "b", "AT", START + 1, 7, "c", 9, "d", "ID", "NX", "NX")
        self.assertEqual([made[0], made[3]], [b"x", b"NX"])
        self.assertRegex(made[1], MADE_ID)
        tasks = [in_pairs(self.call("PAWL.GET", "q", name)) for name in made]
        self.assertEqual([(t[b"payload"], t[b"due-ms"] - START, t[b"maxtries"]) for t in tasks],
                         [(b"a", 5, 3), (b"b", 1, 0), (b"c", 7, 0), (b"d", 9, 0)])

    def test_mput_of_one_id_twice_is_an_error(self):
        self.call("PAWL.PUT", "q", 0, "p", "ID", "there")
        for first, second in ((("NX",), ("NX",)), ((), ("REPLACE",)), ((), ())):
            for name in ("there", "new"):
                if name == "new" or first:
                    self.fails(f"ERR id '{name}' is given to two tasks", "PAWL.MPUT", "q", 0, "a", "ID", name, *first,
                               *(word for n in range(20) for word in (n, "p", "ID", n)), 0, "b", "ID", name, *second)
        self.assertEqual(self.call("PAWL.LEN", "q"), 1)
        self.fails("ERR id", "PAWL.MPUT", "none", 0, "a", "ID", "x", 0, "b", "ID", "x")
        self.assertEqual(self.call("EXISTS", "none"), 0)

    def test_mput_names_a_misspelt_option(self):
        """It was read as the delay of the next task, or as the last of too few arguments."""
        for more in ((), ("b",), (3,), (3, 5, "c"), ("ID", "b")):
            self.assertIn("allowed here: delay-ms, AT, ID, NX, REPLACE, MAXTRIES",
                          self.fails("ERR unknown or misplaced argument 'MAXTRYS'", "PAWL.MPUT", "q", 0, "a", "MAXTRYS", *more))
        self.fails("ERR unknown or misplaced argument '-'", "PAWL.MPUT", "q", 0, "a", "NX", "ID", "a", "-", 5)
        self.fails("ERR unknown or misplaced argument ''", "PAWL.MPUT", "q", 0, "a", "", "b")
        for bad in ("-1", "1.5", "0x5", MAX + 1):
            self.fails(f"ERR delay-ms is '{bad}'", "PAWL.MPUT", "q", 0, "a", bad, "b")
        self.fails("ERR delay-ms is 'SOON'", "PAWL.MPUT", "q", "SOON", "a")
        self.assertEqual(self.call("EXISTS", "q"), 0)


class Take(ServerTest):
    def test_a_lease_brings_a_task_back(self):
        self.call("PAWL.PUT", "q", 0, "p", "ID", "x")
        [[name, payload, tries, due, token]] = self.call("PAWL.TAKE", "q", "LEASE", 100)
        self.assertEqual((name, payload, tries, due), (b"x", b"p", 1, START))
        self.assertRegex(token, TOKEN)
        self.assertIsNone(self.call("PAWL.TAKE", "q"))
        self.pass_ms(100)
        [[name, payload, tries, due, other]] = self.call("PAWL.TAKE", "q", "LEASE", 100)
        self.assertEqual((name, payload, tries, due), (b"x", b"p", 2, START + 100))
        self.assertNotEqual(other, token)
        self.assertEqual(self.call("PAWL.ACK", "q", "x", token), 0)  # a late worker
        self.assertEqual(self.call("PAWL.ACK", "q", "x", other), 1)
        self.assertEqual(self.call("EXISTS", "q"), 0)

    def test_in_multi_and_in_scripts_block_answers_at_once(self):
        task = [[b"x", b"p", 1, START, None]]
        for command, reply in ((("PAWL.TAKE", "q"), task), (("PAWL.MTAKE", 2, "other", "q"), [b"q", task])):
            take, put = (*command, "BLOCK", 0), ("PAWL.PUT", "q", 0, "p", "ID", "x")
            self.assertEqual(self.redis.calls([("MULTI",), take, put, take, ("EXEC",)])[-1], [None, b"x", reply])
            script = "return redis.call(unpack(ARGV))"
            self.assertIsNone(self.call("EVAL", script, 1, "q", *take))
            self.call(*put)
            self.assertEqual(self.call("EVAL", script, 1, "q", *take), reply)


class MTake(ServerTest):
    """PAWL.TAKE from several keys."""

    def test_a_key_may_be_given_twice(self):
        self.call("PAWL.MPUT", "a", 0, "one", 0, "two")
        self.assertEqual(self.call("PAWL.MTAKE", 2, "a", "a")[1][0][1], b"one")

    def test_the_server_finds_the_keys(self):
        self.assertEqual(self.call("COMMAND", "GETKEYS", "PAWL.MTAKE", 2, "a", "b", "COUNT", 5), [b"a", b"b"])
        for bad in ("x", 0, -1):
            self.assertRaises(Error, self.call, "COMMAND", "GETKEYS", "PAWL.MTAKE", bad, "a")

    def test_every_key_has_to_be_allowed(self):
        self.call("ACL", "SETUSER", "worker", "reset", "on", ">pw", "~jobs:*", "+pawl.mtake")
        self.addCleanup(lambda: self.server.call("ACL", "DELUSER", "worker"))
        self.call("PAWL.PUT", "jobs:1", 0, "p")
        worker = self.server.client()
        worker.call("AUTH", "worker", "pw")
        with self.assertRaisesRegex(Error, "^NOPERM"):
            worker.call("PAWL.MTAKE", 2, "jobs:1", "others")
        self.assertEqual(worker.call("PAWL.MTAKE", 2, "jobs:2", "jobs:1")[0], b"jobs:1")

    def test_1024_keys(self):
        keys = [f"q{n}" for n in range(1024)]
        self.call("PAWL.PUT", "q1000", 0, "p")
        self.assertEqual(self.call("PAWL.MTAKE", 1024, *keys)[0], b"q1000")
        self.assertIn("from 1 to 1024", self.fails("ERR numkeys is '1025'", "PAWL.MTAKE", 1025, *keys, "q1024"))

    def test_keys_that_are_missing_or_have_another_type(self):
        self.fails("ERR numkeys is '3', and fewer keys follow it", "PAWL.MTAKE", 3, "a", "b")
        self.fails("ERR unknown or misplaced argument 'b'", "PAWL.MTAKE", 1, "a", "b")
        self.call("PAWL.PUT", "a", 0, "p")
        self.call("SET", "text", "x")
        self.fails("WRONGTYPE", "PAWL.MTAKE", 2, "a", "text")
        self.fails("WRONGTYPE", "PAWL.MTAKE", 2, "text", "a", "BLOCK", 0)


class Leases(ServerTest):
    def setUp(self):
        super().setUp()
        self.call("PAWL.PUT", "q", 0, "p", "ID", "x", "MAXTRIES", 2)
        self.token = self.take()

    def take(self, key="q"):
        return self.call("PAWL.TAKE", key, "LEASE", 100)[0][4]

    def state(self, name="x"):
        return in_pairs(self.call("PAWL.GET", "q", name))[b"state"]

    def test_text_that_only_looks_like_the_token_holds_no_lease(self):
        fence, secret = self.token.split(b"-")
        for text in (self.token + b" ", b" " + self.token, fence + b"-" + secret.upper(), fence + secret, b"-" + secret,
                     b"0-" + secret, b"0" + self.token, b"x-" + secret, fence + b"--" + secret, fence + b"-" + secret[1:],
                     b"%d-" % 2**64 + secret, b"9" * 40 + b"-" + secret, fence, secret[1:], b"",
                     fence + b"-" + b"0" * 16):
            if text != fence + b"-" + secret:  # digits alone have no capitals
                self.assertEqual(self.call("PAWL.ACK", "q", "x", text), 0, text)
        self.assertEqual(self.call("PAWL.ACK", "q", "x", self.token), 1)

    def test_the_secret_of_a_token_is_enough(self):
        secret = self.token.split(b"-")[1]
        self.assertEqual(self.call("PAWL.EXTEND", "q", "x", secret, 50), 1)
        self.assertEqual(self.call("PAWL.NACK", "q", "x", secret), 1)
        self.assertEqual(self.call("PAWL.ACK", "q", "x", self.take().split(b"-")[1]), 1)

    def test_the_fence_grows_with_every_delivery(self):
        fences = [int(self.token.split(b"-")[0])]
        self.assertGreaterEqual(fences[0], START * 2048)
        for key, ms in (("q", 0), ("q", 0), ("other", 0), ("q", 1), ("q", -3_600_000), ("other", 0), ("q", 7_200_000)):
            self.pass_ms(ms)
            self.call("PAWL.MPUT", key, 0, "one", 0, "two")
            tasks = self.call("PAWL.TAKE", key, "COUNT", 9, "LEASE", 50)
            fences += [int(task[4].split(b"-")[0]) for task in tasks]
        self.assertEqual(fences, sorted(set(fences)))
        self.assertGreaterEqual(fences[-1], self.now * 2048)
        self.assertLess(fences[-1], 2**53)

    def test_extend_counts_from_now(self):
        self.pass_ms(60)
        self.assertEqual(self.call("PAWL.EXTEND", "q", "x", self.token, 100), 1)
        self.pass_ms(99)
        self.assertEqual(self.state(), b"leased")
        self.assertEqual(self.call("PAWL.EXTEND", "q", "x", self.token, 1), 1)
        self.pass_ms(1)
        self.assertEqual(self.state(), b"due")

    def test_a_task_is_dead_after_its_last_try(self):
        self.pass_ms(100)
        second = self.take()
        self.assertEqual(self.state(), b"leased")
        self.assertIsNone(self.call("PAWL.NEXT", "q"))  # it will not be due again
        self.pass_ms(100)
        self.assertEqual(self.state(), b"dead")
        self.assertIsNone(self.call("PAWL.TAKE", "q"))
        self.assertEqual(self.call("PAWL.ACK", "q", "x", second), 0)
        self.assertEqual(self.call("PAWL.LEN", "q", "STATE", "dead"), 1)

    def reason(self, name="x"):
        return in_pairs(self.call("PAWL.GET", "q", name))[b"reason"]

    def test_nack_of_several_tells_of_each(self):
        for name in ("again", "dead", "lapsed"):
            self.call("PAWL.PUT", "q", 0, name, "ID", name, "MAXTRIES", 1 if name == "dead" else 2)
        tokens = {task[0].decode(): task[4] for task in self.call("PAWL.TAKE", "q", "COUNT", 2, "LEASE", 100)}
        lapsed = self.call("PAWL.TAKE", "q", "LEASE", 1)[0][4]
        self.pass_ms(1)
        pairs = ("again", tokens["again"], "dead", tokens["dead"], "lapsed", lapsed, "nobody", lapsed, "x", self.token,
                 "again", tokens["again"])
        self.assertEqual(self.call("PAWL.NACK", "q", *pairs, "REASON", "no luck", "DELAY", 7), [1, 2, 0, 0, 1, 0])
        self.assertEqual([self.state(name) for name in ("again", "dead", "lapsed", "x")],
                         [b"waiting", b"dead", b"due", b"waiting"])
        self.assertEqual([self.reason(name) for name in ("again", "dead", "lapsed", "x")],
                         [b"no luck", b"no luck", None, b"no luck"])
        self.assertEqual(self.call("PAWL.NACK", "q", *pairs), [0] * 6)

    def test_a_task_without_a_reason_takes_no_more_memory(self):
        size = lambda: self.call("MEMORY", "USAGE", "q", "SAMPLES", 0)
        before = size()
        self.call("PAWL.NACK", "q", "x", self.token, "REASON", "r" * 500)
        self.assertGreaterEqual(size(), before + 400)
        self.call("PAWL.NACK", "q", "x", self.take(), "REASON", "")
        self.assertEqual(size(), before)

    def test_an_id_that_is_the_name_of_an_option(self):
        for name in ("DELAY", "reason"):
            self.call("PAWL.PUT", "q", 0, "p", "ID", name)
            self.assertEqual(self.call("PAWL.NACK", "q", name, self.take(), "DELAY", 5), 1)
            self.assertEqual(self.state(name), b"waiting")

    def test_pairs_end_at_the_first_option(self):
        self.fails("ERR unknown or misplaced argument 'y'", "PAWL.NACK", "q", "x", self.token, "DELAY", 5, "y", "t")


class LargeFences(ServerTest):
    """On its own server, since fences never become smaller."""

    def test_a_token_whose_fence_is_above_2_to_the_53_holds_its_lease(self):
        self.set_clock(2**43)
        self.call("PAWL.PUT", "q", 0, "p", "ID", "x")
        token = self.call("PAWL.TAKE", "q", "LEASE", 50)[0][4]
        self.assertGreater(int(token.split(b"-")[0]), 2**53)
        self.assertEqual(self.call("PAWL.EXTEND", "q", "x", token, 70), 1)
        self.assertEqual(self.call("PAWL.ACK", "q", "x", token), 1)


class Change(ServerTest):
    def test_cancel(self):
        for name in "abc":
            self.call("PAWL.PUT", "q", 5, name, "ID", name)
        self.assertEqual(self.call("PAWL.CANCEL", "q", "a", "a", "nobody"), 1)
        self.assertEqual(self.call("PAWL.CANCEL", "missing", "a"), 0)
        self.pass_ms(5)
        self.assertEqual(self.call("PAWL.CANCEL", "q", "b"), 1)  # a due one
        self.call("PAWL.TAKE", "q", "LEASE", 5)
        self.call("PAWL.PUT", "q", 5, "d", "ID", "d")
        self.fails("LEASED", "PAWL.CANCEL", "q", "d", "c")
        self.assertEqual(self.call("PAWL.CANCEL", "q", "d", "c", "FORCE"), 2)
        self.assertEqual(self.call("EXISTS", "q"), 0)

    def test_force_alone_is_an_id(self):
        self.call("PAWL.PUT", "q", 5, "p", "ID", "FORCE")
        self.assertEqual(self.call("PAWL.CANCEL", "q", "FORCE"), 1)

    def test_a_leased_task_is_moved_by_force_only(self):
        self.call("PAWL.PUT", "q", 0, "a", "ID", "a", "MAXTRIES", 2)
        token = self.call("PAWL.TAKE", "q", "LEASE", 50)[0][4]
        self.fails("LEASED", "PAWL.MOVE", "q", "a", 5)
        self.assertEqual(self.call("PAWL.MOVE", "q", "a", 5, "FORCE"), 1)
        self.assertEqual(self.call("PAWL.ACK", "q", "a", token), 0)
        self.pass_ms(5)
        self.assertEqual(self.call("PAWL.TAKE", "q", "LEASE", 5)[0][2], 2)
        self.pass_ms(5)
        self.fails("ERR the task with id 'a' is dead", "PAWL.MOVE", "q", "a", 5)
        self.fails("ERR the task with id 'a' is dead", "PAWL.MOVE", "q", "a", 5, "FORCE")
        self.assertEqual(self.call("PAWL.CANCEL", "q", "a"), 1)

    def test_a_task_is_not_moved_beyond_its_last_try(self):
        self.call("PAWL.PUT", "q", 0, "a", "ID", "a", "MAXTRIES", 1)
        for take in (("PAWL.TAKE", "q"), ("PAWL.DEAD", "q", "TAKE")):
            token = self.call(*take, "LEASE", 50)[0][4]
            self.fails("LEASED", "PAWL.MOVE", "q", "a", 5)
            self.fails("ERR the task with id 'a' is leased for the last time", "PAWL.MOVE", "q", "a", 5, "FORCE")
            self.assertEqual(self.call("PAWL.NACK", "q", "a", token), 2)


class Look(ServerTest):
    def test_the_head_of_a_payload(self):
        """With a large payload neither the server nor the client needs room for all of it."""
        self.call("PAWL.PUT", "q", 0, "x" * 10_000_000, "ID", "large")
        self.call("PAWL.PUT", "q", 0, "small", "ID", "small")
        for head in (0, 5, 100):
            large, small = [b"x" * head, 10_000_000], [b"small"[:head], 5]
            listed = self.call("PAWL.RANGE", "q", 0, MAX, "HEAD", head, "COUNT", 9)
            self.assertEqual([task[1] for task in listed], [large, small])
            self.assertEqual(in_pairs(self.call("PAWL.GET", "q", "large", "HEAD", head))[b"payload"], large)
        self.assertEqual(self.call("PAWL.RANGE", "q", 0, MAX)[1][1], b"small")

    def test_len_next_and_info(self):
        self.call("PAWL.PUT", "q", 0, "dead", "MAXTRIES", 1)
        self.call("PAWL.TAKE", "q", "LEASE", 1)
        self.pass_ms(1)
        self.call("PAWL.MPUT", "q", 0, "leased", 0, "due", 9, "w", 8, "w", 7, "w")
        self.call("PAWL.TAKE", "q", "LEASE", 50)
        counts = {"waiting": 3, "due": 1, "leased": 1, "dead": 1}
        for state, count in counts.items():
            self.assertEqual(self.call("PAWL.LEN", "q", "STATE", state.upper()), count)
        self.assertEqual(self.call("PAWL.LEN", "q"), 6)
        self.assertEqual(self.call("PAWL.NEXT", "q"), 0)
        info = in_pairs(self.call("PAWL.INFO", "q"))
        for state, count in counts.items():
            self.assertEqual(info[state.encode()], count)
        self.assertEqual((info[b"tasks"], info[b"oldest-due-ms"], info[b"deliveries"]), (6, START + 1, 2))
        self.assertGreater(info[b"memory-bytes"], 0)
        self.take_all()
        self.assertEqual(self.call("PAWL.NEXT", "q"), 7)
        self.assertIsNone(in_pairs(self.call("PAWL.INFO", "q"))[b"oldest-due-ms"])

    def test_lateness(self):
        for n in range(100):
            self.call("PAWL.PUT", "q", n, "p")
        self.call("PAWL.PUT", "q", 1000, "keeps the key")
        self.pass_ms(99)
        self.assertEqual(len(self.take_all()), 100)
        info = in_pairs(self.call("PAWL.INFO", "q"))
        self.assertEqual(info[b"lateness-max-ms"], 99)
        self.assertTrue(50 <= info[b"lateness-p50-ms"] <= 63)
        self.assertTrue(98 <= info[b"lateness-p99-ms"] <= 99)


class Bulk(ServerTest):
    """LEN, SCAN and RANGE by time, SWEEP."""

    def test_range_gives_100_unless_told(self):
        self.redis.calls([("PAWL.PUT", "many", n // 3, n) for n in range(700)])
        payloads = lambda *more: [int(item[1]) for item in self.call("PAWL.RANGE", "many", 0, 2**62, *more)]
        self.assertEqual(payloads(), list(range(100)))
        self.assertEqual(payloads("COUNT", 650), list(range(650)))
        self.assertEqual(payloads("COUNT", 10_000), list(range(700)))

    def test_match_is_that_of_keys(self):
        rng = random.Random(5)
        names = {bytes(rng.choice(b"ab-]^*[\\?\xff\x01") for _ in range(rng.randrange(1, 6))) for _ in range(400)}
        for name in names:
            self.call("SET", name, "x")
            self.call("PAWL.PUT", "{ids", 5, "p", "ID", name)
        for n in range(3000):
            pattern = bytes(rng.choice(b"ab-]^*[\\?\xff\x01**") for _ in range(rng.randrange(1, 8)))
            expected = {key for key in self.call("KEYS", pattern) if key in names}
            found = set(self.call("PAWL.SCAN", "{ids", 0, "COUNT", 10_000, "MATCH", pattern)[1])
            self.assertEqual(found, expected, pattern)

    def test_a_pattern_of_many_stars_takes_no_time(self):
        self.call("PAWL.PUT", "q", 5, "p", "ID", "a" * 255)
        self.assertEqual(self.call("PAWL.SCAN", "q", 0, "MATCH", "a*" * 126 + "b")[1], [])

    def sweep(self, *more, key="q"):
        swept, cursor = 0, b"0"
        while True:
            cursor, count = self.call("PAWL.SWEEP", key, cursor, *more)
            swept += count
            if cursor == b"0":
                return swept

    def names(self, key="q"):
        return sorted(item[0] for item in self.call("PAWL.RANGE", key, 0, 2**62, "COUNT", 10_000))

    def test_sweep_of_a_queue_that_shrinks_below_it(self):
        for count in (1, 10, 333, 10_000):
            self.redis.calls([("PAWL.PUT", "many", n, n, "ID", f"{'even' if n % 2 == 0 else 'odd'}-{n}") for n in range(3000)])
            self.assertEqual(self.sweep("MATCH", "even-*", "COUNT", count, key="many"), 1500)
            self.assertEqual(self.names("many"), sorted(b"odd-%d" % n for n in range(1, 3000, 2)))
            self.assertEqual(self.sweep("FROM", START + 1000, "COUNT", count, key="many"), 1000)
            self.assertEqual(self.sweep("TO", START + 999, "COUNT", count, key="many"), 500)
            self.assertEqual(self.call("EXISTS", "many"), 0)


class Dead(ServerTest):
    def setUp(self):
        super().setUp()
        for name in "abc":
            self.call("PAWL.PUT", "q", 0, name, "ID", name, "MAXTRIES", 1)
        self.call("PAWL.TAKE", "q", "COUNT", 3, "LEASE", 10)
        self.pass_ms(10)

    def test_take_with_a_lease(self):
        [[name, payload, tries, died, token, reason]] = self.call("PAWL.DEAD", "q", "TAKE", "LEASE", 50)
        self.assertEqual((name, payload, tries, died, reason), (b"a", b"a", 1, START + 10, None))
        self.assertRegex(token, TOKEN)
        self.assertEqual(self.call("PAWL.LEN", "q", "STATE", "leased"), 1)
        self.assertIsNone(self.call("PAWL.NEXT", "q"))
        self.assertEqual(self.call("PAWL.DEAD", "q", "REQUEUE", "a"), 0)
        self.assertEqual(self.call("PAWL.EXTEND", "q", "a", token, 70), 1)
        self.assertEqual(self.call("PAWL.NACK", "q", "a", token, "REASON", "still no luck", "DELAY", 5), 2)
        taken = self.call("PAWL.DEAD", "q", "TAKE", "COUNT", 9, "LEASE", 50)  # in one millisecond, first what was given back
        self.assertEqual([[*task[:4], task[5]] for task in taken],
                         [[b"a", b"a", 1, START + 10, b"still no luck"], [b"b", b"b", 1, START + 10, None],
                          [b"c", b"c", 1, START + 10, None]])
        self.assertEqual(self.call("PAWL.ACK", "q", "b", taken[1][4]), 1)
        self.pass_ms(50)
        self.assertEqual(self.call("PAWL.ACK", "q", "c", taken[2][4]), 0)
        self.assertEqual(self.call("PAWL.DEAD", "q", "TAKE", "COUNT", 9),
                         [[b"a", b"a", 1, START + 60, None, b"still no luck"], [b"c", b"c", 1, START + 60, None, None]])
        self.assertEqual(self.call("EXISTS", "q"), 0)

    def test_requeue_all_with_a_delay(self):
        self.assertEqual(self.call("PAWL.DEAD", "q", "REQUEUE", "ALL", "DELAY", 5), 3)
        self.assertEqual(self.call("PAWL.LEN", "q", "STATE", "waiting"), 3)
        self.pass_ms(5)
        self.assertEqual(self.take_all(), [b"a", b"b", b"c"])

    def test_requeue_with_a_delay_that_has_no_value_is_an_error(self):
        """It was read as an id, so that REQUEUE ALL DELAY requeued nothing and replied 0."""
        for ids in (("ALL",), ("a",), ("a", "b"), ("DELAY",)):
            self.fails("ERR option 'DELAY' needs a value", "PAWL.DEAD", "q", "REQUEUE", *ids, "DELAY")
        self.fails("ERR option 'delay' needs a value", "PAWL.DEAD", "missing", "REQUEUE", "ALL", "delay")

    def test_requeue_all_and_another_word_is_an_error(self):
        """They were read as ids, so that REQUEUE ALL DELY 5 requeued nothing and replied 0."""
        self.fails("ERR unknown or misplaced argument 'DELY', allowed here: DELAY", "PAWL.DEAD", "q", "REQUEUE", "ALL", "DELY", 5)
        for words in (("ALL", "a"), ("all", "a", "DELAY", 5), ("ALL", "DELAY", 5, "DELAY", 5)):
            self.fails(f"ERR unknown or misplaced argument '{words[1]}'", "PAWL.DEAD", "q", "REQUEUE", *words)
        self.assertEqual(self.call("PAWL.DEAD", "q", "REQUEUE", "ALL", "ALL", "a"), 1)  # an id, as clients send it
        self.assertEqual(self.call("PAWL.DEAD", "q", "REQUEUE", "b", "ALL"), 1)

    def test_requeue_of_an_id_that_is_the_name_of_the_option(self):
        for words, count in ((("DELAY",), 1), (("DELAY", "a"), 2), (("DELAY", "DELAY", 0), 1), (("b", "DELAY", "DELAY", 0), 2),
                             (("DELAY", "c", "DELAY", 0), 2)):
            self.call("PAWL.PUT", "q", 0, "p", "ID", "DELAY", "REPLACE", "MAXTRIES", 1)
            self.call("PAWL.NACK", "q", "DELAY", self.call("PAWL.TAKE", "q", "LEASE", 5)[0][4])
            self.assertEqual(self.call("PAWL.DEAD", "q", "REQUEUE", *words), count, words)
            self.take_all()


class Settings(ServerTest):
    defaults = {b"paused": 0, b"maxdead": 0, b"backoff-ms": 0, b"backoff-max-ms": 0}

    def config(self, key="q"):
        return in_pairs(self.call("PAWL.CONFIG", key))

    def test_a_new_queue_has_the_defaults_and_asking_creates_nothing(self):
        self.assertEqual(self.config(), self.defaults)
        self.assertEqual(self.call("EXISTS", "q"), 0)
        self.call("PAWL.PUT", "q", 0, "p")
        self.assertEqual(self.config(), self.defaults)

    def test_a_setting_keeps_a_queue_without_tasks(self):
        for command, undo in ((("PAWL.CONFIG", "q", "MAXDEAD", 7), ("PAWL.CONFIG", "q", "MAXDEAD", 0)),
                              (("PAWL.CONFIG", "q", "BACKOFF", 7, 70), ("PAWL.CONFIG", "q", "BACKOFF", 0, 5)),
                              (("PAWL.PAUSE", "q"), ("PAWL.RESUME", "q"))):
            self.call(*command)
            self.assertEqual(self.call("EXISTS", "q"), 1)
            self.assertEqual(self.call("PAWL.LEN", "q"), 0)
            self.assertEqual(self.call("PAWL.SCAN", "q", 0), [b"0", []])
            self.assertIsNone(self.call("PAWL.NEXT", "q"))
            self.call("PAWL.PUT", "q", 0, "p", "ID", "x")
            self.call("PAWL.CANCEL", "q", "x")
            self.assertEqual(self.call("EXISTS", "q"), 1)
            self.call(*undo)
            self.assertEqual(self.call("EXISTS", "q"), 0)
            self.assertEqual(self.config(), self.defaults)

    def test_an_omitted_setting_stays(self):
        self.assertEqual(self.call("PAWL.CONFIG", "q", "backoff", 10, 100), "OK")
        self.call("PAWL.PAUSE", "q")
        self.assertEqual(self.call("PAWL.CONFIG", "q", "MAXDEAD", 5), "OK")
        expected = {b"paused": 1, b"maxdead": 5, b"backoff-ms": 10, b"backoff-max-ms": 100}
        self.assertEqual(self.config(), expected)
        info = in_pairs(self.call("PAWL.INFO", "q"))
        self.assertEqual({name: info[name] for name in expected}, expected)
        self.call("PAWL.CONFIG", "q", "MAXDEAD", 1, "BACKOFF", 2, 3)
        self.assertEqual(self.config(), {b"paused": 1, b"maxdead": 1, b"backoff-ms": 2, b"backoff-max-ms": 3})

    def test_a_lapsed_task_goes_with_the_next_write(self):
        self.call("PAWL.CONFIG", "q", "MAXDEAD", 300)
        for n in range(1000):
            self.call("PAWL.PUT", "q", 0, "p", "ID", n, "MAXTRIES", 1)
        self.call("PAWL.TAKE", "q", "COUNT", 1000, "LEASE", 5)
        self.pass_ms(5)
        self.assertEqual(self.call("PAWL.LEN", "q"), 1000)
        left = []
        for n in range(4):
            self.call("PAWL.PUT", "q", 50, "p")
            left.append(self.call("PAWL.LEN", "q", "STATE", "dead"))
        self.assertEqual(left, [744, 488, 300, 300])
        self.assertEqual([task[0] for task in self.call("PAWL.DEAD", "q", "TAKE", "COUNT", 2)], [b"700", b"701"])

    def test_a_backoff_has_two_values_and_the_second_is_not_smaller(self):
        config = ("PAWL.CONFIG", "q", "BACKOFF")
        for bad in ("-1", MAX + 1, "x"):
            self.assertIn(f"from 0 to {MAX}", self.fails(f"ERR BACKOFF ms is '{bad}'", *config, bad, 5))
            self.assertIn(f"from 5 to {MAX}", self.fails(f"ERR BACKOFF max-ms is '{bad}'", *config, 5, bad))
        self.fails("ERR BACKOFF max-ms is '4'", *config, 5, 4)
        self.fails("ERR backoff-max-ms is '1'", "PAWL.SETUP", "q", 0, 0, 5, 1)
        self.fails("ERR option 'BACKOFF' needs two values", *config, 5)
        self.fails("ERR option 'BACKOFF' needs two values", *config)
        self.fails("ERR option 'BACKOFF' is given twice", *config, 5, 5, "BACKOFF", 5, 5)


class Periodic(ServerTest):
    def get(self, name="x"):
        return in_pairs(self.call("PAWL.GET", "q", name))

    def test_it_is_due_after_each_period_and_does_not_pile_up(self):
        self.assertEqual(self.call("PAWL.EVERY", "q", "x", 100, "p"), 1)
        self.assertEqual(self.get()[b"period-ms"], 100)
        self.assertIsNone(self.call("PAWL.TAKE", "q"))
        self.pass_ms(100)
        self.assertEqual(self.call("PAWL.TAKE", "q", "COUNT", 9), [[b"x", b"p", 1, START + 100, None]])
        self.assertEqual(self.call("PAWL.NEXT", "q"), 100)
        self.pass_ms(1050)  # no take for ten periods
        self.assertEqual(self.call("PAWL.TAKE", "q", "COUNT", 9), [[b"x", b"p", 1, START + 200, None]])
        self.assertEqual(self.call("PAWL.NEXT", "q"), 50)
        self.pass_ms(50)
        self.assertEqual(self.call("PAWL.TAKE", "q", "COUNT", 9), [[b"x", b"p", 1, START + 1200, None]])

    def test_the_same_again_changes_nothing(self):
        for at in ((), ("AT", START + 7)):
            self.call("PAWL.EVERY", "q", "x", 100, "p", *at)
            before = self.call("DEBUG", "DIGEST")
            self.pass_ms(20)
            self.assertEqual(self.call("PAWL.EVERY", "q", "x", 100, "p", *at), 0)
            self.assertEqual(self.call("PAWL.EVERY", "q", "x", 100, "p"), 0)
            self.assertEqual(self.call("DEBUG", "DIGEST"), before)

    def test_a_task_that_is_not_periodic_stands_in_the_way(self):
        self.call("PAWL.PUT", "q", 5, "p", "ID", "x")
        self.fails("EXISTS there is a task with id 'x' that is not periodic", "PAWL.EVERY", "q", "x", 100, "p")
        self.call("PAWL.EVERY", "q", "y", 100, "p")
        self.fails("EXISTS", "PAWL.PUT", "q", 5, "p", "ID", "y")
        self.call("PAWL.PUT", "q", 5, "p", "ID", "y", "REPLACE")
        self.assertEqual(self.get("y")[b"period-ms"], 0)

    def test_periods_of_any_length(self):
        self.call("PAWL.EVERY", "q", "x", 1, "p")
        self.call("PAWL.EVERY", "q", "y", MAX, "p", "AT", 0)
        self.pass_ms(5)
        self.assertEqual(len(self.call("PAWL.TAKE", "q", "COUNT", 9)), 2)
        self.assertEqual((self.get("x")[b"due-ms"], self.get("y")[b"due-ms"]), (self.now + 1, MAX))


class Arguments(ServerTest):
    """What every command says of an argument that is missing, unknown, twice there or out of range."""
    BOUNDS = {"AT": (0, MAX), "MAXTRIES": (1, 65535), "COUNT": (1, 10_000), "LEASE": (0, MAX), "BLOCK": (0, MAX), "DELAY": (0, MAX),
              "HEAD": (0, 2**32 - 1), "FROM": (0, 2**63 - 1), "TO": (0, 2**63 - 1), "MAXDEAD": (0, MAX)}
    TEXTS = {"ID": "x", "REASON": "x", "MATCH": "x", "STATE": "due"}
    OPTIONS = ((("PAWL.PUT", "q", 0, "p"), "AT ID MAXTRIES"), (("PAWL.MPUT", "q", 0, "a", 0, "p"), "AT ID MAXTRIES"),
               (("PAWL.EVERY", "q", "x", 5, "p"), "AT"), (("PAWL.TAKE", "q"), "COUNT LEASE BLOCK"),
               (("PAWL.MTAKE", 1, "q"), "COUNT LEASE BLOCK"), (("PAWL.DEAD", "q", "TAKE"), "COUNT LEASE BLOCK"),
               (("PAWL.NACK", "q", "x", "t"), "DELAY REASON"), (("PAWL.GET", "q", "x"), "HEAD"), (("PAWL.LEN", "q"), "STATE FROM TO"),
               (("PAWL.RANGE", "q", 0, 5), "COUNT STATE HEAD"), (("PAWL.SCAN", "q", 0), "COUNT STATE MATCH FROM TO"),
               (("PAWL.SWEEP", "q", 0), "COUNT STATE MATCH FROM TO"), (("PAWL.CONFIG", "q"), "MAXDEAD"))

    def setUp(self):
        super().setUp()
        self.call("PAWL.PUT", "q", 5, "p", "ID", "there")

    def test_an_option_has_one_value_and_is_given_once(self):
        for command, options in self.OPTIONS:
            for option in options.split():
                value = self.TEXTS.get(option) or self.BOUNDS[option][1]
                self.fails(f"ERR option '{option}' needs a value", *command, option)
                self.fails(f"ERR option '{option.lower()}' is given twice", *command, option, value, option.lower(), value)

    def test_a_number_has_bounds(self):
        for command, options in self.OPTIONS:
            for option in self.BOUNDS.keys() & options.split():
                least, most = self.BOUNDS[option]
                for bad in (least - 1, most + 1, "x", "", "1.5", " 1", "1e3", "9" * 20):
                    self.assertIn(f"must be an integer from {least} to {most}",
                                  self.fails(f"ERR {option} is '{bad}'", *command, option, bad))
        for name, least, most, *command in (
                ("delay-ms", 0, MAX, "PUT", "q", "?", "p"), ("delay-ms", 0, MAX, "MPUT", "q", 0, "p", -1, "p"),
                ("delay-ms", 0, MAX, "MOVE", "q", "x", "?"), ("period-ms", 1, MAX, "EVERY", "q", "x", "?", "p"),
                ("ms", 1, MAX, "EXTEND", "q", "x", "t", 5, "y", "t", "?"), ("numkeys", 1, 1024, "MTAKE", "?", "q"),
                ("cursor", 0, 2**48 - 1, "SCAN", "q", "?"), ("cursor", 0, 2**48 - 1, "SWEEP", "q", "?", "STATE", "due"),
                ("from-ms", 0, 2**63 - 1, "RANGE", "q", "?", 0), ("to-ms", 0, 2**63 - 1, "RANGE", "q", 0, "?"),
                ("DELAY", 0, MAX, "DEAD", "q", "REQUEUE", "ALL", "DELAY", "?"), ("paused", 0, 1, "SETUP", "q", "?", 0, 0, 0)):
            for bad in (least - 1, most + 1, "x") if "?" in command else (-1,):
                words = [bad if word == "?" else word for word in command[1:]]
                self.assertIn(f"from {least} to {most}", self.fails(f"ERR {name} is '{bad}'", "PAWL." + command[0], *words))

    def test_text_has_bounds(self):
        self.fails("ERR MATCH is", "PAWL.SCAN", "q", 0, "MATCH", "x" * 256)
        self.assertIn("1025 bytes, must have 0 to 1024",
                      self.fails("ERR REASON is 'rrr", "PAWL.NACK", "q", "x", "t", "REASON", "r" * 1025))
        for command in (("LEN", "q"), ("SCAN", "q", 0), ("SWEEP", "q", 0), ("RANGE", "q", 0, 5)):
            self.fails("ERR STATE is 'late', must be waiting, due, leased or dead", "PAWL." + command[0], *command[1:], "STATE", "late")
        for bad in ("", "x" * 256):
            for command in (("PUT", "q", 0, "p", "ID", bad), ("MPUT", "q", 0, "p", 0, "p", "ID", bad), ("EVERY", "q", bad, 5, "p"),
                            ("ACK", "q", "x", "t", bad, "t"), ("NACK", "q", "x", "t", bad, "t"), ("CANCEL", "q", bad),
                            ("EXTEND", "q", "x", "t", 5, bad, "t", 5), ("MOVE", "q", bad, 5), ("GET", "q", bad),
                            ("DEAD", "q", "REQUEUE", "a", bad)):
                self.fails("ERR id is '", "PAWL." + command[0], *command[1:])

    def test_an_unknown_word_is_named(self):
        for command, options in (*self.OPTIONS, (("PAWL.MOVE", "q", "x", 5), "FORCE")):
            self.assertIn(options.split()[-1], self.fails("ERR unknown or misplaced argument 'SOON', allowed here: ", *command, "SOON"))
        self.fails("ERR unknown or misplaced argument 'FORCE'", "PAWL.SCAN", "q", 0, "FORCE")
        self.fails("ERR unknown or misplaced argument 'PAYLOADS'", "PAWL.SWEEP", "q", 0, "STATE", "due", "PAYLOADS")
        self.fails("ERR the action is 'BURY', must be TAKE or REQUEUE", "PAWL.DEAD", "q", "BURY")
        for more in ((), ("COUNT", 5, "FORCE")):
            self.fails("ERR PAWL.SWEEP needs at least one of STATE, MATCH, FROM and TO", "PAWL.SWEEP", "q", 0, *more)

    def test_too_few_and_too_many(self):
        for command in ("PUT", "PUT q 5", "MPUT q", "MPUT q 0 a 5", "EVERY q x 5", "TAKE", "MTAKE 1", "ACK q x", "ACK q x t y",
                        "NACK q x", "EXTEND q x t", "EXTEND q x t 5 y t", "CANCEL q", "MOVE q a", "MOVE q a 5 FORCE FORCE", "GET q",
                        "LEN", "NEXT", "SCAN q", "INFO q q", "SWEEP q", "RANGE q 0", "DEAD q", "DEAD q REQUEUE", "CONFIG", "PAUSE",
                        "RESUME q q"):
            self.fails("ERR wrong number of arguments", *f"PAWL.{command}".split())


class Everything(ServerTest):
    keyed = [("PAWL.PUT", "k", 0, "p"), ("PAWL.MPUT", "k", 0, "p"), ("PAWL.TAKE", "k"),
             ("PAWL.TAKE", "k", "BLOCK", 0), ("PAWL.MTAKE", 1, "k"), ("PAWL.ACK", "k", "x", "t"), ("PAWL.NACK", "k", "x", "t"),
             ("PAWL.EXTEND", "k", "x", "t", 5), ("PAWL.CANCEL", "k", "x"), ("PAWL.MOVE", "k", "x", 5),
             ("PAWL.GET", "k", "x"), ("PAWL.LEN", "k"), ("PAWL.NEXT", "k"), ("PAWL.SCAN", "k", 0),
             ("PAWL.INFO", "k"), ("PAWL.RANGE", "k", 0, 5), ("PAWL.SWEEP", "k", 0, "STATE", "due"),
             ("PAWL.DEAD", "k", "TAKE"), ("PAWL.DEAD", "k", "TAKE", "BLOCK", 0), ("PAWL.DEAD", "k", "REQUEUE", "x"),
             ("PAWL.PUTAT", "k", 5, "x", "p"),
             ("PAWL.SETAT", "k", 5, "waiting", 0, "0", "x"), ("PAWL.NOTE", "k", "r", "x"), ("PAWL.DROP", "k", "x"),
             ("PAWL.CONFIG", "k"), ("PAWL.CONFIG", "k", "MAXDEAD", 5), ("PAWL.PAUSE", "k"), ("PAWL.RESUME", "k"),
             ("PAWL.SETUP", "k", 1, 0, 0, 0), ("PAWL.EVERY", "k", "x", 5, "p")]

    def test_a_key_of_another_type_is_refused_by_every_command(self):
        self.call("SET", "k", "text")
        for command in self.keyed:
            self.fails("WRONGTYPE", *command)

    def test_a_missing_key_is_an_empty_queue_and_stays_missing(self):
        for reply, *command in (
                (None, "TAKE", "k"), (None, "MTAKE", 1, "k"), (0, "ACK", "k", "x", "t"), (0, "NACK", "k", "x", "t"),
                ([0, 0], "NACK", "k", "x", "t", "y", "t"), (0, "EXTEND", "k", "x", "t", 5), (0, "CANCEL", "k", "x"),
                (0, "MOVE", "k", "x", 5), (None, "GET", "k", "x"), (0, "LEN", "k"), (0, "LEN", "k", "FROM", 0), (None, "NEXT", "k"),
                ([b"0", []], "SCAN", "k", 0), (None, "INFO", "k"), ([], "RANGE", "k", 0, 5), ([b"0", 0], "SWEEP", "k", 0, "TO", 5),
                (None, "DEAD", "k", "TAKE"), (0, "DEAD", "k", "REQUEUE", "x"), (0, "DEAD", "k", "REQUEUE", "ALL"), (0, "RESUME", "k")):
            self.assertEqual(self.call("PAWL." + command[0], *command[1:]), reply, command)
            self.assertEqual(self.call("EXISTS", "k"), 0, command)

    def test_putat_takes_several_tasks_and_all_or_none_of_them(self):
        self.fails("ERR maxtries is", "PAWL.PUTAT", "q", 5, "x", "p", 0, 5, "y", "p", 65536)
        self.fails("ERR at is", "PAWL.PUTAT", "q", 5, "x", "p", 0, -1, "y", "p", 0)
        self.fails("ERR wrong number", "PAWL.PUTAT", "q", 5, "x", "p", 0, 5, "y")
        self.assertEqual(self.call("EXISTS", "q"), 0)
        self.call("PAWL.PUTAT", "q", 5, "x", "p", 0, 6, "y", "r", 3, 5, "z", "s", 0)
        self.assertEqual(self.call("PAWL.LEN", "q"), 3)
        y = in_pairs(self.call("PAWL.GET", "q", "y"))
        self.assertEqual((y[b"payload"], y[b"due-ms"], y[b"maxtries"]), (b"r", 6, 3))
        self.assertEqual([task[0] for task in self.call("PAWL.TAKE", "q", "COUNT", 3)], [b"x", b"z", b"y"])

    def test_commands_of_the_replication_stream_refuse_bad_arguments(self):
        token = "0" * 16
        task = ("PAWL.PUTAT", "q", 5, "x", "p", 0)
        for words, begins in (
                ((*task, "due", 0, token), "ERR state is 'due', must be waiting, leased or dead"),
                ((*task, "late", 0, token), "ERR STATE is 'late'"),
                ((*task, "waiting", 65536, token), "ERR tries is '65536'"),
                ((*task, "waiting", 0, token, "r" * 1025, 0, 0), "ERR reason is 'rrr"),
                ((*task, "waiting", 0, token, "", -1, 0), "ERR period is '-1'"),
                ((*task, "waiting", 0, token, "", 0, "x"), "ERR base is 'x'"),
                ((*task, "waiting"), "ERR wrong number"),
                (("PAWL.PUTAT", "q", 5, "", "p"), "ERR id is ''"),
                (("PAWL.SETAT", "q", -1, "waiting", 0, token, "x"), "ERR at is '-1'"),
                (("PAWL.SETAT", "q", 5, "due", 0, token, "x"), "ERR state is 'due'"),
                (("PAWL.SETAT", "q", 5, "waiting", "x", token, "x"), "ERR tries is 'x'"),
                (("PAWL.SETAT", "q", 5, "waiting", 0, token, "x", 0, token, ""), "ERR id is ''"),
                (("PAWL.SETAT", "q", 5, "waiting", 0, token, "x", 0), "ERR wrong number"),
                (("PAWL.NOTE", "q", "r" * 1025, "x"), "ERR reason is 'rrr"),
                (("PAWL.NOTE", "q", "why", "x", ""), "ERR id is ''"),
                (("PAWL.NOTE", "q", "why"), "ERR wrong number"),
                (("PAWL.DROP", "q", "x", ""), "ERR id is ''"),
                (("PAWL.DROP", "q"), "ERR wrong number"),
                (("PAWL.SETUP", "q", 0, -1, 0, 0), "ERR maxdead is '-1'"),
                (("PAWL.SETUP", "q", 0, 0, -1, 0), "ERR backoff-ms is '-1'"),
                (("PAWL.SETUP", "q", 0, 0, 0), "ERR wrong number")):
            for there in (True, False):
                self.call("FLUSHALL")
                if there:
                    self.call("PAWL.PUT", "q", 5, "p", "ID", "x")
                self.fails(begins, *words)
                self.assertEqual(self.call("EXISTS", "q"), int(there), words)

    def test_commands_of_the_replication_stream_pass_over_tasks_that_are_not_there(self):
        for there in (False, True):
            if there:
                self.call("PAWL.PUT", "q", 5, "p", "ID", "x")
            before = self.call("DEBUG", "DIGEST")
            for words in (("PAWL.SETAT", "q", 5, "waiting", 0, "0" * 16, "nobody"), ("PAWL.NOTE", "q", "why", "nobody"),
                          ("PAWL.DROP", "q", "nobody")):
                self.assertEqual(self.call(*words), "OK")
            self.assertEqual(self.call("DEBUG", "DIGEST"), before)

    def test_queue_commands_and_others_keep_apart(self):
        self.call("PAWL.PUT", "q", 0, "p")
        self.assertEqual(self.call("TYPE", "q"), "pawlqueue")
        self.fails("WRONGTYPE", "LPUSH", "q", "x")

    def test_the_server_knows_flags_keys_and_documentation(self):
        names = {str(command[0]).lower() for command in self.keyed}
        for name in names:
            [info] = self.call("COMMAND", "INFO", name)
            self.assertEqual(self.call("COMMAND", "GETKEYS", *next(
                command for command in self.keyed if command[0].lower() == name)), [b"k"])
            docs = in_pairs(self.call("COMMAND", "DOCS", name)[1])
            self.assertTrue(docs[b"summary"] and docs[b"complexity"] and docs[b"arguments"], name)
            flags, categories = set(info[2]), set(info[6])
            reads = name in ("pawl.get", "pawl.len", "pawl.next", "pawl.scan", "pawl.info", "pawl.range")
            internal = name in ("pawl.putat", "pawl.setat", "pawl.note", "pawl.drop", "pawl.setup")
            self.assertEqual("readonly" in flags, reads, name)
            self.assertEqual("write" in flags, not reads, name)
            self.assertEqual("admin" in flags, internal, name)
            if categories:  # Redis 7.0 gives the commands of modules none
                self.assertEqual("@dangerous" in categories, internal, name)
                self.assertEqual("@blocking" in categories, name in ("pawl.take", "pawl.mtake", "pawl.dead"))
            stable = internal or name in ("pawl.ack", "pawl.nack", "pawl.extend", "pawl.cancel", "pawl.move", "pawl.every",
                                          "pawl.pause", "pawl.resume", "pawl.config")
            self.assertEqual(info[7], [] if stable else [b"nondeterministic_output"], name)
            self.assertEqual("denyoom" in flags, name in ("pawl.put", "pawl.mput", "pawl.every"), name)
            self.assertEqual("blocking" in flags, name in ("pawl.take", "pawl.mtake", "pawl.dead"), name)
            self.assertEqual(in_pairs(info[8][0])[b"flags"][0], "RO" if reads else "RW", name)

    def test_the_clock_of_tests_is_for_tests_only(self):
        server = Server()
        self.addCleanup(server.stop)
        with self.assertRaisesRegex(Error, "unknown command"):
            server.call("PAWL.CLOCK", 5)
        self.fails("ERR unix-ms is '-1'", "PAWL.CLOCK", -1)
        self.fails("ERR wrong number of arguments", "PAWL.CLOCK")

    def redis_cli(self, *args):
        return subprocess.run([cli(), "-p", str(self.server.port), "--no-raw", *map(str, args)],
                              capture_output=True, text=True, check=True).stdout.rstrip("\n")

    def test_as_seen_in_the_command_line_client(self):
        for args, shown in (
                (("PAWL.PUT", "q", 0, "hello", "ID", "a", "MAXTRIES", 1), '"a"'),
                (("PAWL.PUT", "q", 0, "hello", "ID", "a"),
                 "(error) EXISTS there is a task with id 'a'; see NX and REPLACE"),
                (("PAWL.PUT", "q", 0, "hello", "ID", "a", "NX"), "(nil)"),
                (("PAWL.PUT", "q", 500, "world", "ID", "b"), '"b"'),
                (("PAWL.LEN", "q"), "(integer) 2"),
                (("PAWL.LEN", "q", "STATE", "due"), "(integer) 1"),
                (("PAWL.TAKE", "q"), f'1) 1) "a"\n   2) "hello"\n   3) (integer) 1\n   4) (integer) {START}\n   5) (nil)'),
                (("PAWL.TAKE", "q"), "(nil)"),
                (("PAWL.NEXT", "q"), "(integer) 500"),
                (("PAWL.MOVE", "q", "b", 20), "(integer) 1"),
                (("PAWL.GET", "q", "b"), f' 1) "state"\n 2) "waiting"\n 3) "payload"\n 4) "world"\n 5) "due-ms"\n'
                 f' 6) (integer) {START + 20}\n 7) "tries"\n 8) (integer) 0\n 9) "maxtries"\n10) (integer) 0\n'
                 '11) "reason"\n12) (nil)\n13) "period-ms"\n14) (integer) 0'),
                (("PAWL.SCAN", "q", 0), '1) "0"\n2) 1) "b"'),
                (("PAWL.ACK", "q", "b", "0123456789abcdef"), "(integer) 0"),
                (("PAWL.NACK", "q", "b", "0123456789abcdef"), "(integer) 0"),
                (("PAWL.EXTEND", "q", "b", "0123456789abcdef", 5), "(integer) 0"),
                (("PAWL.DEAD", "q", "TAKE"), "(nil)"),
                (("PAWL.DEAD", "q", "REQUEUE", "ALL"), "(integer) 0"),
                (("PAWL.CANCEL", "q", "b"), "(integer) 1"),
                (("PAWL.INFO", "q"), "(nil)"),
                (("PAWL.PUT", "q", -1, "p"),
                 f"(error) ERR delay-ms is '-1', must be an integer from 0 to {MAX}"),
                (("EXISTS", "q"), "(integer) 0")):
            self.assertEqual(self.redis_cli(*args), shown, args)
        made = self.redis_cli("PAWL.MPUT", "q", 0, "a", 0, "b").split("\n")
        self.assertEqual(len(made), 2)


if __name__ == "__main__":
    unittest.main()
