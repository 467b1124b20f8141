# SPDX-License-Identifier: MIT
"""Queues in a cluster, one a key: resharding under load, a killed primary, a blocked taker whose slot moves."""
import unittest

import cluster
from support import Error, wait_until


class Cluster(cluster.ClusterTest):
    def test_nothing_that_wait_confirmed_is_lost(self):
        self.nothing_confirmed_is_lost(cluster.Producer(self.ports), cluster.Consumer(self.ports))

    def test_a_blocked_taker_is_sent_on_when_its_slot_leaves(self):
        key = "q{0}"
        old = self.owner(key)
        new = next(server for server in self.primaries() if server is not old)
        slot = old.call("CLUSTER", "KEYSLOT", key)
        with self.assertRaisesRegex(Error, f"^MOVED {slot} "):
            new.call("PAWL.PUT", key, 0, "p")
        self.assert_sent_on(("PAWL.TAKE", key, "BLOCK", 0), key)

    def assert_sent_on(self, command, key):
        """A blocked taker is redirected to the node that has the slot."""
        old = self.owner(key)
        new = next(server for server in self.primaries() if server is not old)
        slot = old.call("CLUSTER", "KEYSLOT", key)
        taker = old.client()
        taker.send(*command)
        wait_until(lambda: old.blocked() == 1, "blocked")
        self.give_slot(slot, old, new)
        with self.assertRaisesRegex(Error, f"^MOVED {slot} "):
            taker.read()

    def test_several_keys_are_of_one_slot(self):
        server = self.owner("{0}a")
        with self.assertRaisesRegex(Error, "^CROSSSLOT"):
            server.call("PAWL.MTAKE", 2, "{0}a", "{1}b")
        server.call("PAWL.PUT", "{0}b", 0, "p")
        self.assertEqual(server.call("PAWL.MTAKE", 2, "{0}a", "{0}b")[0], b"{0}b")
        self.assert_sent_on(("PAWL.MTAKE", 2, "{0}a", "{0}b", "BLOCK", 0), "{0}a")


if __name__ == "__main__":
    unittest.main()
