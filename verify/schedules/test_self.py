#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_self.py PROGRAM LOGOUT: the explorer finds each known defect of self.c, says what it is, and its seed repeats it.

Each scenario of the program is in one of the lists below. The output that the pages on the explorer show is
compared with the output.
"""
import os
import re
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)
LOGOUT = sys.argv.pop(1)  # explore-logout-wrong: one scenario, which fails
DOCS = Path(__file__).resolve().parents[2] / "docs"

PASS = """store_buffering_with_fences store_buffering_sc message_passing message_passing_with_fences release_sequence
independent_reads_sc coherence coherence_across_threads atomic_increments same_order_of_locks condition_variable
spinning strings no_memory_handled variables virtual_time made_once recursive_mutex all_steps
plain_write_over_atomics plain_write_over_part mutex_init_again looking_often spinning_and_yielding spinning_on_two
empty_block_grows time_in_seconds far_deadline error_of_a_thread long_jump""".split()

FAIL = {
    "store_buffering": r"expected seen\[0\] \|\| seen\[1\]",
    "store_buffering_with_one_fence": r"expected seen\[0\] \|\| seen\[1\]",
    "store_buffering_sc_but_one_load": r"expected seen\[0\] \|\| seen\[1\]",
    "message_passing_relaxed": r"expected !seen\[0\] \|\| seen\[1\]",
    "independent_reads": r"expected !\(seen\[0\]",
    "lost_increment": r"is 1, expected 2",
    "plain_increments": r"data race on byte 0 of x:",
    "deadlock": r"deadlock",
    "spurious_wake_up": r"expected ready",
    "lost_signal": r"deadlock",
    "unlock_a_mutex_of_another_thread": r"a mutex is unlocked that this thread has not locked",
    "spinning_forever": r"deadlock",
    "livelock": r"livelock: \d+ steps, and no end",
    "use_after_free": r"access to freed memory: byte 0 of 8",
    "free_twice": r"a block is freed twice: 8 bytes allocated at self.c:\d+ \(free_twice\)",
    "free_against_use": r"data race on byte 0 of 8 bytes allocated at self.c:\d+ \(free_against_use\):",
    "past_a_block": r"access to memory that is not allocated: byte 5 of 5 bytes allocated at self.c:\d+",
    "leak": r"1 block was not freed: 5 bytes allocated at self.c:\d+ \(leak\)",
    "no_memory": r"signal 11",
    "copy_against_fill": r"data race",
    "block_of_no_use": r"expected unused != NULL",
    "ends_the_program": r"the scenario calls exit",
    "ends_the_program_at_once": r"the scenario calls _exit",
    "lock_again": r"a thread locks a mutex that it has locked",
    "negative_number": r"-EINVAL is -22, expected x = 0",
    "largest_number": r"UINT64_MAX is 18446744073709551615, expected x = 0",
    "signal_at_once": r"signal 11",
    "join_that_is_not_known": r"pthread_tryjoin_np is not supported, self.c:\d+ \(join_that_is_not_known\); use pthread_join",
    "not_joined": r"the scenario ends, and thread 1 was not joined",
    "unknown_function": r"sem_wait is not supported, self.c:\d+ \(unknown_function\); use a mutex and a condition variable",
    "write_after_release": r"data race on byte 0 of message",
    "write_after_exchange": r"data race on byte 0 of message",
    "write_after_release_fence": r"data race on byte 0 of message",
    "read_after_last_reference": r"data race on byte 0 of message",
    "release_sequence_ended": r"data race on byte 0 of message",
    "two_old_values": r"expected !\(seen\[0\]",
    "failed_compare_and_set_sees_old": r"expected seen\[0\] \|\| seen\[1\]",
    "plain_write_before_atomic_one": r"data race on byte 0 of message",
    "plain_read_before_atomic_one": r"data race on byte 0 of message",
    "write_then_reads_next_to_it": r"data race on byte 0 of bytes",
    "write_then_writes_next_to_it": r"data race on byte 0 of bytes",
    "record_copied_twice": r"data race on byte 0 of to",
    "atomics_of_two_sizes": r"atomic accesses of [48] and of [48] bytes to the same memory are not supported",
    "one_of_many_readers": r"data race on byte 0 of plain",
    "mutex_init_against_lock": r"data race on byte 0 of a",
    "mutex_init_after_free": r"access to freed memory",
    "mutex_without_init": r"a mutex is used that was not initialised",
    "condition_destroyed_after_free": r"access to freed memory",
    "giving_up": r"expected !look\(4\)",
    "fill_past_a_block": r"access to memory that is not allocated: byte 56 of 60 bytes",
    "zeros_published_relaxed": r"data race on byte 4 of 16 bytes",
    "too_much_memory": r"more than 67108864 bytes are allocated, with those that were freed",
    "deep_recursion": r"thread 0 takes more than 196608 bytes of stack",
    "deep_recursion_in_threads": r"thread 1 takes more than 196608 bytes of stack",
    "aborts": r"signal 6",
    "late_wake_up": r"expected error == ETIMEDOUT",
    "clock_without_sleepers": r"livelock: \d+ steps, and no end",
    "too_many_threads": r"more than 8 threads",
    "random_number": r"rand is not supported, self.c:\d+ \(random_number\); use getrandom",
}
for function in "memcpy memmove memset memcmp strlen strcpy strncpy strcmp strncmp strchr strdup strndup".split():
    FAIL[f"{function}_after_free"] = "access to freed memory: byte 0 of 6"
# They do not come to an end by themselves.
STOPPED = ["loop_without_steps", "loop_without_anything", "interrupted"]
NOT_REPEATED = ["other_threads_each_time"]


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def seed_of(output):
    return re.search(r"--seed (\S+)", output)[1]


def after_the_count(output):
    """A report without the number of its executions."""
    return re.sub(r"FAILED after \d+ executions?", "", output[output.index("FAILED"):])


def sample_of(document, first_words):
    """The indented lines of the document from those that begin with these words on, as far as they go."""
    found = re.search(rf"^    {re.escape(first_words)}.*\n(?:(?:    .*)?\n)*", (DOCS / document).read_text(), re.M)
    return textwrap.dedent(found[0]).rstrip("\n")


def without_functions(text):
    """Compilers differ in which functions they inline, and then the name is the caller's."""
    return re.sub(r" \(\w+\)", "", text)


class Self(unittest.TestCase):
    def test_each_scenario_is_expected_to_pass_or_to_fail(self):
        self.assertEqual(sorted(run("--list").stdout.split()), sorted(PASS + list(FAIL) + STOPPED + NOT_REPEATED))

    def test_correct_scenarios_pass(self):
        for name in PASS:
            with self.subTest(name):
                done = run("--scenario", name)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_timeout_is_one_also_if_the_lock_is_free_later(self):
        self.assertEqual(run("--scenario", "late_wake_up", "--seed", "d").returncode, 0)

    def test_a_scenario_that_depends_on_more_than_the_seed_is_noticed(self):
        done = run("--scenario", *NOT_REPEATED)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"decision \d+ had \d options before, and now \d: the scenario depends on more than the seed")

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
        self.assertRegex(text, r"thread 1 waits for mutex [ab], which thread 2 has locked")
        self.assertRegex(text, r"thread 2 waits for mutex [ab], which thread 1 has locked")
        self.assertRegex(text, r"thread 0 waits for the end of thread 1")

    def test_a_race_says_where_both_threads_were(self):
        text = run("--scenario", "free_against_use").stdout
        self.assertRegex(text, r":\n    thread 1 wrote  at self.c:\d+ \(uses_under_lock\)\n"
                               r"    thread 2 frees  at self.c:\d+ \(free_block\)\nNeither happens before the other.\n")

    def test_use_of_freed_memory_names_the_free(self):
        text = run("--scenario", "use_after_free").stdout
        self.assertRegex(text, r"bytes allocated at self.c:\d+ \(use_after_free\)\n"
                               r"    thread 2 freed  at self.c:\d+ \(free_block\)\n"
                               r"    thread 1 (reads |writes) at self.c:\d+ \(uses_under_lock\)\n")

    def test_a_signal_before_the_first_step_says_where(self):
        self.assertRegex(run("--scenario", "signal_at_once").stdout, r"at self.c:\d+ \(signal_at_once\)")

    def test_a_schedule_names_the_object_of_each_step(self):
        text = run("--scenario", "all_steps", "--seed", "d0:1", "--trace").stdout
        self.assertIn("  step  thread, operation, object and value ", text)
        for step in ("lock       a ", "start      fails ", "start      thread 1 ", "trylock    a fails ", "join       thread 1 ",
                     "unlock     a ", "destroy    a ", "broadcast  changed ", "once       once ",
                     "allocate   8 bytes: 0x1", "free       0x1", "fence      acquire ", "sleep      2000000000 ns ",
                     "exchange   x = 0 fails ", "exchange   x = 0x2 ", "clock      3000000000 ns ",
                     "-- time passes, to 3000000000 ns --"):
            self.assertIn(step, text)
        self.assertRegex(run("--scenario", "no_memory").stdout, "allocate   8 bytes: fails ")

    def test_its_command_prints_the_schedule_in_the_design_page(self):
        page = (DOCS / "design/schedules.md").read_text()
        text = run(*re.search(r"explore-self (--scenario late_wake_up --seed [\w:,]+)", page)[1].split()).stdout
        sample = sample_of("design/schedules.md", "step  thread, operation")
        schedule = textwrap.dedent(text[text.index("  step  thread, operation"):]).rstrip("\n")
        self.assertEqual(without_functions(schedule), without_functions(sample))

    def test_the_example_prints_the_report_in_the_guide(self):
        text = subprocess.run([LOGOUT], capture_output=True, text=True, check=False).stdout
        sample = sample_of("guide/testing.md", "log out against silence: data race")
        self.assertIn(without_functions(sample) + "\n", without_functions(text))

    def test_each_search_makes_as_many_executions_as_the_pages_say(self):
        lines = run("--scenario", "coherence").stdout
        self.assertIn("  at most 3 preemptions, 0 old values: the first 10000 executions\n", lines)
        self.assertIn("  by priorities, depth 3 to 10, seeds from 1: 4000 executions\n", lines)
        self.assertIn("  at random, seeds from 1: 2000 executions\n", lines)
        self.assertEqual(len(re.findall("preemption", lines)), 4)
        self.assertRegex(run("--scenario", "coherence", "--most", "1000").stdout,
                         "at most 2 preemptions, 0 old values: the first 1000 .*\n  at most 1 preemption, 1 old value")
        self.assertIn("10,000 + 4,000 + 2,000 = 46,000", (DOCS / "design/schedules.md").read_text())

    def test_the_first_seed_does_not_change_the_depth_first_search(self):
        searches = [run("--scenario", "message_passing", "--first-seed", seed).stdout for seed in ("1", "77")]
        depth_first = [re.findall(r".*preemption.*", text) for text in searches]
        self.assertEqual(len(depth_first[0]), 4)
        self.assertEqual(depth_first[0], depth_first[1])
        self.assertIn("at random, seeds from 77:", searches[1])

    def test_a_loop_without_steps_is_reported(self):
        for name in ("loop_without_steps", "loop_without_anything"):
            done = run("--scenario", name, "--hang", "1")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stdout, rf"{name}: no step for 1 s(.|\n)*at self.c:\d+ \({name}\)")

    def test_an_interrupted_search_says_where_it_is(self):
        done = run("--scenario", "interrupted")
        self.assertEqual(done.returncode, 130, done.stdout)
        self.assertRegex(done.stdout, r"interrupted in execution 1, step 0\nRepeat it with: .* --seed d\n\nthread 0 is runnable")
        self.assertNotIn("The schedule", done.stdout)

    def test_the_command_to_repeat_it_is_complete(self):
        done = run("--scenario", "lost_increment", "--strong")
        command = re.search(r"Repeat it with: (.*)", done.stdout)[1]
        self.assertIn("--strong", command)
        again = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        self.assertEqual(after_the_count(again.stdout), after_the_count(done.stdout))

    def test_lines_are_found_for_a_program_in_the_path(self):
        directory, name = os.path.split(os.path.abspath(PROGRAM))
        done = subprocess.run([name, "--scenario", "leak"], capture_output=True, text=True, check=False,
                              env={"PATH": directory + ":" + os.environ["PATH"]})
        self.assertIn("(leak)", done.stdout)

    def test_one_preemption_and_one_execution_are_not_plural(self):
        self.assertIn("at most 1 preemption, 0 old values:", run("--scenario", "message_passing").stdout)
        self.assertIn("FAILED after 1 execution,", run("--scenario", "leak").stdout)

    def test_the_depth_first_search_can_be_left_out(self):
        text = run("--scenario", "message_passing", "--no-depth-first").stdout
        self.assertNotIn("preemption", text)
        self.assertIn("by priorities", text)

    def test_the_only_scenario_need_not_be_named(self):
        found = subprocess.run([LOGOUT], capture_output=True, text=True, check=False)
        again = subprocess.run([LOGOUT, "--seed", seed_of(found.stdout)], capture_output=True, text=True, check=False)
        self.assertEqual(after_the_count(again.stdout), after_the_count(found.stdout))

    def test_help_goes_to_stdout_in_80_columns(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("explore-self [OPTION...]", done.stdout)
        self.assertRegex(done.stdout, r"\n +d +take option 0 everywhere\n")
        self.assertIn("It does not change the depth-first search.", done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines()[1:])), 80)  # the first has the program's path

    def test_a_seed_of_another_build_is_noticed(self):
        for seed, message in (("d9999:1", "decision 9999 was never reached: this is not the program that the seed came from"),
                              ("d2:7", "decision 2 has options 0 to 1, not 7: this is not the program")):
            done = run("--scenario", "condition_variable", "--seed", seed)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(message, done.stderr)

    def test_with_strong_memory_fences_are_not_needed(self):
        self.assertEqual(run("--scenario", "store_buffering", "--strong").returncode, 0)

    def test_wrong_arguments_are_refused(self):
        for arguments, message in (
                (["--seed", "r5"], "--seed needs --scenario"),
                (["--trace"], "--trace needs --seed"),
                (["--times", "0"], "--times 0: it takes a number from 1 to 1000000"),
                (["--most", "x"], "--most x: it takes a number from 1 to"),
                (["--first-seed", "99999999999999999999"], "--first-seed 99999999999999999999: it takes a number"),
                (["--scenario", "nothing"], "--scenario nothing is not one of those"),
                (["more"], "more: it takes options only"),
                (["--nonsense"], "'--nonsense'"),
                (["--seed"], "'--seed'"),
                (["--scenario", "leak", "--seed", "d", "--times", "2"],
                 "--seed d repeats one execution: it does not go with --times"),
                (["--first-seed", "1", "--scenario", "leak", "--seed", "r5"], "it does not go with --first-seed"),
                (["--scenario", "leak", "--seed", "d", "--most", "2"], "it does not go with --most"),
                (["--scenario", "leak", "--seed", "d", "--no-depth-first"], "it does not go with --no-depth-first")):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(message, done.stderr)
                self.assertTrue(done.stderr.endswith("see --help\n"), done.stderr)

    def test_a_bad_seed_is_refused(self):
        number = "a number from 0 to 18446744073709551615"
        for seed, message in (
                ("", "at the end expected a seed like r5, p3.5, d12:1,40:2 or d"),
                ("q5", "at 'q5' expected a seed like"),
                ("r", f"at the end expected {number}"),
                ("r-5", f"at '-5' expected {number}"),
                ("r18446744073709551616", f"at '18446744073709551616' expected {number}"),
                ("r5x", "at 'x' expected nothing more"),
                ("p0.1", "at '0.1' expected a depth from 1 to 10"),
                ("p11.1", "at '11.1' expected a depth from 1 to 10"),
                ("p3", "at the end expected '.'"),
                ("p3.18446744073709551616", f"at '18446744073709551616' expected {number}"),
                ("d5", "at the end expected ':'"),
                ("d5:0", "at '0' expected an option from 1 to 8"),
                ("d5:9", "at '9' expected an option from 1 to 8"),
                ("d5:1,4:1", "at '4:1' expected a decision from 6 to 65535"),
                ("d5:1,5:1", "at '5:1' expected a decision from 6 to 65535"),
                ("d5:1,", "at the end expected a decision from 6 to 65535"),
                ("d5:14:1", "at '14:1' expected an option from 1 to 8"),
                ("d5:1x", "at 'x' expected ','"),
                ("d65536:1", "at '65536:1' expected a decision from 0 to 65535"),
                ("d99999999999999999999:1", "at '99999999999999999999:1' expected a decision from 0 to 65535"),
                ("d65535:1,6:1", "at ',6:1' expected nothing more")):
            with self.subTest(seed):
                done = run("--scenario", "leak", "--seed", seed)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertRegex(done.stderr, rf"--seed {re.escape(seed)}: {re.escape(message)}.*; see --help\n$")

    def test_the_largest_seeds_are_seeds(self):
        for seed in ("r18446744073709551615", "p10.18446744073709551615"):
            with self.subTest(seed):
                self.assertIn(f"seed {seed}: passed", run("--scenario", "condition_variable", "--seed", seed).stdout)
        done = run("--scenario", "condition_variable", "--seed", "d65535:8")
        self.assertIn("decision 65535 was never reached", done.stderr)


unittest.main()
