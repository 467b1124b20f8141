# SPDX-License-Identifier: MIT
"""A queue among the server's other values: it can be renamed, copied, watched, expired, dumped, measured."""
import random
import unittest

from support import MODULE, START, Error, Gone, Server, ServerTest, crc64, in_pairs, wait_until


class Citizen(ServerTest):
    def fill(self, key="q"):
        """A waiting, a due, a leased and a dead task; returns the token of the leased one."""
        self.call("PAWL.PUT", key, 0, "dead", "ID", "dead", "MAXTRIES", 1)
        token = self.call("PAWL.TAKE", key, "LEASE", 10)[0][4]
        self.call("PAWL.NACK", key, "dead", token, "REASON", "why")
        self.pass_ms(1)
        self.call("PAWL.PUT", key, 0, "leased", "ID", "leased", "MAXTRIES", 5)
        token = self.call("PAWL.TAKE", key, "LEASE", 10_000)[0][4]
        self.call("PAWL.PUT", key, 0, "due", "ID", "due")
        self.call("PAWL.PUT", key, 5000, "waiting", "ID", "waiting")
        self.call("PAWL.CONFIG", key, "MAXDEAD", 9, "BACKOFF", 0, 0)
        return token

    def expect_filled(self, key, token):
        states = {name: in_pairs(self.call("PAWL.GET", key, name))[b"state"].decode()
                  for name in ("waiting", "due", "leased", "dead")}
        self.assertEqual(states, {name: name for name in states})
        self.assertEqual(in_pairs(self.call("PAWL.GET", key, "dead"))[b"reason"], b"why")
        self.assertEqual(self.call("PAWL.NEXT", key), 0)
        self.assertEqual([t[0] for t in self.call("PAWL.TAKE", key, "COUNT", 9)], [b"due"])
        self.assertEqual(self.call("PAWL.NEXT", key), 5000)
        self.assertEqual(self.call("PAWL.ACK", key, "leased", token), 1)
        self.assertEqual(self.call("PAWL.DEAD", key, "TAKE")[0][:3], [b"dead", b"dead", 1])
        self.pass_ms(5000)
        self.assertEqual(self.take_all(key), [b"waiting"])
        self.assertEqual(in_pairs(self.call("PAWL.CONFIG", key))[b"maxdead"], 9)
        self.call("PAWL.CONFIG", key, "MAXDEAD", 0)
        self.assertEqual(self.call("EXISTS", key), 0)

    def test_a_queue_is_renamed_copied_moved_dumped_and_loaded(self):
        for ways in ([("RENAME", "q", "r"), ("RENAME", "r", "q")], [("COPY", "q", "r"), ("DEL", "q"), ("RENAME", "r", "q")],
                     [("MOVE", "q", 1), ("SWAPDB", 0, 1)], [("DEL", "q"), "restore"], [("DEBUG", "RELOAD")]):
            token = self.fill()
            dump = self.call("DUMP", "q")
            for way in ways:
                if way == "restore":
                    self.call("RESTORE", "q", 0, dump)
                else:
                    self.call(*way)
            self.expect_filled("q", token)

    def test_a_copy_is_a_queue_of_its_own(self):
        token = self.fill()
        self.assertEqual(self.call("COPY", "q", "r"), 1)
        before = self.now
        self.expect_filled("q", token)
        self.set_clock(before)
        self.expect_filled("r", token)

    def test_debug_reload_keeps_the_digest(self):
        self.fill()
        self.redis.calls([("PAWL.PUT", "large", n * 1000, n) for n in range(5000)])
        before = self.call("DEBUG", "DIGEST")
        self.assertEqual(self.call("DEBUG", "RELOAD"), "OK")
        self.assertEqual(self.call("DEBUG", "DIGEST"), before)

    def test_the_digest_tells_queues_apart(self):
        changes = [("PAWL.PUT", "q", 50, "p", "ID", "a"), ("PAWL.MOVE", "q", "a", 0), ("PAWL.TAKE", "q", "LEASE", 5),
                   ("PAWL.PUT", "q", 50, "p", "ID", "b"), ("PAWL.NOTE", "q", "why", "a"), ("PAWL.NOTE", "q", "what", "a")]
        for period, first in ((5, 7), (6, 7), (6, 8)):
            changes.append(("PAWL.PUTAT", "q", START, "e", "p", 0, "waiting", 0, "0" * 16, "", period, first))
        changes += [("PAWL.PAUSE", "q"), ("PAWL.CONFIG", "q", "MAXDEAD", 1), ("PAWL.CONFIG", "q", "BACKOFF", 1, 1),
                    ("PAWL.CONFIG", "q", "BACKOFF", 1, 2)]
        digests = set()
        for change in changes:
            self.call(*change)
            digests.add(self.call("DEBUG", "DIGEST-VALUE", "q")[0])
        self.assertEqual(len(digests), len(changes))

    def test_del_and_expire_of_a_queue_with_leases(self):
        for command in (("DEL", "q"), ("UNLINK", "q"), ("PEXPIRE", "q", 1), ("FLUSHALL",), ("FLUSHALL", "ASYNC"),
                        ("FLUSHDB", "SYNC")):
            token = self.fill()
            self.call(*command)
            wait_until(lambda: self.call("EXISTS", "q") == 0, "the key is gone")
            self.assertEqual(self.call("PAWL.ACK", "q", "leased", token), 0)
            self.assertEqual(self.call("PAWL.LEN", "q"), 0)

    def test_a_key_that_expires_keeps_its_time_to_live_meanwhile(self):
        self.call("PAWL.PUT", "q", 0, "p")
        self.call("EXPIRE", "q", 1000)
        self.call("PAWL.PUT", "q", 0, "p")
        self.assertGreater(self.call("TTL", "q"), 0)
        self.call("PAWL.TAKE", "q")
        self.assertGreater(self.call("TTL", "q"), 0)

    def test_watch(self):
        changes = [("PAWL.PUT", "q", 0, "p"), ("PAWL.CANCEL", "q", "x"), ("PAWL.MOVE", "q", "x", 7),
                   ("PAWL.TAKE", "q"), ("PAWL.TAKE", "q", "LEASE", 5), ("PAWL.PAUSE", "q"),
                   ("PAWL.CONFIG", "q", "MAXDEAD", 5)]
        nothing = [("PAWL.LEN", "q"), ("PAWL.CANCEL", "q", "nobody"), ("PAWL.INFO", "q"), ("PAWL.NEXT", "q"),
                   ("PAWL.ACK", "q", "x", "t"), ("PAWL.SCAN", "q", 0), ("PAWL.TAKE", "empty"),
                   ("PAWL.PUT", "q", 0, "p", "ID", "x", "NX"), ("PAWL.MPUT", "q", 0, "p", "ID", "x", "NX"),
                   ("PAWL.MOVE", "q", "nobody", 5), ("PAWL.RESUME", "q"),
                   ("PAWL.CONFIG", "q"), ("PAWL.CONFIG", "q", "MAXDEAD", 0, "BACKOFF", 0, 0)]
        other = self.server.client()
        for command, changed in [(c, True) for c in changes] + [(c, False) for c in nothing]:
            self.call("FLUSHALL")
            self.call("PAWL.PUT", "q", 0, "p", "ID", "x")
            self.call("WATCH", "q")
            other.call(*command)
            self.call("MULTI")
            self.call("PING")
            self.assertEqual(self.call("EXEC"), None if changed else ["PONG"], command)

    def test_keyspace_notifications(self):
        self.call("CONFIG", "SET", "notify-keyspace-events", "KEAd")
        self.addCleanup(lambda: self.server.call("CONFIG", "SET", "notify-keyspace-events", ""))
        listener = self.server.client()
        listener.call("SUBSCRIBE", "__keyspace@0__:q")
        for command in (("PAWL.PUT", "q", 0, "p", "ID", "a"), ("PAWL.TAKE", "q", "LEASE", 5000),
                        ("PAWL.MOVE", "q", "a", 5, "FORCE"), ("PAWL.CANCEL", "q", "a")):
            self.call(*command)
        events = [listener.read()[2] for _ in range(5)]
        self.assertEqual(events, [b"pawl.put", b"pawl.take", b"pawl.move", b"pawl.cancel", b"del"])

    def test_memory_usage_follows_the_tasks(self):
        self.call("PAWL.PUT", "q", 5000, "p", "ID", "first")
        small = self.call("MEMORY", "USAGE", "q")
        self.assertLess(small, 1500)
        self.redis.calls([("PAWL.PUT", "q", 5000, "x" * 64) for _ in range(20_000)])
        large = self.call("MEMORY", "USAGE", "q")
        self.assertLess(large / 20_000, 200)
        self.assertGreater(large, 20_000 * 128)
        self.pass_ms(5000)
        for _ in range(2):
            self.call("PAWL.TAKE", "q", "COUNT", 10_000)
        self.assertLess(self.call("MEMORY", "USAGE", "q"), 5000)

    def frees_lazily(self, *command):
        freed = lambda: int(self.call("INFO", "memory").decode().split("lazyfreed_objects:")[1].split()[0])
        self.call("DEL", "q", "r")
        self.call("PAWL.PUT", "r", 5000, "x")
        self.redis.calls([("PAWL.PUT", "q", 5000, "x") for _ in range(500)])
        before = freed()
        self.call(*command)
        wait_until(lambda: freed() > before, f"{command} freed a value lazily")

    def test_the_settings_by_which_a_large_queue_is_freed_in_another_thread(self):
        self.frees_lazily("UNLINK", "q")
        self.call("PAWL.PUT", "r", 5000, "x")
        dump = self.call("DUMP", "r")
        overwrite = [("SET", "q", "x"), ("RENAME", "r", "q"), ("COPY", "r", "q", "REPLACE"), ("RESTORE", "q", 0, dump, "REPLACE")]
        for setting, commands in (("user-del", [("DEL", "q")]), ("expire", [("PEXPIRE", "q", 1)]),
                                  ("user-flush", [("FLUSHALL",), ("FLUSHDB",)]), ("server-del", overwrite)):
            self.call("CONFIG", "SET", f"lazyfree-lazy-{setting}", "yes")
            self.addCleanup(self.server.call, "CONFIG", "SET", f"lazyfree-lazy-{setting}", "no")
            for command in commands:
                self.frees_lazily(*command)

    def test_a_queue_larger_than_the_target_accepts_is_not_migrated_and_not_lost(self):
        target = Server("--proto-max-bulk-len", "1mb")
        self.addCleanup(target.stop)
        rng = random.Random(7)  # random bytes are not compressed
        for _ in range(30):
            self.call("PAWL.PUT", "q", 5000, rng.randbytes(50_000))
        migrate = ("MIGRATE", "127.0.0.1", target.port, "q", 0, 3_600_000)
        with self.assertRaisesRegex(Error, "^IOERR|invalid bulk length"):  # whichever comes first
            self.call(*migrate)
        self.assertEqual((self.call("PAWL.LEN", "q"), target.call("EXISTS", "q")), (30, 0))
        target.call("CONFIG", "SET", "proto-max-bulk-len", "2mb")
        self.assertEqual(self.call(*migrate), "OK")
        self.assertEqual((self.call("EXISTS", "q"), target.call("PAWL.LEN", "q")), (0, 30))

    def test_a_snapshot_of_another_version_is_refused(self):
        self.call("PAWL.PUT", "q", 5000, "p")
        body = bytearray(self.call("DUMP", "q")[:-8])
        # After the type byte: the module's id, 64 bits as a long length; its last 10 bits are the version.
        body[9] = (body[9] & ~3) | 3
        with self.assertRaises(Error):
            self.call("RESTORE", "r", 0, bytes(body) + crc64(bytes(body)))
        self.assertIn("pawl: cannot read encoding 3, only 1 to 2", self.server.log_text())
        self.assertEqual(self.call("EXISTS", "r"), 0)

    def test_a_user_who_may_only_take(self):
        self.call("ACL", "SETUSER", "worker", "reset", "on", ">pw", "~jobs:*", "+pawl.take", "+pawl.ack")
        self.addCleanup(lambda: self.server.call("ACL", "DELUSER", "worker"))
        self.call("PAWL.PUT", "jobs:1", 0, "p", "ID", "x")
        worker = self.server.client()
        worker.call("AUTH", "worker", "pw")
        token = worker.call("PAWL.TAKE", "jobs:1", "LEASE", 50)[0][4]
        for command in (("PAWL.PUT", "jobs:1", 0, "p"), ("PAWL.TAKE", "other"), ("PAWL.DROP", "jobs:1", "x"),
                        ("PAWL.PUTAT", "jobs:1", 0, "y", "p"), ("PAWL.GET", "jobs:1", "x")):
            with self.assertRaisesRegex(Error, "^NOPERM"):
                worker.call(*command)
        self.assertEqual(worker.call("PAWL.ACK", "jobs:1", "x", token), 1)


class Settings(unittest.TestCase):
    """Arguments of the module, CONFIG, and MODULE LOADEX."""

    def value(self, client):
        return client.call("CONFIG", "GET", "pawl.*")

    def client(self, module=False):
        """Of a new server, with or without the module."""
        self.server = Server("--enable-module-command", "yes", module=module)
        self.addCleanup(self.server.stop)
        return self.server.client()

    def test_config(self):
        client = self.client(module=True)
        self.assertEqual(self.value(client), [b"pawl.metrics-queues", b"64"])
        self.assertEqual(client.call("CONFIG", "SET", "pawl.metrics-queues", 1), "OK")
        self.assertEqual(self.value(client), [b"pawl.metrics-queues", b"1"])
        for key in "abc":
            client.call("PAWL.PUT", key, 0, "p")
        shown = client.call("INFO", "pawl_queues").decode()
        self.assertIn("pawl_queue_0:db=0,key=a,", shown)
        self.assertNotIn("pawl_queue_1", shown)
        self.assertIn("pawl_other:put_total=2,", shown)
        for bad in ("-1", 1025, "x"):
            with self.assertRaises(Error):
                client.call("CONFIG", "SET", "pawl.metrics-queues", bad)
        self.assertEqual(self.value(client), [b"pawl.metrics-queues", b"1"])

    def test_argument_and_configuration(self):
        for arguments, options, expected in (
                (("METRICS-QUEUES", "5"), (), b"5"), (("metrics-queues", "0", "TEST-CLOCK", "7"), (), b"0"),
                (("METRICS-QUEUES", "5"), ("--pawl.metrics-queues", "7"), b"7"), ((), ("--pawl.metrics-queues", "9"), b"9")):
            server = Server(module=False)
            server.kill()
            server.module = [MODULE, *arguments]
            server.start(*options)
            self.addCleanup(server.stop)
            self.assertEqual(self.value(server.client()), [b"pawl.metrics-queues", expected], (arguments, options))

    def test_arguments_that_are_bad(self):
        client = self.client()
        for arguments in (("METRICS-QUEUES",), ("METRICS-QUEUES", "-1"), ("METRICS-QUEUES", "1025"), ("QUEUES", "5"),
                          ("TEST-CLOCK", "x"), ("METRICS-QUEUES", "5", "5")):
            before = len(self.server.log_text())
            with self.assertRaises(Error):
                client.call("MODULE", "LOAD", MODULE, *arguments)
            bad = arguments[2] if len(arguments) == 3 else arguments[0]
            self.assertIn(f"pawl: the argument '{bad}' is unknown, or its value is missing or bad", self.server.log_text()[before:])
        self.assertEqual(client.call("MODULE", "LOAD", MODULE), "OK")
        client.call("PAWL.PUT", "q", 0, "p")

    def test_loadex(self):
        client = self.client()
        self.assertEqual(client.call("MODULE", "LOADEX", MODULE, "CONFIG", "pawl.metrics-queues", 3, "ARGS", "METRICS-QUEUES", 9), "OK")
        self.assertEqual(self.value(client), [b"pawl.metrics-queues", b"3"])

    def test_loadex_with_a_value_that_is_bad(self):
        client = self.client()
        with self.assertRaises(Error):
            client.call("MODULE", "LOADEX", MODULE, "CONFIG", "pawl.metrics-queues", "many")
        self.assertEqual(client.call("MODULE", "LOAD", MODULE), "OK")
        self.assertEqual(client.call("PING"), "PONG")


class Defragmentation(ServerTest):
    """Only on a server with the jemalloc of its own source."""

    def test_a_queue_full_of_holes_is_moved_while_it_is_used(self):
        try:
            self.call("CONFIG", "SET", "activedefrag", "yes")
        except Error as error:
            self.skipTest(str(error))
        self.addCleanup(lambda: self.server.call("CONFIG", "SET", "activedefrag", "no"))
        self.call("CONFIG", "SET", "activedefrag", "no")  # until the holes are there
        self.call("CONFIG", "SET", "active-defrag-ignore-bytes", 1)
        self.call("CONFIG", "SET", "active-defrag-threshold-lower", 0)
        self.call("CONFIG", "SET", "active-defrag-cycle-min", 50)
        self.call("CONFIG", "SET", "active-defrag-cycle-max", 75)
        for start in range(0, 60_000, 5000):
            self.call("PAWL.MPUT", "q", *(word for n in range(start, start + 5000) for word in (n, f"{n}".ljust(64), "ID", n)))
        for n in range(20):
            self.call("PAWL.PUT", "small", n, n)
        stat = lambda name: int(self.call("INFO", "stats").decode().split(f"{name}:")[1].split()[0])
        kept = [n for n in range(60_000) if n % 7 == 0]
        self.redis.calls([("PAWL.CANCEL", "q", *(n for n in range(start, start + 700) if n % 7)) for start in range(0, 60_000, 700)])
        digest = self.call("DEBUG", "DIGEST")
        before = stat("active_defrag_hits")
        self.call("CONFIG", "SET", "activedefrag", "yes")
        wait_until(lambda: stat("active_defrag_hits") > before + 1000, "tasks were moved")
        self.assertEqual(self.call("DEBUG", "DIGEST"), digest)
        self.pass_ms(30_000)
        self.assertEqual([int(task[1]) for task in self.call("PAWL.TAKE", "q", "COUNT", 10_000)], [n for n in kept if n <= 30_000])
        self.assertEqual(self.call("PAWL.LEN", "small"), 20)
        self.call("DEBUG", "RELOAD")
        self.pass_ms(30_000)
        self.assertEqual([int(task[1]) for task in self.call("PAWL.TAKE", "q", "COUNT", 10_000)], [n for n in kept if n > 30_000])


class LoadedAgain(ServerTest):
    """A second load is refused, and the loaded module is not affected."""
    options = ("--enable-module-command", "yes")

    def refuse(self, *command):
        self.call("PAWL.PUT", "q", 0, "due", "ID", "a")
        self.call("PAWL.PUT", "q", 100, "later", "ID", "b")
        self.make_large("large")
        first = self.block("PAWL.TAKE", "p", "BLOCK", 0)
        with self.assertRaises(Error):
            self.call(*command)
        second = self.block("PAWL.TAKE", "p", "BLOCK", 0)
        self.assertEqual([name for _, name, *_ in self.call("MODULE", "LIST")].count(b"pawl"), 1)
        self.assertEqual(in_pairs(self.call("PAWL.GET", "q", "a"))[b"payload"], b"due")
        self.assertEqual(self.take_all(), [b"due"])
        self.assertEqual(self.call("PAWL.CANCEL", "q", "b"), 1)
        self.assertEqual(self.call("PAWL.LEN", "large"), 4500)
        self.assertEqual(len(self.call("PAWL.SCAN", "large", 0, "COUNT", 10_000)[1]), 4500)
        self.call("DEBUG", "RELOAD")
        self.assertEqual(self.call("PAWL.NEXT", "large"), 10**9)
        self.call("PAWL.MPUT", "p", 0, "one", 5, "two")
        self.assertEqual(first.read()[0][1], b"one")
        self.pass_ms(5)
        self.assertEqual(second.read()[0][1], b"two")

    def test_by_each_command(self):
        for command in (("MODULE", "LOAD", MODULE), ("MODULE", "LOAD", MODULE, "TEST-CLOCK", START + 1_000_000),
                        ("MODULE", "LOADEX", MODULE, "CONFIG", "pawl.x", "y")):
            with self.subTest(command):
                self.call("FLUSHALL")
                self.refuse(*command)

    def test_after_loadex_with_a_setting_that_it_does_not_have(self):
        """The server then says that the module is not loaded. Redis 7.0 keeps it nevertheless, since a type cannot be unloaded;
        Redis 8 unloads it by force, and it can be loaded again."""
        server = Server(*self.options, module=False)
        client = server.client()
        try:
            with self.assertRaises(Error):
                client.call("MODULE", "LOADEX", MODULE, "CONFIG", "pawl.x", "y")
        except Gone:  # others fall over whenever they cannot unload what they should not have loaded
            server.kill()
            self.assertIn("Unloading the module", server.log_text())
            self.skipTest("this server crashes, with any module that has a type")
        if b"pawl" not in [name for _, name, *_ in client.call("MODULE", "LIST")]:
            client.call("MODULE", "LOAD", MODULE)
        client.call("PAWL.PUT", "q", 0, "p", "ID", "a")
        with self.assertRaises(Error):
            client.call("MODULE", "LOAD", MODULE)
        self.assertEqual(client.call("PAWL.TAKE", "q")[0][:2], [b"a", b"p"])
        server.stop()


class Memory(ServerTest):
    options = ("--maxmemory", "20mb", "--maxmemory-policy", "noeviction")

    def test_a_full_server_refuses_to_put_and_lets_take(self):
        put = 0
        for command in (("PAWL.PUT", "q", 0, "x" * 1000, "ID"), ("PAWL.MPUT", "q", 0, "x" * 1000, 0)):
            with self.assertRaisesRegex(Error, "^OOM"):
                for _ in range(100_000):
                    self.call(*command, f"t{put}")
                    put += 1
        self.assertGreaterEqual(self.call("PAWL.LEN", "q"), put)
        [task] = self.call("PAWL.TAKE", "q", "LEASE", 50)
        self.assertEqual(self.call("PAWL.ACK", "q", task[0], task[4]), 1)
        self.assertEqual(self.call("PAWL.CANCEL", "q", "t5"), 1)
        self.assertEqual(len(self.call("PAWL.TAKE", "q", "COUNT", 100)), 100)
        self.assertEqual(self.call("PAWL.PUT", "q", 0, "room again", "ID", "new"), b"new")


if __name__ == "__main__":
    unittest.main()
