# SPDX-License-Identifier: MIT
"""The code that the tests of the `pawl` command share: the command, and a clock that only bounds a hang."""
import os
import pty
import re
import subprocess
import sys
import time
import unittest

PAWL = os.path.abspath(sys.argv.pop(1))
RELEASE = os.environ.get("PAWL_RELEASE", PAWL)  # the same with a library that checks nothing
SANITIZED = b"__asan_init" in open(PAWL, "rb").read()
HANG = 1200  # seconds after which a test counts as hung, however slow the machine is


def environment(**variables):
    """The environment without what changes the output: a locale, colours."""
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", "LC_CTYPE", "LANG", "PAWL_TEXT")}
    return {**plain, "LC_ALL": "C", **variables}


def pawl(*arguments, stdin="", **variables):
    """Run it to its end: the exit code, standard output and standard error."""
    done = subprocess.run([PAWL, *arguments], input=stdin.encode(), capture_output=True, timeout=HANG,
                          env=environment(**variables))
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def start(*arguments, program=PAWL, **variables):
    return subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=environment(**variables))


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


class CommandTest(unittest.TestCase):
    maxDiff = None

    def expect_usage(self, *arguments, says):
        code, out, err = pawl(*arguments)
        self.assertEqual((code, out), (2, ""), arguments)
        for part in says:
            self.assertIn(part, err)


def main():
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[1:]])
