#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_self.py PROGRAM: the explorer finds each known defect of self.c, says what it is, and its seed repeats it.

Each scenario of the program is in one of the two lists below.
"""
import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)

PASS = """store_buffering_with_fences store_buffering_sc message_passing message_passing_with_fences release_sequence
independent_reads_sc coherence coherence_across_threads atomic_increments same_order_of_locks condition_variable
spinning strings no_memory_heeded variables virtual_time""".split()

FAIL = {
    "store_buffering": r"expected seen\[0\] \|\| seen\[1\]",
    "store_buffering_with_one_fence": r"expected seen\[0\] \|\| seen\[1\]",
    "store_buffering_sc_but_one_load": r"expected seen\[0\] \|\| seen\[1\]",
    "message_passing_relaxed": r"expected !seen\[0\] \|\| seen\[1\]",
    "independent_reads": r"expected !\(seen\[0\]",
    "lost_increment": r"is 1, expected 2",
    "plain_increments": r"data race at \S+: thread \d (wrote|read), and thread \d (writes|reads)",
    "deadlock": r"deadlock",
    "spurious_wake_up": r"expected ready",
    "lost_signal": r"deadlock",
    "unlock_what_another_has_locked": r"a mutex is unlocked that this thread has not locked",
    "spinning_for_ever": r"deadlock",
    "livelock": r"livelock: \d+ steps, and no end",
    "use_after_free": r"access to freed memory: byte 0 of 8",
    "free_twice": r"a block of 8 bytes is freed twice",
    "free_against_use": r"data race at \S+: thread \d wrote, and thread \d frees it|access to freed memory",
    "beside_a_block": r"access to memory that is not allocated",
    "leak": r"1 blocks were not freed, the first of them has 5 bytes",
    "no_memory": r"signal 11",
    "copy_against_fill": r"data race",
    "block_of_no_use": r"expected unused != NULL",
    "ends_the_program": r"the scenario calls exit",
    "ends_the_program_at_once": r"the scenario calls _exit",
    "not_joined": r"the scenario ends, and thread 1 was not joined",
    "unknown_function": r"the explorer does not know sem_wait",
}
for function in "memcpy memmove memset memcmp strlen strcpy strncpy strcmp strncmp strchr strdup strndup".split():
    FAIL[f"{function}_after_free"] = "access to freed memory: byte 0 of 6"


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def seed_of(output):
    return re.search(r"--seed (\S+)", output)[1]


def after_the_count(output):
    """What a report says but for how many executions it took."""
    return re.sub(r"FAILED after \d+ executions", "", output[output.index("FAILED"):])


class Self(unittest.TestCase):
    def test_each_scenario_is_expected_to_pass_or_to_fail(self):
        self.assertEqual(sorted(run("--list").stdout.split()), sorted(PASS + list(FAIL)))

    def test_what_is_right_passes(self):
        for name in PASS:
            with self.subTest(name):
                done = run("--scenario", name)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_small_scenarios_are_seen_in_full(self):
        for name in ("store_buffering_sc", "message_passing"):
            with self.subTest(name):
                self.assertRegex(run("--scenario", name).stdout, r"at most 3 preemptions, 0 old values: all \d+")

    def test_a_defect_is_found_and_its_seed_repeats_it(self):
        for name, message in FAIL.items():
            with self.subTest(name):
                done = run("--scenario", name)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertRegex(done.stdout, rf"(?m)^{name}: .*({message})")
                again = run("--scenario", name, "--seed", seed_of(done.stdout))
                self.assertEqual(again.returncode, 1, again.stdout)
                self.assertEqual(after_the_count(again.stdout), after_the_count(done.stdout))

    def test_every_kind_of_seed_repeats_its_execution(self):
        for seed in ("d", "r5", "p3.5", "p10.99", "d5:1,7:1"):
            with self.subTest(seed):
                first = run("--scenario", "condition_variable", "--seed", seed, "--trace")
                self.assertEqual(first.returncode, 0, first.stdout)
                self.assertIn("The schedule:", first.stdout)
                again = run("--scenario", "condition_variable", "--seed", seed, "--trace")
                self.assertEqual(again.stdout, first.stdout)

    def test_a_deadlock_says_who_waits_for_whom(self):
        text = run("--scenario", "deadlock").stdout
        self.assertRegex(text, r"thread 1 waits for a mutex that thread 2 has")
        self.assertRegex(text, r"thread 2 waits for a mutex that thread 1 has")
        self.assertRegex(text, r"thread 0 waits for the end of thread 1")

    def test_with_strong_memory_fences_are_not_needed(self):
        self.assertEqual(run("--scenario", "store_buffering", "--strong").returncode, 0)

    def test_wrong_arguments_are_refused(self):
        for arguments in (["--seed", "r5"], ["--scenario", "leak", "--seed", "q5"], ["--times", "0"], ["--most", "x"],
                          ["--scenario", "leak", "--seed", "p11.1"], ["--scenario", "leak", "--seed", "d5"],
                          ["--scenario", "nothing"], ["more"]):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertTrue(done.stderr)


unittest.main()
