# SPDX-License-Identifier: MIT
"""Random commands, some of them in transactions, against a naive model of the documentation: every reply and every counter
of INFO pawl must be the model's. And a replica, which is told effects only, must have the same queue to the byte."""
import random
import sys
import unittest
from collections import Counter

from support import START, Error, Server, in_pairs, seeds
from test_metrics import counts, queues
from test_replication import follow, in_step

STATES = ("waiting", "due", "leased", "dead")


class Task:
    def __init__(self, name, payload, at, max_tries):
        self.name, self.payload, self.at, self.max_tries = name, payload, at, max_tries
        self.tries, self.token, self.arrival, self.leased, self.dead, self.reason = 0, None, 0, False, False, None
        self.period, self.base = 0, 0


class Model:
    """One queue. Tasks with the same time are in the order of arrival."""

    def __init__(self):
        self.tasks, self.now, self.arrivals, self.counts = {}, START, 0, Counter()
        self.paused, self.max_dead, self.backoff_ms, self.backoff_max = 0, 0, 0, 0

    def settings(self):
        return [self.paused, self.max_dead, self.backoff_ms, self.backoff_max]

    def exists(self):
        return bool(self.tasks) or any(self.settings())

    def advance(self, ms):
        """Leases lapse. If the clock is set back, those that were over hold again, and lapse again."""
        before, self.now = self.now, self.now + ms
        for task in self.tasks.values():
            if task.leased and before < task.at <= self.now:
                self.counts["lapsed"] += 1
                self.counts["died"] += bool(self.last_try(task))

    def backoff(self, task):
        return 0 if self.last_try(task) else min(self.backoff_ms * 2 ** (task.tries - 1), self.backoff_max)

    def changed(self):
        """After every command that changed something, delete the dead tasks beyond MAXDEAD, the oldest first."""
        if self.max_dead:
            for task in self.dead()[:-self.max_dead]:
                del self.tasks[task.name]

    def arrive(self, task):
        self.arrivals += 1
        task.arrival = self.arrivals

    def last_try(self, task):
        return task.max_tries and task.tries >= task.max_tries

    def state(self, task):
        if task.dead:
            return "dead"
        if task.at > self.now:
            return "leased" if task.leased else "waiting"
        return "dead" if task.leased and self.last_try(task) else "due"

    def in_state(self, state):
        return [task for task in self.tasks.values() if self.state(task) == state]

    def due(self):
        return sorted(self.in_state("due"), key=lambda task: (task.at, task.arrival))

    def dead(self):
        """In the order of death. At the same millisecond, tasks that died by NACK before those that died by a lapse."""
        return sorted(self.in_state("dead"), key=lambda task: (task.at, not task.dead, task.arrival))

    # The commands: each returns the reply, or the code of an error. Tokens are checked by the caller.

    def put(self, *put):
        reply = self.put_one(*put)
        if reply == put[0]:
            self.changed()
        return reply

    def put_one(self, name, payload, at, condition, max_tries):
        there = self.tasks.get(name)
        if there:
            if condition == "NX":
                return None
            if condition != "REPLACE":
                return Error("EXISTS")
            if self.state(there) == "leased":
                return Error("LEASED")
            del self.tasks[name]
        self.tasks[name] = Task(name, payload, max(at, self.now), max_tries)
        self.arrive(self.tasks[name])
        self.counts["put"] += 1
        return name

    def mput(self, puts):
        """Each task is checked against the queue before it is compared with the tasks before it."""
        seen = set()
        for name, _, _, condition, _ in puts:
            there = self.tasks.get(name)
            if there and not condition:
                return Error("EXISTS")
            if there and condition == "REPLACE" and self.state(there) == "leased":
                return Error("LEASED")
            if name in seen:
                return Error("ERR id")
            seen.add(name)
        replies = [self.put_one(*put) for put in puts]
        if any(replies):
            self.changed()
        return replies

    def take(self, count, lease):
        taken = []
        for task in [] if self.paused else self.due()[:count]:
            task.tries += 1
            self.counts["delivered"] += 1
            taken.append([task.name, task.payload, task.tries, task.at])
            if lease:
                task.at, task.leased = self.now + lease + self.backoff(task), True
                self.arrive(task)
            else:
                self.finish(task)
        if taken:
            self.changed()
        return taken or None

    def held(self, name, token):
        task = self.tasks.get(name)
        return task if task and self.state(task) == "leased" and task.token == token else None

    def ack(self, pairs):
        count = 0
        for name, token in pairs:
            if self.held(name, token):
                self.finish(self.tasks[name])
                count += 1
        if count:
            self.changed()
        self.counts["acknowledged"] += count
        return count

    def finish(self, task):
        if not task.period:
            del self.tasks[task.name]
            return
        task.tries, task.reason = 0, None
        at = task.base
        if at <= self.now:
            at += ((self.now - at) // task.period + 1) * task.period
        self.schedule(task, at)

    def every(self, name, period, payload, at):
        task, first = self.tasks.get(name), self.now + period if at is None else at
        if not task:
            task = self.tasks[name] = Task(name, payload, max(first, self.now), 0)
            task.period, task.base = period, first
            self.arrive(task)
            self.counts["put"] += 1
            self.changed()
            return 1
        if not task.period:
            return Error("EXISTS")
        other = task.period != period or at not in (None, task.base)
        if not other and task.payload == payload:
            return 0
        task.payload = payload
        if other:
            task.period, task.base = period, first
            if self.state(task) != "leased":
                task.at, task.leased = max(first, self.now), False
        self.arrive(task)
        self.changed()
        return 0

    def schedule(self, task, at):
        task.at, task.leased, task.dead = at, False, False
        self.arrive(task)

    def nack(self, name, token, delay, reason):
        task = self.held(name, token)
        if not task:
            return 0
        self.counts["nacked"] += 1
        if reason is not None:
            task.reason = reason or None
        if self.last_try(task):
            task.dead, task.leased, task.at = True, False, self.now
            self.arrive(task)
            self.counts["died"] += 1
            return 2
        self.schedule(task, self.now + (self.backoff(task) if delay is None else delay))
        return 1

    def extend(self, name, token, ms):
        task = self.held(name, token)
        if not task:
            return 0
        task.at = self.now + ms + self.backoff(task)
        self.arrive(task)
        return 1

    def configure(self, settings):
        if settings != self.settings():
            self.paused, self.max_dead, self.backoff_ms, self.backoff_max = settings
            self.changed()
            return 1
        return 0

    def take_dead(self, count, lease):
        taken = []
        for task in self.dead()[:count]:
            taken.append([task.name, task.payload, task.tries, task.at, task.reason])
            if lease:
                task.at, task.dead, task.leased = self.now + lease, False, True
                self.arrive(task)
            else:
                del self.tasks[task.name]
        if taken:
            self.changed()
        return taken or None

    def cancel(self, names, force):
        there = [name for name in dict.fromkeys(names) if name in self.tasks]
        if not force and any(self.state(self.tasks[name]) == "leased" for name in there):
            return Error("LEASED")
        return self.delete(there)

    def delete(self, names):
        for name in names:
            del self.tasks[name]
        if names:
            self.changed()
        self.counts["cancelled"] += len(names)
        return len(names)

    def move(self, name, delay, force):
        task = self.tasks.get(name)
        if not task:
            return 0
        if self.state(task) == "dead":
            return Error("ERR")
        if self.state(task) == "leased" and not force:
            return Error("LEASED")
        if task.leased and self.last_try(task):
            return Error("ERR")
        self.schedule(task, self.now + delay)
        self.changed()
        return 1

    def next(self):
        times = [task.at for task in self.tasks.values()
                 if not task.dead and not (task.leased and self.last_try(task))]
        return max(0, min(times) - self.now) if times else None

    def requeue(self, names, delay):
        count = 0
        for name in names:
            task = self.tasks.get(name)
            if task and self.state(task) == "dead":
                self.schedule(task, self.now + delay)
                task.tries, task.reason = 0, None
                count += 1
        if count:
            self.changed()
        return count


class Run:
    def __init__(self, server, seed):
        self.server, self.rng, self.model, self.side = server, random.Random(seed), Model(), Model()
        self.client = server.client(resp=self.rng.choice((2, 3)))
        self.client.call("FLUSHALL")
        self.client.call("PAWL.CLOCK", START)
        self.names = [b"t%d" % n for n in range(self.rng.choice((3, 20, 60)))]
        self.history, self.counted = [], Counter(self.counters())
        if seed % 8 == 0:
            self.grow()

    def grow(self):
        """Adds many tasks that are due in weeks, so that the queue is a large one."""
        delays = [10**9 + n for n in range(4500)]
        names = self.client.call("PAWL.MPUT", "q", *(word for delay in delays for word in (delay, "p")))
        for name, delay in zip(names, delays):
            self.model.put(name, b"p", START + delay, "", 0)

    def counters(self):
        """Of the queue, since the server started. Those of lapses and deaths are up to date after a command that reads it."""
        self.client.call("PAWL.LEN", "q")
        return counts(queues(self.server).get((0, "q"), {}))

    def expect(self, expected, *command):
        if self.rng.random() < 0.05:
            got = self.client.calls([("MULTI",), command, ("EXEC",)])[-1][0]
        else:
            [got] = self.client.calls([command])
        self.history.append((command, got))
        if isinstance(expected, Error):
            assert isinstance(got, Error) and str(got).startswith(str(expected)), (got, expected)
        else:
            assert got == expected, f"got {got}, expected {expected}"
        return got

    def some(self):
        return self.rng.choice(self.names)

    def ms(self):
        return self.rng.randrange(self.rng.choice((1, 5, 100, 5000)) + 1)

    def put(self):
        at, name, tries = self.model.now + self.ms(), self.some(), self.rng.choice((0, 0, 1, 2))
        payload = b"p%d" % self.rng.randrange(1000)
        condition = self.rng.choice(("", "", "NX", "REPLACE"))
        command = ["PAWL.PUT", "q", at - self.model.now, payload, "ID", name]
        if self.rng.random() < 0.5:  # shortly before or after now, or a whole second: so tasks put at different times have the same time
            at = self.rng.choice((self.model.now + self.rng.randrange(-50, 50),
                                  (self.model.now // 1000 + self.rng.randrange(5)) * 1000))
            command[2:4] = [0, payload, "AT", at]
        command += [condition] * bool(condition) + ["MAXTRIES", tries] * bool(tries)
        self.expect(self.model.put(name, payload, at, condition, tries), *command)

    def mput(self):
        """Some tasks, with ids or without. If one of them fails, none is put."""
        command, puts = ["PAWL.MPUT", "q"], []
        for _ in range(self.rng.randrange(1, 6)):
            name, at = self.some(), self.model.now + self.ms()
            condition, tries = self.rng.choice(("", "NX", "REPLACE")), self.rng.choice((0, 1, 2))
            by_time = self.rng.random() < 0.5
            command += [0 if by_time else at - self.model.now, b"m"] + ["AT", at] * by_time + ["ID", name]
            command += [condition] * bool(condition) + ["MAXTRIES", tries] * bool(tries)
            puts.append((name, b"m", at, condition, tries))
        self.expect(self.model.mput(puts), *command)

    def take(self):
        self.deliver(self.model.take, "PAWL.TAKE", "q")

    def take_dead(self):
        self.deliver(self.model.take_dead, "PAWL.DEAD", "q", "TAKE")

    def deliver(self, take, *command):
        """The model does not predict tokens; it records them."""
        count, lease = self.rng.choice((1, 1, 3, 10)), self.rng.choice((0, 1, 50, 1000))
        expected = take(count, lease)
        self.client.send(*command, "COUNT", count, "LEASE", lease)
        got = self.client.read()
        self.history.append(((*command, count, lease), got))
        assert (got and [task[:4] + task[5:] for task in got]) == expected, f"got {got}, expected {expected}"
        for task in got or []:
            assert bool(task[4]) == bool(lease)
            if lease:
                self.model.tasks[task[0]].token = task[4]

    def mtake(self):
        """From the queue, a smaller queue, and a missing key."""
        for n in range(self.rng.choice((0, 0, 1, 5))):
            at, name = self.model.now + self.rng.choice((-5, 0, 20, 400)), b"%d" % self.side.arrivals
            self.expect(self.side.put(name, b"s", at, "", 0), "PAWL.PUT", "s", 0, "s", "AT", at, "ID", name)
        keys, lease = self.rng.sample(("q", "s", "none"), 3), self.rng.choice((0, 50))
        models = {"q": self.model, "s": self.side, "none": Model()}
        due = [key for key in keys if models[key].due() and not models[key].paused]
        got = self.client.call("PAWL.MTAKE", 3, *keys, "COUNT", 2, "LEASE", lease)
        self.history.append((("PAWL.MTAKE", *keys, lease), got))
        expected = min(due, key=lambda key: models[key].due()[0].at, default=None)
        assert (got and got[0]) == (expected and expected.encode()), f"got {got}, expected {expected}"
        if not got:
            return
        taken = models[expected].take(2, lease)
        assert [task[:4] for task in got[1]] == taken, f"got {got}, expected {taken}"
        for task in got[1] if lease else ():
            models[expected].tasks[task[0]].token = task[4]

    def token(self, name):
        task = self.model.tasks.get(name)
        return (self.rng.random() < 0.8 and task and task.token) or b"0123456789abcdef"

    def every(self):
        name, period = self.some(), self.rng.choice((1, 10, 10, 1000))
        at = self.rng.choice((None, None, self.model.now + self.rng.randrange(-50, 50), START))
        payload = b"p%d" % self.rng.randrange(2)
        self.expect(self.model.every(name, period, payload, at), "PAWL.EVERY", "q", name, period, payload,
                    *(() if at is None else ("AT", at)))

    def several(self):
        """Names with tokens: mostly one pair; some pairs twice."""
        names = [self.some() for _ in range(self.rng.choice((1, 1, 1, 2, 5, 50)))]
        return [(name, self.token(name)) for name in names]

    def ack(self):
        pairs = self.several()
        self.expect(self.model.ack(pairs), "PAWL.ACK", "q", *(word for pair in pairs for word in pair))

    @staticmethod
    def one_or_list(replies):
        return replies[0] if len(replies) == 1 else replies

    def nack(self):
        pairs, delay = self.several(), self.rng.choice((None, self.ms()))
        reason = self.rng.choice((None, None, b"", b"why", b"r" * self.rng.randrange(1025)))
        replies = [self.model.nack(name, token, delay, reason) for name, token in pairs]
        if any(replies):
            self.model.changed()
        self.expect(self.one_or_list(replies), "PAWL.NACK", "q", *(word for pair in pairs for word in pair),
                    *(() if delay is None else ("DELAY", delay)), *(() if reason is None else ("REASON", reason)))

    def extend(self):
        leases = [(name, token, self.ms() + 1) for name, token in self.several()]
        replies = [self.model.extend(*lease) for lease in leases]
        if any(replies):
            self.model.changed()
        self.expect(self.one_or_list(replies), "PAWL.EXTEND", "q", *(word for lease in leases for word in lease))

    def cancel(self):
        names, force = [self.some() for _ in range(self.rng.randrange(1, 4))], self.rng.random() < 0.3
        self.expect(self.model.cancel(names, force), "PAWL.CANCEL", "q", *names, *["FORCE"] * force)

    def move(self):
        name, delay, force = self.some(), self.ms(), self.rng.random() < 0.3
        self.expect(self.model.move(name, delay, force), "PAWL.MOVE", "q", name, delay, *["FORCE"] * force)

    def look(self):
        for state in STATES:
            self.expect(len(self.model.in_state(state)), "PAWL.LEN", "q", "STATE", state)
        self.expect(self.model.next(), "PAWL.NEXT", "q")
        self.expect(int(self.model.exists()), "EXISTS", "q")
        names = (b"paused", b"maxdead", b"backoff-ms", b"backoff-max-ms")
        got = in_pairs(self.client.call("PAWL.CONFIG", "q"))
        assert got == dict(zip(names, self.model.settings())), f"got {got}, expected {self.model.settings()}"
        task = self.model.tasks.get(self.some())
        if task:
            got = in_pairs(self.client.call("PAWL.GET", "q", task.name))
            expected = {b"state": self.model.state(task).encode(), b"payload": task.payload, b"tries": task.tries,
                        b"due-ms": task.at, b"maxtries": task.max_tries, b"reason": task.reason,
                        b"period-ms": task.period}
            assert got == expected, f"got {got}, expected {expected}"
        got, expected = Counter(self.counters()), self.counted + self.model.counts
        assert got == expected, f"counted {got}, expected {expected}"

    def scan(self):
        state, found, cursor = self.rng.choice(STATES), [], b"0"
        while True:
            cursor, names = self.client.call("PAWL.SCAN", "q", cursor, "STATE", state)
            found += names
            if cursor == b"0":
                break
        expected = sorted(task.name for task in self.model.in_state(state))
        assert sorted(found) == expected, f"found {found}, expected {expected}"

    def span(self):
        """A state or none, and a range of time."""
        state = self.rng.choice((*STATES, None))
        first, last = (self.model.now + self.rng.randrange(-6000, 6000) for _ in range(2))
        if self.rng.random() < 0.3:  # at the edge of a task
            first = self.rng.choice([task.at for task in self.model.tasks.values()] or [0])
        if self.rng.random() < 0.2:
            last = 2**63 - 1
        return state, first, last

    def in_span(self, state, first, last):
        """In the order of time. At the same time, tasks that are neither dead nor leased for the last time come first."""
        rank = lambda task: 2 if task.dead else int(bool(task.leased and self.model.last_try(task)))
        found = [task for task in self.model.tasks.values()
                 if first <= task.at <= last and state in (None, self.model.state(task))]
        return sorted(found, key=lambda task: (task.at, rank(task), task.arrival))

    def item(self, task):
        return [task.name, task.payload, self.model.state(task).encode(), task.at, task.tries, task.reason]

    def range(self):
        state, first, last = self.span()
        tasks, count = self.in_span(state, first, last), self.rng.choice((1, 5, 10_000))
        option = ["STATE", state] if state else []
        self.expect(len(tasks), "PAWL.LEN", "q", "FROM", first, *option, "TO", last)
        self.expect([self.item(task) for task in tasks[:count]], "PAWL.RANGE", "q", first, last, "COUNT", count, *option)
        cursor, found = self.client.call("PAWL.SCAN", "q", 0, "FROM", first, "TO", last, *option, "PAYLOADS", "COUNT", 10_000)
        assert cursor == b"0" and sorted(found) == sorted(map(self.item, tasks)), f"found {found}"

    def sweep(self):
        state, first, last = self.span()
        option, force = ["STATE", state] if state else [], self.rng.random() < 0.3
        pattern = self.rng.choice((b"*", b"t?", b"t*[1-4]", b"*7*"))
        fits = {b"*": lambda name: True, b"t?": lambda name: name[:1] == b"t" and len(name) == 2,
                b"t*[1-4]": lambda name: name[:1] == b"t" and name[-1:] in b"1234", b"*7*": lambda name: b"7" in name}[pattern]
        gone = [task for task in self.in_span(state, first, last)
                if fits(task.name) and (force or self.model.state(task) != "leased")]
        self.expect([b"0", self.model.delete([task.name for task in gone])], "PAWL.SWEEP", "q", 0, "COUNT", 10_000, *option, "FROM", first, "TO", last,
                    "MATCH", pattern, *["FORCE"] * force)

    def requeue(self):
        dead = [task.name for task in self.model.dead()]
        names, delay = [self.rng.choice(dead) if dead and n else self.some() for n in range(3)], self.ms()
        self.expect(self.model.requeue(names, delay), "PAWL.DEAD", "q", "REQUEUE", *names, "DELAY", delay)

    def pause(self):
        paused = int(self.rng.random() < 0.3)
        self.expect(self.model.configure([paused, *self.model.settings()[1:]]), "PAWL.PAUSE" if paused else "PAWL.RESUME", "q")

    def config(self):
        paused, max_dead, backoff_ms, backoff_max = self.model.settings()
        command = ["PAWL.CONFIG", "q"]
        if self.rng.random() < 0.5:
            max_dead = self.rng.choice((0, 0, 1, 2, 7))
            command += ["MAXDEAD", max_dead]
        if self.rng.random() < 0.5 or len(command) == 2:
            backoff_ms = self.rng.choice((0, 0, 1, 5, 300))
            backoff_max = backoff_ms * self.rng.choice((1, 3, 100))
            command += ["BACKOFF", backoff_ms, backoff_max]
        self.model.configure([paused, max_dead, backoff_ms, backoff_max])
        self.expect("OK", *command)

    def time(self):
        ms = self.ms() if self.rng.random() < 0.95 else self.rng.choice((-3_600_000, -7, 3_600_000))
        if ms < 0:
            self.counters()
        self.model.advance(ms)
        self.side.now = self.model.now
        self.client.call("PAWL.CLOCK", self.model.now)
        if ms < 0:
            self.counters()

    def persist(self):
        self.counters()
        how = self.rng.choice(("reload", "copy", "rename", "dump", "aof"))
        if how == "reload":
            self.client.call("DEBUG", "RELOAD")
        elif how == "aof":
            self.client.call("DEBUG", "LOADAOF")
        elif self.model.exists():
            if how == "dump":
                self.client.call("RESTORE", "q", 0, self.client.call("DUMP", "q"), "REPLACE")
            else:
                self.client.call(how.upper(), "q", "r", *["REPLACE"] * (how == "copy"))
                self.client.call("RENAME", "r", "q")

    def run(self, steps, replica):
        acts = [self.put] * 8 + [self.mput] * 2 + [self.take] * 4 + [self.mtake] * 2 + [
            self.ack, self.nack, self.extend, self.cancel, self.move] * 2 + [
            self.look, self.scan, self.range, self.range, self.sweep, self.requeue, self.take_dead, self.pause, self.config] + [
            self.every] * 2 + [self.time] * 6
        for step in range(steps):
            (self.persist if step % 97 == 96 else self.rng.choice(acts))()
            if step % 30 == 29:
                in_step(replica, self.server)
                assert replica.call("DUMP", "q") == self.client.call("DUMP", "q"), "the replica has another queue"


class AsInTheModel(unittest.TestCase):
    def test_every_reply_of_random_commands(self):
        options = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600", "--repl-timeout", "7200")
        server = Server("--appendonly", "yes", "--appendfsync", "no", *options, clock=START)
        replica = Server(*options, clock=START)
        follow(replica, server)
        for seed in seeds(60, 1500):
            run = Run(server, seed)
            try:
                run.run(300, replica)
            except Exception:
                for command, reply in run.history[-20:]:
                    print(command, "->", reply, file=sys.stderr)
                print(f"\nPAWL_SEED={seed} repeats it", file=sys.stderr)
                raise
            run.client.close()
        replica.stop()
        server.stop()


if __name__ == "__main__":
    unittest.main()
