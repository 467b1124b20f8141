# SPDX-License-Identifier: MIT
"""A program that is inspected, played by the test: what it answers is the test's to choose."""
import json
import os
import socket
import tempfile
import threading
import time

SNAPSHOT = {
    "pawl": "9.8.7", "format": 1, "name": "orders", "process": os.getpid(), "now_ns": 10_000_000_000, "tick_ns": 1_000_000,
    "workers": 2, "shards": 4, "armed": 5000, "ran": 3000, "cancelled": 500, "dropped": 0, "pending": 1500, "sampled": 700,
    "wakeups": 40, "empty_wakeups": 1, "moved_ahead": 7, "moved_at_opening": 8, "later": [{"unknown": [1, "]", None]}],
    "due": [[0, 5, 4], [1_000_000, 0, 3], [1_000_000_000, 1000, 39], [None, 495, 38]],
    "functions": [
        {"function": "0x10", "pending": 1000, "margin": 37, "runs": 10, "total_ns": 5000, "longest_ns": 2000, "new": {}},
        {"function": "", "pending": 500, "margin": 36, "runs": 0, "total_ns": 0, "longest_ns": 0}],
    "latest": [{"function": "0x10", "worker": 2, "deadline_ns": 9_000_000_000, "start_ns": 9_001_000_000, "took_ns": 500}],
    "lateness": {"count": 3000, "max_ns": 1_900_000, "cells": [[1000, 1500], [2_000_000, 1500]]},
    "run_time": {"count": 3000, "max_ns": 2000, "cells": [[500, 3000]]},
    "slowest": {"function": "0x10", "took_ns": 2000},
    "purgatories": [{"watched": 30, "delayed": 20, "completed_by_try": 1, "completed_by_check": 2, "completed_by_call": 3,
                     "expired": 4, "cancelled": 0, "dropped": 0, "lateness": {"count": 0, "max_ns": 0, "cells": []},
                     "keys": [{"hash": "0123456789abcdef01234567", "waiting": 17, "operation": "user \u00e4\t\x1b\x9b\"7\""}]}],
}


class Service:
    """Answers each line with the next of these lines, the last one again and again; then it may hang up. It serves at `path`, which
    is in a directory of its own unless one is given. With a `pause`, it waits so many seconds after each byte that it sends."""

    def __init__(self, *answers, hang_up=False, path=None, pause=0):
        self.directory = None if path else tempfile.TemporaryDirectory()
        self.path = path or f"{self.directory.name}/socket"
        self.answers, self.hang_up, self.pause, self.asked = list(answers), hang_up, pause, 0
        self.connections = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                connection = self.listener.accept()[0]
                self.connections.append(connection)
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()
        except OSError:
            pass  # it is over

    def serve(self, connection):
        try:
            while connection.recv(1):
                self.asked += 1
                if self.asked > len(self.answers) and self.hang_up:
                    break
                answer = self.answers[min(self.asked, len(self.answers)) - 1]
                if answer is not None:
                    self.send(connection, answer + b"\n")
        except OSError:
            pass  # closed meanwhile
        self.connections.remove(connection)
        connection.close()

    def send(self, connection, answer):
        if not self.pause:
            connection.sendall(answer)
            return
        for byte in answer:
            connection.sendall(bytes([byte]))
            time.sleep(self.pause)

    def end(self):
        """As a program that ends."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in list(self.connections):
            connection.shutdown(socket.SHUT_RDWR)
        os.unlink(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        if self.directory:
            self.directory.cleanup()


def line(**changes):
    return json.dumps({**SNAPSHOT, **changes}).encode()
