# SPDX-License-Identifier: MIT
"""pawl board without a browser: its options, and what reaches the server. Which requests are answered at all is in
test_site.py. The first argument is the command; the servers are those of module/tests/support.py."""
import json
import os
import re
import shutil
import signal
import socket
import tempfile
import threading
import time
import urllib.parse

from command import HANG, CommandTest, Site, free_tcp_port, main
from support import Server, ServerTest, in_pairs, wait_until

WRITES = ["pause q", "resume q", "cancel q a", "cancel-leased q a", "requeue q a", "requeue-all q"]
FOR_EVER = 2**53 - 1


class Board(Site):
    """A board that serves."""

    def __init__(self, *arguments, **options):
        super().__init__("board", *arguments, **options)

    def post(self, *lines, **headers):
        """Send lines of words, bytes or text. Returns the status and the JSON."""
        body = "\n".join(line if isinstance(line, str) else " ".join(urllib.parse.quote_from_bytes(
            word if isinstance(word, bytes) else str(word).encode(), safe="") for word in line) for line in lines)
        response = self.request("POST", "/api", body.encode(), **{"X_Pawl_Board": "1", **headers})
        return response.status, json.loads(response.body)

    def replies(self, *lines, **headers):
        status, answer = self.post(*lines, **headers)
        if status != 200:
            raise AssertionError((status, answer))
        return answer["replies"]


class Serving(CommandTest):
    def serving(self, *arguments, **options):
        """A board, until the test ends."""
        board = Board(*arguments, **options)
        self.addCleanup(self.expect_good_end, board)
        return board


class BoardTest(Serving, ServerTest):
    clock = None

    def board(self, *arguments, **options):
        return self.serving("--server", f"127.0.0.1:{self.server.port}", *arguments, **options)

    def unchanged(self, act):
        before = self.call("DEBUG", "DIGEST")
        result = act()
        self.assertEqual(self.call("DEBUG", "DIGEST"), before)
        return result


class Options(CommandTest):
    def expect(self, *arguments, **more):
        return self.expect_usage("board", *arguments, **more)

    def test_a_bad_option_is_told_with_its_value_and_what_is_expected(self):
        for option, value, *says in (
                ("--server", ":6379", "host is ''"),
                ("--server", "", "host is ''"),
                ("--server", "host:0", "port is '0'", "1 to 65535"),
                ("--server", "host:99999", "'99999'"),
                ("--server", "[::1]6379", "[IPV6]:PORT"),
                ("--server", "http://host", "'http'", "redis, rediss, valkey or valkeys"),
                ("--server", "redis://host/x", "database is 'x'", "0 to 65535"),
                ("--server", "redis://host:1/65536", "'65536'"),
                ("--server", "/" + "x" * 200, "107 bytes"),
                ("--server", "h" * 300, "1 to 255 bytes"),
        ):
            with self.subTest(option=option, value=value):
                self.expect(option, value, says=[f"board: {option}", *says])

    def test_unknown_and_surplus_arguments_are_reported(self):
        self.expect("--frobnicate", says=["--frobnicate"])
        self.expect("--server", says=["--server needs a value"])
        self.expect("jobs", says=["'jobs'", "options only"])

    def test_a_password_is_never_repeated(self):
        err = self.expect("--server", "redis://me:se%cret@host:1/0", says=["the user or the password"])
        self.assertNotIn("cret", err)
        err = self.expect("--server", "redis://me:secret@host:port/0", says=["'port'"])
        self.assertNotIn("secret", err)

    def test_the_server_of_the_environment_is_also_checked(self):
        self.expect(PAWL_BOARD_SERVER="host:port", says=["$PAWL_BOARD_SERVER", "'port'"])
        self.expect(REDISCLI_AUTH="x" * 256, says=["$REDISCLI_AUTH", "255"])

    def test_files_for_tls_need_a_server_with_tls(self):
        self.expect("--tls-ca", "ca.pem", says=["--tls-ca", "rediss://"])


class ReadOnly(BoardTest):
    def test_a_request_that_writes_stops_all_requests(self):
        board = self.board()
        self.call("PAWL.PUT", "q", 0, "x", "ID", "a", "MAXTRIES", 1)
        for line in WRITES:
            status, answer = self.unchanged(lambda: board.post("time", line))
            self.assertEqual(status, 403, line)
            self.assertIn(f"line 2: '{line.split()[0]}' writes", answer["wrong"])
            self.assertIn("--write", answer["wrong"])
        self.assertIs(board.post("time")[1]["write"], False)

    def test_read_requests_change_nothing(self):
        board = self.board()
        self.call("PAWL.PUT", "q", 0, "x", "ID", "a")
        self.unchanged(lambda: board.replies("time", "server", "metrics", "queues 0", "info q", f"len q 0 {FOR_EVER}",
                                             f"tasks q 0 {FOR_EVER} 10 due", "task q a"))

    def test_with_write_they_are_run(self):
        board = self.board("--write")
        self.assertIs(board.post("time")[1]["write"], True)
        self.call("PAWL.PUT", "q", 0, "x", "ID", "a")
        self.call("PAWL.PUT", "q", 0, "y", "ID", "b")
        self.assertEqual(board.replies("pause q", "pause q"), [1, 0])
        self.assertIsNone(self.call("PAWL.TAKE", "q"))
        self.assertEqual(board.replies("resume q", "resume q"), [1, 0])
        self.assertEqual(board.replies("cancel q a", "cancel q a"), [1, 0])
        self.call("PAWL.TAKE", "q", "LEASE", 10**9)
        self.assertTrue(board.replies("cancel q b")[0]["error"].startswith("LEASED"))
        self.assertEqual(board.replies("cancel-leased q b"), [1])
        self.assertEqual(self.call("PAWL.LEN", "q"), 0)

    def die(self, *ids):
        for id in ids:
            self.call("PAWL.PUT", "q", 0, "x", "ID", id, "MAXTRIES", 1)
        for id, _, _, _, token in self.call("PAWL.TAKE", "q", "COUNT", 100, "LEASE", 10**9):
            self.call("PAWL.NACK", "q", id, token)
        self.assertEqual(self.call("PAWL.LEN", "q", "STATE", "dead"), len(ids))

    def test_requeue_is_for_one_whatever_its_id_reads(self):
        board = self.board("--write")
        for id in ("ALL", "all", "DELAY", "a"):
            self.call("DEL", "q")
            self.die(id, "another", "third")
            self.assertEqual(board.replies(["requeue", "q", id]), [1])
            self.assertEqual(self.call("PAWL.LEN", "q", "STATE", "dead"), 2)
            self.assertEqual(in_pairs(self.call("PAWL.GET", "q", id))[b"state"], b"due")

    def test_requeue_all_and_an_id_that_reads_force(self):
        board = self.board("--write")
        self.die("a", "b", "c")
        self.assertEqual(board.replies("requeue-all q"), [3])
        self.call("PAWL.PUT", "p", 0, "x", "ID", "FORCE")
        self.assertEqual(board.replies("cancel p FORCE"), [1])


class Lines(BoardTest):
    def test_one_bad_line_stops_all_lines(self):
        board = self.board("--write")
        self.call("PAWL.PUT", "q", 0, "x", "ID", "a")
        for line, says in (("FLUSHALL", "'FLUSHALL'"), ("PAWL.CANCEL q a", "'PAWL.CANCEL'"), ("", "''"), ("cancel q", "PAWL.CANCEL $ $"),
                           ("cancel q a b", "PAWL.CANCEL $ $"), ("cancel q %4", "badly encoded"), ("cancel q %zz", "badly encoded"),
                           ("cancel  q a", "too many"), ("info", "PAWL.INFO $"), ("x" * 5000, "x" * 40)):
            status, answer = self.unchanged(lambda: board.post("cancel q a", line, "time"))
            self.assertEqual(status, 400, line)
            self.assertIn("line 2: ", answer["wrong"])
            self.assertIn(says, answer["wrong"])

    def test_more_than_is_allowed_is_refused(self):
        board = self.board()
        self.assertEqual(board.replies(*["time"] * 4096)[4095][0].isdigit(), True)
        self.assertEqual(board.post(*["time"] * 4097)[0], 413)
        try:
            status = board.request("POST", "/api", b"info " + b"x" * 2**20, X_Pawl_Board="1").status
        except (BrokenPipeError, ConnectionResetError):
            status = 413  # told before all of it was sent, and closed
        self.assertEqual(status, 413)
        self.assertEqual(board.replies(), [])

    def test_all_bytes_come_and_go_as_they_are(self):
        board = self.board("--write")
        every = bytes(range(256))
        key, id = b"key " + every, every[1:]
        self.call("PAWL.PUT", key, 0, every, "ID", id)
        as_text = every.decode("latin-1")
        [_, [found]], listed, task = board.replies("queues 0", [b"tasks", key, 0, FOR_EVER, 10, "due"], [b"task", key, id])
        self.assertEqual(found, key.decode("latin-1"))
        self.assertEqual(listed[0][:3], [id.decode("latin-1"), [as_text, 256], "due"])
        self.assertEqual(in_pairs(task)["payload"], [as_text, 256])
        self.assertEqual(board.replies([b"cancel", key, id]), [1])

    def test_a_word_stays_a_word(self):
        board = self.board("--write")
        for word in (b"q\r\nFLUSHALL\r\n", b"q a FORCE", b"*3\r\n$3\r\nDEL", b"", b"$"):
            self.call("PAWL.PUT", word, 10**9, "x", "ID", "a")
            self.assertEqual(in_pairs(board.replies(["info", word])[0])["tasks"], 1)
            self.assertEqual(board.replies(["cancel", word, "a"]), [1])
        self.assertIn("FROM", board.replies(["len", "q", "STATE", "0"])[0]["error"])

    def test_long_texts_are_cut_and_it_is_told(self):
        board = self.board()
        self.call("PAWL.PUT", "q", 0, "é" * 500_000, "ID", "a")
        listed, task = board.replies(f"tasks q 0 {FOR_EVER} 1 due", "task q a")
        self.assertEqual(listed[0][1], [("é" * 256).encode().decode("latin-1"), 1_000_000])
        self.assertEqual(in_pairs(task)["payload"], [("é" * 2**17).encode().decode("latin-1"), 1_000_000])

    def test_large_payloads_are_not_read(self):
        """For 50 tasks of 10 MB the server sends a few KB, so they need neither memory nor time."""
        board = self.board()
        for n in range(50):
            self.call("PAWL.PUT", "q", 0, "x" * 10_000_000, "ID", n)
        sent = lambda: int(re.search(r"total_net_output_bytes:(\d+)", self.call("INFO", "stats").decode())[1])
        before = sent()
        listed, task = board.replies(f"tasks q 0 {FOR_EVER} 50 due", "task q 7")
        self.assertEqual([len(item[1][0]) for item in listed], [512] * 50)
        self.assertEqual(in_pairs(task)["payload"][1], 10_000_000)
        self.assertLess(sent() - before, 1_000_000)

    def test_the_hour_is_counted_by_minutes(self):
        board = self.board()
        now = int(self.call("TIME")[0]) * 1000 + 10**7
        for after in (0, 59_999, 60_000, 60_001, 200_000):
            self.call("PAWL.PUT", "q", 0, "x", "AT", now + after)
        self.assertEqual(board.replies(*(f"len q {now + m * 60000} {now + m * 60000 + 59999}" for m in range(5))), [2, 2, 0, 1, 0])


class TheServer(BoardTest):
    def test_errors_of_the_server_are_passed_on(self):
        board = self.board()
        self.call("SET", "text", "x")
        info, bad, task = board.replies("info text", "queues x", "task q " + "x" * 256)
        self.assertTrue(info["error"].startswith("WRONGTYPE"))
        self.assertIn("cursor", bad["error"])
        self.assertIn("255", task["error"])

    def test_a_database_and_only_queues(self):
        board = self.serving("--server", f"redis://127.0.0.1:{self.server.port}/3")
        self.call("PAWL.PUT", "elsewhere", 0, "x")
        self.call("SELECT", 3)
        self.call("PAWL.PUT", "here", 0, "x")
        self.call("SET", "text", "x")
        status, answer = board.post("queues 0")
        self.assertEqual((answer["replies"][0][1], answer["database"]), (["here"], 3))

    def test_a_server_that_was_never_there_is_told_and_waited_for(self):
        port = free_tcp_port()
        board = Board("--server", f"127.0.0.1:{port}")
        status, answer = board.post("time")
        self.assertEqual((status, answer["away"]), (503, "Connection refused"))
        code, said = board.end()
        self.assertEqual(code, 0)
        self.assertIn(f"the server 127.0.0.1:{port} is away: Connection refused", said)


class Away(Serving):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server._leave_nothing)
        self.board = self.serving("--server", f"127.0.0.1:{self.server.port}")
        self.assertEqual(self.board.post("time")[0], 200)

    def expect_back(self):
        wait_until(lambda: self.board.post("time")[0] == 200, "the server is back")

    def test_a_server_that_is_killed_is_away_and_comes_back(self):
        self.server.kill()
        status, answer = self.board.post("time")
        self.assertEqual(status, 503)
        self.assertTrue(answer["away"])
        self.assertEqual(set(answer), {"write", "server", "database", "away"})
        self.server.start()
        self.expect_back()

    def test_a_connection_that_the_server_has_closed_is_made_again_without_a_word(self):
        self.server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        self.assertEqual(self.board.post("time")[0], 200)
        self.server.kill()
        self.server.start()
        self.assertEqual(self.board.post("time")[0], 200)

    def test_write_commands_are_not_sent_twice(self):
        board = self.serving("--server", f"127.0.0.1:{self.server.port}", "--write")
        self.assertEqual(board.post("time")[0], 200)
        self.server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        self.assertEqual(board.post("pause q")[0], 503)
        self.assertEqual(board.replies("pause q"), [1])

    def test_a_server_that_hangs_is_away_and_comes_back(self):
        self.server.process.send_signal(signal.SIGSTOP)
        status, answer = self.board.post("time")
        self.assertEqual((status, answer["away"]), (503, "it does not answer"))
        self.server.process.send_signal(signal.SIGCONT)
        self.expect_back()


class FakeServer:
    """Takes connections, and does with each of them what a test says, in a thread of its own."""

    def __init__(self, serve):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.serve = serve
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                threading.Thread(target=self.one, args=(self.listener.accept()[0],), daemon=True).start()
        except OSError:
            pass  # it is over

    def one(self, connection):
        with connection:
            try:
                self.serve(connection)
            except OSError:
                pass  # the board has closed it

    def end(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def drip(connection):
    """A reply that goes on, byte by byte, for as long as somebody listens."""
    connection.recv(1)
    connection.sendall(b"$500000000\r\n")
    while True:
        connection.sendall(b"x")
        time.sleep(0.1)


def never_read(connection):
    """Neither reads nor writes. Data that is sent fills the buffers."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    threading.Event().wait(HANG)


class BadServers(Serving):
    def board(self, serve, *, password=""):
        server = FakeServer(serve)
        self.addCleanup(server.end)
        return self.serving("--server", f"redis://{password}127.0.0.1:{server.port}")

    def expect_away(self, board, *lines, why="it does not answer"):
        status, answer = board.post(*lines)
        self.assertEqual((status, answer.get("away")), (503, why))
        self.assertEqual(board.request("GET", "/").status, 200)

    def test_a_reply_that_comes_byte_by_byte_is_not_waited_for_to_its_end(self):
        self.expect_away(self.board(drip), "time")

    def test_nor_is_one_to_a_login(self):
        self.expect_away(self.board(drip, password=":secret@"), "time")

    def test_a_server_that_reads_nothing_is_not_waited_for(self):
        self.expect_away(self.board(never_read), *["info " + "x" * 250] * 4000)

    def test_why_a_login_failed_is_told(self):
        self.expect_away(self.board(lambda connection: connection.recv(1000), password=":secret@"), "time",
                         why="Server closed the connection")

    def test_a_malformed_reply_is_reported(self):
        def answer_html(connection):
            connection.recv(1000)
            connection.sendall(b"<html>\r\n")
            connection.recv(1)

        self.expect_away(self.board(answer_html), "time", why='Protocol error, got "<" as reply type byte')


class Login(Serving):
    SECRET = "s e:c@r/e%t?#"

    @classmethod
    def setUpClass(cls):
        cls.path = os.path.join(tempfile.mkdtemp(prefix="pawl-board-"), "socket")
        cls.server = Server("--unixsocket", cls.path)
        cls.redis = cls.server.client()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        shutil.rmtree(os.path.dirname(cls.path))

    def board(self, server, **variables):
        return self.serving(*(["--server", server] if server else []), **variables)

    def test_the_path_of_a_socket(self):
        board = self.board(self.path)
        status, answer = board.post("time")
        self.assertEqual((status, answer["server"]), (200, self.path))

    def test_the_password_of_the_address_or_of_the_environment(self):
        self.redis.call("CONFIG", "SET", "requirepass", self.SECRET)
        self.addCleanup(lambda: self.redis.call("CONFIG", "SET", "requirepass", ""))
        place = f"127.0.0.1:{self.server.port}"
        url = f"redis://:{urllib.parse.quote(self.SECRET, safe='')}@{place}"
        for server, variables in ((url, {}), (None, {"PAWL_BOARD_SERVER": url}), (place, {"REDISCLI_AUTH": self.SECRET}),
                                  (self.path, {"REDISCLI_AUTH": self.SECRET})):
            board = self.board(server, **variables)
            status, answer = board.post("time")
            self.assertEqual((status, type(answer["replies"][0])), (200, list), server)
            self.assertNotIn(urllib.parse.quote(self.SECRET, safe=""), board.said + json.dumps(answer))
        self.assertIn("NOAUTH", self.board(place).replies("time")[0]["error"])
        status, answer = self.board(place, REDISCLI_AUTH="wrong").post("time")
        self.assertEqual(status, 503)
        self.assertTrue(answer["away"].startswith("AUTH: WRONGPASS"), answer)

    def test_a_user_who_may_only_look(self):
        self.redis.call("ACL", "SETUSER", "board", "on", ">look at it", "~*", "-@all", "+time", "+info", "+scan", "+auth", "+pawl.info",
                        "+pawl.len", "+pawl.range", "+pawl.get")
        self.redis.call("PAWL.PUT", "q", 0, "x", "ID", "a")
        board = self.board(f"redis://board:look%20at%20it@127.0.0.1:{self.server.port}")
        for reply in board.replies("time", "server", "metrics", "queues 0", "info q", f"len q 0 {FOR_EVER}",
                                   f"tasks q 0 {FOR_EVER} 10 due", "task q a"):
            self.assertNotIsInstance(reply, dict)


main()
