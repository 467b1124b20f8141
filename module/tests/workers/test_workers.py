# SPDX-License-Identifier: MIT
"""The worker libraries of module/clients on a real server: every scenario with every flavour.

They are installed as a user would, by npm and pip, into a temporary directory. A flavour's program is told what to do, and
says what happens, in lines of JSON:

    {"do": "open", "n": 3}                       lets the handler of the task whose payload has this n go on
    {"do": "stop"}                               worker.stop()
    {"do": "call", "method": "put", "args": [{"n": 3, "act": "wait"}], "options": {"delay": 5}}

    {"event": "ready"}                           before worker.run()
    {"event": "ended"}                           after it; with its "error", if it failed
    {"event": "start", "n": 3, "id": …, "key": …, "tries": …, "due": …, "fence": …}    its handler begins
    {"event": "computing"}                       it blocks its process, or its thread
    {"event": "lost", "n": 3}                    it was told that its lease is lost
    {"event": "done", "n": 3}                    it returns
    {"event": "outcome", "n": 3, "outcome": "dead", "text": …}                        the callback for errors
    {"event": "reply", "value": …}               of a call; or "error"

The payload says what a handler does, as `act`: "wait" for "open", "wait and fail", "fail", "fail twice" (then the
callback for errors fails, too), "fail without text" (both fail with an error that has none), wait for "open" and then
"compute" until a file exists, wait until the lease is "lost", or nothing. The module's clock stands still unless a test
sets it, so leases and delays end when the test says so. Leases are an hour: no worker is so slow that it loses one by its
own clock.
"""
import ast
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import test_cluster
from support import SERVER, START, TOP, Error, Gone, Server, ServerTest, call_once, free_port, in_pairs, wait_until
from test_replication import follow

HERE = pathlib.Path(__file__).resolve().parent
HOUR = 3_600_000
SOON = {"lease": HOUR, "extend_every": 10}  # a worker that extends its leases soon, and often
DIRECTORY = None
PYTHON = None
README = TOP / "module/clients/README.md"


def find_python():
    """An interpreter that has redis-py and pip: the one of this test, or Debian's."""
    for python in (sys.executable, "/usr/bin/python3"):
        asked = subprocess.run([python, "-c", "import redis.asyncio, setuptools, wheel, pip"], cwd=DIRECTORY, env=environment(),
                               capture_output=True)
        if asked.returncode == 0:
            return python
    raise AssertionError("no python3 here has redis-py and pip; please install what Debian calls python3-redis python3-pip")


def run(*command):
    result = subprocess.run([str(word) for word in command], cwd=DIRECTORY, env=environment(), capture_output=True, text=True)
    if result.returncode != 0:
        raise AssertionError(f"{command} failed:\n{result.stdout}{result.stderr}")


def environment(port=0, user=""):
    inherited = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "NODE_PATH", "PYTHONPATH")}
    return dict(inherited, REDIS_URL=f"redis://{user}127.0.0.1:{port}", PYTHONPATH=os.environ.get("PAWL_REDIS_PY", "") + ":" +
                os.path.join(DIRECTORY, "site"), PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1")


def setUpModule():
    global DIRECTORY, PYTHON
    DIRECTORY = tempfile.mkdtemp(prefix="pawl-workers-")
    unittest.addModuleCleanup(shutil.rmtree, DIRECTORY)
    PYTHON = find_python()
    (pathlib.Path(DIRECTORY) / "package.json").write_text('{"type": "module"}')
    run("npm", "install", "--offline", "--no-audit", "--no-fund", TOP / "module/clients/node")
    for package in ("redis", "ioredis"):
        os.symlink(os.path.join(os.environ["PAWL_BUILD"], "npm/node_modules", package),
                   os.path.join(DIRECTORY, "node_modules", package))
    shutil.copytree(TOP / "module/clients/python", os.path.join(DIRECTORY, "python"))  # setuptools writes next to its sources
    run(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-build-isolation",
        "--no-deps", "--target", os.path.join(DIRECTORY, "site"), os.path.join(DIRECTORY, "python"))
    for program in HERE.glob("worker*"):
        shutil.copy(program, DIRECTORY)


class Program:
    """A program in the directory of the tests, and the lines that it has printed so far. The test ends it."""

    def __init__(self, test, command, port, user=""):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, cwd=DIRECTORY, env=environment(port, user), text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        self.lines = []
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        test.addCleanup(self._clean)

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def _clean(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()

    def complaints(self):
        file = self.errors.fileno()  # the program writes to it: its position must not be changed
        return os.pread(file, 4000, max(0, os.fstat(file).st_size - 4000)).decode(errors="replace")

    def wait_until(self, condition, what):
        """Wait for the condition. The program must still run."""
        def ask():
            ended = self.process.poll() is not None
            return condition() or (ended and not self.reader.is_alive() and "ended")
        try:
            answer = wait_until(ask, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.lines[-20:]}\n{self.complaints()}") from None
        if answer == "ended":
            raise AssertionError(f"the program ended before this: {what}\n{self.lines[-20:]}\n{self.complaints()}")
        return answer

    def wait_for_line(self, line):
        self.wait_until(lambda: line in self.lines, f"it prints {line!r}")

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()

    def wait(self):
        """Wait until the program ends, with exit code 0."""
        wait_until(lambda: self.process.poll() is not None, "the program ends")
        self.reader.join()
        if self.process.returncode != 0:
            raise AssertionError(f"the program ended with {self.process.returncode}:\n{self.complaints()}")


class Flavoured(Program):
    """The program of a flavour."""

    def __init__(self, test, name="jobs", queue=None, worker=None, ports=None, port=None, user="", stopped=False, **more):
        worker = worker and test.options_of({"timeout": HOUR, **worker})  # no machine is so slow
        settings = {"name": name, "queue": test.options_of(queue or {}), "worker": worker, "ports": ports, "stopped": stopped,
                    **more}
        super().__init__(test, [*test.command(), json.dumps(settings)], port or (0 if ports else test.server.port), user)
        self.test = test
        self.wait_for("ready")

    def all(self, event, **fields):
        found = [json.loads(line) for line in self.lines]
        return [each for each in found if each["event"] == event and all(each.get(k) == v for k, v in fields.items())]

    def wait_for(self, event, count=1, **fields):
        """Wait for that many such events; returns the last."""
        self.wait_until(lambda: len(self.all(event, **fields)) >= count, f"{count} of {event} {fields}")
        return self.all(event, **fields)[count - 1]

    def order(self, **order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def open(self, n):
        self.order(do="open", n=n)

    def call(self, method, *args, **options):
        before = len(self.all("reply"))
        self.order(do="call", method=method, args=args, options=self.test.options_of(options) or None)
        reply = self.wait_for("reply", before + 1)
        if "error" in reply:
            raise ValueError(reply["error"])
        return reply["value"]

    def put_many(self, numbers):
        """Ten at a time, since the connections of a pool may be limited."""
        for first in range(0, len(numbers), 10):
            before = len(self.all("reply"))
            some = numbers[first:first + 10]
            for n in some:
                self.order(do="call", method="put", args=[{"n": n}], options=None)
            self.wait_for("reply", before + len(some))
        self.test.assertEqual([each for each in self.all("reply") if "error" in each], [])

    def stop(self):
        self.order(do="stop")

    def end(self):
        self.stop()
        self.wait_for("ended")
        self.wait()


class Wire:
    """Passes commands and replies on between connections to its port and the server, until they are cut or refused."""

    def __init__(self, to):
        self.to, self.pairs = to, []
        self.refused = []  # names of commands
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return  # it is closed
            far = socket.create_connection(("127.0.0.1", self.to))
            pair = {"cut": False, "error": None, "ends": (near, far)}
            self.pairs.append(pair)
            for pass_on in (self._pass_commands_on, self._pass_replies_on):
                threading.Thread(target=pass_on, args=(pair, near, far), daemon=True).start()

    def _pass_commands_on(self, pair, near, far):
        try:
            for name, command in commands_from(near):
                if pair["error"]:
                    self.refused.append(name)
                    near.sendall(b"-%s\r\n" % pair["error"])
                elif not pair["cut"]:
                    far.sendall(command)
            if not pair["cut"]:
                far.shutdown(socket.SHUT_WR)
        except (OSError, ValueError):
            pass  # the other end is gone, or this one, within a command

    @staticmethod
    def _pass_replies_on(pair, near, far):
        try:
            while data := far.recv(65536):
                if not pair["cut"]:
                    near.sendall(data)
            if not pair["cut"]:
                near.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other end is gone

    def cut(self):
        for pair in self.pairs:
            pair["cut"] = True

    def refuse(self, error):
        """Every further command on the connections that are open now gets this error."""
        self.refused = []
        for pair in self.pairs:
            pair["error"] = error

    def close(self):
        self.listener.close()
        for end in (end for pair in self.pairs for end in pair["ends"]):
            try:
                end.shutdown(socket.SHUT_RDWR)  # a thread may be reading from it
            except OSError:
                pass  # the other end has done that
            end.close()


def commands_from(near):
    """Name and bytes of each command that comes from the socket."""
    file = near.makefile("rb")
    while line := file.readline():
        words, parts = [], [line]
        for _ in range(int(line[1:])):
            length = file.readline()
            words.append(file.read(int(length[1:]) + 2))
            parts += [length, words[-1]]
        yield words[0].strip().upper(), b"".join(parts)


class Flavour:
    """The differences between the flavours."""
    language = None
    listing = None  # the first line of the README's listing
    words = ()

    def command(self):
        return [PYTHON if word == "python3" else word for word in self.words]

    def options_of(self, options):
        """The options in the spelling of the language."""
        if self.language == "python":
            return options
        return {re.sub(r"_(\w)", lambda match: match[1].upper(), name): value for name, value in options.items()}


class NodeRedis(Flavour):
    language = "node"
    listing = "import { createClient } from 'redis';"
    words = ("node", "worker.mjs", "redis")

    def test_the_worker_of_the_module_document_is_that_of_the_readme(self):
        self.assertEqual(listing_of(TOP / "module/docs/redis.md", self.listing), listing_of(README, self.listing))


class IoRedis(Flavour):
    language = "node"
    listing = "import Redis from 'ioredis';"
    words = ("node", "worker.mjs", "ioredis")


class Threads(Flavour):
    language = "python"
    listing = "import os, redis, signal"
    words = ("python3", "worker_threads.py")


class Asyncio(Flavour):
    language = "python"
    listing = "import asyncio, os, redis.asyncio, signal"
    words = ("python3", "worker_asyncio.py")


def listing_of(document, first):
    """The lines of the listing that begins with that line."""
    for listing in re.findall(r"^```\w+\n(.*?)^```$", document.read_text(), re.M | re.S):
        if listing.startswith(first + "\n"):
            return listing
    raise AssertionError(f"{document} has no listing that begins with {first!r}")


def documented_rights():
    """The permissions of a worker, for ACL SETUSER."""
    text = (TOP / "module/docs/running.md").read_text()
    return re.search(r"`ACL SETUSER (worker .*?)`", text)[1].replace(r"\|", "|").split()


class Scenarios:
    """On a server whose clock stands still."""

    def start(self, **settings):
        return Flavoured(self, **settings)

    def producer(self, **settings):
        return self.start(worker=None, **settings)

    def get(self, key, id):
        reply = self.call("PAWL.GET", key, id)
        return reply and {name.decode(): value for name, value in in_pairs(reply).items()}

    def count(self, key="jobs", *args):
        return self.call("PAWL.LEN", key, *args)

    def put(self, n, act=None, *options, key="jobs"):
        self.call("PAWL.PUT", key, 0, json.dumps({"n": n, "act": act}), "ID", f"task-{n}", *options)

    def no_taker_waits(self):
        wait_until(lambda: self.blocked() == 0, "no taker waits")

    def test_the_lines_of_the_readme(self):
        lines = listing_of(README, self.listing)
        code = [line for line in lines.split("\n") if line.strip()]
        self.assertTrue(6 <= len(code) <= 10, f"{len(code)} lines")
        file = pathlib.Path(DIRECTORY, "readme" + (".mjs" if self.language == "node" else ".py"))
        file.write_text(lines)
        program = Program(self, [PYTHON if self.language == "python" else "node", str(file)], self.server.port)
        self.call("PAWL.PUT", "jobs:{3}", 0, '{"to":"ann"}')
        program.wait_for_line("mail to ann")
        wait_until(lambda: self.count("jobs:{3}") == 0, "it is acknowledged")
        program.signal(signal.SIGTERM)
        program.wait()

    def test_the_rights_that_the_documentation_gives_are_enough(self):
        self.call("ACL", "SETUSER", *documented_rights())
        program = self.start(user="worker:secret@", queue={"shards": 2}, worker=SOON)
        self.put(1, "wait", key="jobs:{0}")
        self.put(2, "fail", "MAXTRIES", 1, key="jobs:{1}")
        program.wait_for("outcome", n=2, outcome="dead")
        self.pass_ms(1)
        wait_until(lambda: self.get("jobs:{0}", "task-1")["due-ms"] == self.now + HOUR, "the lease is extended")
        program.open(1)
        wait_until(lambda: self.count("jobs:{0}") == 0, "it is acknowledged")
        program.end()

    def test_each_task_is_handled_once(self):
        program = self.start(worker={"lease": HOUR, "concurrency": 7})
        program.put_many(range(100))
        program.wait_for("done", 100)
        wait_until(lambda: self.count() == 0, "all are acknowledged")
        program.end()
        self.assertEqual(sorted(each["n"] for each in program.all("start")), list(range(100)))
        self.assertEqual({each["tries"] for each in program.all("start")}, {1})
        self.assertEqual(len({each["fence"] for each in program.all("start")}), 100)
        self.assertEqual(program.all("outcome"), [])

    def test_concurrency_is_a_bound_and_is_reached(self):
        for n in range(5):
            self.put(n, "wait")
        program = self.start(worker={"lease": HOUR, "concurrency": 3})
        program.wait_for("start", 3)
        for done in range(1, 5):
            self.assertEqual(self.count("jobs", "STATE", "leased"), 3 if done < 4 else 2)
            program.open(program.all("start")[done - 1]["n"])
            program.wait_for("done", done)
            if done < 3:
                program.wait_for("start", 3 + done)
            wait_until(lambda: self.count() == 5 - done, "it is acknowledged")
        program.open(program.all("start")[4]["n"])
        program.wait_for("done", 5)
        program.end()

    def test_the_tasks_of_a_worker_that_is_killed_come_back(self):
        for n in range(3):
            self.put(n, "wait")
        first = self.start(worker={"lease": HOUR})
        first.wait_for("start", 3)
        first.kill()
        self.assertEqual(self.count("jobs", "STATE", "leased"), 3)
        second = self.start(worker={"lease": HOUR})
        self.pass_ms(HOUR)
        second.wait_for("start", 3)
        self.assertEqual({each["tries"] for each in second.all("start")}, {2})
        self.assertGreater(min(each["fence"] for each in second.all("start")),
                           max(each["fence"] for each in first.all("start")))
        for n in range(3):
            second.open(n)
        second.wait_for("done", 3)
        wait_until(lambda: self.count() == 0, "all are acknowledged")
        second.end()

    def test_a_lease_is_extended_while_the_handler_runs(self):
        self.put(1, "wait")
        self.put(2, "wait")
        program = self.start(worker=SOON)
        program.wait_for("start", 2)
        for _ in range(4):
            self.pass_ms(HOUR - 1)
            for n in (1, 2):
                wait_until(lambda: self.get("jobs", f"task-{n}")["due-ms"] == self.now + HOUR, "the lease is extended")
        program.open(1)
        program.open(2)
        program.wait_for("done", 2)
        wait_until(lambda: self.count() == 0, "both are acknowledged")
        program.end()
        self.assertEqual(len(program.all("start")), 2)
        self.assertEqual(program.all("outcome"), [])

    def test_a_handler_is_told_that_its_lease_is_lost(self):
        self.put(1, "lost")
        self.put(2, "wait")
        program = self.start(worker=SOON)
        program.wait_for("start", 2)
        self.assertEqual(program.all("lost"), [])
        self.call("PAWL.CANCEL", "jobs", "task-1", "FORCE")
        program.wait_for("lost", n=1)
        program.wait_for("outcome", n=1, outcome="lost")
        program.open(2)
        program.wait_for("done", n=2)
        program.end()
        self.assertEqual(len(program.all("outcome")), 1)

    def test_a_handler_is_told_when_the_server_is_out_of_reach_until_the_lease_ends(self):
        server = Server(clock=START)
        self.addCleanup(server.stop)
        program = self.start(worker={"lease": 2000, "extend_every": 50}, port=server.port)
        server.call("PAWL.PUT", "jobs", 0, '{"n":1,"act":"lost"}')
        program.wait_for("start")
        server.process.send_signal(signal.SIGSTOP)
        program.wait_for("lost")
        server.process.send_signal(signal.SIGCONT)
        program.wait_for("done")

    def test_failures_are_tried_again_after_growing_delays_and_then_dead(self):
        self.put(1, "fail", "MAXTRIES", 5)
        program = self.start(worker={"lease": HOUR, "backoff": 1000, "backoff_max": 5000})
        for tries, most in enumerate((1000, 2000, 4000, 5000), 1):
            program.wait_for("outcome", tries, outcome="retry")
            task = self.get("jobs", "task-1")
            self.assertEqual((task["state"], task["tries"], task["reason"]), (b"waiting", tries, b"TypeError: no luck with 1"))
            self.assertTrue(most / 2 <= task["due-ms"] - self.now <= most, f"try {tries}: {task['due-ms'] - self.now} ms")
            self.set_clock(task["due-ms"])
        program.wait_for("outcome", outcome="dead", text="no luck with 1")
        found = program.call("get", "task-1")
        self.assertEqual([found[name] for name in ("id", "state", "payload", "tries", "reason")],
                         ["task-1", "dead", {"n": 1, "act": "fail"}, 5, "TypeError: no luck with 1"])
        self.assertEqual(program.call("requeue"), 1)
        program.wait_for("start", 6)
        program.end()

    def test_a_callback_for_errors_that_fails_does_not_end_the_program(self):
        program = self.start(worker={"lease": HOUR})
        self.put(1, "fail twice", "MAXTRIES", 1)
        program.wait_for("outcome", outcome="dead", text="no luck with 1")
        self.put(2)
        program.wait_for("done", n=2)
        program.end()

    def test_an_error_without_text_fails_as_any_other(self):
        program = self.start(worker={"lease": HOUR})
        self.put(1, "fail without text", "MAXTRIES", 1)
        program.wait_for("outcome", n=1, outcome="dead")
        self.assertRegex(self.get("jobs", "task-1")["reason"], rb"^(a value without text|Textless, which has no text)$")
        self.put(2)
        program.wait_for("done", n=2)
        program.end()

    def test_tasks_that_failed_together_come_back_apart(self):
        for n in range(10):
            self.put(n, "fail")
        program = self.start(worker={"lease": HOUR, "backoff": HOUR})
        program.wait_for("outcome", 10, outcome="retry")
        self.assertGreater(len({self.get("jobs", f"task-{n}")["due-ms"] for n in range(10)}), 1)
        program.end()

    def test_a_payload_that_cannot_be_read_fails_as_a_task_does(self):
        program = self.start(worker={"lease": HOUR})
        self.call("PAWL.PUT", "jobs", 0, "{", "ID", "bad", "MAXTRIES", 1)
        wait_until(lambda: self.count("jobs", "STATE", "dead") == 1, "it is dead")
        self.assertIn("JSON", self.get("jobs", "bad")["reason"].decode())
        program.end()

    def test_a_reason_is_cut_between_two_characters(self):
        self.call("PAWL.PUT", "jobs", 0, json.dumps({"n": "x" + "é" * 1000, "act": "fail"}), "ID", "long", "MAXTRIES", 1)
        program = self.start(worker={"lease": HOUR})
        program.wait_for("outcome", outcome="dead")
        reason = self.get("jobs", "long")["reason"].decode()
        self.assertTrue(reason.startswith("TypeError: no luck with xéé"))
        self.assertEqual(len(reason.encode()), 1023)  # the next one would end at 1025
        program.end()

    def test_stop_finishes_running_tasks_and_takes_nothing_new(self):
        self.put(1, "wait")
        program = self.start(worker={"lease": HOUR, "concurrency": 2, "grace": HOUR, "block": HOUR})
        program.wait_for("start", n=1)
        wait_until(lambda: self.blocked() == 1, "it waits for another")
        program.stop()
        self.no_taker_waits()  # long before an hour is over: the server was told to unblock it
        self.put(2)
        program.open(1)
        program.wait_for("ended")
        program.wait()
        self.assertEqual([each["n"] for each in program.all("done")], [1])
        self.assertEqual(self.get("jobs", "task-1"), None)
        self.assertEqual((self.get("jobs", "task-2")["state"], self.get("jobs", "task-2")["tries"]), (b"due", 0))

    def test_tasks_unfinished_after_the_grace_time_are_given_back(self):
        self.put(1, "wait")
        self.put(2, "wait", "MAXTRIES", 1)
        program = self.start(worker={"lease": HOUR, "grace": 1})
        program.wait_for("start", 2)
        program.end()
        self.assertEqual({each["n"]: each["outcome"] for each in program.all("outcome")}, {1: "retry", 2: "dead"})
        for n, state in ((1, b"due"), (2, b"dead")):
            task = self.get("jobs", f"task-{n}")
            self.assertEqual((task["state"], task["tries"]), (state, 1))
            self.assertTrue(task["reason"].endswith(b"Error: the worker stopped before the work was done"), task["reason"])

    def test_a_worker_does_not_retake_the_tasks_it_gave_back(self):
        """It may not call CLIENT UNBLOCK, so its MTAKE waits for a second, also after the grace time is over."""
        self.call("ACL", "SETUSER", *documented_rights(), "-client|unblock")
        program = self.start(user="worker:secret@", queue={"shards": 2}, worker={"lease": HOUR, "grace": 1, "block": 1000})
        self.put(1, "wait", key="jobs:{0}")
        program.wait_for("start")
        wait_until(lambda: self.blocked() == 1, "it waits for another")
        program.end()
        self.assertEqual([each["outcome"] for each in program.all("outcome")], ["retry"])
        task = self.get("jobs:{0}", "task-1")
        self.assertEqual((task["state"], task["tries"]), (b"due", 1))

    def test_stop_ends_while_the_server_is_away(self):
        server = Server(clock=START)
        program = self.start(worker={"lease": HOUR, "grace": 1}, port=server.port)
        server.call("PAWL.PUT", "jobs", 0, '{"n":1,"act":"wait"}')
        program.wait_for("start")
        server.kill()
        program.end()
        self.assertEqual([each["outcome"] for each in program.all("outcome")], ["lost"])

    def test_a_worker_starts_while_the_server_is_away(self):
        server = Server(clock=START)
        self.addCleanup(server.stop)
        server.kill()
        program = self.start(worker={"lease": HOUR}, port=server.port)
        program.wait_until(lambda: "refused" in program.complaints().lower(), "it has tried to connect")
        server.start()
        server.call("PAWL.PUT", "jobs", 0, '{"n":1}')
        program.wait_for("done", n=1)
        program.end()

    def test_a_worker_that_is_stopped_before_it_is_connected_ends(self):
        program = self.start(worker={"lease": HOUR}, stopped=True)  # stop() is called before run()
        program.wait_for("ended")
        program.wait()

    def test_nothing_is_lost_when_the_server_is_killed_and_restarted(self):
        server = Server("--appendonly", "yes", "--appendfsync", "always", clock=START)
        self.addCleanup(server.stop)
        redis = server.client()
        program = self.start(worker={"lease": HOUR, "concurrency": 5}, port=server.port)
        for n in range(5):
            redis.call("PAWL.PUT", "jobs", 0, json.dumps({"n": n, "act": "wait"}), "ID", n)
        program.wait_for("start", 5)
        for n in range(5, 20):
            redis.call("PAWL.PUT", "jobs", 0, json.dumps({"n": n}))
        server.kill()
        program.open(0)
        program.wait_for("done")  # and the server is away
        server.start()
        redis = server.client()
        for n in range(1, 5):
            program.open(n)
        for n in range(5):  # the worker sends it when the server is back
            program.wait_until(lambda: redis.call("PAWL.GET", "jobs", n) is None, f"{n} is acknowledged")
            self.assertEqual(len(program.all("start", n=n)), 1)
        # A task whose delivery was lost comes back when its lease ends.
        now = START
        while redis.call("PAWL.LEN", "jobs"):
            wait_until(lambda: redis.call("PAWL.LEN", "jobs", "STATE", "due") == 0 and
                       len(program.all("start")) == len(program.all("done")), "all that is due is handled")
            now += HOUR if redis.call("PAWL.LEN", "jobs", "STATE", "leased") else 0
            redis.call("PAWL.CLOCK", now)
        program.wait_until(lambda: {each["n"] for each in program.all("done")} == set(range(20)), "all are done")
        redis.call("PAWL.PUT", "jobs", 0, json.dumps({"n": 20}))
        program.wait_for("done", n=20)
        program.end()

    def test_a_client_that_gives_up_reconnecting_is_replaced(self):
        server = Server("--appendonly", "yes", "--appendfsync", "always", clock=START)
        self.addCleanup(server.stop)
        program = self.start(worker={"lease": HOUR}, port=server.port, gives_up=True)
        server.call("PAWL.PUT", "jobs", 0, '{"n":1,"act":"wait"}', "ID", "task-1")
        program.wait_for("start", n=1)
        server.kill()
        program.wait_until(lambda: "refused" in program.complaints().lower(), "it has tried to connect")
        server.start()
        program.open(1)
        program.wait_until(lambda: server.call("PAWL.GET", "jobs", "task-1") is None, "it is acknowledged")
        server.call("PAWL.PUT", "jobs", 0, '{"n":2}')
        program.wait_for("done", n=2)
        program.end()
        self.assertEqual([each["n"] for each in program.all("start")], [1, 2])

    def test_after_a_failover_the_worker_goes_to_the_new_primary(self):
        """The old one keeps the connections open, and replies READONLY. The address leads to the new one."""
        old, new = Server(clock=START), Server(clock=START)
        wire = Wire(old.port)
        for each in (old.stop, new.stop, wire.close):
            self.addCleanup(each)
        new.call("REPLICAOF", "127.0.0.1", old.port)
        wait_until(lambda: "master_link_status:up" in new.info("replication"), "the replica has all")
        program = self.start(worker={"lease": HOUR}, port=wire.port)
        old.call("PAWL.PUT", "jobs", 0, '{"n":0}')
        wait_until(lambda: old.call("PAWL.LEN", "jobs") == 0, "the connection that acknowledges is open")
        for n, act in ((1, "wait"), (2, "wait and fail")):
            old.call("PAWL.PUT", "jobs", 0, json.dumps({"n": n, "act": act}), "MAXTRIES", 1)
        program.wait_for("start", 3)
        old.call("FAILOVER")
        wait_until(new.is_primary, "the replica is the primary")
        wire.to = new.port
        program.open(1)
        program.wait_until(lambda: new.call("PAWL.LEN", "jobs") == 1, "one is acknowledged")
        program.open(2)
        program.wait_for("outcome", n=2, outcome="dead")
        new.call("PAWL.PUT", "jobs", 0, '{"n":3}')
        program.wait_for("done", n=3)
        program.wait_until(lambda: new.call("PAWL.LEN", "jobs") == 1, "it is acknowledged")
        program.end()
        self.assertEqual(sorted(each["n"] for each in program.all("start")), [0, 1, 2, 3])

    def test_a_connection_to_a_server_that_cannot_serve_is_opened_again(self):
        wire = Wire(self.server.port)
        self.addCleanup(wire.close)
        program = self.start(worker={"lease": HOUR, "block": 50}, port=wire.port)
        self.put("first")
        wait_until(lambda: self.count() == 0, "the connection that acknowledges is open")
        for n, error in enumerate((b"READONLY You can't write against a read only replica.",
                                   b"LOADING Redis is loading the dataset in memory",
                                   b"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
                                   b"CLUSTERDOWN The cluster is down")):
            with self.subTest(error=error):
                for act, command in (("wait", b"PAWL.ACK"), ("wait and fail", b"PAWL.NACK"), (None, b"PAWL.MTAKE")):
                    name = f"{n} {act}"
                    if act:
                        self.put(name, act, "MAXTRIES", 1)
                        program.wait_for("start", n=name)
                    wait_until(lambda: self.blocked() == 1, "the connection that takes is open")
                    wire.refuse(error)
                    program.open(name)
                    program.wait_until(lambda: command in wire.refused, f"{command} is refused")
                    if not act:
                        self.put(name)
                    wait_until(lambda: (self.get("jobs", f"task-{name}") or {}).get("state", b"dead") == b"dead", "it is done")
        program.end()
        self.assertEqual({each["outcome"] for each in program.all("outcome")}, {"dead"})
        self.assertEqual(len(program.all("start")), 13)

    def test_leases_are_extended_after_a_connection_is_refused(self):
        wire = Wire(self.server.port)
        self.addCleanup(wire.close)
        program = self.start(worker=SOON, port=wire.port)
        self.put(1, "wait")
        program.wait_for("start", n=1)
        self.pass_ms(1)
        wait_until(lambda: self.get("jobs", "task-1")["due-ms"] == self.now + HOUR, "the lease is extended")
        wire.refuse(b"READONLY You can't write against a read only replica.")
        program.wait_until(lambda: b"PAWL.EXTEND" in wire.refused, "it is refused")
        self.pass_ms(HOUR - 1)
        wait_until(lambda: self.get("jobs", "task-1")["due-ms"] == self.now + HOUR, "the lease is extended")
        program.open(1)
        wait_until(lambda: self.count() == 0, "it is acknowledged")
        program.end()
        self.assertEqual(program.all("outcome"), [])

    def test_a_worker_that_starts_at_a_replica_without_its_primary_finds_the_primary(self):
        lonely = Server("--replica-read-only", "no", "--replica-serve-stale-data", "no", clock=START)
        wire = Wire(lonely.port)
        for each in (lonely.stop, wire.close):
            self.addCleanup(each)
        lonely.call("REPLICAOF", "127.0.0.1", 1)  # no server is there
        program = self.start(worker={"lease": HOUR}, port=wire.port)
        program.wait_until(lambda: "MASTERDOWN" in program.complaints(), "it is refused")
        wire.to = self.server.port
        self.put(1)
        program.wait_for("done", n=1)
        program.end()

    def test_a_worker_that_starts_while_the_server_loads_waits_for_it(self):
        server = Server("--rdbcompression", "no", "--loading-process-events-interval-bytes", "1024", clock=START)
        self.addCleanup(server.stop)
        server.call("DEBUG", "POPULATE", 3000, "key", 2000)
        server.call("SAVE")
        server.kill()
        starting = threading.Thread(target=server.start, args=("--key-load-delay", "200000"))  # ten minutes for all
        starting.start()
        self.addCleanup(starting.join)

        wait_until(lambda: self.is_loading(server), "the server loads")
        program = self.start(worker={"lease": HOUR}, port=server.port)
        # ioredis asks by INFO whether it may send commands.
        program.wait_until(lambda: "is loading" in program.complaints() or " cmd=info " in server.call("CLIENT", "LIST").decode(),
                           "it knows that the server loads")
        self.assertTrue(self.is_loading(server))
        server.call("CONFIG", "SET", "key-load-delay", 0)
        starting.join()
        server.call("PAWL.PUT", "jobs", 0, '{"n":1}')
        program.wait_for("done", n=1)
        program.end()

    @staticmethod
    def is_loading(server):
        try:
            return "\nloading:1\r" in server.info("persistence")
        except OSError:
            return False  # it does not listen yet

    def test_a_task_that_is_delivered_while_a_handler_computes_is_handled(self):
        """It computes for longer than the server may take for a reply. That was not cut: it has not been read yet."""
        until = pathlib.Path(DIRECTORY, self.id())
        program = self.start(worker={"lease": HOUR, "block": HOUR}, computes={"until": str(until), "ms": 3 * HOUR})
        self.put(1, "compute")
        program.wait_for("start", n=1)
        wait_until(lambda: self.blocked() == 1, "it waits for another")
        program.open(1)
        program.wait_for("computing")
        self.put(2, None, "MAXTRIES", 1)
        wait_until(lambda: self.get("jobs", "task-2")["state"] == b"leased", "it is delivered")
        until.touch()
        program.wait_for("done", n=2)
        wait_until(lambda: self.count() == 0, "both are acknowledged")
        program.end()
        self.assertEqual(program.all("outcome"), [])

    def test_one_connection_waits_for_sixteen_shards(self):
        program = self.start(queue={"shards": 16}, worker={"lease": HOUR})
        wait_until(lambda: self.blocked() == 1, "it waits")
        self.assertEqual(self.call("CLIENT", "LIST").decode().count(" cmd=pawl.mtake "), 1)
        program.put_many(range(64))
        program.wait_for("done", 64)
        keys = [each["key"] for each in program.all("start")]
        self.assertEqual({key: keys.count(key) for key in keys}, {f"jobs:{{{n}}}": 4 for n in range(16)})
        self.assertEqual(program.call("count"), 0)
        program.end()

    def test_tasks_about_one_thing_share_a_shard_in_every_language(self):
        program = self.producer(queue={"shards": 16})
        # The CRC-32 of 123456789 is cbf43926: that is how it is named in the lists of CRCs.
        for about, shard in (("", 0), ("123456789", 6), ("a", 3), ("grüße", 13)):
            for n in (1, 2):
                program.call("put", {"n": n}, about=about, id=f"{about}-{n}")
                self.assertIsNotNone(self.get(f"jobs:{{{shard}}}", f"{about}-{n}"), f"{about}")
            self.assertEqual(program.call("get", f"{about}-1", about=about)["payload"], {"n": 1})
            self.assertEqual(program.call("get", f"{about}-2")["payload"], {"n": 2})

    def test_the_calls_of_a_queue(self):
        program = self.producer()
        made = program.call("put", {"n": 1}, delay=5000)
        self.assertEqual(self.get("jobs", made)["due-ms"], START + 5000)
        self.assertEqual(self.get("jobs", made)["maxtries"], 25)
        self.assertEqual(self.get("jobs", made)["payload"], b'{"n":1}')
        self.assertEqual(program.call("put", "grüße", at=START + 7, id="a", max_tries=0), "a")
        self.assertEqual((self.get("jobs", "a")["due-ms"], self.get("jobs", "a")["maxtries"]), (START + 7, 0))
        with self.assertRaisesRegex(ValueError, "EXISTS"):
            program.call("put", 2, id="a")
        self.assertIsNone(program.call("put", 2, id="a", nx=True))
        self.assertEqual(program.call("get", "a")["payload"], "grüße")
        self.assertEqual(program.call("put", [2], id="a", replace=True), "a")
        self.assertEqual(program.call("get", "a"), {
            "id": "a", "state": "due", "payload": [2], "due": START, "tries": 0, "reason": None, "period": 0,
            "max_tries" if self.language == "python" else "maxTries": 25})
        self.assertEqual((program.call("count"), program.call("count", "waiting")), (2, 1))
        self.assertIs(program.call("cancel", "a"), True)
        self.assertIs(program.call("cancel", "a"), False)
        self.assertIsNone(program.call("get", "a"))

    def test_raw_payloads_are_bytes(self):
        data = bytes(range(256))
        self.call("PAWL.PUT", "jobs", 0, data)
        program = self.start(queue={"raw": True}, worker={"lease": HOUR})
        program.wait_for("done", n=data.decode("latin1"))
        program.call("put", "as it is")
        program.wait_for("done", n="as it is")
        program.end()

    def test_a_paused_queue_delivers_nothing_until_it_is_resumed(self):
        program = self.start(queue={"shards": 2}, worker={"lease": HOUR})
        program.call("pause")
        program.put_many(range(4))
        self.assertEqual(program.call("count", "due"), 4)
        self.assertEqual(program.all("start"), [])
        program.call("resume")
        program.wait_for("done", 4)
        program.end()

    def test_a_periodic_task_comes_again(self):
        program = self.start(worker={"lease": HOUR})
        self.assertIs(program.call("every", "tick", 1000, {"n": 1}), True)
        for times in (1, 2, 3):
            self.pass_ms(1000)
            program.wait_for("done", times)
            wait_until(lambda: self.count("jobs", "STATE", "waiting") == 1, "it waits for the next time")
        self.assertIs(program.call("every", "tick", 1000, {"n": 2}), False)
        self.assertEqual(program.call("get", "tick")["period"], 1000)
        self.pass_ms(1000)
        program.wait_for("done", n=2)
        wait_until(lambda: self.count("jobs", "STATE", "waiting") == 1, "it waits for the next time")
        self.assertIs(program.call("cancel", "tick"), True)
        program.end()

    def test_settings_out_of_range_are_refused(self):
        for settings, text in (({"queue": {"shards": 1025}}, "shards is 1025, and must be a whole number from 1 to 1024"),
                               ({"queue": {"shards": 0}}, "shards is 0, and must be a whole number from 1 to 1024"),
                               ({"queue": {"attempts": 3}}, "option attempts|argument 'attempts'"),
                               ({"name": ""}, "name is '', and must be text that is not empty"),
                               ({"worker": {"lease": 1.5}}, "lease is 1.5, and must be a whole number from 1 to"),
                               ({"worker": {"concurency": 3}}, "option concurency|argument 'concurency'")):
            with self.assertRaisesRegex(AssertionError, text):
                self.start(**settings)

    def test_bad_arguments_of_a_call_are_refused(self):
        program = self.producer()
        self.put(1, "fail", "MAXTRIES", 1)
        self.call("PAWL.NACK", "jobs", "task-1", self.call("PAWL.TAKE", "jobs", "LEASE", 5)[0][4])
        most = "must be a whole number from 0 to"
        for method, args, options, text in (
                ("put", [1], {"delay": 5, "at": START}, "delay is 5, and must be left out where at is given"),
                ("put", [1], {"delay": -1}, f"delay is -1, and {most}"),
                ("put", [1], {"delay": "5"}, f"delay is '5', and {most}"),
                ("put", [1], {"delay": ""}, f"delay is '', and {most}"),
                ("put", [1], {"at": -1}, f"at is -1, and {most}"),
                ("put", [1], {"max_tries": 65536}, "ries is 65536, and must be a whole number from 0 to 65535"),
                ("put", [1], {"attempts": 3}, "option attempts; its options are delay, at|argument 'attempts'"),
                ("every", ["x", 5, 1], {"every": 3}, "option every; its options are at, about|argument 'every'"),
                ("cancel", ["x"], {"all": True}, "option all; its options are about, force|argument 'all'"),
                ("get", ["x"], {"key": "x"}, "option key; its options are about|argument 'key'"),
                ("requeue", ["task-1"], {}, "ids is 'task-1', and must be a list of ids")):
            with self.subTest(method=method, options=options), self.assertRaisesRegex(ValueError, text):
                program.call(method, *args, **options)
        self.assertEqual(self.count(), 1)
        for ids, count in (([], 0), (["ALL"], 0), (["DELAY", "5"], 0), (["x", "DELAY"], 0), (["x", "task-1"], 1)):
            self.assertEqual(program.call("requeue", ids), count, ids)

    def test_an_argument_that_is_not_there_is_refused(self):
        program = self.producer()
        for method, args in (("get", [None]), ("cancel", [None]), ("every", [None, 1000, 1]), ("every", ["x", None, 1]),
                             ("get", [{"id": "x"}]), ("requeue", [["x", None]])):
            with self.subTest(method=method, args=args), self.assertRaisesRegex(
                    ValueError, "(id|an argument of PAWL[.][A-Z]+) is .*, and must be text or a number|Invalid input of type"):
                program.call(method, *args)
        if self.language == "node":  # in Python, None is an option that is left out
            for options, text in (({"at": None}, "at is null, and must be"), ({"at": ""}, "at is '', and must be"),
                                  ({"id": None}, "id is null, and must be text or a number"),
                                  ({"about": None}, "about is null, and must be text or a number"),
                                  ({"about": {}}, r"about is \[object Object\], and must be text or a number")):
                with self.subTest(options=options), self.assertRaisesRegex(ValueError, text):
                    program.call("put", 1, **options)
            for method, args in (("every", ["x", 1000, 1]), ("get", ["x"]), ("cancel", ["x"]), ("keyOf", [None])):
                with self.subTest(method=method), self.assertRaisesRegex(ValueError, "about is null, and must be text or a number"):
                    program.call(method, *args, **({} if method == "keyOf" else {"about": None}))
        self.assertEqual(self.count(), 0)

    def test_a_server_without_the_module_is_an_error_that_says_so(self):
        server = Server(module=False)
        self.addCleanup(server.stop)
        program = self.start(worker={"lease": HOUR}, port=server.port)
        self.assertIn("unknown command PAWL.MTAKE: load the module pawl.so", program.wait_for("ended")["error"])

    def cut(self, wire):
        """And wait until the server has unblocked that client: a task that it took would come back only when the lease ends."""
        before = set(re.findall(r"^id=\d+", self.call("CLIENT", "LIST").decode(), re.M))
        wire.cut()
        wait_until(lambda: not before & set(re.findall(r"^(id=\d+) .* flags=b", self.call("CLIENT", "LIST").decode(), re.M)),
                   "no taker waits there")

    def wait_despite_timeouts(self, program, event, n):
        """On a slow machine a reply may come after the worker's short timeout. The worker then drops the connection, and with
        it the task, which would come back only when the lease ends: make it due again."""
        seen = program.complaints()

        def there():
            nonlocal seen
            if program.all(event, n=n):
                return True
            task = self.get("jobs", f"task-{n}")
            if program.complaints() != seen and task and task["state"] == b"leased":
                seen = program.complaints()
                self.call("PAWL.MOVE", "jobs", f"task-{n}", 0, "FORCE")
            return False
        program.wait_until(there, f"{event} of {n}")

    def test_a_connection_that_is_cut_without_a_word_is_opened_anew(self):
        """No side closes the connection: bytes are just no longer passed on."""
        wire = Wire(self.server.port)
        self.addCleanup(wire.close)
        program = self.start(worker={**SOON, "block": 50, "timeout": 200}, port=wire.port)
        self.put(1, "wait")
        self.wait_despite_timeouts(program, "start", 1)
        self.cut(wire)
        self.put(2)
        self.wait_despite_timeouts(program, "done", 2)  # the connection that takes
        self.pass_ms(1)
        wait_until(lambda: self.get("jobs", "task-1")["due-ms"] == self.now + HOUR, "the connection that extends works again")
        self.cut(wire)
        program.open(1)
        program.wait_for("done", n=1)
        wait_until(lambda: self.get("jobs", "task-1") is None, "the connection that acknowledges works again")
        program.end()


class Size(unittest.TestCase):
    def test_less_than_400_lines_of_code_each(self):
        for files in ([TOP / "module/clients/node/index.js"], (TOP / "module/clients/python/pawl").glob("*.py")):
            lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]
            self.assertTrue(200 < len(lines) < 400, len(lines))


class ThreadsAndAsyncio(unittest.TestCase):
    """pawl and pawl.asyncio in one Python program, which needs no server."""

    def python(self, *lines):
        run(PYTHON, "-c", "\n".join(["import pawl, pawl.asyncio, redis, redis.asyncio",
                                     "queue = pawl.Queue(redis.Redis(port=1), 'jobs')",  # no server is there
                                     "waiting_queue = pawl.asyncio.Queue(redis.asyncio.Redis(port=1), 'jobs')",
                                     "async def handle(task): pass", *lines]))

    def test_a_worker_with_threads_runs_after_pawl_asyncio_is_imported(self):
        self.python("worker = pawl.Worker(queue, print)", "worker.stop()", "worker.run()")

    def test_a_worker_with_threads_refuses_a_handler_that_it_cannot_run(self):
        with self.assertRaisesRegex(AssertionError, "handler is <function handle .*, and must be a plain function"):
            self.python("pawl.Worker(queue, handle)")

    def test_a_worker_refuses_a_queue_of_the_other_kind(self):
        for line, kind in (("pawl.Worker(waiting_queue, print)", "pawl"),
                           ("pawl.asyncio.Worker(queue, handle)", "pawl.asyncio")):
            with self.assertRaisesRegex(AssertionError, f"queue is <.*, and must be a Queue of {kind}\\n"):
                self.python(line)

    def test_a_callback_for_errors_that_fails_does_not_end_the_worker(self):
        for run_it in ("pawl.Worker(pawl.Queue(redis.Redis(port=1), 'jobs'), print, on_error=on_error)", "worker.run()"), (
                "pawl.asyncio.Worker(pawl.asyncio.Queue(redis.asyncio.Redis(port=1), 'jobs'), handle, on_error=on_error)",
                "asyncio.run(worker.run())"):
            self.python("import asyncio", "errors = []", "def on_error(error, task, outcome):", "    errors.append(error)",
                        "    if len(errors) == 3: worker.stop()", "    task.id  # there is no task",
                        "worker = " + run_it[0], run_it[1], "assert len(errors) >= 3")


class Types(unittest.TestCase):
    """The type declarations match the code. (Compared as text: no TypeScript compiler and no mypy is used.)"""

    @staticmethod
    def parameters(file, names):
        """The parameters of each public method of the classes."""
        classes = [node for node in ast.parse((TOP / "module/clients/python/pawl" / file).read_text()).body
                   if isinstance(node, ast.ClassDef) and node.name in names]
        return [{method.name: [arg.arg for arg in method.args.args + method.args.kwonlyargs] for method in each.body
                 if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef))
                 and (method.name == "__init__" or not method.name.startswith("_"))} for each in classes]

    def test_asyncio(self):
        queue, worker = self.parameters("_core.py", ("QueueCore", "WorkerCore"))
        for internal in ("encode", "decode"):
            del queue[internal]
        declared_queue, declared_worker = self.parameters("asyncio.pyi", ("Queue", "Worker"))
        self.assertEqual(declared_queue, queue)
        self.assertEqual(declared_worker, dict(worker, run=["self"], stop=["self"]))

    def test_the_types_of_node_name_the_payload_of_a_queue(self):
        declared = (TOP / "module/clients/node/index.d.ts").read_text()
        self.assertEqual(re.findall(r"(\w+)<Payload = any> \{", declared), ["Found", "Queue", "Task", "WorkerOptions", "Worker"])
        self.assertIn("constructor(queue: Queue<Payload>, handler: (task: Task<Payload>) => unknown,", declared)
        self.assertIn("Promise<Found<Payload> | null>;", declared)
        self.assertEqual(len(re.findall(r"\bpayload: Payload[,;)]", declared)), 4)  # of put, every, Found and Task

    def test_of_node(self):
        code = (TOP / "module/clients/node/index.js").read_text()
        declared = (TOP / "module/clients/node/index.d.ts").read_text()
        methods = set(re.findall(r"^\t(?:async )?(\w+)\(.*\) \{$", code, re.M)) - {
            "encode", "decode", "open", "close", "call"}
        self.assertGreater(len(methods), 10)
        self.assertEqual(set(re.findall(r"^\t(\w+)\(.*\).*;$", declared, re.M)) - {"duplicate", "onError"}, methods)
        options = set(re.findall(r"[{,] (\w+)(?: = [^,}]+)?(?=[,} ])", " ".join(
            re.findall(r"\{[^{}]*\}(?= = \{\}\)| = options;| = more;)", code)))) | set(
                ", ".join(re.findall(r"noOther\('\S+', other, '(.*)'\)", code)).split(", "))
        self.assertGreater(len(options), 15)
        self.assertEqual({name for name in options if not re.search(rf"\b{name}\??[:(]", declared)}, set())


FLAVOURS = (NodeRedis, IoRedis, Threads, Asyncio)
for flavour in FLAVOURS:
    globals()[f"{flavour.__name__}Test"] = type(f"{flavour.__name__}Test", (flavour, Scenarios, ServerTest), {})
del flavour


class WithEveryFlavour:
    def start(self, flavour, **settings):
        self.command, self.options_of = flavour().command, flavour().options_of
        return Flavoured(self, flavour.__name__, **settings)


class InACluster(WithEveryFlavour, test_cluster.ClusterTest):
    """In a cluster each shard has its own blocked connection."""

    def test_every_flavour(self):
        for flavour in FLAVOURS:
            with self.subTest(flavour.__name__):
                self.handles_all_shards(self.start(flavour))

    def test_after_the_cluster_was_down_every_flavour_goes_on(self):
        for flavour in FLAVOURS:
            with self.subTest(flavour.__name__):
                outcomes = self.goes_on_after_the_cluster_was_down(self.start(flavour))
                if flavour is Asyncio:  # redis-py closes its connections to all nodes, so the reply of another may be lost
                    self.assertLessEqual(set(outcomes), {(1, "lost"), (2, "lost"), (2, "dead")})
                else:
                    self.assertEqual(outcomes, [(2, "dead")])

    def start(self, flavour):
        return super().start(flavour, queue={"shards": test_cluster.KEYS}, ports=self.ports,
                             worker={"lease": HOUR, "block": 200})

    def handles_all_shards(self, program):
        program.put_many(range(30))
        program.wait_for("done", 30)
        self.move_slot(program.all("start")[0]["key"])
        program.put_many(range(30, 60))
        program.wait_for("done", 60)
        program.wait_until(lambda: program.call("count") == 0, "all are acknowledged")
        self.assertEqual(sorted(each["n"] for each in program.all("start")), list(range(60)))
        self.assertEqual(len({each["key"] for each in program.all("start")}), test_cluster.KEYS)
        program.end()

    def goes_on_after_the_cluster_was_down(self, program):
        for n, act in ((1, "wait"), (2, "wait and fail")):
            program.call("put", {"n": n, "act": act}, max_tries=1)
            program.wait_for("start", n=n)
        slot = self.set_down()
        before = program.complaints()
        program.open(1)
        program.open(2)
        program.wait_until(lambda: program.complaints() != before, "it is refused")
        self.set_up(slot)
        program.wait_for("outcome", n=2)
        program.wait_until(lambda: program.call("count") == 1, "the other is acknowledged")
        self.assertEqual(program.call("count", "dead"), 1)
        program.put_many(range(3, 33))
        program.wait_for("done", 31)
        program.wait_until(lambda: program.call("count") == 1, "all are acknowledged")
        self.assertEqual(sorted(each["n"] for each in program.all("start")), list(range(1, 33)))
        program.end()
        return [(each["n"], each["outcome"]) for each in program.all("outcome")]

    def set_down(self):
        """A cluster is down while a slot is served by no node."""
        slot = self.servers[0].call("CLUSTER", "KEYSLOT", "no task is here")
        self.slot_owner = self.owner("no task is here")
        for server in self.servers:
            server.call("CLUSTER", "DELSLOTS", slot)
        wait_until(lambda: all("cluster_state:fail" in server.call("CLUSTER", "INFO").decode() for server in self.servers),
                   "the cluster is down")
        return slot

    def set_up(self, slot):
        self.slot_owner.call("CLUSTER", "ADDSLOTS", slot)
        wait_until(lambda: all(self.is_whole(server) for server in self.servers), "the cluster is whole")


class Sentinel:
    """A Sentinel that watches this primary under the name `watched`, and whose word alone makes a failover."""

    def __init__(self, primary):
        self.directory = tempfile.TemporaryDirectory(prefix="pawl-sentinel-")
        self.port = free_port()
        file = pathlib.Path(self.directory.name, "sentinel.conf")
        file.write_text(f"port {self.port}\nbind 127.0.0.1\ndir {self.directory.name}\nlogfile {self.directory.name}/log\n"
                        f"sentinel monitor watched 127.0.0.1 {primary.port} 1\n")
        self.process = subprocess.Popen([SERVER, str(file), "--sentinel"], stdin=subprocess.DEVNULL)
        wait_until(self._sees_the_replica, "the Sentinel sees the replica")

    def call(self, *args):
        return call_once(self.port, *args)

    def _sees_the_replica(self):
        try:
            states = map(in_pairs, self.call("SENTINEL", "REPLICAS", "watched"))
            return any(state[b"flags"] == b"slave" and state[b"master-link-status"] == b"ok" for state in states)
        except (Error, Gone, OSError):
            return False

    def primary_port(self):
        return int(self.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "watched")[1])

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.directory.cleanup()


class WithASentinel(WithEveryFlavour, unittest.TestCase):
    """A worker asks the Sentinel for the primary, before and after a failover."""

    def setUp(self):
        self.servers = [Server(), Server()]
        for server in self.servers:
            self.addCleanup(server.stop)
        follow(self.servers[1], self.servers[0])
        self.sentinel = Sentinel(self.servers[0])
        self.addCleanup(self.sentinel.stop)

    def start(self, flavour):
        return super().start(flavour, worker={"timeout": 5000}, port=self.sentinel.port, sentinel=self.sentinel.port)

    def all_do(self, workers, server, n):
        for name in workers:
            server.call("PAWL.PUT", name, 0, json.dumps({"n": n}))
        for name, worker in workers.items():
            worker.wait_for("done", n=n)
            wait_until(lambda: server.call("PAWL.LEN", name) == 0, f"{name} acknowledges it")

    def test_ioredis_and_redis_py_follow_a_failover(self):
        workers = {flavour.__name__: self.start(flavour) for flavour in (IoRedis, Threads, Asyncio)}
        self.all_do(workers, self.servers[0], 1)
        self.sentinel.call("SENTINEL", "FAILOVER", "watched")
        wait_until(lambda: self.sentinel.primary_port() == self.servers[1].port, "the failover")
        wait_until(lambda: not self.servers[0].is_primary(), "the old primary is a replica")
        self.all_do(workers, self.servers[1], 2)

    def test_a_client_of_create_sentinel_is_refused(self):
        with self.assertRaisesRegex(AssertionError, "client is .*, and must be by ioredis, createClient or createCluster"):
            self.start(NodeRedis)


if __name__ == "__main__":
    unittest.main()
