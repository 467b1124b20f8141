# SPDX-License-Identifier: MIT
"""The HTTP server of pawl board and of pawl top --page: its options, which requests it answers, and which it refuses. What the pages
show is not there in these tests, so a request that is let through is answered with 503."""
import contextlib
import json
import os
import re
import socket
import tempfile
import time
import unittest

from command import HANG, CommandTest, Site, free_tcp_port, main, pawl

LET_THROUGH = 503
NOWHERE = f"127.0.0.1:{free_tcp_port()}"


class Board:
    words = ("board", "--server", NOWHERE)
    name, variable = "board", "PAWL_BOARD_TOKEN"
    method, path, header, other_method = "POST", "/api", {"X_Pawl_Board": "1"}, "GET"


class Top:
    words = ("top", "--page", "/nowhere/socket")
    name, variable = "top", "PAWL_TOP_TOKEN"
    method, path, header, other_method = "GET", "/snapshot.json", {}, "POST"


class Cases:
    """All of it, for each of the two."""

    def site(self, *options, **more):
        site = Site(*self.kind.words, *options, **more)
        self.addCleanup(self.expect_good_end, site)
        return site

    def ask(self, site, **headers):
        response = site.request(self.kind.method, self.kind.path, b"time" if self.kind.method == "POST" else None,
                                **{**self.kind.header, **headers})
        return response.status, json.loads(response.body)

    def status(self, site, **headers):
        return self.ask(site, **headers)[0]

    def expect(self, *options, **more):
        return self.expect_usage(*self.kind.words, *options, **more)

    # Options

    def test_a_bad_option_is_told_with_its_value_and_what_is_expected(self):
        for option, value, *says in (
                ("--listen", "8379", "8379", "ADDRESS:PORT"),
                ("--listen", "127.0.0.1:", "port is ''", "0 to 65535"),
                ("--listen", "127.0.0.1:65536", "'65536'", "0 to 65535"),
                ("--listen", "127.0.0.1:12x", "'12x'"),
                ("--listen", "127.0.0.1:-1", "'-1'", "0 to 65535"),
                ("--listen", "example.org:80", "'example.org'", "localhost"),
                ("--listen", "[::1:80", "[IPV6]:PORT"),
                ("--origin", "board.example.org", "board.example.org", "https://HOST"),
                ("--origin", "https://board.example.org/", "nothing behind it"),
        ):
            with self.subTest(option=option, value=value):
                self.expect(option, value, says=[f"{self.kind.name}: {option}", *says])

    def test_a_bad_token_is_told_but_not_repeated(self):
        for token in ("short", "x" * 256, "with a blank in between", "quote\"quote\"quote\""):
            err = self.expect("--listen", "127.0.0.1:0", says=[f"${self.kind.variable}", "16 to 255"],
                              **{self.kind.variable: token})
            self.assertNotIn(token, err)
        with tempfile.NamedTemporaryFile("w") as file:
            self.expect("--token-file", file.name, says=[file.name, "0 bytes", "16 to 255"])
        self.expect("--token-file", "/nowhere/token", says=["--token-file '/nowhere/token'", "No such file"])
        self.expect("--token-file", "/", says=["--token-file '/'", "directory"])

    def test_a_port_that_is_taken_is_told(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.expect("--listen", f"127.0.0.1:{port}", expected=1, says=["cannot listen", str(port), "in use"])

    def test_help_names_every_option(self):
        code, out, err = pawl(self.kind.name, "--help")
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.startswith("usage: pawl " + self.kind.name))
        self.assertTrue(all(len(line) <= 80 for line in out.splitlines()))
        for option in ("--listen", "--token-file", "--origin", self.kind.variable):
            self.assertIn(option, out)

    # Files

    def test_only_the_page_and_its_files_are_served(self):
        site = self.site()
        page = site.request("GET", "/")
        self.assertEqual((page.status, page.getheader("Content-Type")), (200, "text/html; charset=utf-8"))
        links = re.findall(r'(?:src|href)="([^"#]+)"', page.body.decode())
        self.assertGreaterEqual(len(links), 3)
        scripts = set(re.findall(r'from "\./(\S+?)"', site.request("GET", "/main.js").body.decode()))
        for link in {*links, *scripts}:
            self.assertEqual(site.request("GET", "/" + link).status, 200, link)
        for path in ("/index.html", "/../etc/passwd", self.kind.path + "/", "//", "/main.js/", "/%6dain.js"):
            self.assertEqual(site.request("GET", path).status, 404, path)
        self.assertEqual(site.request("GET", "/main.js?x=1").status, 200)
        self.assertEqual(site.request("POST", "/", b"").status, 404)
        other = site.request(self.kind.other_method, self.kind.path)
        self.assertEqual((other.status, json.loads(other.body)["wrong"]), (405, f"{self.kind.path} takes {self.kind.method}"))

    def test_head_is_answered_with_the_headers_alone(self):
        site = self.site()
        size = site.request("GET", "/").getheader("Content-Length")
        with socket.create_connection(("127.0.0.1", site.port), timeout=HANG) as connection:
            request = f" / HTTP/1.1\r\nHost: {site.host}\r\n"
            connection.sendall(f"HEAD{request}\r\nHEAD{request}Connection: close\r\n\r\n".encode())
            answers = connection.makefile("rb").read().split(b"\r\n\r\n")
        self.assertEqual((len(answers), answers[-1]), (3, b""))
        for answer in answers[:2]:
            self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)
            self.assertIn(f"\r\nContent-Length: {size}".encode(), answer)

    def test_without_a_free_descriptor_it_waits_and_does_not_spin(self):
        site = self.site(descriptors=20)
        with contextlib.ExitStack() as stack:
            for _ in range(40):
                stack.enter_context(socket.create_connection(("127.0.0.1", site.port), timeout=HANG))
            time.sleep(0.2)  # until it has taken those that it can
            before = site.cpu_seconds()
            time.sleep(1)
            self.assertLess(site.cpu_seconds() - before, 0.2)
        self.assertEqual(site.request("GET", "/").status, 200)

    def test_the_page_runs_only_its_own_scripts_and_cannot_be_framed(self):
        page = self.site().request("GET", "/")
        policy = dict(part.strip().split(" ", 1) for part in page.getheader("Content-Security-Policy").split(";"))
        self.assertEqual(policy["default-src"], "'none'")
        self.assertEqual((policy["script-src"], policy["style-src"]), ("'self'", "'self'"))
        self.assertEqual(policy["frame-ancestors"], "'none'")
        self.assertEqual(policy["require-trusted-types-for"], "'script'")
        self.assertEqual(page.getheader("X-Content-Type-Options"), "nosniff")
        self.assertEqual(page.getheader("Cross-Origin-Resource-Policy"), "same-origin")
        self.assertNotRegex(page.body.decode(), r"<script>|\son\w+=|\sstyle=")

    # Which requests are answered

    def test_a_host_that_is_not_its_own_is_refused(self):
        site = self.site()
        for host in ("evil.example", f"evil.example:{site.port}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.1.evil.example:{site.port}",
                     f"localhost:{site.port}.evil.example", f"x@127.0.0.1:{site.port}"):
            self.assertEqual(site.request("GET", "/", Host=host).status, 403, host)
            self.assertEqual(self.status(site, Host=host), 403, host)
        for host in (f"127.0.0.1:{site.port}", f"localhost:{site.port}", f"LOCALHOST:{site.port}", f"[::1]:{site.port}"):
            self.assertEqual(self.status(site, Host=host), LET_THROUGH, host)

    def test_on_port_80_a_host_may_be_without_its_port(self):
        """As browsers send it. The address is one that no other process of this machine is likely to have."""
        ip = f"127.80.{os.getpid() // 256 % 256}.{os.getpid() % 256}"
        try:
            with socket.socket() as probe:
                probe.bind((ip, 80))
        except OSError as error:
            self.skipTest(f"this user cannot listen on port 80: {error}")
        site = self.site(listen=f"{ip}:80")
        for host in (ip, "127.0.0.1", "localhost", "LOCALHOST", "[::1]", f"{ip}:80", "localhost:80"):
            self.assertEqual(self.status(site, Host=host), LET_THROUGH, host)
            self.assertEqual(self.status(site, Host=host, Origin=f"http://{host}"), LET_THROUGH, host)
        for host in ("evil.example", f"{ip}.evil.example", "127.0.0.1:", "127.0.0.1:8", "localhost:8080", "::1", ""):
            self.assertEqual(self.status(site, Host=host), 403, host)
        self.assertEqual(self.status(site, Host=ip, Origin="http://localhost"), 403)

    def test_an_origin_that_is_not_its_own_is_refused(self):
        site = self.site()
        for origin in ("http://evil.example", "null", "", f"https://127.0.0.1:{site.port}", f"http://localhost:{site.port}",
                       f"http://127.0.0.1:{site.port}.evil.example", "http://127.0.0.1:1"):
            self.assertEqual(self.status(site, Origin=origin), 403, origin)
        self.assertEqual(self.status(site, Origin=f"http://127.0.0.1:{site.port}"), LET_THROUGH)

    def test_a_request_marked_as_cross_site_is_refused(self):
        site = self.site()
        for sender in ("cross-site", "same-site", "", "Same-Origin"):
            self.assertEqual(self.status(site, Sec_Fetch_Site=sender), 403, sender)
        for sender in ("same-origin", "none"):
            self.assertEqual(self.status(site, Sec_Fetch_Site=sender), LET_THROUGH, sender)

    def test_another_site_is_given_no_leave_to_ask(self):
        asking = self.site().request("OPTIONS", self.kind.path, Origin="http://evil.example",
                                     Access_Control_Request_Method=self.kind.method)
        self.assertNotEqual(asking.status, 200)
        self.assertIsNone(asking.getheader("Access-Control-Allow-Origin"))

    def test_behind_a_proxy_its_name_is_known_and_no_other(self):
        site = self.site("--origin", "https://board.example.org", listen=f"127.0.0.1:{free_tcp_port()}")
        self.assertIn("https://board.example.org/#token=", site.said)
        token = {"Authorization": "Bearer " + re.search(r"#token=(\w+) shows", site.said)[1]}
        own, site.host = site.host, "board.example.org"
        self.assertEqual(self.status(site, Origin="https://board.example.org", **token), LET_THROUGH)
        self.assertEqual(self.status(site, Origin="https://board.example.org"), 401)
        self.assertEqual(self.status(site, Origin="https://evil.example", **token), 403)
        self.assertEqual(self.status(site, Host="evil.example", **token), 403)
        self.assertEqual(self.status(site, Host=own, Origin="https://board.example.org", **token), LET_THROUGH)

    def test_the_origin_may_have_the_default_port_that_browsers_leave_out(self):
        for origin, sent, other in (("https://localhost:443", "localhost", "localhost:80"), ("http://localhost:80", "localhost", "localhost:443"),
                                    ("https://[::1]:443", "[::1]", "[::1]:44")):
            site = self.site("--origin", origin, listen=f"127.0.0.1:{free_tcp_port()}")
            scheme = origin.split("//")[0]
            with self.subTest(origin):
                for host in (sent, origin.split("//")[1]):
                    self.assertEqual(self.status(site, Host=host, Origin=f"{scheme}//{sent}"), LET_THROUGH, host)
                self.assertEqual(self.status(site, Host=other), 403)
                self.assertEqual(self.status(site, Host=sent, Origin=f"{scheme}//{other}"), 403)

    def test_a_proxy_that_others_reach_needs_a_token_as_a_port_would(self):
        for origin, asks in (("https://board.example.org", True), ("http://10.0.0.1:80", True), ("https://localhost.example", True),
                             ("http://127.0.0.1.example", True), ("http://[2001:db8::1]:80", True), ("http://::1", True),
                             ("http://localhost", False), ("https://localhost:8443", False), ("http://127.1.2.3:80", False),
                             ("http://[::1]:80", False)):
            site = self.site("--origin", origin, listen=f"127.0.0.1:{free_tcp_port()}")
            with self.subTest(origin):
                self.assertEqual("#token=" in site.said, asks)
                self.assertEqual(self.status(site, Host=origin.split("//")[1]), 401 if asks else LET_THROUGH)

    def test_a_token_is_made_where_it_listens_to_others(self):
        site = self.site(listen="0.0.0.0:0")
        token = re.search(r"/#token=([0-9a-f]{32}) ", site.said)[1]
        for wrong in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {token[:-1]}"},
                      {"Authorization": f"Bearer {token}0"}, {"Authorization": f"Basic {token}"},
                      {"Authorization": "Bearer " + "0" * 32}):
            self.assertEqual(self.ask(site, **wrong), (401, {"wrong": "the token is missing or wrong"}), wrong)
        self.assertEqual(self.status(site, Authorization=f"Bearer {token}"), LET_THROUGH)
        self.assertEqual(site.request("GET", "/").status, 200)
        other = self.site(listen="0.0.0.0:0")
        self.assertNotIn(token, other.said)

    def test_a_token_that_is_given_is_asked_for_and_not_printed(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("of-the-file-0123456789\r\nnot this\n")
            file.flush()
            for options, given, token in (((), "of.the-environment~0", "of.the-environment~0"),
                                          (("--token-file", file.name), "x" * 20, "of-the-file-0123456789")):
                site = self.site(*options, **{self.kind.variable: given})
                self.assertNotIn(token, site.said)
                self.assertEqual(self.status(site), 401)
                self.assertEqual(self.status(site, Authorization=f"Bearer {token}"), LET_THROUGH)

    def test_broken_requests_do_it_no_harm(self):
        site = self.site()
        path = self.kind.path.encode()
        for raw in (b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00" * 50, b"POST " + path + b" HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + b"\r\n", b"GET " + b"/" * 100000 + b" HTTP/1.1\r\n\r\n",
                    b"GET / HTTP/1.0\r\n\r\n", b"GET " + path + b" HTTP/1.0\r\n\r\n",
                    b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            with socket.create_connection(("127.0.0.1", site.port), timeout=HANG) as connection:
                try:
                    connection.sendall(raw)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass
                except OSError:
                    pass  # it has closed the connection
        self.assertEqual(self.status(site), LET_THROUGH)

    def test_both_signals_end_it(self):
        for signal in (2, 15):
            site = Site(*self.kind.words)
            site.process.send_signal(signal)
            site.process.communicate(timeout=HANG)
            self.assertEqual(site.process.returncode, 0)


class BoardSite(Cases, CommandTest):
    kind = Board

    @classmethod
    def setUpClass(cls):
        if "built without" in pawl("board", "x")[2]:
            raise unittest.SkipTest("this pawl is without a board")

    def test_a_form_of_another_site_cannot_send_the_header(self):
        response = self.site("--write").request("POST", "/api", b"time", Content_Type="text/plain")
        self.assertEqual(response.status, 403)
        self.assertIn(b"X-Pawl-Board", response.body)


class TopSite(Cases, CommandTest):
    kind = Top


main()
