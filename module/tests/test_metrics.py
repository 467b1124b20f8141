# SPDX-License-Identifier: MIT
"""INFO pawl: the counters of the server and of each queue. test_model.py compares them with those of a model."""
import unittest
from urllib.parse import unquote

from support import START, Server, in_pairs, wait_until
from test_replication import Pair, in_step

COUNTERS = ("put", "delivered", "acknowledged", "nacked", "lapsed", "died", "cancelled")


def info(client, section="pawl"):
    """The fields; those that are lists as dictionaries."""
    fields = {}
    for line in client.call("INFO", section).decode().splitlines():
        if line and not line.startswith("#"):
            name, value = line.split(":", 1)
            fields[name] = dict(part.split("=", 1) for part in value.split(",")) if "=" in value else value
    return fields


def counts(fields, prefix=""):
    """Those that are not 0."""
    return {name: int(fields[f"{prefix}{name}_total"]) for name in COUNTERS if fields.get(f"{prefix}{name}_total", "0") != "0"}


def queues(client):
    """By database and name."""
    return {(int(fields["db"]), unquote(fields["key"])): fields
            for name, fields in info(client).items() if name.startswith("pawl_queue_")}


class Metrics(unittest.TestCase):
    """Counters begin with the server, so each test has its own."""

    def setUp(self):
        self.server = Server(clock=START)
        self.redis, self.now = self.server.client(), START

    def tearDown(self):
        self.server.stop()

    def call(self, *args):
        return self.redis.call(*args)

    def pass_ms(self, ms):
        self.now += ms
        self.call("PAWL.CLOCK", self.now)

    def expect(self, key="q", **expected):
        self.assertEqual(counts(queues(self.redis)[0, key]), expected)
        self.assertEqual(counts(info(self.redis), "pawl_"), expected)

    def test_nothing_has_happened_yet(self):
        fields = info(self.redis)
        self.assertEqual(counts(fields, "pawl_"), {})
        self.assertEqual(fields["pawl_lateness_seconds_count"], "0")
        self.assertEqual(fields["pawl_lateness_seconds_sum"], "0.000")
        self.assertEqual(counts(fields["pawl_other"]), {})
        self.assertEqual(queues(self.redis), {})

    def test_the_life_of_a_task(self):
        self.call("PAWL.PUT", "q", 0, "p", "ID", "x")
        self.call("PAWL.MPUT", "q", 0, "p", "ID", "x", "NX", 0, "p", "ID", "y")
        self.expect(put=2)
        tokens = [task[4] for task in self.call("PAWL.TAKE", "q", "COUNT", 2, "LEASE", 50)]
        self.call("PAWL.ACK", "q", "x", tokens[0], "y", tokens[0])
        self.call("PAWL.NACK", "q", "y", tokens[1])
        self.call("PAWL.NACK", "q", "y", tokens[1])
        self.expect(put=2, delivered=2, acknowledged=1, nacked=1)
        self.call("PAWL.MTAKE", 1, "q", "LEASE", 50)
        self.pass_ms(50)
        self.expect(put=2, delivered=3, acknowledged=1, nacked=1)  # INFO does not look at the queues
        self.call("PAWL.TAKE", "q")
        self.expect(put=2, delivered=4, acknowledged=1, nacked=1, lapsed=1)

    def lapse(self, *tries, lease=50):
        """Tasks that lapsed, one for each number: its MAXTRIES."""
        for n, most in enumerate(tries):
            self.call("PAWL.PUT", "q", 0, "p", "ID", n, "MAXTRIES", most)
        self.call("PAWL.TAKE", "q", "COUNT", len(tries), "LEASE", lease)
        self.pass_ms(lease)

    def test_every_command_that_reads_the_queue_counts_lapses(self):
        looks = (("PAWL.LEN", "q"), ("PAWL.INFO", "q"), ("PAWL.GET", "q", "missing"), ("PAWL.NEXT", "q"), ("PAWL.SCAN", "q", 0),
                 ("PAWL.RANGE", "q", 0, 1))
        for n, look in enumerate(looks, 1):
            self.call("DEL", "q")
            self.lapse(1, 1, 1, 2)
            for _ in range(2):
                self.call(*look)
            self.expect(put=4 * n, delivered=4 * n, lapsed=4 * n, died=3 * n)
            self.assertEqual(self.call("PAWL.LEN", "q", "STATE", "dead"), 3)

    def test_a_command_that_changes_the_queue_counts_lapses_after_a_second(self):
        for command in (("PAWL.PUT", "q", 5000, "p"), ("PAWL.TAKE", "q"), ("PAWL.MTAKE", 1, "q"), ("PAWL.ACK", "q", "x", "x"),
                        ("PAWL.DEAD", "q", "REQUEUE", "missing"), ("PAWL.CANCEL", "q", "missing")):
            before = counts(info(self.redis), "pawl_").get("died", 0)
            self.call("DEL", "q")
            self.lapse(1, 1, lease=900)
            self.call(*command)
            self.assertEqual(counts(info(self.redis), "pawl_").get("died", 0), before)
            self.pass_ms(100)
            for _ in range(2):
                self.call(*command)
            self.assertEqual(counts(info(self.redis), "pawl_")["died"], before + 2, command)

    def test_a_lapse_that_a_reason_is_removed_from_is_counted_once(self):
        for n, look_first in enumerate((True, False), 1):
            self.call("PAWL.PUT", "q", 0, "p", "ID", "x", "MAXTRIES", 2, "REPLACE")
            self.call("PAWL.NACK", "q", "x", self.call("PAWL.TAKE", "q", "LEASE", 50)[0][4], "REASON", "why")
            self.call("PAWL.TAKE", "q", "LEASE", 50)
            self.pass_ms(50)
            if look_first:
                self.call("PAWL.LEN", "q")
            self.call("PAWL.DEAD", "q", "REQUEUE", "x")
            self.expect(put=n, delivered=2 * n, nacked=n, lapsed=n, died=n)

    def test_every_command_that_finds_a_death_by_a_lapse_counts_it_once(self):
        for n, find in enumerate((("PAWL.CANCEL", "q", "x"), ("PAWL.SWEEP", "q", 0, "STATE", "dead"),
                                  ("PAWL.PUT", "q", 0, "p", "ID", "x", "REPLACE"), ("PAWL.MPUT", "q", 0, "p", "ID", "x", "REPLACE"),
                                  ("PAWL.DEAD", "q", "TAKE"), ("PAWL.DEAD", "q", "REQUEUE", "x"),
                                  ("PAWL.DEAD", "q", "REQUEUE", "ALL")), 1):
            self.call("DEL", "q")
            self.call("PAWL.PUT", "q", 0, "p", "ID", "x", "MAXTRIES", 1)
            self.call("PAWL.TAKE", "q", "LEASE", 5)
            self.pass_ms(5)
            for _ in range(2):
                self.redis.calls([find])
            found = counts(queues(self.redis)[0, "q"])
            self.assertEqual((found["died"], found["lapsed"]), (n, n), find)

    def test_a_copy_has_lapses_of_its_own(self):
        self.call("PAWL.PUT", "q", 0, "p", "MAXTRIES", 1)
        self.call("PAWL.TAKE", "q", "LEASE", 50)
        self.call("COPY", "q", "r")
        self.pass_ms(50)
        for key in "qr":
            self.assertEqual(self.call("PAWL.LEN", key, "STATE", "dead"), 1)
            self.assertEqual(counts(queues(self.redis)[0, key])["died"], 1)

    def test_lateness_is_a_histogram(self):
        end = self.now + 400_000
        for late in (400_000, 1000, 999, 6, 5, 2, 1, 0):
            self.call("PAWL.PUT", "q", 0, "p", "AT", end - late)
        self.pass_ms(400_000)
        taker = self.server.client()
        self.call("PAWL.TAKE", "q", "COUNT", 8)
        taker.send("PAWL.TAKE", "q", "BLOCK", 0)
        wait_until(lambda: self.server.blocked() == 1, "blocked")
        self.call("PAWL.PUT", "q", 10, "p")
        self.pass_ms(30)
        taker.read()
        expected = {"le_0.001": 2, "le_0.005": 4, "le_0.01": 5, "le_0.05": 6, "le_0.1": 6, "le_0.5": 6, "le_1": 8, "le_5": 8,
                    "le_10": 8, "le_60": 8, "le_300": 8, "le_inf": 9}
        fields, queue = info(self.redis), queues(self.redis)[0, "q"]
        for buckets in (fields["pawl_lateness_seconds_bucket"], queue):
            self.assertEqual({name: int(count) for name, count in buckets.items() if name.startswith("le_")}, expected)
        self.assertEqual((fields["pawl_lateness_seconds_count"], fields["pawl_lateness_seconds_sum"]), ("9", "402.033"))
        self.assertEqual((queue["lateness_seconds_count"], queue["lateness_seconds_sum"]), ("9", "402.033"))

    def test_they_survive_the_key_and_belong_to_its_name(self):
        self.call("PAWL.PUT", "q", 0, "p")
        self.call("DEL", "q")
        self.call("PAWL.PUT", "q", 0, "p")
        self.call("RENAME", "q", "r")
        self.call("PAWL.TAKE", "r")
        self.assertEqual({key: counts(fields) for key, fields in queues(self.redis).items()},
                         {(0, "q"): {"put": 2}, (0, "r"): {"delivered": 1}})
        self.call("FLUSHALL")
        self.call("SELECT", 1)
        self.call("PAWL.PUT", "q", 0, "p")
        self.assertEqual(counts(queues(self.redis)[1, "q"]), {"put": 1})
        self.assertEqual(counts(queues(self.redis)[0, "q"]), {"put": 2})

    def test_names_of_any_bytes(self):
        for name in (b"a:b", b"a=b,c", b"\r\n# x:1", b"\xff\0", b"jobs:{3}/a.b-c_d"):
            self.call("PAWL.PUT", name, 0, "p")
        self.call("PAWL.PUT", "l" * 1000, 0, "p")
        shown = [fields["key"] for fields in info(self.redis).values() if isinstance(fields, dict) and "key" in fields]
        self.assertEqual(shown, ["a%3Ab", "a%3Db%2Cc", "%0D%0A%23%20x%3A1", "%FF%00", "jobs%3A{3}/a.b-c_d", "l" * 128 + "..."])

    def test_the_65th_queue_is_one_of_the_others(self):
        for n in range(70):
            self.call("PAWL.PUT", f"q{n}", 0, "p")
        self.call("PAWL.TAKE", "q69")
        self.call("PAWL.TAKE", "q0")
        self.assertEqual(set(queues(self.redis)), {(0, f"q{n}") for n in range(64)})
        self.assertEqual(counts(info(self.redis)["pawl_other"]), {"put": 6, "delivered": 1})
        self.assertEqual(counts(info(self.redis), "pawl_"), {"put": 70, "delivered": 2})

    def test_sections(self):
        self.call("PAWL.PUT", "q", 0, "p")
        self.assertIn("pawl_queue_0", info(self.redis, "pawl_queues"))
        self.assertNotIn("pawl_put_total", info(self.redis, "pawl_queues"))
        self.assertIn("pawl_put_total", info(self.redis, "everything"))
        self.assertNotIn("pawl_put_total", info(self.redis, "default"))

    def test_a_script_reads_them(self):
        """For exporters that pass on only the fields of the server itself: module/docs/redis.md."""
        self.call("PAWL.MPUT", "q", 0, "p", 0, "p")
        script = """
            local values = {}
            for name, value in redis.call('INFO', 'pawl'):gmatch('(pawl_[%w_]+):([%d.]+)\\r') do
                values[#values + 1] = name
                values[#values + 1] = value
            end
            return values"""
        values = in_pairs(self.call("EVAL", script, 0))
        self.assertEqual((values[b"pawl_put_total"], values[b"pawl_lateness_seconds_sum"]), (b"2", b"0.000"))
        self.assertEqual(len(values), len(COUNTERS) + 2)


class OnAReplica(Pair):
    def test_a_replica_counts_its_own_work(self):
        self.p.call("PAWL.PUT", "q", 0, "p")
        self.p.call("PAWL.TAKE", "q", "LEASE", 5)
        in_step(self.replica, self.primary)
        self.assertEqual(self.r.call("PAWL.LEN", "q"), 1)
        self.assertEqual(counts(info(self.r), "pawl_"), {})
        self.assertEqual(counts(info(self.p), "pawl_"), {"put": 1, "delivered": 1})

    def lapsed(self, name="x"):
        self.p.call("PAWL.PUT", "q", 0, "p", "ID", name, "MAXTRIES", 1)
        return self.p.call("PAWL.TAKE", "q", "LEASE", 5)[0][4]

    def test_a_replica_counts_as_died_every_task_it_shows_as_dead(self):
        self.lapsed("a")
        self.p.call("PAWL.NACK", "q", "b", self.lapsed("b"))
        in_step(self.replica, self.primary)
        self.r.call("PAWL.CLOCK", START + 5)
        self.assertEqual(self.r.call("PAWL.LEN", "q", "STATE", "dead"), 2)
        self.assertEqual(counts(info(self.r), "pawl_"), {"lapsed": 1, "died": 2})
        self.p.call("PAWL.CLOCK", START + 5)
        self.p.call("PAWL.DEAD", "q", "REQUEUE", "ALL")
        in_step(self.replica, self.primary)
        self.assertEqual(counts(info(self.r), "pawl_"), {"lapsed": 1, "died": 2})
        self.assertEqual(counts(info(self.p), "pawl_"), {"put": 2, "delivered": 2, "nacked": 1, "lapsed": 1, "died": 2})

    def test_a_lease_that_is_over_when_it_comes_to_the_replica(self):
        self.r.call("PAWL.CLOCK", START + 60)
        self.p.call("PAWL.PUT", "q", 50, "p")
        in_step(self.replica, self.primary)
        self.r.call("PAWL.LEN", "q")
        self.lapsed()
        in_step(self.replica, self.primary)
        self.assertEqual(self.r.call("PAWL.LEN", "q", "STATE", "dead"), 1)
        self.assertEqual(counts(info(self.r), "pawl_"), {"lapsed": 1, "died": 1})


class AfterARestart(unittest.TestCase):
    def test_only_lapses_after_the_start_are_counted(self):
        for options in ((), ("--appendonly", "yes")):
            server = Server(*options, clock=START)
            client = server.client()
            for name, lease in (("before", 5), ("down", 50), ("after", 500)):
                client.call("PAWL.PUT", "q", 0, "p", "ID", name, "MAXTRIES", 1)
                client.call("PAWL.TAKE", "q", "LEASE", lease)
            client.call("PAWL.PUT", "q", 0, "p", "ID", "nacked", "MAXTRIES", 1)
            client.call("PAWL.NACK", "q", "nacked", client.call("PAWL.TAKE", "q", "LEASE", 5)[0][4])
            client.call("PAWL.CLOCK", START + 10)
            client.call("PAWL.TAKE", "q")
            if not options:
                client.call("SAVE")
            server.kill()
            server.module[2] = str(START + 100)
            server.start()
            client = server.client()
            self.assertEqual(client.call("PAWL.LEN", "q", "STATE", "dead"), 3)
            self.assertEqual(counts(info(client), "pawl_"), {}, options)
            client.call("PAWL.CLOCK", START + 500)
            self.assertEqual(client.call("PAWL.LEN", "q", "STATE", "dead"), 4)
            self.assertEqual(counts(info(client), "pawl_"), {"lapsed": 1, "died": 1}, options)
            server.stop()


if __name__ == "__main__":
    unittest.main()
