# SPDX-License-Identifier: MIT
"""pawl top: what it shows of a running program, and what it says when there is none."""
import ctypes
import json
import mmap
import os
import pty
import re
import signal
import tempfile
import time

import command
from command import HANG, CommandTest, deliver, on_a_terminal, pawl, read_all, start, start_full
from inspected import SNAPSHOT, Service, line


class Demo:
    """A real program: pawl demo, for as long as a test needs it."""

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = f"{self.directory.name}/socket"
        self.process = start("demo", "--count", "20000", "--seconds", "3600", "--inspect", self.path)
        while not os.path.exists(self.path):
            assert self.process.poll() is None
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.directory.cleanup()


class Top(CommandTest):
    def test_all_of_a_snapshot_is_shown_once_where_there_is_no_terminal(self):
        with Service(line()) as service:
            code, out, err = pawl("top", service.path, LC_ALL="C.UTF-8")
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn("\033", out)
        for shown in ("orders  process", "2 workers, 4 shards, tick 1 ms; pawl 9.8.7",
                      "pending 1,500  armed 5,000  ran 3,000  cancelled 500  wake-ups 40",
                      "estimated from 700 of 1,500 tasks", "user \u00e4    \"7\"", "(others)"):
            self.assertIn(shown, out)
        self.assertRegex(out, r"since it opened +1\.00 us +1\.90 ms +1\.90 ms +500 ns +500 ns +500 ns")
        self.assertRegex(out, r"due, not run yet +5 \u00b14 ")
        self.assertRegex(out, r"within 1 s +1,000 \u00b139 +\u2588{40}")
        self.assertRegex(out, r"beyond 1 s +495 \u00b138 ")
        self.assertRegex(out, r"  0x10 +1,000 \u00b137 +- +500 ns +2\.00 us\n")
        self.assertRegex(out, r"  0x10 +999 ms +1\.00 ms +500 ns  2\n")
        self.assertRegex(out, r"20 operations, watched 30 times; completed 6, expired 4")
        self.assertRegex(out, r"0123456789abcdef01234567 +17  user")

    def test_hours_are_not_told_in_seconds(self):
        hour = 3_600_000_000_000
        due = [[0, 0, 0], [60_000_000_000, 700, 0], [6 * hour, 300, 0], [None, 500, 0]]
        run = {**SNAPSHOT["latest"][0], "start_ns": SNAPSHOT["now_ns"] + 7 * hour, "took_ns": 125_000_000_000}
        with Service(line(due=due, latest=[run], now_ns=SNAPSHOT["now_ns"] + 10 * hour)) as service:
            out = pawl("top", service.path)[1]
        for shown in (r"within 1 min +700 ", r"within 6 h +300 ", r"beyond 6 h +500 ", r"  0x10 +3 h +7 h +2 min 5 s  2\n"):
            self.assertRegex(out, shown)

    def test_a_count_of_one_is_singular(self):
        one = {**SNAPSHOT["purgatories"][0], "watched": 1, "delayed": 1}
        with Service(line(purgatories=[one])) as service:
            self.assertIn("1 operation, watched 1 time; ", pawl("top", service.path)[1])

    def test_an_exact_snapshot_is_not_called_an_estimate(self):
        with Service(line(sampled=1500)) as service:
            out = pawl("top", service.path, LC_ALL="C.UTF-8")[1]
        self.assertNotIn("estimated", out)
        self.assertNotIn("\u00b1", out)

    def test_json_is_the_snapshot_with_names(self):
        with Service(line()) as service:
            code, out, err = pawl("top", "--json", "--once", service.path)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(json.loads(out), {**SNAPSHOT, "names": {"0x10": "0x10"}})
        self.assertEqual(out.count('"0x10":'), 1)  # although it is a function and the slowest one

    def test_json_names_a_slowest_function_that_no_task_has_now(self):
        with Service(line(functions=[])) as service:
            self.assertEqual(json.loads(pawl("top", "--json", "--once", service.path)[1])["names"], {"0x10": "0x10"})

    def test_a_function_of_a_real_program_has_its_name(self):
        with Demo() as demo:
            while True:  # until it has armed some
                snapshot = json.loads(pawl("top", "--json", "--once", demo.path)[1])
                if snapshot["pending"] > 1000:
                    break
            self.assertIn("run_once", snapshot["names"].values())
            self.assertEqual(sum(count for _, count, _ in snapshot["due"]), snapshot["pending"])
            self.assertIn("run_once", pawl("top", demo.path)[1])

    def test_the_name_of_a_file_cannot_control_the_terminal(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(f"{directory}/a\x1b[2J\u009b\"b", "w+b") as file:
                file.write(bytes(4096))
                file.flush()
                memory = mmap.mmap(file.fileno(), 4096)
                address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            functions = [{"function": hex(address), "pending": 1, "runs": 1, "total_ns": 1, "longest_ns": 1}]
            with Service(line(functions=functions)) as service:
                code, out, err = pawl("top", service.path)
            with Service(line(functions=functions)) as service:
                names = json.loads(pawl("top", "--json", "--once", service.path)[1])["names"]
        self.assertEqual((code, err), (0, ""))
        self.assertIn('a [2J  "b+0x', out)
        self.assertNotRegex(out, "[\x1b\u009b]")
        self.assertRegex(names[hex(address)], r'^a \[2J  "b\+0x')

    def test_json_is_utf_8_whatever_names_consist_of(self):
        strange = b"caf\xc3\xa9 \xe4\xf8\x90\x80\x80\xc3"
        shown = "caf\u00e9 " + "\ufffd" * 6
        with tempfile.TemporaryDirectory() as directory:
            with open(directory.encode() + b"/" + strange, "w+b") as file:
                file.write(bytes(4096))
                file.flush()
                memory = mmap.mmap(file.fileno(), 4096)
                address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            functions = [{"function": hex(address), "pending": 1, "runs": 1, "total_ns": 1, "longest_ns": 1}]
            with Service(line(functions=functions, name="N").replace(b'"N"', b'"' + strange + b'"')) as service:
                code, out, err = pawl("top", "--json", "--once", service.path)
        self.assertEqual((code, err), (0, ""))
        snapshot = json.loads(out)
        self.assertEqual(snapshot["name"], shown)
        self.assertTrue(snapshot["names"][hex(address)].startswith(shown + "+0x"), snapshot["names"])

    def on_terminal(self, *arguments):
        """A command whose input and output are a terminal, and the other end of that."""
        ours, its = pty.openpty()
        process = start("top", *arguments, stdin=its, stdout=its, stderr=None, TERM="xterm")
        os.close(its)
        return process, ours

    def read_until(self, terminal, condition):
        written = b""
        while not condition(written):
            written += os.read(terminal, 65536)
        return written

    def test_on_a_terminal_it_goes_on_until_q(self):
        later = line(ran=4000, lateness={"count": 4000, "max_ns": 1_900_000, "cells": [[1000, 2500], [2_000_000, 1500]]})
        with Service(line(), later) as service:
            process, ours = self.on_terminal("--interval", "0.1", service.path)
            written = self.read_until(ours, lambda text: b"a second:" in text and text.count(b"\033[H") >= 3)
            os.write(ours, b" ")
            written += self.read_until(ours, lambda text: b"PAUSED" in text)
            os.write(ours, b"q")
            self.read_until(ours, lambda text: b"\033[?1049l" in text)
            self.assertEqual(process.wait(HANG), 0)
            os.close(ours)
        text = written.decode()
        self.assertTrue(text.startswith("\033[?1049h"))
        self.assertRegex(re.sub(r"\033\[[^a-zA-Z]*[a-zA-Z]", "", text), r"now +1\.00 us +1\.00 us +1\.00 us")

    def test_a_signal_puts_the_terminal_back(self):
        with Service(line()) as service:
            process, ours = self.on_terminal(service.path)
            self.read_until(ours, lambda text: b"orders" in text)
            process.send_signal(signal.SIGTERM)
            self.read_until(ours, lambda text: b"\033[?1049l" in text)
            self.assertEqual(process.wait(HANG), 0)
            os.close(ours)

    def test_a_signal_during_a_write_loses_nothing(self):
        for output, options in ((pty.openpty, []), (os.pipe, ["--json"])):
            with self.subTest(options), Service(line()) as service:
                process, ours = start_full(output, "top", *options, service.path, TERM="xterm")
                deliver(process, signal.SIGTERM)
                written = read_all(ours).decode().lstrip(".")
                self.assertEqual(process.communicate(timeout=HANG), (None, b""))
                self.assertEqual(process.returncode, 0)
                if options:
                    self.assertEqual({json.loads(text)["name"] for text in written.splitlines()}, {"orders"})
                else:
                    self.assertTrue(written.startswith("\033[?1049h") and written.endswith("\033[?1049l"), written)

    def test_a_signal_ends_the_wait_for_an_answer(self):
        with Service(line(), None) as service, start("top", "--json", "--interval", "0.1", service.path) as process:
            while service.asked < 2:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=HANG)
            self.assertEqual((process.returncode, out.count(b"\n"), err), (0, 1, b""))

    def test_a_second_signal_ends_it_though_nobody_reads(self):
        with Service(line()) as service:
            process, ours = start_full(os.pipe, "top", "--json", service.path)
            deliver(process, signal.SIGTERM)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(HANG), -signal.SIGTERM)
            process.communicate()
            os.close(ours)

    def test_once_on_a_terminal_is_once(self):
        with Service(line()) as service:
            code, out = on_a_terminal("top", "--once", service.path)
        self.assertEqual(code, 0)
        self.assertNotIn("\033[?1049h", out)
        self.assertIn("orders", out)

    def test_a_service_that_ends_is_said_after_the_screen_is_put_back(self):
        with Service(line(), hang_up=True) as service:
            code, out = on_a_terminal("top", "--interval", "0.1", service.path)
        self.assertEqual(code, 1)
        self.assertTrue(out.rstrip().endswith("\033[?1049l"), out[-100:])

    def test_json_ends_with_the_service(self):
        with Service(line(), line(), hang_up=True) as service:
            code, out, err = pawl("top", "--json", "--interval", "0.1", service.path)
        self.assertEqual((code, out.count("\n")), (1, 2))
        self.assertIn("has closed the connection", err)

    def test_a_bad_socket_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            self.expect_usage("top", f"{directory}/nothing", says=["cannot connect to", "nothing", "No such file"])
            plain = f"{directory}/plain"
            open(plain, "w").close()
            self.expect_usage("top", plain, says=["cannot connect to", "plain", "refused"])
            self.expect_usage("top", "x" * 200, says=["the path has 200 bytes", "at most 107"])
        self.expect_usage("top", "", says=["the path of the socket is empty", "1 to 107 bytes"])
        self.expect_usage("top", says=["SOCKET is missing"])
        self.expect_usage("top", "a", "b", says=["too many"])
        self.expect_usage("top", "--interval", "0", "a", says=["--interval", "0.1", "3600"])

    def test_conflicting_options_are_named(self):
        for options, says in ((["--page", "--once"], ["--page is given with --once"]), (["--page", "--json"], ["with --json"]),
                              (["--interval", "1", "--page"], ["with --interval"]),
                              (["--listen", "127.0.0.1:0"], ["--listen requires --page"]),
                              (["--token-file", "x"], ["--token-file requires --page"]),
                              (["--origin", "http://x"], ["--origin requires --page"])):
            self.expect_usage("top", *options, "a", says=["top: ", *says])
        self.expect_usage("top", "--page", says=["SOCKET is missing"])
        self.expect_usage("top", "--page", "a", "b", says=["too many"])

    def test_a_text_that_is_not_a_snapshot_is_refused(self):
        for answer in (b"", b"hello", b"[]", b"{}", line(format=2), line()[:-1], line() + b"x", b'{"a":' + b"[" * 10000,
                       b'{"armed":-1}', b'{"name":"\\', b'{"due":[[1,2],[3]]}', line(name="a\x1b").replace(b"\\u001b", b"\x1b"),
                       b'{"format":1,"a":\x1b}', b'{"format":1,"a":}', b"\x1b[2J\xc2\x9b"):
            with Service(answer) as service:
                code, out, err = pawl("top", service.path)
            self.assertEqual((code, out), (1, ""), answer[:40])
            self.assertIn("is no snapshot", err)
            self.assertNotRegex(err, "[\x1b\u009b]")

    def test_an_answer_that_comes_byte_by_byte_is_not_waited_for_to_its_end(self):
        with Service(line(), pause=0.5) as service:
            code, out, err = pawl("top", service.path)
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f"'{service.path}' has not answered for 10 seconds", err)

    def test_an_answer_that_is_too_long_is_told_with_the_limit(self):
        with Service(b"x" * (1 << 27)) as service:
            code, _, err = pawl("top", service.path)
        self.assertEqual(code, 1)
        self.assertIn(f"the answer of '{service.path}' is longer than 67108864 bytes", err)

    def test_a_long_text_with_escapes_is_read_in_one_pass(self):
        with Service(line(name="\x01" * 2_000_000)) as service:
            code, _, err = pawl("top", service.path)
        self.assertEqual((code, err), (0, ""))

    def test_json_has_no_character_that_a_terminal_obeys(self):
        name = "a\x7f\u0080\u009b2J\u00a0\u00e4"
        with Service(json.dumps({**SNAPSHOT, "name": name}, ensure_ascii=False).encode()) as service:
            code, out, err = pawl("top", "--json", "--once", service.path)
        self.assertEqual((code, err), (0, ""))
        self.assertNotRegex(out, "[\x7f-\x9f]")
        self.assertEqual(json.loads(out)["name"], name)

    def test_demo_says_why_it_cannot_be_inspected(self):
        code, _, err = pawl("demo", "--count", "1", "--inspect", "/nowhere/at/all")
        self.assertEqual(code, 1)
        self.assertIn("--inspect '/nowhere/at/all' cannot be served: No such file", err)


command.main()
