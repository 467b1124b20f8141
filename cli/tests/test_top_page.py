# SPDX-License-Identifier: MIT
"""pawl top --page without a browser: what it asks of the program, and what it answers. Which requests are answered at all is in
test_site.py."""
import concurrent.futures
import json
import os
import socket
import tempfile
import time

from command import CommandTest, Site, main, wait_until
from inspected import SNAPSHOT, Service, line


class PageTest(CommandTest):
    def page(self, path, *options, says=""):
        page = Site("top", "--page", *options, path)
        self.addCleanup(self.expect_good_end, page, says)
        return page

    def ask(self, page, **headers):
        """The status, the JSON, and when the snapshot was taken."""
        response = page.request("GET", "/snapshot.json", **headers)
        return response.status, json.loads(response.body), response.getheader("X-Pawl-Taken")

    def ask_anew(self, page, than):
        """A snapshot that was taken after the one with this time."""
        while True:
            status, answer, taken = self.ask(page)
            if status != 200 or taken != than:
                return status, answer, taken
            time.sleep(0.02)


class Snapshots(PageTest):
    def test_it_equals_the_json_of_top(self):
        with Service(line()) as service:
            page = self.page(service.path)
            self.assertEqual(page.said, f"pawl top: http://127.0.0.1:{page.port}/ shows {service.path}\n")
            status, answer, taken = self.ask(page)
            self.assertEqual((status, answer), (200, {**SNAPSHOT, "names": {"0x10": "0x10"}}))
            self.assertTrue(taken.isdigit())

    def test_it_is_utf_8_whatever_the_program_sends(self):
        with Service(line(name="N").replace(b'"N"', b'"\xff\xc3\xa9\xe2\x82"')) as service:
            page = self.page(service.path)
            status, answer, _ = self.ask(page)
            self.assertEqual((status, answer["name"]), (200, "\ufffd\u00e9\ufffd\ufffd"))

    def test_the_program_is_asked_once_a_second_however_many_ask(self):
        with Service(line()) as service:
            page = self.page(service.path)
            _, _, first = self.ask(page)
            asked, seen, repeated = service.asked, [first], False
            while not repeated or len(seen) < 20:
                _, _, taken = self.ask(page)
                repeated = repeated or taken == seen[-1]
                seen.append(taken)
            self.assertEqual(service.asked - asked, len(set(seen)) - 1)

    def test_without_a_viewer_the_connection_is_closed(self):
        with Service(line()) as service:
            page = self.page(service.path)
            wait_until(lambda: service.asked == 1 and not service.connections, "it was tried at the beginning, and left alone")
            _, _, taken = self.ask(page)
            _, _, taken = self.ask_anew(page, taken)
            wait_until(lambda: not service.connections, "the connection is closed")
            asked = service.asked
            self.assertEqual(self.ask_anew(page, taken)[0], 200)
            self.assertEqual(service.asked, asked + 1)


class MissingPrograms(PageTest):
    def test_a_program_that_comes_later_is_waited_for(self):
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/socket"
            page = self.page(path, says=f"cannot connect to '{path}': No such file or directory; the page waits for it")
            status, answer, _ = self.ask(page)
            self.assertEqual((status, answer), (503, {"away": f"cannot connect to '{path}': No such file or directory"}))
            with Service(line(), path=path):
                self.assertEqual(self.ask(page)[0], 200)

    def test_a_program_that_is_gone_is_told_and_comes_back(self):
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/socket"
            first = Service(line(), path=path)
            page = self.page(path)
            _, _, taken = self.ask(page)
            first.end()
            status, answer, _ = self.ask_anew(page, taken)
            self.assertEqual((status, "No such file" in answer["away"]), (503, True), answer)
            with Service(line(process=os.getppid()), path=path):
                status, answer, _ = self.ask(page)
                self.assertEqual((status, answer["process"]), (200, os.getppid()))

    def test_a_program_that_is_started_again_is_shown_without_a_word(self):
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/socket"
            first = Service(line(), path=path)
            page = self.page(path)
            _, _, taken = self.ask(page)
            _, _, taken = self.ask_anew(page, taken)
            first.end()
            with Service(line(name="second"), path=path):
                status, answer, _ = self.ask_anew(page, taken)
                self.assertEqual((status, answer["name"]), (200, "second"))

    def test_a_reply_that_is_not_a_snapshot_is_reported(self):
        with Service(line()[:-1]) as service:
            page = self.page(service.path, says="is no snapshot of a service")
            status, told, _ = self.ask(page)
            self.assertEqual(status, 503)
            self.assertIn("is no snapshot of a service", told["away"])
            self.assertIn(service.path, told["away"])

    def test_a_file_that_is_no_socket_is_told(self):
        with tempfile.NamedTemporaryFile() as file:
            status, told, _ = self.ask(self.page(file.name))
            self.assertEqual(status, 503)
            self.assertIn(f"cannot connect to '{file.name}': Connection refused", told["away"])

    def test_a_program_that_hangs_or_answers_byte_by_byte_is_told(self):
        for service in (Service(None), Service(line(), pause=0.5)):
            with self.subTest(pause=service.pause), service:
                status, told, _ = self.ask(self.page(service.path))
                self.assertEqual((status, told["away"]), (503, f"'{service.path}' has not answered for 2 seconds"))

    def test_pages_do_not_wait_for_a_program_that_hangs_one_after_the_other(self):
        with Service(None) as service:
            page = self.page(service.path)
            with concurrent.futures.ThreadPoolExecutor(8) as pages:
                answers = list(pages.map(lambda _: self.ask(page), range(8)))
            self.assertEqual({status for status, _, _ in answers}, {503})
            self.assertLess(service.asked, 8)

    def test_one_that_takes_no_connection_is_told(self):
        with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as full:
            path = f"{directory}/socket"
            full.bind(path)
            full.listen(0)
            with socket.socket(socket.AF_UNIX) as other:
                other.connect(path)
                status, told, _ = self.ask(self.page(path))
                self.assertEqual(status, 503)
                self.assertIn(path, told["away"])

    def test_a_path_that_no_socket_can_have_is_refused(self):
        self.expect_usage("top", "--page", "x" * 200, says=["the path has 200 bytes; that of a socket has at most 107"])
        self.expect_usage("top", "--page", "", says=["the path of the socket is empty; expected 1 to 107 bytes"])


main()
