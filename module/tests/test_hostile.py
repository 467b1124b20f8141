# SPDX-License-Identifier: MIT
"""Snapshots of queues that no module wrote: damaged, or well-formed with values at the edges of their ranges, or beyond them.

RESTORE refuses them, or they are as good as any queue: whatever commands follow, at whatever time, the replica has the same
queue, and so has the server after it has loaded its append-only file or its snapshot.
"""
import random
import sys
import unittest

from support import START, Error, Server, crc64, seeds
from test_replication import follow, in_step

LAST = 2**53 - 1
EDGES = (0, 1, 2, 63, 64, 127, 128, 255, 256, 1024, 1025, 65535, 65536, 2**31, 2**32 - 1, 2**32, LAST, LAST + 1, 2**63 - 1, 2**63,
         2**64 - 1)
TIMES = (0, 1, START - 10**9, START - 1, START, START + 1, START + 1000, START + 10**6, START + 10**11, LAST)
STATES = ("waiting", "due", "leased", "dead")
WAITING, LEASED, DEAD, SHORT_ID, HAS_TRIES, HAS_MAX_TRIES, HAS_REASON, HAS_PERIOD = 0, 1, 2, 4, 8, 16, 32, 64  # module/queue/encode.c


def length(n):
    """A number as the server stores it."""
    if n < 1 << 6:
        return bytes([n])
    if n < 1 << 14:
        return (1 << 14 | n).to_bytes(2, "big")
    return b"\x80" + n.to_bytes(4, "big") if n < 1 << 32 else b"\x81" + n.to_bytes(8, "big")


def varint(n):
    """A number as the module stores it in a block."""
    parts = []
    while n >= 128:
        parts.append(n & 127 | 128)
        n >>= 7
    return bytes(parts + [n])


class Snapshot:
    """A random one. `wild` is how often a value is out of place."""

    def __init__(self, rng):
        self.rng, self.wild = rng, rng.choice((0, 0, 0, 0.02, 0.2))

    def is_wild(self):
        return self.rng.random() < self.wild

    def up_to(self, most, least=0):
        if self.is_wild():
            return self.rng.choice(EDGES)
        return self.rng.choice((least, least + 1, most - 1, most, self.rng.randrange(least, most + 1)))

    def sized(self, data):
        return varint(self.rng.choice(EDGES) if self.is_wild() else len(data)) + data

    def id(self, n, flags):
        if flags & SHORT_ID:
            return self.rng.choice((n.to_bytes(14, "big"), n.to_bytes(6, "big") + self.rng.randbytes(8)))
        made = b"%d-%d-0000002a" % (START, n)  # such an id has the short form
        return self.sized(made if self.is_wild() else self.rng.choice((b"id-%d", b"x" * 250 + b"%d")) % n)

    def task(self, n, before):
        """Its bytes and its time; `before` is the time of the task before it."""
        rng = self.rng
        flags = rng.choice((WAITING, LEASED, DEAD)) | rng.randrange(0, 128, 4)
        if flags & HAS_REASON:
            flags |= HAS_TRIES
        if self.is_wild():
            flags = rng.randrange(256)
        at = rng.choice(EDGES) if self.is_wild() else rng.choice(TIMES + (2**63 - 1, rng.randrange(2**63)))
        parts = [bytes([flags]), varint((at - before) % 2**64)]
        if flags & HAS_TRIES:
            parts.append(varint(self.up_to(65535, least=1)))
        if flags & HAS_MAX_TRIES:
            parts.append(varint(self.up_to(65535)))
        if flags & 3 == LEASED:
            parts.append(rng.choice((bytes(8), b"\xaa" + bytes(7))))
        parts += [self.id(n, flags), self.sized(rng.randbytes(rng.choice((0, 1, 64, 300))))]
        if flags & HAS_REASON:
            parts.append(self.sized(rng.randbytes(rng.choice((0, 1, 1024)))))
        if flags & HAS_PERIOD:
            parts += [varint(self.up_to(LAST)), varint(self.up_to(2**63 - 1))]
        return b"".join(parts), at

    def block(self, numbers):
        data, at = b"", 0
        for n in numbers:
            more, at = self.task(n, at)
            data += more
        return data[:self.rng.randrange(len(data) + 1)] if self.is_wild() else data

    def body(self):
        count, size = self.rng.choice((0, 1, 2, 5, 30, 700)), self.rng.choice((1, 50, 600))
        backoff = sorted((self.up_to(LAST), self.up_to(LAST)))
        fence = self.rng.choice((0, START * 2048, self.up_to((START + 366 * 24 * 3_600_000) * 2048)))
        numbers = (self.rng.choice(EDGES) if self.is_wild() else count, fence, self.up_to(1), self.up_to(LAST), *backoff)
        blocks = [self.block(range(n, min(n + size, count))) for n in range(0, count, size)] + [b""]
        body = b"".join(b"\x02" + length(n) for n in numbers) + b"".join(b"\x05" + length(len(b)) + b for b in blocks) + b"\0"
        return self.damaged(body) if self.wild and self.rng.random() < 0.3 else body

    def damaged(self, body):
        """A byte is another, or the end is cut off."""
        at = self.rng.randrange(len(body))
        return body[:at] + self.rng.choice((self.rng.randbytes(1) + body[at + 1:], b"\0"))


def command(rng):
    """Any, with values at the edges of their ranges."""
    ms = rng.choice((0, 1, 1000, LAST))
    lease = ("COUNT", rng.choice((1, 50)), "LEASE", rng.choice((0, 1, LAST)))
    name = rng.choice((b"id-%d", b"x" * 250 + b"%d")) % rng.randrange(5)
    token = rng.choice((b"00000000000000aa", b"1-00000000000000aa", b"0000000000000000"))
    return rng.choice((
        ("PAWL.TAKE", "q", *lease), ("PAWL.DEAD", "q", "TAKE", *lease), ("PAWL.DEAD", "q", "REQUEUE", "ALL", "DELAY", ms),
        ("PAWL.DEAD", "q", "REQUEUE", name), ("PAWL.ACK", "q", name, token), ("PAWL.EXTEND", "q", name, token, LAST),
        ("PAWL.NACK", "q", name, token, "DELAY", ms, "REASON", "y" * rng.choice((0, 1024))), ("PAWL.NACK", "q", name, token),
        ("PAWL.PUT", "q", ms, "p", "MAXTRIES", 1), ("PAWL.MPUT", "q", ms, "p", "ID", name, "REPLACE"),
        ("PAWL.EVERY", "q", name, max(ms, 1), "p"), ("PAWL.EVERY", "q", "every", rng.choice((1, LAST)), "p", "AT", ms),
        ("PAWL.MOVE", "q", name, ms, "FORCE"), ("PAWL.CANCEL", "q", name, "FORCE"), ("COPY", "q", "r", "REPLACE"),
        ("PAWL.CONFIG", "q", "MAXDEAD", ms), ("PAWL.CONFIG", "q", "BACKOFF", rng.choice((0, 1, LAST)), LAST),
        ("PAWL.PAUSE", "q"), ("PAWL.RESUME", "q"), ("PAWL.NEXT", "q"), ("PAWL.GET", "q", name), ("PAWL.INFO", "q"),
        ("PAWL.SCAN", "q", rng.choice((0, 1, 2**32, 2**64 - 1)), "COUNT", 50, "PAYLOADS"),
        ("PAWL.SWEEP", "q", 0, "STATE", rng.choice(STATES), "COUNT", 3), ("PAWL.RANGE", "q", 0, 2**63 - 1, "COUNT", 10_000),
        ("PAWL.LEN", "q", "FROM", ms, "TO", 2**63 - 1)))


class Hostile:
    def __init__(self):
        self.primary = Server("--appendonly", "yes", "--appendfsync", "no", "--aof-use-rdb-preamble", "no", clock=START)
        self.replica = Server(clock=START)
        follow(self.replica, self.primary)
        self.client, self.accepted = self.primary.client(), 0
        self.client.call("PAWL.PUT", "sound", 0, "p")
        sound = self.client.call("DUMP", "sound")
        self.head, self.version = sound[:10], sound[-10:-8]  # type and module; version of the file, before the checksum

    def digest(self, of=None):
        return (of or self.primary).call("DEBUG", "DIGEST")

    def restore(self, rng):
        """Whether the server accepts it."""
        body = self.head + Snapshot(rng).body() + self.version
        self.client.call("PAWL.CLOCK", START)
        self.client.call("DEL", "q", "r")
        try:
            self.client.call("RESTORE", "q", 0, body + crc64(body))
        except Error as error:
            assert "Bad data format" in str(error), error
            return False
        self.client.call("RESTORE", "r", 0, self.client.call("DUMP", "q"))
        same = self.client.call("DEBUG", "DIGEST-VALUE", "q", "r")
        assert same[0] == same[1], "its own DUMP is another queue"
        return True

    def counts_add_up(self):
        states = [self.client.call("PAWL.LEN", "q", "STATE", state) for state in STATES]
        assert self.client.call("PAWL.LEN", "q") == sum(states), states

    def loads_the_same(self):
        before = self.digest()
        if self.accepted % 2:
            self.client.call("BGREWRITEAOF")
            self.primary.wait_for_rewrite()
        for load in ("LOADAOF", "RELOAD"):
            self.client.call("DEBUG", load)
            assert self.digest() == before, f"another queue after DEBUG {load}"

    def run(self, seed):
        rng = random.Random(seed)
        if not self.restore(rng):
            return
        self.accepted += 1
        for _ in range(40):
            if rng.random() < 0.3:
                self.client.call("PAWL.CLOCK", rng.choice(TIMES))
            self.client.calls([command(rng)])
        self.counts_add_up()
        in_step(self.replica, self.primary)
        assert self.digest(self.replica) == self.digest(), "the replica has another queue"
        if self.accepted % 10 == 0:
            self.client.call("PAWL.CLOCK", START)
            self.loads_the_same()


class Snapshots(unittest.TestCase):
    def test_are_refused_or_as_good_as_any_queue(self):
        hostile, all_seeds = Hostile(), seeds(150, 2000)
        for seed in all_seeds:
            try:
                hostile.run(seed)
            except BaseException:
                print(f"\nPAWL_SEED={seed} repeats it", file=sys.stderr)
                raise
        if len(all_seeds) > 1:
            self.assertTrue(len(all_seeds) // 4 < hostile.accepted < len(all_seeds), "too few are good, or none is bad")
        hostile.primary.stop()
        hostile.replica.stop()


if __name__ == "__main__":
    unittest.main()
