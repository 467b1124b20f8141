# SPDX-License-Identifier: MIT
"""The code that the tests of pawl's pages share without a browser: a command that serves one. The first argument is pawl."""
import http.client
import os
import re
import socket
import subprocess
import sys

PAWL = os.path.abspath(sys.argv.pop(1))
HANG = int(os.environ.get("PAWL_HANG_SECONDS", 1200))  # seconds after which a test counts as hung, however slow the machine is


def environment(**variables):
    """Without what changes the commands."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("PAWL_BOARD", "PAWL_TOP")) and k != "REDISCLI_AUTH"}
    return {**plain, "LC_ALL": "C", **variables}


def refused(*words, **variables):
    """It ends at once: the exit code and what it says on standard error."""
    done = subprocess.run([PAWL, *words], capture_output=True, timeout=HANG, env=environment(**variables),
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr.decode()


def free_tcp_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class SiteTest:
    """The checks of a site's end. A mixin of unittest.TestCase."""

    def expect_good_end(self, site, says=""):
        code, said = site.end()
        self.assertEqual(code, 0, said)
        self.assertIn(says, said)
        self.assertNotIn("Sanitizer", said)


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
        with open(f"/proc/{self.process.pid}/stat") as file:
            user, system = file.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def end(self):
        """By SIGTERM: the exit code and what it said on standard error."""
        self.process.terminate()
        out, err = self.process.communicate(timeout=HANG)
        return self.process.returncode, out.decode() + err.decode()
