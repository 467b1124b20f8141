# SPDX-License-Identifier: MIT
"""pawl run, as a process. Nothing here depends on how fast the machine is: what is tested is order, counts, and that
nothing is early."""
import array
import fcntl
import itertools
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time

import command
from command import (HANG, PAWL, RELEASE, SANITIZED, CommandTest, deliver, environment, fill, pawl, read_all, start,
                     wait_for_write, wait_until)


def lines(*texts):
    return "".join(text + "\n" for text in texts)


def send(process, *texts):
    process.stdin.write(lines(*texts).encode())
    process.stdin.flush()


def next_line(stream):
    return stream.readline().decode().rstrip("\n")


def line_from(fd):
    """The same without a buffer; a terminal also adds a carriage return at its end."""
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(fd, 1) or b"(end)\n"
    return line.decode().rstrip("\r\n")


def end(process):
    """Close its input and let it end: the exit code, the rest of standard output and of standard error."""
    out, err = process.communicate(timeout=HANG)
    return process.returncode, out.decode(), err.decode()


def statistics(process):
    """For a process that has begun: before that the signal would end it."""
    process.send_signal(signal.SIGUSR1)
    return next_line(process.stderr)


def status_of(pid):
    """State and parent of a process; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            state, parent = file.read().rsplit(")", 1)[1].split()[:2]
            return state, int(parent)
    except (FileNotFoundError, ProcessLookupError):
        return None


def is_alive(pid):
    status = status_of(pid)
    return status is not None and status[0] != "Z"


def children_of(process):
    """Also those that have ended and were not waited for."""
    statuses = (status_of(name) for name in os.listdir("/proc") if name.isdigit())
    return [status for status in statuses if status and status[1] == process.pid]


def feed(process, texts):
    """A thread that writes these texts until their reader is gone."""
    def write():
        try:
            for text in texts:
                process.stdin.write(text.encode())
                process.stdin.flush()
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def drop(process):
    """Close what is left of one that has ended."""
    for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
        try:
            stream.close()
        except BrokenPipeError:
            pass


def is_stuck(process):
    """Whether it sleeps although it has not read all of its input: so it does not get rid of its output."""
    asleep = status_of(process.pid)[0] == "S"
    unread = array.array("i", [0])
    fcntl.ioctl(process.stdin, termios.FIONREAD, unread)
    return asleep and unread[0] >= 32768


class Lines(CommandTest):
    def test_lines_come_out_by_their_time(self):
        self.assertEqual(pawl("run", stdin=lines("400ms c", "0s a", "200ms b")), (0, "a\nb\nc\n", ""))

    def test_lines_of_the_same_delay_keep_their_order(self):
        numbers = [str(i) for i in range(1000)]
        self.assertEqual(pawl("run", stdin=lines(*(f"50ms {n}" for n in numbers))), (0, lines(*numbers), ""))

    def test_nothing_is_early(self):
        process = start("run")
        begin = time.monotonic()
        send(process, "300ms 0.3", "10ms 0.01", "0.1s 0.1", "1500us 0.0015")
        for _ in range(4):
            delay = float(next_line(process.stdout))
            self.assertGreaterEqual(time.monotonic() - begin, delay)
        self.assertEqual(end(process), (0, "", ""))

    def test_text_is_passed_on_as_it_is(self):
        text = "  two before, ümläut \t and # more "
        self.assertEqual(pawl("run", stdin=lines("0s " + text, "0s", "0s "))[1], lines(text, "", ""))

    def test_a_named_line_is_replaced(self):
        self.assertEqual(pawl("run", stdin=lines("=a 1h old", "=b 1h other", "=a 1ms new", "=b every 1h x", "!b")),
                         (0, "new\n", ""))

    def test_a_name_is_free_again_when_its_line_has_come(self):
        process = start("run")
        send(process, "=a 0s first")
        self.assertEqual(next_line(process.stdout), "first")
        send(process, "!a", "=a 0s second")
        self.assertEqual(end(process), (0, "second\n", ""))

    def test_a_cancelled_line_never_comes(self):
        self.assertEqual(pawl("run", stdin=lines("=a 1h x", "!a", "!never-there", "0s y")), (0, "y\n", ""))

    def test_every_goes_on_until_it_is_cancelled(self):
        process = start("run")
        begin = time.monotonic()
        send(process, "=beat every 20ms beat")
        for beat in range(1, 6):
            self.assertEqual(next_line(process.stdout), "beat")
            self.assertGreaterEqual(time.monotonic() - begin, beat * 0.02)
        send(process, "!beat")
        code, out, err = end(process)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(set(out.split()) | {"beat"}, {"beat"})

    def test_times_that_have_passed_fire_at_once(self):
        self.assertEqual(pawl("run", stdin=lines("@2020-01-01T00:00:00Z a", "@1 b", "@2020-01-01T00:00:00+05:30 c")),
                         (0, "a\nb\nc\n", ""))

    def test_future_times_are_not_early_by_the_wall_clock(self):
        due = time.time() + 0.3
        code, out, err = pawl("run", stdin=lines(f"@{due:.6f} now"))
        self.assertGreaterEqual(time.time(), due - 1e-6)
        self.assertEqual((code, out, err), (0, "now\n", ""))

    def test_local_times_that_have_passed_come_at_once(self):
        self.assertEqual(pawl("run", stdin=lines("@2020-01-01T00:00[Europe/Berlin] a", "@2020-03-29T02:30[Europe/Berlin] b")),
                         (0, "a\nb\n", ""))
        self.assertEqual(pawl("run", "--zone", "Europe/Berlin", stdin="@2020-01-01T00:00 a\r\n"), (0, "a\n", ""))
        self.assertEqual(pawl("run", "--zone", "local", stdin="@2020-01-01T00:00 a\n"), (0, "a\n", ""))

    def test_lines_by_the_calendar_wait_until_they_are_cancelled(self):
        dos = lines("=a cron[Europe/Berlin] 0 0 29 2 * x\r", "=b daily[UTC] 02:30 x\r", "=c cron[UTC] @yearly x\r",
                    "!a\r", "!b\r", "!c\r")
        self.assertEqual(pawl("run", stdin=dos), (0, "", ""))

    def test_a_cron_line_comes_and_stays(self):
        """It takes up to a minute: the next full one of the wall clock."""
        with start("run", "--zone", "UTC") as process:
            send(process, "cron * * * * * tick")
            self.assertEqual(next_line(process.stdout), "tick")
            self.assertRegex(statistics(process), "fired 1, .* pending 1;")
            process.send_signal(signal.SIGTERM)
            code, out, err = end(process)
            self.assertEqual((code, out), (143, ""))
            self.assertIn("1 line was left", err)

    def test_crlf_ends_every_kind_of_line_as_lf_does(self):
        dos = "\r\n".join(("# comment", "", "0s a", "@1 b", "=n 1h old", "=n 0s", "=e every 1h x", "!e", "0s \r", "0s c\r"))
        self.assertEqual(pawl("run", stdin=dos), (0, "a\nb\n\n\r\nc\n", ""))

    def test_a_dash_is_standard_input(self):
        self.assertEqual(pawl("run", "-", stdin="0s a\n"), (0, "a\n", ""))

    def test_lines_may_be_arguments(self):
        self.assertEqual(pawl("run", "-e", "200ms world", "--line=1ms hello", "-e2ms there"), (0, "hello\nthere\nworld\n", ""))
        self.assertEqual(pawl("run", "-e", "=a 1h no", "-e", "# nothing", "-e", "", "-e", "=a 1ms yes"), (0, "yes\n", ""))
        self.assertEqual(pawl("run", "-e", "1ms one\r\n2ms two"), (0, "one\ntwo\n", ""))
        self.assertEqual(pawl("run", *["-e", "1ms x"] * 1000), (0, "x\n" * 1000, ""))
        self.assertEqual(pawl("run", "--exec", "cat", "-e", "1ms text"), (0, "text\n", ""))
        self.assertEqual(pawl("run", "--replay", "-e", "2026-12-01T09:00Z a"), (0, "2026-12-01T09:00Z a\n", ""))

    def test_with_lines_as_arguments_input_is_read_only_if_it_is_named(self):
        with start("run", "-e", "1ms a") as process:  # its input stays open
            self.assertEqual(next_line(process.stdout), "a")
            self.assertEqual(process.wait(HANG), 0)
        self.assertEqual(pawl("run", "-e", "0ms a", stdin="0ms b\n"), (0, "a\n", ""))
        self.assertEqual(pawl("run", "-e", "0ms a", "-", stdin="0ms b\n"), (0, "a\nb\n", ""))
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("!name\n0ms b\nwrong\n")
            file.flush()
            code, out, err = pawl("run", file.name, "-e", "=name 1h no", "-e", "0ms a")
            self.assertEqual((code, out), (1, "a\nb\n"))
            self.assertTrue(err.startswith(f"{file.name}:3: bad "), err)

    def test_a_bad_line_among_the_arguments_is_told_by_its_number(self):
        code, out, err = pawl("run", "-e", "1ms a", "-e", "soon b", "-e", "1ms c")
        self.assertEqual((code, out), (1, "a\nc\n"))
        self.assertRegex(err, r"^-e:2: bad .*'soon'.*\n$")
        code, out, err = pawl("run", "--strict", "-e", "soon b", "-e", "later c")
        self.assertEqual((code, out, err.count("bad ")), (1, "", 2))
        self.assertIn("stopped at a bad line; 0 lines were left", err)
        self.assertEqual(pawl("run", "-e", "0ms " + "x" * 65532), (0, "x" * 65532 + "\n", ""))
        self.assertEqual(pawl("run", "-e", "0ms " + "x" * 65533, "-e", "0ms y")[:2], (1, "y\n"))
        self.assertEqual(pawl("run", "-e", "x" * 131071, "-e", "0ms y")[:2], (1, "y\n"))
        self.assertEqual(pawl("run", "-e", "0ms x\n" * 20000), (0, "x\n" * 20000, ""))
        self.expect_usage("run", "-e", says=["option -e needs a value"])
        self.expect_usage("run", "-e", "0ms a", "/no/such/file", says=["/no/such/file"], expected=1)

    def test_on_a_terminal_it_says_what_to_type(self):
        ours, its = pty.openpty()
        process = start("run", stdin=its, stderr=its)
        self.assertEqual(line_from(ours), "pawl: type lines such as '5s tea', and Ctrl-D at the end; 'pawl help run' tells more")
        os.write(ours, b"1ms tea\n\4")
        self.assertEqual(process.communicate(timeout=HANG)[0], b"tea\n")
        os.close(its)
        self.assertNotIn(b"pawl:", read_all(ours))
        self.assertEqual(process.returncode, 0)

    def test_it_does_not_say_so_if_there_is_input_or_nobody_types_or_reads_it(self):
        for arguments, typed, stderr in ((["run"], b"0ms tea\n", None), (["run", "-e", "0ms tea"], b"", None),
                                         (["run", "-e", "0ms tea", "-"], b"", subprocess.PIPE),
                                         (["run", "--replay", "-e", "2026-12-01T09:00Z tea", "-"], b"", None)):
            ours, its = pty.openpty()
            os.write(ours, typed)
            process = start(*arguments, stdin=its, stderr=stderr or its)
            self.assertIn("tea", next_line(process.stdout))  # it would have said so before
            os.write(ours, b"\4")
            err = process.communicate(timeout=HANG)[1] or b""
            os.close(its)
            self.assertNotIn(b"pawl:", read_all(ours) + err, arguments)
            self.assertEqual(process.returncode, 0)

    def test_empty_input_and_comments(self):
        self.assertEqual(pawl("run"), (0, "", ""))
        self.assertEqual(pawl("run", stdin="\n# 5s x\n \n"), (0, "", ""))

    def test_many_lines(self):
        count = 100000
        code, out, err = pawl("run", stdin=lines(*(f"{i * 7919 % 400}ms {i}" for i in range(count))))
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(map(int, out.split())), list(range(count)))

    def test_the_longest_line(self):
        text = "x" * (65536 - 3)
        self.assertEqual(pawl("run", stdin=lines("0s " + text)), (0, text + "\n", ""))


class BadLines(CommandTest):
    def test_a_bad_line_is_told_and_the_others_go_on(self):
        code, out, err = pawl("run", stdin=lines("5 no unit", "0s good", "every 0s x", "@tomorrow x", "!a b"))
        self.assertEqual((code, out), (1, "good\n"))
        told = err.split("\n")
        self.assertEqual(len(told), 5)
        for line, start_of_line in zip(told, (
                "stdin:1: bad delay '5': it has no unit; expected a delay as 250ms, 1.5s or 1h30m (ns, us, ms, s, m, h or d), 18:00, 'tomorrow' and a time",
                "stdin:3: bad period '0s': it is 0; expected ",
                "stdin:4: bad time 'tomorrow': it is not of that form; expected ISO 8601 as ",
                "stdin:5: bad text after !NAME 'b': it is not allowed; expected nothing")):
            self.assertTrue(line.startswith(start_of_line), line)

    def test_a_bad_rule_or_zone_is_told(self):
        code, out, err = pawl("run", stdin=lines("cron[UTC] 0 25 * * * x", "daily[Europe/Atlantis] 02:30 x", "daily 02:30 x"))
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(err, lines(
            "stdin:1: bad rule '0 25 * * *': the hour is '25'; expected 0 to 23",
            "stdin:2: bad zone 'Europe/Atlantis': the zone's file /usr/share/zoneinfo/Europe/Atlantis does not exist; "
            "expected a name such as Europe/Berlin",
            "stdin:3: bad rule 'daily': it has no zone; expected a zone in brackets, as [Europe/Berlin], or the option "
            "--zone"))

    def test_the_file_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "lines")
            with open(path, "w") as file:
                file.write("0s good\nbad\n")
            code, out, err = pawl("run", path)
            self.assertEqual((code, out), (1, "good\n"))
            self.assertTrue(err.startswith(f"{path}:2: bad delay 'bad': "))

    def test_control_characters_are_not_echoed(self):
        err = pawl("run", stdin=lines("\033[2Jx y", "x" * 1000))[2]
        self.assertIn("'?[2Jx'", err)
        self.assertIn("'" + "x" * 60 + "...'", err)

    def test_strict_stops_at_once(self):
        code, out, err = pawl("run", "--strict", stdin=lines("1h left", "bad", "0s not read any more"))
        self.assertEqual((code, out), (1, ""))
        self.assertIn("stdin:2: ", err)
        self.assertIn("1 line was left", err)

    def test_a_line_that_is_too_long_is_passed_over(self):
        code, out, err = pawl("run", stdin=lines("0s " + "x" * 65534, "0s good"))
        self.assertEqual((code, out), (1, "good\n"))
        self.assertEqual(err, "stdin:1: bad line: it is too long; expected at most 65536 bytes\n")

    def test_a_zero_byte_is_refused(self):
        code, out, err = pawl("run", stdin="0s a\0b\n0s good\n")
        self.assertEqual((code, out), (1, "good\n"))
        self.assertIn("zero byte", err)

    def test_files_that_cannot_be_read(self):
        code, out, err = pawl("run", "/nowhere/lines")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("/nowhere/lines", err)
        code, out, err = pawl("run", "/")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("/: Is a directory", err)

    def test_closed_standard_files_are_told(self):
        for redirection, told in (("<&-", "stdin: Bad file descriptor"), (">&-", "standard output: Bad file descriptor")):
            done = subprocess.run(["sh", "-c", f'echo 0s x | {{ "$0" run {redirection}; }}', PAWL], timeout=HANG,
                                  capture_output=True, env=environment())
            self.assertEqual((done.returncode, done.stdout, done.stderr.decode()), (1, b"", f"pawl: {told}\n"))

    def test_bad_options(self):
        self.expect_usage("run", "a", "b", says=["'b'", "at most one"])
        self.expect_usage("run", "--speed", "2", says=["--speed", "--replay"])
        for speed in ("0", "-1", "x", "1e9", "inf", "nan", ""):
            self.expect_usage("run", "--replay", "--speed", speed, says=["--speed", f"'{speed}'", "0.001 to 1e+06"])
        for jobs in ("0", "1025", "x"):
            self.expect_usage("run", "--jobs", jobs, says=["--jobs", f"'{jobs}'", "1 to 1024"])
        self.expect_usage("run", "--jobs", "2", says=["--jobs is for --exec only"])
        self.expect_usage("run", "--exec", says=["--exec", "needs a value"])
        self.expect_usage("run", "--zone", "Europe/Atlantis", says=["--zone is 'Europe/Atlantis'", "expected a name such as"])
        self.expect_usage("run", "--replay", "--zone", "UTC", says=["--zone is not for --replay"])
        self.expect_usage("run", "--strict=yes", says=["'--strict=yes'"])


class Signals(CommandTest):
    def running(self, *texts, arguments=()):
        """One that has read all of these lines."""
        process = start("run", *arguments)
        send(process, *texts, "0s ready")
        self.assertEqual(next_line(process.stdout), "ready")
        return process

    def test_an_interrupt_ends_it_and_tells_how_many_were_left(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.running("1h a", "=b every 1h b", "@2500-01-01T00:00:00Z c")
            process.send_signal(number)
            self.assertEqual(process.wait(HANG), code)
            self.assertEqual(end(process)[1:], ("", "pawl: interrupted; 3 lines were left\n"))

    def test_statistics(self):
        process = self.running("1h a", "bad", "=b 1h b", "=b 1h c", "!b")
        self.assertIn("bad", next_line(process.stderr))
        self.assertRegex(statistics(process),
                         r"^pawl: read 6 lines, 1 of them bad; fired 1, replaced 1, cancelled 1, pending 1; "
                         r"late by [\d.]+ \w+ on average, [\d.]+ \w+ at most$")
        send(process, "0s still here")
        self.assertEqual(next_line(process.stdout), "still here")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(HANG), 130)
        end(process)

    def test_a_message_is_whole_though_a_signal_comes_while_it_is_written(self):
        ours, its = os.pipe()
        fill(its)
        process = start("run", stdout=None, stderr=its)
        os.close(its)
        send(process, "bad")
        wait_for_write(process, 2)
        deliver(process, signal.SIGUSR1)
        process.stdin.close()
        self.assertRegex(read_all(ours).decode().lstrip("."), r"^stdin:1: bad delay 'bad': .*; expected .*\npawl: read 1 line, .*\n$")
        self.assertEqual(process.wait(HANG), 1)

    def test_a_second_interrupt_ends_it_even_without_a_reader(self):
        process = start("run")
        feeder = feed(process, itertools.repeat(lines(*["0s " + "x" * 1000] * 100)))
        wait_until(lambda: is_stuck(process))
        process.send_signal(signal.SIGINT)
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # the first one may come just before the write
        self.assertEqual(process.wait(HANG), 130)
        feeder.join()
        self.assertRegex(process.stderr.read().decode(), r"^pawl: interrupted; \d+ lines? w(as|ere) left\n$")
        drop(process)


def a_pipe():
    return os.pipe()


def a_unix_socket():
    return tuple(end.detach() for end in socket.socketpair(socket.AF_UNIX))


def a_tcp_socket():
    """Closing the first end resets the connection: a mere close would only say that this end has stopped writing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        its = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return ours.detach(), its.detach()


def a_terminal():
    return pty.openpty()


OUTPUTS = (a_pipe, a_unix_socket, a_tcp_socket, a_terminal)


class ClosedOutput(CommandTest):
    """Whatever standard output is: when its reader is gone, the command ends without a message."""

    def writing_to(self, output):
        """One that has written a line, and the end that it is read from."""
        ours, its = output()
        process = start("run", stdout=its)
        os.close(its)
        send(process, "0s ready")
        self.assertEqual(line_from(ours), "ready")
        return process, ours

    def expect_quiet_end(self, process, feeder=None):
        try:
            code = process.wait(HANG)
        finally:
            process.kill()
            if feeder:
                feeder.join()
            err = process.stderr.read().decode()
            drop(process)
        self.assertEqual((code, err), (0, ""))

    def test_it_is_noticed_with_nothing_to_write(self):
        for output in OUTPUTS:
            with self.subTest(output.__name__):
                process, ours = self.writing_to(output)
                send(process, "1h x")
                os.close(ours)
                self.expect_quiet_end(process)

    def test_it_is_noticed_while_lines_are_written(self):
        for output in OUTPUTS:
            with self.subTest(output.__name__):
                process, ours = self.writing_to(output)
                send(process, "every 1ms x")
                self.assertEqual(line_from(ours), "x")
                os.close(ours)
                self.expect_quiet_end(process)

    def test_it_is_noticed_in_a_write_that_hangs(self):
        for output in OUTPUTS:
            with self.subTest(output.__name__):
                process, ours = self.writing_to(output)
                feeder = feed(process, itertools.repeat(lines(*["0s " + "x" * 1000] * 100)))
                wait_until(lambda: is_stuck(process))
                os.close(ours)
                self.expect_quiet_end(process, feeder)


class ClosedInput(CommandTest):
    """Whatever standard input is: when its writer is gone, that is its end, and it is not polled again."""

    def test_the_command_sleeps_until_the_next_line_is_due(self):
        for source in (a_pipe, a_unix_socket, a_terminal):
            with self.subTest(source.__name__):
                its, ours = source() if source is a_pipe else reversed(source())
                process = start("run", stdin=its)
                os.close(its)
                os.write(ours, b"1h x\n0s ready\n")
                self.assertEqual(next_line(process.stdout), "ready")
                os.close(ours)
                self.assertIn("pending 1", statistics(process))
                wait_until(lambda: status_of(process.pid)[0] == "S")
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(HANG), 130)
                self.assertEqual(end(process)[1:], ("", "pawl: interrupted; 1 line was left\n"))


class Exec(CommandTest):
    def test_the_text_is_on_standard_input_and_in_the_environment(self):
        code, out, err = pawl("run", "--jobs", "1", "--exec", 'cat; echo "[$PAWL_TEXT]"',
                              stdin=lines("0s a  b", "10ms $HOME `x` 'y' \"z\"", "20ms"))
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, lines("a  b", "[a  b]", "$HOME `x` 'y' \"z\"", "[$HOME `x` 'y' \"z\"]", "", "[]"))

    def test_a_text_from_outside_does_not_get_in(self):
        self.assertEqual(pawl("run", "--exec", "env | grep -c ^PAWL_TEXT=", stdin=lines("0s a"), PAWL_TEXT="old"),
                         (0, "1\n", ""))

    def test_the_longest_text_arrives_and_need_not_be_read(self):
        text = "x" * (65536 - 3)
        self.assertEqual(pawl("run", "--exec", "wc -c", stdin=lines("0s " + text))[1].strip(), str(len(text) + 1))
        self.assertEqual(pawl("run", "--exec", 'echo ${#PAWL_TEXT}', stdin=lines("0s " + text))[1], f"{len(text)}\n")
        self.assertEqual(pawl("run", "--exec", "true", stdin=lines(*["0s " + text] * 20)), (0, "", ""))

    def test_exit_codes_are_reported(self):
        code, out, err = pawl("run", "--jobs", "1", "--exec", 'exit "$PAWL_TEXT"',
                              stdin=lines("0s 0", "10ms 3", "20ms 255"))
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(err, "stdin:2: the command exited with 3\nstdin:3: the command exited with 255\n")

    def test_signals_are_reported_and_sigpipe_is_not_ignored_there(self):
        code, out, err = pawl("run", "--exec", "kill -PIPE $$", stdin=lines("0s x"))
        self.assertEqual((code, err), (1, "stdin:1: the command was ended by signal 13\n"))

    def test_its_own_input_is_not_the_commands(self):
        self.assertEqual(pawl("run", "--jobs", "1", "--exec", "cat", stdin=lines("0s a", "5ms b", "10ms c")),
                         (0, "a\nb\nc\n", ""))

    def test_no_more_commands_at_once_than_allowed(self):
        with tempfile.TemporaryDirectory() as directory:
            one = f"cd {directory}; for i in 1 2 3; do mkdir slot$i 2>/dev/null && break; done || echo one too many; " \
                  "[ -d slot$i ] || echo nothing; sleep 0.02; rmdir slot$i"
            code, out, err = pawl("run", "--jobs", "3", "--exec", one, stdin=lines(*["0s x"] * 30))
            self.assertEqual((code, out, err), (0, "", ""))

    def test_all_places_are_used(self):
        with tempfile.TemporaryDirectory() as directory:
            # Each waits until all three are there: with fewer places it would never end.
            meet = f"cd {directory}; touch $PAWL_TEXT; until [ -e a ] && [ -e b ] && [ -e c ]; do sleep 0.01; done"
            self.assertEqual(pawl("run", "--jobs", "3", "--exec", meet, stdin=lines("0s a", "0s b", "0s c")), (0, "", ""))

    def test_a_due_line_that_waits_for_a_place_can_be_cancelled(self):
        with tempfile.TemporaryDirectory() as directory:
            gate = os.path.join(directory, "gate")
            process = start("run", "--jobs", "1", "--exec",
                            f'echo "$PAWL_TEXT"; until [ -e {gate} ]; do sleep 0.01; done')
            send(process, "0s first")
            self.assertEqual(next_line(process.stdout), "first")
            send(process, "=a 0s cancelled", "=b 0s old", "=b 0s new", "!a")
            wait_until(lambda: " read 5 lines" in statistics(process))
            open(gate, "w").close()
            self.assertEqual(end(process)[:2], (0, "new\n"))

    def test_commands_that_have_ended_are_no_zombies(self):
        process = start("run", "--exec", "echo ran")
        send(process, *["0s x"] * 50)
        for _ in range(50):
            self.assertEqual(next_line(process.stdout), "ran")
        wait_until(lambda: children_of(process) == [])
        self.assertEqual(end(process)[0], 0)

    def test_a_beat_is_left_out_while_its_command_runs(self):
        with tempfile.TemporaryDirectory() as directory:
            alone = f"cd {directory}; mkdir alone || echo not alone; sleep 0.05; rmdir alone; echo beat"
            process = start("run", "--jobs", "8", "--exec", alone)
            send(process, "=a every 5ms x")
            for _ in range(4):
                self.assertEqual(next_line(process.stdout), "beat")
            send(process, "!a")
            code, out, err = end(process)
            self.assertEqual((code, err), (0, ""))
            self.assertLessEqual({*out.split()}, {"beat"})

    def test_the_first_interrupt_waits_for_commands(self):
        with tempfile.TemporaryDirectory() as directory:
            gate = os.path.join(directory, "gate")
            process = start("run", "--exec", f"echo started; until [ -e {gate} ]; do sleep 0.01; done; echo done")
            send(process, "1h left", "0s x")
            self.assertEqual(next_line(process.stdout), "started")
            process.send_signal(signal.SIGINT)
            self.assertEqual(next_line(process.stderr), "pawl: interrupted; waiting for 1 running command, a second "
                                                        "signal ends them; 1 line is left")
            open(gate, "w").close()
            self.assertEqual(next_line(process.stdout), "done")
            self.assertEqual(process.wait(HANG), 130)
            self.assertEqual(end(process)[2], "pawl: interrupted; 1 line was left\n")

    def test_the_second_interrupt_ends_commands(self):
        process = start("run", "--exec", "echo $$; exec sleep 1000")
        send(process, "0s x")
        child = next_line(process.stdout)
        process.send_signal(signal.SIGINT)
        self.assertIn("waiting for 1", next_line(process.stderr))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(HANG), 130)
        wait_until(lambda: not is_alive(child))
        end(process)


class Replay(CommandTest):
    def test_lines_keep_their_distance_and_are_written_whole(self):
        log = ["2026-12-01T09:00:00.000Z first", "2026-12-01T10:00:00.200+01:00 second", "1796115600.4 third"]
        process = start("run", "--replay")
        begin = time.monotonic()
        send(process, *log)
        for line, delay in zip(log, (0, 0.2, 0.4)):
            self.assertEqual(next_line(process.stdout), line)
            self.assertGreaterEqual(time.monotonic() - begin, delay)
        self.assertEqual(end(process), (0, "", ""))

    def test_a_blank_may_stand_between_date_and_time(self):
        log = lines("2026-12-01 09:00:00,000 INFO up", "2026-12-01 09:00:00,050 INFO ready")
        self.assertEqual(pawl("run", "--replay", stdin=log), (0, log, ""))

    def test_crlf_also_ends_the_lines_of_a_log(self):
        self.assertEqual(pawl("run", "--replay", stdin="5 a\r\n\r\n5\r\n"), (0, "5 a\n5\n", ""))

    def test_faster_and_slower(self):
        log = lines("0 a", "3600 b", "7200 c")
        self.assertEqual(pawl("run", "--replay", "--speed", "1000000", stdin=log), (0, log, ""))
        begin = time.monotonic()
        self.assertEqual(pawl("run", "--replay", "--speed", "0.1", stdin=lines("0 a", "0.03 b")), (0, "0 a\n0.03 b\n", ""))
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)

    def test_out_of_order_lines_are_put_in_order(self):
        self.assertEqual(pawl("run", "--replay", stdin=lines("5 a", "5.3 c", "5.1 b")), (0, lines("5 a", "5.1 b", "5.3 c"), ""))

    def test_a_line_from_before_the_first_comes_at_once(self):
        self.assertEqual(pawl("run", "--replay", stdin=lines("7200 a", "3600 b")), (0, lines("7200 a", "3600 b"), ""))

    def test_a_bad_timestamp_is_told(self):
        code, out, err = pawl("run", "--replay", stdin=lines("5 a", "yesterday b", "", "5 c"))
        self.assertEqual((code, out), (1, "5 a\n5 c\n"))
        self.assertTrue(err.startswith("stdin:2: bad timestamp 'yesterday': "), err)

    def test_commands_get_the_whole_line(self):
        self.assertEqual(pawl("run", "--replay", "--exec", "cat", stdin=lines("5 a"))[1], "5 a\n")

    def test_a_long_log_is_not_read_ahead_of_its_time(self):
        process = start("run", "--replay")
        send(process, "0 ready")
        next_line(process.stdout)
        feeder = feed(process, (lines(*(f"{(i + j) * 3600} x" for j in range(100))) for i in range(1000, 400000, 100)))
        pending = 0
        while pending < 65536:
            pending = int(re.search(r"pending (\d+)", statistics(process))[1])
        self.assertLess(pending, 65536 + 131072 // 10)  # and what was in the buffer
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(HANG), 130)
        feeder.join()
        drop(process)


class Memory(CommandTest):
    def test_a_line_takes_80_bytes_and_its_text(self):
        if SANITIZED:
            self.skipTest("a sanitizer takes more")
        process = start("run", program=RELEASE)
        send(process, "0s ready")
        next_line(process.stdout)
        before = self.resident(process)
        count = 200000
        for _ in range(count // 1000):
            send(process, *["1h 16 bytes of text"] * 1000)
        send(process, "0s ready")
        next_line(process.stdout)
        self.assertLess((self.resident(process) - before) / count, 80 + 16 + 1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(HANG), 130)
        self.assertIn(f"{count} lines were left", end(process)[2])

    def test_without_memory_it_ends_and_says_so(self):
        if SANITIZED:
            self.skipTest("a sanitizer needs all addresses there are")
        process = start("-c", 'ulimit -v 60000; exec "$0" run', PAWL, program="sh")
        feeder = feed(process, itertools.repeat(lines(*["1h x"] * 1000)))
        self.assertEqual(process.wait(HANG), 1)
        feeder.join()
        self.assertEqual(process.stderr.read(), b"pawl: a line cannot be kept: Cannot allocate memory\n")
        drop(process)

    @staticmethod
    def resident(process):
        with open(f"/proc/{process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1]) * 1024


command.main()
