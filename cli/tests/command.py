# SPDX-License-Identifier: MIT
"""The code that the tests of the `pawl` command share: the command, and a clock that only bounds a hang."""
import os
import pty
import subprocess
import sys
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
    written = b""
    try:
        while chunk := os.read(ours, 4096):
            written += chunk
    except OSError:
        pass  # the terminal is closed when the command has ended
    os.close(ours)
    return process.wait(HANG), written.decode()


class CommandTest(unittest.TestCase):
    maxDiff = None

    def expect_usage(self, *arguments, says):
        code, out, err = pawl(*arguments)
        self.assertEqual((code, out), (2, ""), arguments)
        for part in says:
            self.assertIn(part, err)


def main():
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[1:]])
