#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The module compared with other job queues, on the same server program in the same run:

    Lua        a ZSET of times and a HASH of payloads, and Lua scripts that change both together
    Sidekiq    the job as JSON, which is the member of a ZSET, and Sidekiq's script that pops by score
    BullMQ     as its users use it, if node and npm are installed (its package is fetched once)

    server.py [--quick] [--only PART]

All get the same payloads of 64 bytes, with a million pending tasks; --quick: a tenth of everything. The figure is the
CPU time of the server's main thread for a task, which depends least on other work on the machine. The sides alternate,
and the median of the ratios is reported. "500 deep" in a row means that 500 commands are sent before the first reply is
read. Every pipeline is for 500 tasks: 50 commands of 10 tasks, or 5 of 100.
"""
import argparse
import json
import os
import pathlib
import random
import resource
import selectors
import shutil
import statistics
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "module/tests"))
from support import MODULE, SERVER, START, Client, Server, wait_until  # noqa: E402

PAYLOAD = os.urandom(48).hex()[:64]
BATCH = 500  # tasks in a pipeline
LEASE = 60_000
BULLMQ = "bullmq@5.81.5"

# The replies are like the module's: the id; and for each task taken the id, the payload and the due time. A lease is an
# entry in a second ZSET. Returning tasks whose lease has ended is left out, and so are tokens and tries.
PUT_LUA = """
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
return ARGV[2]
"""
FIRST_LUA = """
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
if #due == 0 then return nil end
local ids, tasks, leases = {}, {}, {}
for i = 1, #due, 2 do ids[#ids + 1] = due[i] end
local payloads = redis.call('HMGET', KEYS[2], unpack(ids))
redis.call('ZREM', KEYS[1], unpack(ids))
"""
LAST_LUA = """
for i, id in ipairs(ids) do tasks[i] = {id, payloads[i], due[2 * i]} end
return tasks
"""
TAKE_LUA = FIRST_LUA + "redis.call('HDEL', KEYS[2], unpack(ids))" + LAST_LUA
LEASE_LUA = FIRST_LUA + """
for i, id in ipairs(ids) do leases[2 * i - 1], leases[2 * i] = ARGV[3], id end
redis.call('ZADD', KEYS[3], unpack(leases))
""" + LAST_LUA
ACK_LUA = """
local gone = redis.call('ZREM', KEYS[3], unpack(ARGV))
redis.call('HDEL', KEYS[2], unpack(ARGV))
return gone
"""
# From Sidekiq 7 (lib/sidekiq/scheduled.rb), but for any number of jobs.
SIDEKIQ_LUA = """
local jobs = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[2])
if jobs[1] then
  redis.call('ZREM', KEYS[1], unpack(jobs))
  return jobs
end
"""


def now_ms():
    return int(time.time() * 1000)


class Side:
    """A server with one way of keeping tasks."""

    def __init__(self):
        self.server = Server()
        self.client, self.control = self.server.client(), self.server.client()
        self.made, self.empty = 0, self.used_memory()

    def made_number(self):
        self.made += 1
        return self.made * 2654435761 % 2**32

    def cpu_seconds(self):
        """CPU time of the server so far: other work on the machine does not count."""
        info = self.control.call("INFO", "cpu").decode()
        return sum(float(info.split(f"used_cpu_{kind}_main_thread:")[1].split()[0]) for kind in ("user", "sys"))

    def used_memory(self):
        return int(self.control.call("INFO", "memory").decode().split("used_memory:")[1].split()[0])

    def run(self, commands, depth):
        replies = []
        for start in range(0, len(commands), depth):
            replies += self.client.calls(commands[start:start + depth])
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def timed(self, commands, depth):
        """Seconds of the server's main thread for these commands."""
        before = self.cpu_seconds()
        self.run(commands, depth)
        return self.cpu_seconds() - before

    def timed_with_acks(self, commands, depth):
        """The same for commands that take tasks, and for the acknowledgement of each reply."""
        before = self.cpu_seconds()
        for start in range(0, len(commands), depth):
            self.run([self.ack(tasks) for tasks in self.run(commands[start:start + depth], depth)], depth)
        return self.cpu_seconds() - before


class Pattern(Side):
    """The ZSET, the HASH and the Lua scripts. The client makes ids like the module's."""
    name = "Lua"

    def __init__(self):
        super().__init__()
        self.put, self.take, self.lease, self.acked = (
            self.control.call("SCRIPT", "LOAD", script).decode() for script in (PUT_LUA, TAKE_LUA, LEASE_LUA, ACK_LUA))

    def puts(self, delays):
        now = now_ms()
        return [("EVALSHA", self.put, 2, "z", "h", now + delay, f"{now}-{i % 100}-{self.made_number():08x}", PAYLOAD)
                for i, delay in enumerate(delays)]

    def takes(self, count, times):
        return [("EVALSHA", self.take, 2, "z", "h", now_ms(), count)] * times

    def leases(self, count, times):
        return [("EVALSHA", self.lease, 3, "z", "h", "l", now_ms(), count, now_ms() + LEASE)] * times

    def ack(self, tasks):
        return ("EVALSHA", self.acked, 3, "z", "h", "l", *(task[0] for task in tasks))


class Sidekiq(Side):
    """A job as Sidekiq makes it, with the payload as its argument."""
    name = "Sidekiq"

    def __init__(self):
        super().__init__()
        self.pop = self.control.call("SCRIPT", "LOAD", SIDEKIQ_LUA).decode()

    def puts(self, delays):
        now = now_ms()
        return [("ZADD", "schedule", now + delay,
                 json.dumps({"retry": True, "queue": "default", "class": "Work", "args": [PAYLOAD],
                             "jid": f"{self.made_number():024x}", "created_at": now / 1000})) for delay in delays]

    def takes(self, count, times):
        return [("EVALSHA", self.pop, 1, "schedule", now_ms(), count)] * times


class Module(Side):
    name = "pawl"

    def puts(self, delays):
        return [("PAWL.PUT", "q", delay, PAYLOAD) for delay in delays]

    def mputs(self, delays, count):
        return [("PAWL.MPUT", "q", *(word for delay in delays[start:start + count] for word in (delay, PAYLOAD)))
                for start in range(0, len(delays), count)]

    def takes(self, count, times):
        return [("PAWL.TAKE", "q", *(("COUNT", count) if count > 1 else ()))] * times

    def leases(self, count, times):
        return [(*self.takes(count, 1)[0], "LEASE", LEASE)] * times

    def ack(self, tasks):
        return ("PAWL.ACK", "q", *(word for task in tasks for word in (task[0], task[4])))


def delays(n, least=3_600_000, most=7_200_000):
    rng = random.Random(1)
    return [rng.randrange(least, most) for _ in range(n)]


class Report:
    def __init__(self):
        self.reached = self.missed = 0

    def verdict(self, reached):
        self.reached += reached
        self.missed += not reached
        return "reached" if reached else "MISSED"

    def line(self, what, value, goal, reached):
        print(f"{what:<58} {value:>24}   {goal:<16} {self.verdict(reached)}", flush=True)


def how_deep(depth):
    return f"{depth} deep" if depth > 1 else "not pipelined"


def compare(report, what, depth, tasks, rounds, sides, measure, goals):
    """The sides alternate. measure() returns a side's seconds for so many tasks. The last side is the module."""
    seconds = {side.name: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            seconds[side.name].append(measure(side))
    times = {name: statistics.median(other / own for other, own in zip(spent, seconds["pawl"]))
             for name, spent in seconds.items()}
    print(f"{what:<22} {how_deep(depth):<14}", end="")
    for name, spent in seconds.items():
        print(f" {name} {statistics.median(spent) / tasks * 1e6:6.2f} us", end="")
    for name in seconds:
        if name == "pawl":
            continue
        goal = goals.get(name)
        verdict = f" (at least {goal}: {report.verdict(times[name] >= goal)})" if goal else ""
        print(f"; {name} takes {times[name]:.1f} times as long{verdict}", end="")
    print(flush=True)


def rates(report, n, rounds, share):
    lua, sidekiq, pawl = sides = [Pattern(), Sidekiq(), Module()]
    for side in sides:
        side.timed(side.puts(delays(n)), BATCH)
        each = (side.used_memory() - side.empty) / n
        if side is pawl:
            report.line(f"memory a task, {n:,} of 64 bytes, pawl", f"{each:.0f} bytes", "at most 138", each <= 138)
        else:
            print(f"{'memory a task, ' + side.name:<58} {f'{each:.0f} bytes':>24}")
    print("\nprocessor time of the server for a task, microseconds")
    some = delays(share)
    compare(report, "PUT", BATCH, share, rounds, sides, lambda side: side.timed(side.puts(some), BATCH),
            {"Lua": 5, "Sidekiq": 2.5})
    for count, least in ((1, {"Lua": 5, "Sidekiq": 3}), (10, {"Lua": 6, "Sidekiq": 2.5}), (100, {"Lua": 7, "Sidekiq": 2})):
        take_rates(report, sides, count, BATCH // count, rounds, share, least)
    for count, least in ((1, {"Lua": 6}), (10, {"Lua": 12}), (100, {"Lua": 12})):
        ack_rates(report, [lua, pawl], count, rounds, share, least)
    few = share // 10
    compare(report, "PUT", 1, few, rounds, sides, lambda side: side.timed(side.puts(some[:few]), 1), {})
    take_rates(report, sides, 1, 1, rounds, few, {})
    mput_rate(report, pawl, rounds, share)
    bullmq(n, share)
    snapshot(report, pawl, n)
    for side in sides:
        side.server.stop()


def put_due(side, count):
    """Puts tasks that are due, before the million that is not."""
    side.run(side.puts([0] * count), BATCH)
    time.sleep(0.002)  # now all are due


def take_rates(report, sides, count, depth, rounds, share, goals):
    def measure(side):
        put_due(side, share)
        return side.timed(side.takes(count, share // count), depth)

    compare(report, f"TAKE {count}", depth, share, rounds, sides, measure, goals)


def ack_rates(report, sides, count, rounds, share, goals):
    depth = BATCH // count

    def measure(side):
        put_due(side, share)
        return side.timed_with_acks(side.leases(count, share // count), depth)

    compare(report, f"TAKE {count} LEASE, ACK", depth, share, rounds, sides, measure, goals)


def mput_rate(report, pawl, rounds, share):
    """MPUT of a hundred tasks, compared with a hundred pipelined PUTs."""
    some, ratios = delays(share), []
    for _ in range(rounds):
        puts = pawl.timed(pawl.puts(some), BATCH)
        ratios.append(pawl.timed(pawl.mputs(some, 100), BATCH // 100) / puts)
    share_of = statistics.median(ratios)
    report.line("MPUT of 100, 5 deep, as a share of PUTs, 500 deep", f"{share_of:.2f}", "at most 0.5", share_of <= 0.5)


def fetch_bullmq():
    """The directory with the package, or None."""
    directory = TOP / "build/bench-module"
    if not shutil.which("node") or not shutil.which("npm"):
        return None
    directory.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(directory), BULLMQ]
    fetched = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return directory if fetched.returncode == 0 else None


def bullmq(n, share):
    directory = fetch_bullmq()
    if not directory:
        print(f"BullMQ is left out: node or npm is not there, or {BULLMQ} cannot be fetched")
        return
    per_task, pending = {}, n // 10
    share = min(share, 20_000)

    def spend(act, *numbers, payload=PAYLOAD):
        before = side.cpu_seconds()
        subprocess.run(["node", str(TOP / "module/bench/bullmq.js"), str(directory), str(side.server.port), payload, act,
                        *map(str, numbers)], check=True)
        return side.cpu_seconds() - before

    # A job is a hash. It is compact as long as no value has more than hash-max-listpack-value bytes, by default 64; the
    # data is JSON, which is 14 bytes longer than the payload.
    for payload in (PAYLOAD[:50], PAYLOAD):
        side = Side()
        spend("add", pending, 3_600_000, 7_200_000, payload=payload)
        each = (side.used_memory() - side.empty) / pending
        print(f"{BULLMQ}: memory a job, payload of {len(payload)} bytes {each:.0f} bytes", flush=True)
        if payload != PAYLOAD:
            side.server.stop()
    per_task["add a delayed job, 500 under way"] = spend("add", share, 3_600_000, 7_200_000)
    spend("add", share, 0, 1)
    per_task["a worker takes and completes a job, concurrency 100"] = spend("work", share)
    for what, seconds in per_task.items():
        print(f"{BULLMQ}, {pending:,} pending: {what:<55} {seconds / share * 1e6:6.2f} us")
    side.server.stop()


def snapshot(report, side, n):
    """Elapsed seconds decide; CPU seconds are shown for a busy machine."""
    scale, walls, loads = n / 1_000_000, [], []
    cpu = side.cpu_seconds()
    for _ in range(3):
        start = time.monotonic()
        side.control.call("SAVE")
        walls.append(time.monotonic() - start)
    cpu = (side.cpu_seconds() - cpu) / 3
    for _ in range(3):
        side.server.kill()
        side.server.start()
        loads.append(float(side.server.log_text().split("DB loaded from disk: ")[-1].split()[0]))
    report.line(f"SAVE of {n:,} ({cpu:.2f} s CPU)", f"{min(walls):.2f} s", f"below {0.5 * scale:.2f} s", min(walls) < 0.5 * scale)
    report.line(f"load of {n:,}", f"{min(loads):.2f} s", f"below {1 * scale:.2f} s", min(loads) < 1 * scale)


HOUR = 3_600_000
# When the tasks are due: after so many ms, over so many. And how the clock is set before the commands.
CASES = (("over 10 minutes", 0, 600_000, ()), ("in one second, no command for hours", HOUR, 1000, (3 * HOUR,)),
         ("in one millisecond, no command for hours", HOUR, 1, (3 * HOUR,)), ("in months", 2000 * HOUR, 2000 * HOUR, ()),
         ("over 5 hours, clock set back by 2", 0, 5 * HOUR, (3 * HOUR, -2 * HOUR)))


def commands_at(now, n, rng):
    """One of each kind, for a queue of n tasks; those that take longer than the others seldom."""
    name, soon, delay = rng.randrange(n), now + rng.randrange(600_000), rng.randrange(600_000)
    yield from (("PAWL.PUT", "q", delay, PAYLOAD), ("PAWL.TAKE", "q", "COUNT", 10), ("PAWL.TAKE", "q", "LEASE", 1000),
                ("PAWL.CANCEL", "q", name), ("PAWL.GET", "q", name + 1), ("PAWL.MOVE", "q", name + 2, delay, "FORCE"),
                ("PAWL.LEN", "q", "STATE", "due"), ("PAWL.LEN", "q", "FROM", soon, "TO", soon + 60_000), ("PAWL.NEXT", "q"),
                ("PAWL.SCAN", "q", 0, "COUNT", 100), ("PAWL.INFO", "q"))
    if rng.randrange(10) == 0:
        yield from (("PAWL.MPUT", "q", *(word for _ in range(100) for word in (rng.randrange(600_000), PAYLOAD))),
                    ("PAWL.RANGE", "q", soon, soon + 60_000),
                    ("PAWL.SWEEP", "q", rng.randrange(2**48), "COUNT", 100, "FROM", soon, "TO", soon + 1000))


def longest(report, n):
    for what, *when in CASES:
        slowest = longest_of(n, *when)
        worst = max(slowest, key=slowest.get)
        print(*(f"{name} {ms:.2f} ms" for name, ms in sorted(slowest.items())), sep=", ")
        report.line(f"longest command, {n:,} tasks {what}", f"{slowest[worst]:.2f} ms ({worst})", "at most 2 ms", slowest[worst] <= 2)


def longest_of(n, delay, spread, steps):
    """Every command, one after the other, on a queue of n tasks; the longest of each by the server's own count, in ms."""
    server, now = Server("--slowlog-log-slower-than", "0", "--slowlog-max-len", "100000", clock=START), START
    client, control, rng, slowest = server.client(), server.client(), random.Random(3), {}
    try:  # the server counts elapsed time, also while other processes have its CPU: make that rare
        os.sched_setscheduler(server.process.pid, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pass

    def send(commands):
        for reply in client.calls(commands):
            if isinstance(reply, Exception) and not str(reply).startswith("LEASED"):
                raise reply
        for entry in control.call("SLOWLOG", "GET", -1):
            name = entry[3][0].decode().upper()
            if name.startswith("PAWL."):
                slowest[name] = max(slowest.get(name, 0), entry[2] / 1000)
        control.call("SLOWLOG", "RESET")

    for start in range(0, n, 20_000):
        send([("PAWL.PUT", "q", delay + rng.randrange(spread), PAYLOAD, "ID", start + i) for i in range(20_000)])
    for step in steps:
        now += step
        send([("PAWL.CLOCK", now), *commands_at(now, n, rng)])
    end = time.monotonic() + (20 if n >= 1_000_000 else 5)
    while time.monotonic() < end:
        now += 20
        send([("PAWL.CLOCK", now), *(command for _ in range(200) for command in commands_at(now, n, rng))])
    server.stop()
    del slowest["PAWL.CLOCK"]
    return slowest


def lateness(report, clients, tasks):
    """From due-ms to the arrival at the client. Many clients wait, each for one task after the other."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))
    server = Server()
    server.control = server.client()
    takers = [Client(server.port) for _ in range(clients)]
    take = Client.encode(("PAWL.TAKE", "q", "BLOCK", 0))
    late, rng = [], random.Random(5)
    with selectors.DefaultSelector() as selector:
        for taker in takers:
            taker.socket.sendall(take)
            selector.register(taker.socket, selectors.EVENT_READ, taker)
        wait_until(lambda: f"blocked_clients:{clients}\r" in server.control.call("INFO", "clients").decode(), "all wait")
        server.control.calls([("PAWL.PUT", "q", 500 + rng.randrange(tasks), "p") for _ in range(tasks)])
        while len(late) < tasks:
            for key, _ in selector.select(10):
                [task] = key.data.read()
                late.append(time.time() * 1000 - task[3])
                key.data.socket.sendall(take)
    late.sort()
    p50, p99 = late[len(late) // 2], late[len(late) * 99 // 100]
    report.line(f"lateness p99 with {clients:,} blocked takers (p50 {p50:.2f} ms)", f"{p99:.2f} ms", "at most 2 ms", p99 <= 2)
    for taker in takers:
        taker.close()
    server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("rates", "longest", "lateness"))
    arguments = parser.parse_args()
    n, rounds, share = (100_000, 3, 5_000) if arguments.quick else (1_000_000, 5, 50_000)
    report = Report()
    print(f"{SERVER}, {MODULE}")
    if arguments.only in (None, "rates"):
        rates(report, n, rounds, share)
    if arguments.only in (None, "longest"):
        longest(report, 2 * n)
    if arguments.only in (None, "lateness"):
        lateness(report, 1000, 2_000 if arguments.quick else 10_000)
    print(f"{report.reached} goals reached, {report.missed} missed")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
