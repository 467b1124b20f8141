# SPDX-License-Identifier: MIT
"""pawl demo: its numbers add up, whatever the machine does meanwhile."""
import os
import re
import signal
import subprocess
import tempfile

import command
from command import HANG, PAWL, SANITIZED, CommandTest, deliver, environment, on_a_terminal, pawl, read_all, start, start_full


def number(text):
    return int(text.replace(",", ""))


def account(out, name):
    """The numbers of a line `name SUM = A word + B word...`."""
    line = re.search(rf"^  {name} +([\d,]+) = (.*)$", out, re.M)
    return number(line[1]), [number(n) for n in re.findall(r"[\d,]*\d", line[2])]


class Demo(CommandTest):
    def expect_account(self, out):
        """Its numbers add up, and there is no fault. Returns the number of tasks and how many the service has dropped."""
        armed, [ran, cancelled, dropped] = account(out, "armed")
        self.assertEqual(armed, ran + cancelled + dropped)
        once, parts = account(out, "once")
        self.assertEqual(once, sum(parts))
        self.assertEqual(parts[3], 0, "lost")
        periodic = number(re.search(r"^  periodic +([\d,]+)", out, re.M)[1])
        self.assertIn(dropped - parts[2], (0, periodic))
        self.assertIn("early 0   lost 0   run twice 0   run after cancel 0   the numbers add up", out)
        rows = re.findall(r"^  (?:below |beyond) \S+ \w+ +([\d,]+) ", out, re.M)
        self.assertEqual(sum(map(number, rows)), parts[0])
        return once + periodic, dropped

    def expect_fine(self, code, out, count):
        self.assertEqual(code, 0, out)
        self.assertEqual(self.expect_account(out), (count, 0))
        moved, moves = account(out, "moved")
        self.assertEqual(moved, sum(moves))
        self.assertEqual(len(moves), 2)
        if account(out, "once")[1][0] > 0:
            self.assertGreater(moved, 0, "what has run was moved, or its slot became due as a whole")

    def test_the_numbers_add_up(self):
        for count in (1, 2, 3, 4, 30000):
            for workers in ("1", "4"):
                code, out, err = pawl("demo", "--count", str(count), "--seconds", "0.3", "--workers", workers)
                self.assertEqual(err, "")
                self.expect_fine(code, out, count)

    def test_a_seed_is_shown_and_taken(self):
        self.assertIn("workers 2, seed 42\n", pawl("demo", "--count", "9", "--seconds", "0.1", "--seed", "42",
                                                  "--workers", "2")[1])

    def test_plain_lines_where_there_is_no_terminal(self):
        code, out, err = pawl("demo", "--count", "3000", "--seconds", "1.5", TERM="xterm")
        self.expect_fine(code, out, 3000)
        self.assertNotIn("\033", out)
        self.assertTrue(out.isascii())
        self.assertTrue(out.startswith("3,000 tasks in 1.5 s: "), out)
        self.assertRegex(out, r"(?m)^ *\d+\.\d+ s +\d+ %  pending [\d,]+, fired [\d,]+, cancelled [\d,]+; late p50 .*; "
                              r"[\d,]+ wake-ups?; moved ahead [\d,]+, at an opening [\d,]+$")
        self.assertRegex(out, r"(?m)^  wake-ups +[\d,]+   [\d,]+ spurious$")
        self.assertNotRegex(out, r"(?m)^  (?:below |beyond) \d+\.0")  # bounds are exact: 50 us, not 50.0 us

    def test_a_live_display_on_a_terminal(self):
        code, out = on_a_terminal("demo", "--count", "3000", "--seconds", "0.5", NO_COLOR="1")
        self.expect_fine(code, out.replace("\r\n", "\n"), 3000)
        self.assertIn("\033[4A", out)  # back up, to draw again
        self.assertEqual(out.count("\033[?7l"), out.count("\033[?7h"))  # lines wrap again afterwards
        self.assertRegex(out, r"100 %")
        self.assertNotIn("\033[1m", out)
        for line in re.split(r"[\r\n]+", re.sub(r"\033\[[?\d;]*[A-Za-z]", "", out)):
            self.assertLessEqual(len(line), 80, line)

    def interrupted(self, until, *arguments, by=signal.SIGINT):
        """Interrupt it when it has written this. Returns all that it has written."""
        process = start("demo", *arguments)
        out = b""
        while until not in out:
            out += process.stdout.read1()
            self.assertIsNone(process.poll())
        process.send_signal(by)
        rest, err = process.communicate(timeout=HANG)
        out = (out + rest).decode()
        self.assertEqual((process.returncode, err), (128 + by, b""), out)
        return out

    def test_an_interrupted_demo_accounts_for_every_task(self):
        for by in (signal.SIGINT, signal.SIGTERM):
            out = self.interrupted(b"pending", "--count", "3000", "--seconds", "3600", by=by)
            count, dropped = self.expect_account(out)
            self.assertEqual(count, 3000)
            self.assertGreater(dropped, 0)
            self.assertIn(f"Interrupted: {dropped:,} pending tasks were dropped.", out)
            self.assertTrue(out.startswith("3,000 tasks in 1 h: "), out)

    def test_interrupted_while_it_arms_and_while_tasks_run(self):
        """Whenever the signal comes: before, while or after all are armed."""
        out = self.interrupted(b"seed", "--count", "400000", "--seconds", "60", "--workers", "2")
        self.assertLessEqual(self.expect_account(out)[0], 400000)
        self.expect_account(self.interrupted(b"pending", "--count", "100000", "--seconds", "30"))

    def test_an_interrupt_during_a_write_loses_nothing(self):
        process, ours = start_full(os.pipe, "demo", "--count", "9")
        deliver(process, signal.SIGINT)
        out = read_all(ours).decode().lstrip(".")
        self.assertEqual((process.wait(HANG), process.communicate()), (130, (None, b"")))
        self.assertTrue(out.startswith("9 tasks in 10 s: "), out)
        self.expect_account(out)

    def test_an_interrupted_demo_leaves_no_socket_behind(self):
        with tempfile.TemporaryDirectory() as directory:
            self.interrupted(b"seed", "--count", "10", "--seconds", "3600", "--inspect", f"{directory}/socket")
            self.assertEqual(os.listdir(directory), [])

    def test_without_memory_it_ends_and_says_so(self):
        if SANITIZED:
            self.skipTest("a sanitizer needs all addresses there are")
        done = subprocess.run(["sh", "-c", 'ulimit -v 2000000; exec "$0" demo --count 100000000', PAWL], capture_output=True,
                              timeout=HANG, env=environment())
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertEqual(done.stderr, b"pawl: demo: there is no memory for 100000000 tasks, or no thread for a worker\n")

    def test_bad_options_name_the_thing_the_value_and_the_range(self):
        self.expect_usage("demo", "--count", "0", says=["--count", "'0'", "1 to 100000000"])
        self.expect_usage("demo", "--count", "1e6", says=["--count", "'1e6'"])
        self.expect_usage("demo", "--seconds", "0.01", says=["--seconds", "'0.01'", "0.1 to 3600"])
        self.expect_usage("demo", "--seconds", "nan", says=["--seconds", "'nan'"])
        self.expect_usage("demo", "--seconds", "1.2.3", says=["--seconds", "'1.2.3'"])
        self.expect_usage("demo", "--workers", "1025", says=["--workers", "'1025'", "1 to 1024"])
        self.expect_usage("demo", "--seed", "-1", says=["--seed", "'-1'"])
        self.expect_usage("demo", "now", says=["'now'", "options only"])


command.main()
