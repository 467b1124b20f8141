# SPDX-License-Identifier: MIT
"""Real servers for the tests, and a small client that speaks RESP2 and RESP3.

The environment names the server and the module:

    PAWL_SERVER   the server's binary; default redis-server. Its redis-cli or valkey-cli is next to it,
                  or is named by PAWL_CLI
    PAWL_MODULE   pawl.so
    PAWL_HANG_SECONDS  after which ctest ends a test that waits forever; default 3600
    PAWL_PRELOAD  the server's LD_PRELOAD: the run-time library of a sanitizer

Servers listen on loopback, on ports that were free, keep their data in a temporary directory, and are stopped
by the process id with which they were started.
"""
import atexit
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SERVER = os.environ.get("PAWL_SERVER") or "redis-server"
SERVER = shutil.which(SERVER) or SERVER
MODULE = os.environ.get("PAWL_MODULE") or str(TOP / "build/test/pawl.so")
PRELOAD = os.environ.get("PAWL_PRELOAD", "")
# Seconds after which a wait is taken to hang, and the test fails. It is half of the time that ctest allows a test, so that the
# test itself says what it waited for, and stops its servers. No result depends on it otherwise.
HANG = int(os.environ.get("PAWL_HANG_SECONDS", 3600)) / 2
START = 1_800_000_000_000  # where the clocks of the tests begin


def cli():
    """The command-line client that belongs to the server."""
    beside = os.path.join(os.path.dirname(SERVER), os.path.basename(SERVER).replace("-server", "-cli"))
    return os.environ.get("PAWL_CLI") or beside


def free_port():
    """A free port whose cluster bus port (10,000 above) is also free."""
    while True:
        with socket.socket() as probe, socket.socket() as bus:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
            if not 1024 < port < 55000:
                continue
            try:
                bus.bind(("127.0.0.1", port + 10000))
            except OSError:
                continue
            return port


def wait_until(condition, what):
    """Call until the result is true, and return it. The time limit only ends a hanging test."""
    end = time.monotonic() + HANG
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"still not so after {HANG} s: {what}")
        time.sleep(0.01)


def seeds(runs, long_runs):
    """1 to `runs`, or to `long_runs` with PAWL_LONG; only PAWL_SEED, if that is set: a failure prints it."""
    only = int(os.environ.get("PAWL_SEED") or 0)
    return [only] if only else range(1, (long_runs if os.environ.get("PAWL_LONG") else runs) + 1)


class Error(Exception):
    """An error that the server replied."""


class Gone(Exception):
    """The connection is gone."""


class PortTaken(Exception):
    """Another program has the port."""


class Client:
    """One connection. Arguments are bytes, text or integers; replies are Python values, texts as bytes."""

    def __init__(self, port, resp=2):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=HANG)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        if resp == 3:
            self.call("HELLO", 3)

    @staticmethod
    def encode(args):
        parts = [b"*%d\r\n" % len(args)]
        for arg in args:
            data = arg if isinstance(arg, bytes) else str(arg).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
        return b"".join(parts)

    def send(self, *args):
        try:
            self.socket.sendall(self.encode(args))
        except OSError as error:
            raise Gone(str(error)) from error

    def send_many(self, commands):
        self.socket.sendall(b"".join(map(self.encode, commands)))

    def _line(self):
        try:
            line = self.file.readline()
        except TimeoutError as error:
            raise AssertionError(f"no reply after {HANG} s") from error
        except OSError as error:
            raise Gone(str(error)) from error
        if not line.endswith(b"\r\n"):
            raise Gone("connection closed")
        return line[:-2]

    def _items(self, count):
        return [self.read(raising=False) for _ in range(count)]

    def read(self, raising=True):
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            if raising:
                raise Error(rest.decode())
            return Error(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind in b":(":
            return int(rest)
        if kind == b"_":
            return None
        if kind == b"$":
            if rest == b"-1":
                return None
            return self.file.read(int(rest) + 2)[:-2]
        if kind in b"*~>":
            return None if rest == b"-1" else self._items(int(rest))
        if kind == b"%":
            flat = self._items(2 * int(rest))
            return dict(zip(flat[::2], flat[1::2]))
        if kind == b",":
            return float(rest)
        if kind == b"#":
            return rest == b"t"
        raise AssertionError(f"unknown reply {line!r}")

    def call(self, *args):
        self.send(*args)
        return self.read()

    def calls(self, commands):
        """Send all commands, then read all replies, errors included."""
        self.send_many(commands)
        return [self.read(raising=False) for _ in commands]

    def close(self):
        self.file.close()
        self.socket.close()


def call_once(port, *args):
    client = Client(port)
    try:
        return client.call(*args)
    finally:
        client.close()


class Server:
    """A server with the module. `clock`: the module's clock stands still at this time until PAWL.CLOCK."""

    def __init__(self, *options, clock=None, module=True):
        self.directory = tempfile.mkdtemp(prefix="pawl-redis-")
        self.port = None
        self.options = list(options)
        self.module = [MODULE, *(["TEST-CLOCK", str(clock)] if clock is not None else [])] if module else []
        self.clients = []
        self.process = None
        atexit.register(self._leave_nothing)  # also when a test fails before it stops its server
        self.start()

    def start(self, *more):
        """Start the server: the first time on any free port, later on the same one."""
        if self.port is not None:
            self._start(more)
            return
        for _ in range(20):
            self.port = free_port()
            try:
                self._start(more)
                return
            except PortTaken:  # by another process, since it was found free
                pass
        raise AssertionError("no port stays free")

    def _start(self, more):
        environment = dict(os.environ)
        if PRELOAD:
            environment["LD_PRELOAD"] = PRELOAD
            environment["ASAN_OPTIONS"] = "detect_leaks=0:abort_on_error=0:exitcode=99"
        self.log = open(os.path.join(self.directory, "log"), "ab")
        command = [SERVER, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.directory,
                   "--enable-debug-command", "yes", "--loglevel", "notice", "--protected-mode", "no"]
        if "--save" not in self.options:
            command += ["--save", ""]
        if self.module:
            command += ["--loadmodule", *self.module]
        self.process = subprocess.Popen(command + self.options + list(more), env=environment,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        wait_until(self._answers, f"the server on port {self.port} answers")

    def _answers(self):
        if self.process.poll() is not None:
            text = self.log_text()
            raise (PortTaken if "Address already in use" in text else AssertionError)("the server ended:\n" + text[-4000:])
        try:
            info = self.call("INFO").decode()
        except (Error, Gone, OSError):
            return False
        return f"process_id:{self.process.pid}\r" in info and "\nloading:0\r" in info

    def log_text(self):
        with open(os.path.join(self.directory, "log"), errors="replace") as log:
            return log.read()

    def wait_for_rewrite(self):
        """Wait until the append-only file is rewritten."""
        def rewritten():
            info = self.info("persistence")
            return "aof_rewrite_in_progress:0" in info and "aof_rewrite_scheduled:0" in info
        wait_until(rewritten, "the append-only file is rewritten")

    def client(self, resp=2):
        """A connection, which is closed with the server."""
        client = Client(self.port, resp)
        self.clients.append(client)
        return client

    def call(self, *args):
        """One command, on a connection that is closed after it: so a test may ask again and again."""
        return call_once(self.port, *args)

    def info(self, section):
        return self.call("INFO", section).decode()

    def blocked(self):
        """How many clients are blocked."""
        return int(self.info("clients").split("blocked_clients:")[1].split()[0])

    def is_primary(self):
        return "role:master" in self.info("replication")

    def kill(self):
        """kill -9: like a power failure, except that the operating system's caches survive."""
        self._end(signal.SIGKILL)

    def _leave_nothing(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _end(self, how):
        for client in self.clients:
            client.close()
        self.clients = []
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(how)
        try:
            self.process.wait(HANG)
        finally:
            self.log.close()

    def stop(self):
        """Stop the server. Fails if it had ended before, or if its log shows an error."""
        alive = self.process.poll() is None
        self._end(signal.SIGKILL)
        text = self.log_text()
        shutil.rmtree(self.directory, ignore_errors=True)
        for sign in ("AddressSanitizer", "runtime error", "ASSERTION FAILED", "crashed by signal"):
            if sign in text:
                raise AssertionError(text[-8000:])
        if not alive:
            raise AssertionError("the server had ended by itself:\n" + text[-8000:])


class ServerTest(unittest.TestCase):
    """Tests that share a server. Each begins with an empty one, at START if the clock stands still."""
    options = ()
    clock = START
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.options, clock=cls.clock)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def setUp(self):
        self.redis = self.server.client()
        self.redis.call("FLUSHALL")
        if self.clock is not None:
            self.set_clock(START)

    def tearDown(self):
        for client in self.server.clients:
            client.close()
        self.server.clients = []

    def call(self, *args):
        return self.redis.call(*args)

    def set_clock(self, ms):
        self.now = ms
        self.call("PAWL.CLOCK", ms)

    def pass_ms(self, ms):
        self.set_clock(self.now + ms)

    def fails(self, start, *args):
        """The command fails with an error that begins with this text, and changes nothing."""
        before = self.call("DEBUG", "DIGEST")
        with self.assertRaises(Error) as caught:
            self.call(*args)
        self.assertTrue(str(caught.exception).startswith(start),
                        f"{args}: {caught.exception} does not begin with {start}")
        self.assertEqual(self.call("DEBUG", "DIGEST"), before, f"{args} failed and changed something")
        return str(caught.exception)

    def make_large(self, key="q"):
        """Adds many tasks that are due in weeks, so that the queue has the form of a large one."""
        self.call("PAWL.MPUT", key, *(word for n in range(4500) for word in (10**9 + n, "in weeks")))

    def take_all(self, key="q"):
        return [task[1] for task in self.call("PAWL.TAKE", key, "COUNT", 10000) or []]

    def block(self, *args):
        """A client that is blocked in the given command: the server says so."""
        client = self.server.client()
        before = self.blocked()
        client.send(*args)
        wait_until(lambda: self.blocked() > before, f"blocked in {args}")
        return client

    def blocked(self):
        return self.server.blocked()


def crc64(data, table=[]):
    """The checksum at the end of a DUMP (CRC-64 of Jones), so that a damaged value can have a valid one."""
    if not table:
        for byte in range(256):
            crc = byte
            for _ in range(8):
                crc = (crc >> 1) ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
            table.append(crc)
    crc = 0
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ (crc >> 8)
    return struct.pack("<Q", crc)


def in_pairs(reply):
    """A map, which RESP2 gives as a list of pairs."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))
