# SPDX-License-Identifier: MIT
"""pawl store."""
import fcntl
import os
import pathlib
import re
import subprocess
import tempfile

import command
from command import HANG, CommandTest, pawl

MAKE = os.environ["PAWL_MAKE_STORE"]
PAYLOADS = ["tea", r"bread\x0a\x1b[31m\xff\xc2\x9b" + "ä", "", 256 * "x" + "..."]


def state_of(directory):
    return {path.name: path.read_bytes() for path in pathlib.Path(directory).iterdir()}


def flip(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


class StoreTest(CommandTest):
    def setUp(self):
        parent = tempfile.TemporaryDirectory()
        self.addCleanup(parent.cleanup)
        self.parent = pathlib.Path(parent.name)
        self.store, self.new = str(self.parent / "store"), str(self.parent / "new")
        subprocess.run([MAKE, self.store], check=True, timeout=HANG)

    def log(self):
        return max(pathlib.Path(self.store).glob("log.*"), key=lambda path: int(path.suffix[1:]))

    def damage_first_commit(self):
        """The first frame begins after the header of 32 bytes, and has one of 16 itself."""
        flip(self.log(), 32 + 16 + 2)

    def listed(self, *arguments):
        code, out, err = pawl("store", "list", *arguments, self.store)
        self.assertEqual((code, err), (0, ""))
        return [line.split("\t") for line in out.splitlines()]

    def expect_refusal(self, *arguments, says):
        before = state_of(self.store)
        self.expect_usage("store", *arguments, says=says)
        self.assertEqual(state_of(self.store), before)


class Check(StoreTest):
    def test_a_whole_store_has_no_damage_and_is_not_changed(self):
        before = state_of(self.store)
        self.assertEqual(pawl("store", "check", self.store), (0, f"{self.store}: no damage\n", ""))
        self.assertEqual(state_of(self.store), before)

    def test_each_damage_is_named_by_file_and_offset(self):
        self.damage_first_commit()
        before = state_of(self.store)
        code, out, err = pawl("store", "check", self.store)
        self.assertEqual((code, err), (1, ""))
        self.assertRegex(out, rf"^{self.log().name}, offset 32: ")
        self.assertRegex(out, r": \d+ damaged places?\n$")
        self.assertEqual(state_of(self.store), before)

    def test_a_damaged_task_in_a_slot_is_named(self):
        pawl("store", "stat", self.store)  # opens the store: its slots are written
        slot = next(pathlib.Path(self.store).glob("slot.*"))
        flip(slot, 32 + 16 + 2)
        code, out, _ = pawl("store", "check", self.store)
        self.assertEqual(code, 1)
        self.assertIn(f"{slot.name}, offset 32: ", out)

    def test_a_missing_file_is_named(self):
        pawl("store", "stat", self.store)
        slot = next(pathlib.Path(self.store).glob("slot.*"))
        slot.unlink()
        code, out, _ = pawl("store", "check", self.store)
        self.assertEqual(code, 1)
        self.assertIn(f"{slot.name}, offset 0: missing", out)

    def test_a_missing_log_is_named(self):
        log = self.log()
        log.unlink()
        code, out, _ = pawl("store", "check", self.store)
        self.assertEqual(code, 1)
        self.assertIn(f"{log.name}, offset 0: missing\n", out)


class List(StoreTest):
    def test_pending_tasks_come_by_time(self):
        tasks = self.listed()
        self.assertEqual([task[0] for task in tasks], [f"2030-01-01T00:00:00.00{i}Z" for i in range(4)])
        self.assertEqual([task[2] for task in tasks], ["mail", "mail", "jobs", "jobs"])
        self.assertEqual([task[3:5] for task in tasks], [["0", "3"], ["0", "16"], ["0", "0"], ["0", "300"]])
        self.assertEqual([task[5] for task in tasks], PAYLOADS)
        self.assertEqual(len({task[1] for task in tasks}), 4)

    def test_it_can_be_repeated(self):
        self.assertEqual(self.listed(), self.listed())

    def test_one_queue(self):
        self.assertEqual([task[5] for task in self.listed("--queue", "jobs")], PAYLOADS[2:])
        self.assertEqual(self.listed("--queue", "nobody"), [])

    def test_at_most_n(self):
        self.assertEqual([task[5] for task in self.listed("--count", "2")], PAYLOADS[:2])
        self.assertEqual(len(self.listed("--count", "1000000")), 4)

    def test_dead_tasks_have_a_reason(self):
        (task,) = self.listed("--dead")
        self.assertEqual((task[0], task[2:]), ("1970-01-01T00:00:01.000Z", ["mail", "1", "4", r"no\x09address", "spam"]))

    def test_a_damaged_store_is_not_listed(self):
        self.damage_first_commit()
        self.expect_refusal("list", self.store, says=[f"{self.store}: {self.log().name}, offset 32: ",
                                                      f"try 'pawl store check {self.store}'"])


class Stat(StoreTest):
    def test_it_counts(self):
        code, out, err = pawl("store", "stat", self.store)
        self.assertEqual((code, err), (0, ""))
        for line in (r"pending +4", r"due +0", r"first due +2030-01-01T00:00:00\.000Z", r"dead +1", r"slot files +\d+",
                     r"put +6", r"acknowledged +0", r"cancelled +1", r"buried +1", r"requeued +0"):
            self.assertRegex(out, rf"(?m)^{line}$")


class Repair(StoreTest):
    def test_what_is_whole_is_in_the_new_directory(self):
        self.damage_first_commit()
        before = state_of(self.store)
        code, out, err = pawl("store", "repair", self.store, "--into", self.new)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(state_of(self.store), before)
        self.assertRegex(out, rf"(?m)^{self.log().name}, offset 32: ")
        count = int(re.search(r"new: (\d+) tasks? pending, \d+ dead\n$", out)[1])
        self.assertLessEqual(count, 4)
        code, out, err = pawl("store", "list", self.new)
        self.assertEqual((code, len(out.splitlines()), err), (0, count, ""))

    def test_a_damaged_slot_costs_its_damaged_task_only(self):
        pawl("store", "stat", self.store)
        flip(max(pathlib.Path(self.store).glob("slot.*"), key=lambda path: path.stat().st_size), 32 + 16 + 2)
        code, out, _ = pawl("store", "repair", self.store, "--into", self.new)
        self.assertEqual(code, 0)
        self.assertTrue(out.endswith("new: 3 tasks pending, 1 dead\n"), out)

    def test_a_whole_store_is_copied(self):
        code, out, _ = pawl("store", "repair", self.store, "--into", self.new)
        self.assertEqual((code, out), (0, f"{self.store}: no damage\n{self.new}: 4 tasks pending, 1 dead\n"))
        self.assertEqual(pawl("store", "list", self.new), pawl("store", "list", self.store))

    def test_the_new_directory_must_not_exist(self):
        os.mkdir(self.new)
        self.expect_refusal("repair", self.store, "--into", self.new, says=[self.new, "it exists; expected one that"])
        self.assertEqual(os.listdir(self.new), [])

    def test_never_in_place(self):
        self.expect_refusal("repair", self.store, "--into", self.store, says=["it exists"])


class Refusals(StoreTest):
    def test_a_directory_that_is_open_is_refused(self):
        with open(f"{self.store}/lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for action in (["check"], ["list"], ["stat"], ["repair", "--into", self.new]):
                self.expect_refusal(*action, self.store, says=[f"{self.store} is open in another process"])
        self.assertFalse(os.path.exists(self.new))

    def test_no_store_is_made(self):
        empty = self.parent / "empty"
        empty.mkdir()
        for action in (["check"], ["list"], ["stat"], ["repair", "--into", self.new]):
            self.expect_refusal(*action, str(empty), says=[f"{empty} is not a store"])
            self.expect_refusal(*action, self.new, says=[f"cannot read the directory {self.new}: No such file"])
        self.assertEqual(list(empty.iterdir()), [])
        self.assertFalse(os.path.exists(self.new))

    def test_wrong_arguments_are_named(self):
        for arguments, says in (
                ([], ["there is no action", "check, list, stat or repair"]),
                (["mend", self.store], ["'mend'", "check, list, stat or repair"]),
                (["list"], ["store list: there is no DIR"]),
                (["list", self.store, "more"], ["'more' is one DIR too many"]),
                (["list", "--count", "0", self.store], ["--count is '0'", "from 1 to 1000000"]),
                (["list", "--count", "1000001", self.store], ["--count is '1000001'", "from 1 to 1000000"]),
                (["list", "--count"], ["option --count needs a value"]),
                (["list", "--queue", 256 * "q", self.store], ["--queue has 256 bytes", "1 to 255"]),
                (["list", "--queue", "", self.store], ["--queue has 0 bytes", "1 to 255"]),
                (["check", "--dead", self.store], ["store check: --dead", "pawl store list"]),
                (["stat", "--count", "1", self.store], ["store stat: --count", "pawl store list"]),
                (["list", "--into", self.new, self.store], ["store list: --into", "pawl store repair"]),
                (["repair", self.store], ["there is no --into NEW"])):
            self.expect_refusal(*arguments, says=says)


command.main()
