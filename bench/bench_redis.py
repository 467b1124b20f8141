#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The module beside what people use today, a ZSET with a HASH and Lua, on the same server in the same run.

    bench_redis.py [--quick] [--n N] [--json FILE]

Both get the same tasks of 64 bytes, at N pending ones (a million), through the same pipelined connection. PUT and
TAKE are measured in turns, pattern and module, and the median of the ratios is reported. --quick: a tenth of it all.
"""
import argparse
import os
import pathlib
import random
import resource
import selectors
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/redis"))
from support import MODULE, SERVER, Client, Server, wait_until  # noqa: E402

PAYLOAD = os.urandom(48).hex()[:64]
BATCH = 500  # commands in a pipeline

# One key holds the times, one the payloads, and scripts make the pair of them change together. The replies tell as much
# as those of the module can be compared with: the id; and the id, the payload and the due time of each task taken.
PUT_LUA = """
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
return ARGV[2]
"""
TAKE_LUA = """
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
if #due == 0 then return nil end
local ids, tasks = {}, {}
for i = 1, #due, 2 do ids[#ids + 1] = due[i] end
local payloads = redis.call('HMGET', KEYS[2], unpack(ids))
redis.call('ZREM', KEYS[1], unpack(ids))
redis.call('HDEL', KEYS[2], unpack(ids))
for i, id in ipairs(ids) do tasks[i] = {id, payloads[i], due[2 * i]} end
return tasks
"""


class Pattern:
    """The ZSET, the HASH and the Lua, with ids like the module's, made by the client."""
    name = "ZSET+HASH+Lua"

    def __init__(self, client):
        self.client, self.made = client, 0
        self.put_sha = client.call("SCRIPT", "LOAD", PUT_LUA)
        self.take_sha = client.call("SCRIPT", "LOAD", TAKE_LUA)

    def make_id(self, now):
        self.made += 1
        return f"{now}-{self.made % 100}-{self.made * 2654435761 % 2**32:08x}"

    def puts(self, delays):
        now = int(time.time() * 1000)
        return [("EVALSHA", self.put_sha, 2, "z", "h", now + delay, self.make_id(now), PAYLOAD) for delay in delays]

    def takes(self, count, times):
        return [("EVALSHA", self.take_sha, 2, "z", "h", int(time.time() * 1000), count)] * times


class Module:
    name = "pawl"

    def __init__(self, client):
        self.client = client

    def puts(self, delays):
        return [("PAWL.PUT", "q", delay, PAYLOAD) for delay in delays]

    def takes(self, count, times):
        return [("PAWL.TAKE", "q", "COUNT", count)] * times


def cpu_seconds(server):
    """What the server has used so far: other people's work on the machine does not count."""
    info = server.control.call("INFO", "cpu").decode()
    return sum(float(info.split(f"used_cpu_{kind}_main_thread:")[1].split()[0]) for kind in ("user", "sys"))


def timed(server, client, commands, batch=BATCH):
    """Seconds of the server's main thread for these commands, sent in pipelines."""
    before = cpu_seconds(server)
    for start in range(0, len(commands), batch):
        for reply in client.calls(commands[start:start + batch]):
            if isinstance(reply, Exception):
                raise reply
    return cpu_seconds(server) - before


def delays(n, least=3_600_000, most=7_200_000):
    rng = random.Random(1)
    return [rng.randrange(least, most) for _ in range(n)]


def used_memory(server):
    return int(server.control.call("INFO", "memory").decode().split("used_memory:")[1].split()[0])


def in_turns(servers, sides, make, rounds):
    """Seconds of each side for each round."""
    seconds = {side.name: [] for side in sides}
    for _ in range(rounds):
        for server, side in zip(servers, sides):
            seconds[side.name].append(timed(server, side.client, make(side)))
    return seconds


def ratio(seconds):
    pattern, module = seconds["ZSET+HASH+Lua"], seconds["pawl"]
    return statistics.median(p / m for p, m in zip(pattern, module))


class Report:
    def __init__(self):
        self.missed = 0

    def line(self, what, value, goal, reached):
        self.missed += not reached
        print(f"{what:<58} {value:>24}   {goal:<16} {'reached' if reached else 'MISSED'}", flush=True)


def rates(report, n, rounds, share):
    servers = [Server(), Server()]
    for server in servers:
        server.control = server.client()
    sides = [Pattern(servers[0].client()), Module(servers[1].client())]
    empty = [used_memory(server) for server in servers]
    for server, side in zip(servers, sides):
        timed(server, side.client, side.puts(delays(n)))
    for server, side, before in zip(servers, sides, empty):
        each = (used_memory(server) - before) / n
        if side.name == "pawl":
            report.line(f"memory a task, {n:,} of 64 bytes", f"{each:.0f} bytes", "at most 138", each <= 138)
        else:
            print(f"{'memory a task, ' + side.name:<58} {each:>18.0f} bytes")
    some = delays(share)
    seconds = in_turns(servers, sides, lambda side: side.puts(some), rounds)
    for side in sides:
        print(f"{'PUT at a million, ' + side.name:<58} {share / statistics.median(seconds[side.name]):>16,.0f} / s CPU")
    report.line("PUT, times the pattern's rate", f"{ratio(seconds):.2f}", "at least 3", ratio(seconds) >= 3)
    mput_rate(report, servers[1], sides[1], rounds, share)
    for count in (1, 10, 100):
        take_rates(report, servers, sides, count, rounds, share)
    snapshot(report, servers[1], n)
    for server in servers:
        server.stop()


def mput_rate(report, server, side, rounds, share):
    """MPUT of a hundred tasks beside a hundred PUTs that are pipelined."""
    seconds = {"PUT": [], "MPUT": []}
    puts = side.puts(delays(share))
    mputs = [("PAWL.MPUT", "q", *(word for put in puts[start:start + 100] for word in put[2:])) for start in range(0, share, 100)]
    for _ in range(rounds):
        seconds["PUT"].append(timed(server, side.client, puts))
        seconds["MPUT"].append(timed(server, side.client, mputs, batch=5))
    share_of = statistics.median(m / p for m, p in zip(seconds["MPUT"], seconds["PUT"]))
    report.line("MPUT of 100, as a share of 100 PUTs", f"{share_of:.2f}", "at most 0.5", share_of <= 0.5)


def take_rates(report, servers, sides, count, rounds, share):
    """Tasks that are due already come before the million that waits."""
    due = max(share // 5, 100) * (5 if count > 1 else 1)
    seconds = {side.name: [] for side in sides}
    for _ in range(rounds):
        for server, side in zip(servers, sides):
            timed(server, side.client, side.puts([0] * due))
        time.sleep(0.01)  # so that the clock has moved on: all are due
        for server, side in zip(servers, sides):
            seconds[side.name].append(timed(server, side.client, side.takes(count, due // count)))
    for side in sides:
        print(f"{f'TAKE {count} at a time, ' + side.name:<58} {due / statistics.median(seconds[side.name]):>10,.0f} tasks / s CPU")
    report.line(f"TAKE {count} at a time, times the pattern's rate", f"{ratio(seconds):.2f}", "at least 2.5", ratio(seconds) >= 2.5)


def snapshot(report, server, n):
    """Seconds by the clock on the wall decide; those of the processor are for a machine that is busy otherwise."""
    scale, walls, loads = n / 1_000_000, [], []
    cpu = cpu_seconds(server)
    for _ in range(3):
        start = time.monotonic()
        server.control.call("SAVE")
        walls.append(time.monotonic() - start)
    cpu = (cpu_seconds(server) - cpu) / 3
    for _ in range(3):
        server.kill()
        server.start()
        loads.append(float(server.log_text().split("DB loaded from disk: ")[-1].split()[0]))
    report.line(f"SAVE of {n:,} ({cpu:.2f} s CPU)", f"{min(walls):.2f} s", f"below {0.5 * scale:.2f} s", min(walls) < 0.5 * scale)
    report.line(f"load of {n:,}", f"{min(loads):.2f} s", f"below {1 * scale:.2f} s", min(loads) < 1 * scale)


def longest(report, n):
    """Every command by turns on a queue of n tasks, and what the server itself says took longest."""
    server = Server("--slowlog-log-slower-than", "0", "--slowlog-max-len", "100000")
    server.control = server.client()
    client, rng, slowest = server.client(), random.Random(3), {}
    try:  # the server's clock goes on while others have its processor: let that be seldom
        os.setpriority(os.PRIO_PROCESS, server.process.pid, -15)
    except PermissionError:
        pass

    def look():
        for entry in server.control.call("SLOWLOG", "GET", -1):
            name = entry[3][0].decode().upper()
            if name.startswith("PAWL."):
                slowest[name] = max(slowest.get(name, 0), entry[2] / 1000)
        server.control.call("SLOWLOG", "RESET")

    spread = 600_000
    for start in range(0, n, 20_000):
        client.calls([("PAWL.PUT", "q", rng.randrange(spread), PAYLOAD, "ID", start + i) for i in range(20_000)])
        look()
    end = time.monotonic() + (20 if n >= 1_000_000 else 5)
    while time.monotonic() < end:
        commands = []
        for _ in range(200):
            name = rng.randrange(n)
            commands += [("PAWL.PUT", "q", rng.randrange(spread), PAYLOAD), ("PAWL.TAKE", "q", "COUNT", 10),
                         ("PAWL.TAKE", "q", "LEASE", 1000), ("PAWL.CANCEL", "q", name), ("PAWL.GET", "q", name + 1),
                         ("PAWL.MOVE", "q", name + 2, rng.randrange(spread), "FORCE"), ("PAWL.LEN", "q", "STATE", "due"),
                         ("PAWL.NEXT", "q"), ("PAWL.SCAN", "q", 0, "COUNT", 100), ("PAWL.INFO", "q")]
        client.calls(commands)
        look()
    worst = max(slowest, key=slowest.get)
    print(*(f"{name} {ms:.2f} ms" for name, ms in sorted(slowest.items())), sep=", ")
    report.line(f"longest command at {n:,} tasks", f"{slowest[worst]:.2f} ms ({worst})", "at most 10 ms", slowest[worst] <= 10)
    server.stop()


def lateness(report, clients, tasks):
    """From due-ms to the arrival at the client, each of many clients waiting for one task after the other."""
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
    print("all goals reached" if report.missed == 0 else f"{report.missed} goals missed")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
