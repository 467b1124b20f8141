# SPDX-License-Identifier: MIT
"""The code that the tests of the `pawl` command share: the command, a page that it serves, and a clock that only bounds a hang.
The first argument is the command."""
import http.client
import os
import pty
import re
import socket
import subprocess
import sys
import time
import unittest

PAWL = os.path.abspath(sys.argv.pop(1))
RELEASE = os.environ.get("PAWL_RELEASE", PAWL)  # the same with a library that checks nothing
SANITIZED = b"__asan_init" in open(PAWL, "rb").read()
HANG = int(os.environ.get("PAWL_HANG_SECONDS", 1200))  # seconds after which a test counts as hung, however slow the machine is


def environment(**variables):
    """The environment without what changes the command: a locale, colours, defaults of options."""
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", "LC_CTYPE", "LANG", "PAWL_TEXT", "REDISCLI_AUTH")
             and not k.startswith(("PAWL_BOARD", "PAWL_TOP"))}
    return {**plain, "LC_ALL": "C", **variables}


def pawl(*arguments, stdin="", **variables):
    """Run it to its end: the exit code, standard output and standard error."""
    done = subprocess.run([PAWL, *arguments], input=stdin.encode(), capture_output=True, timeout=HANG,
                          env=environment(**variables))
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def start(*arguments, program=PAWL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **variables):
    return subprocess.Popen([program, *arguments], stdin=stdin, stdout=stdout, stderr=stderr, env=environment(**variables))


def start_full(output, *arguments, **variables):
    """With a standard output that is full, until it waits for room there. Returns it, and the end that it is read from."""
    ours, its = output()
    fill(its)
    process = start(*arguments, stdout=its, **variables)
    os.close(its)
    wait_for_write(process, 1)
    return process, ours


def on_a_terminal(*arguments, **variables):
    """Its output when its standard output is a terminal, and its exit code."""
    ours, its = pty.openpty()
    process = subprocess.Popen([PAWL, *arguments], stdout=its, env=environment(TERM="xterm", **variables))
    os.close(its)
    written = read_all(ours)
    return process.wait(HANG), written.decode()


def fill(fd):
    """Write dots to a pipe or a terminal until there is no room."""
    os.set_blocking(fd, False)
    try:
        while True:
            os.write(fd, b"." * 1000)
    except BlockingIOError:
        os.set_blocking(fd, True)


def about(process, file):
    with open(f"/proc/{process.pid}/{file}") as text:
        return text.read()


def wait_for_write(process, fd):
    """Until it sleeps in a system call on this descriptor of its own, which is full."""
    while about(process, "syscall").split()[1:2] != [hex(fd)]:
        assert process.poll() is None
        time.sleep(0.01)


def deliver(process, number):
    """Send a signal, and wait until its handler runs: a write that it interrupts has returned."""
    process.send_signal(number)
    while int(re.search(r"ShdPnd:\s+(\w+)", about(process, "status"))[1], 16) >> (number - 1) & 1:
        time.sleep(0.01)


def read_all(fd):
    """To its end. A terminal fails when the other end is closed."""
    read = b""
    try:
        while chunk := os.read(fd, 65536):
            read += chunk
    except OSError:
        pass
    os.close(fd)
    return read


def wait_until(condition, what="it happens"):
    end = time.monotonic() + HANG
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"still not so: {what}")
        time.sleep(0.01)


def free_tcp_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Site:
    """A command that serves a page, and what it printed first."""

    def __init__(self, *words, listen="127.0.0.1:0", descriptors=None, **variables):
        limit = ["prlimit", f"--nofile={descriptors}"] if descriptors else []
        self.process = subprocess.Popen([*limit, PAWL, *map(str, words), "--listen", listen], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(**variables))
        self.said = self.process.stdout.readline().decode()
        self.address = re.search(r"https?://(\S+?)/", self.said)
        if not self.address:
            raise AssertionError(self.said + self.process.stderr.read().decode())
        self.ip = listen.rpartition(":")[0] if listen.startswith("127.") else "127.0.0.1"
        self.port = int(listen.rpartition(":")[2]) or int(self.address[1].rpartition(":")[2])
        self.host = f"127.0.0.1:{self.port}"

    def request(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.ip, self.port, timeout=HANG)
        connection.request(method, path, body, {"Host": self.host, **{k.replace("_", "-"): v for k, v in headers.items()}})
        response = connection.getresponse()
        response.body = response.read()
        connection.close()
        return response

    def cpu_seconds(self):
        user, system = about(self.process, "stat").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def end(self):
        """By SIGTERM: the exit code and what it said."""
        self.process.terminate()
        out, err = self.process.communicate(timeout=HANG)
        return self.process.returncode, out.decode() + err.decode()


class CommandTest(unittest.TestCase):
    maxDiff = None

    def expect_usage(self, *arguments, says, expected=2, **variables):
        """It ends at once, and says all of this on standard error. Returns what it said."""
        code, out, err = pawl(*arguments, **variables)
        self.assertEqual((code, out), (expected, ""), arguments)
        for part in says:
            self.assertIn(part, err)
        return err

    def expect_good_end(self, site, says=""):
        code, said = site.end()
        self.assertEqual(code, 0, said)
        self.assertIn(says, said)
        self.assertNotIn("Sanitizer", said)


def main():
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[1:]])
