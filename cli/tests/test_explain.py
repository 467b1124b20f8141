# SPDX-License-Identifier: MIT
"""pawl explain, and what all of the command has in common."""
import os
import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree

import command
from command import PAWL, CommandTest, on_a_terminal, pawl

TOP = pathlib.Path(__file__).resolve().parent.parent.parent

DRAWN = {
    ("2ms",): """2 ms

  At 0 ms it is armed, due at 2 ms. It goes to level 0, slot 2, which opens at
  2 ms.

    level 0   o . [2] . . . . . . . . . . . . . . . . .   1 ms a slot

  At 2 ms slot 2 of level 0 opens. At 2 ms it is due.
""",
    ("--start", "2ms", "8ms"): """8 ms

  At 2 ms it is armed, due at 10 ms. It goes to level 0, slot 10, which opens
  at 10 ms.

    level 0   . . o . . . . . . . [10] . . . . . . . . .   1 ms a slot

  At 10 ms slot 10 of level 0 opens. At 10 ms it is due.
""",
    ("--start", "2ms", "19ms"): """19 ms

  At 2 ms it is armed, due at 21 ms. It goes to level 0, slot 1, which time
  has passed and which serves again: it opens at 21 ms.

    level 0   . [1] o . . . . . . . . . . . . . . . . .   1 ms a slot

  At 21 ms slot 1 of level 0 opens. At 21 ms it is due.
""",
    ("350ms",): """350 ms

  At 0 ms it is armed, due at 350 ms. Level 0 holds what is due before 20 ms,
  so it goes to level 1, slot 17, which opens at 340 ms.

    level 1   o . . . . . . . . . . . . . . . . [17] . .   20 ms a slot

  At 340 ms slot 17 of level 1 opens: 10 ms to go. It moves down to level 0,
  slot 10, which opens at 350 ms.

    level 0   o . . . . . . . . . [10] . . . . . . . . .   1 ms a slot

  At 350 ms slot 10 of level 0 opens. At 350 ms it is due.
""",
    ("400ms",): """400 ms

  At 0 ms it is armed, due at 400 ms. Level 1 holds what is due before 400 ms,
  so it goes to level 2, slot 1, which opens at 400 ms.

    level 2   o [1] . . . . . . . . . . . . . . . . . .   400 ms a slot

  At 400 ms slot 1 of level 2 opens. At 400 ms it is due.
""",
    ("450ms",): """450 ms

  At 0 ms it is armed, due at 450 ms. Level 1 holds what is due before 400 ms,
  so it goes to level 2, slot 1, which opens at 400 ms.

    level 2   o [1] . . . . . . . . . . . . . . . . . .   400 ms a slot

  At 400 ms slot 1 of level 2 opens: 50 ms to go. It moves down to level 1,
  slot 2, which opens at 440 ms.

    level 1   o . [2] . . . . . . . . . . . . . . . . .   20 ms a slot

  At 440 ms slot 2 of level 1 opens: 10 ms to go. It moves down to level 0,
  slot 10, which opens at 450 ms.

    level 0   o . . . . . . . . . [10] . . . . . . . . .   1 ms a slot

  At 450 ms slot 10 of level 0 opens. At 450 ms it is due.
""",
}
LEGEND = "\n[n] the slot that the timer sits in   o the slot of the present time\n"


def words_of(*arguments):
    """The words of `pawl explain`, without its lines."""
    return " ".join(pawl("explain", *arguments)[1].split())


class Explain(CommandTest):
    def test_the_examples_by_which_kafkas_wheel_is_explained(self):
        for arguments, text in DRAWN.items():
            self.assertEqual(pawl("explain", *arguments), (0, text + LEGEND, ""))

    def test_several_timers_come_one_after_the_other(self):
        self.assertEqual(pawl("explain", "350ms", "450ms")[1],
                         DRAWN[("350ms",)] + "\n" + DRAWN[("450ms",)] + LEGEND)

    def test_options_may_follow_the_delays(self):
        self.assertEqual(pawl("explain", "8ms", "--start=2ms"), pawl("explain", "--start", "2ms", "8ms"))

    def test_times_are_written_in_units_that_suit_them(self):
        out = words_of("1h")
        self.assertTrue(out.startswith("1 h At 0 ms it is armed, due at 1 h. Level 4 holds what is due before 53 min 20 s, so it"), out)
        self.assertIn("53 min 20 s a slot At 53 min 20 s slot 1 of level 5 opens: 6 min 40 s to go.", out)
        self.assertIn("due at 59 min 59.999 s, rounded up to 1 h.", words_of("59m59.999s", "--tick", "1s"))
        self.assertNotRegex(out, r"\d{4} ms")
        self.assertIn("450 ms: to level", pawl("explain", "--tick", "1ns", "450ms", "--svg", "-")[1])
        self.assertIn("20 slots of 2 min 40 s", pawl("explain", "1h", "--svg", "-")[1])

    def test_wheels_with_many_slots_are_shown_in_part(self):
        out = pawl("explain", "--wheel-size", "4096", "2s")[1]
        self.assertIn("    level 0   o .. . . . . [2000] . . . . .. .   1 ms a slot\n", out)

    def test_every_line_fits_80_columns_whatever_the_wheel(self):
        for size in ("2", "3", "20", "21", "4096"):
            for delay in ("1ns", "450ms", "213503d"):
                for tick in ("1ns", "1ms", "213503d"):
                    code, out, err = pawl("explain", "--wheel-size", size, "--tick", tick, delay, "--start", "3m")
                    self.assertEqual((code, err), (0, ""))
                    self.assertLessEqual(max(map(len, out.split("\n"))), 80, out)
                    self.assertIn("it is due", " ".join(out.split()))

    def test_characters_beyond_ascii_only_where_the_locale_has_them(self):
        self.assertTrue(pawl("explain", "450ms")[1].isascii())
        self.assertIn("level 2   ○ [1] · ·", pawl("explain", "450ms", LC_ALL="C.UTF-8")[1])

    def test_bad_input_names_the_thing_the_value_and_the_range(self):
        self.expect_usage("explain", says=["no DELAY"])
        self.expect_usage("explain", "5", says=["DELAY", "'5'", "no unit", "ns, us, ms, s, m, h or d"])
        self.expect_usage("explain", "5ms", "x", says=["DELAY", "'x'"])
        self.expect_usage("explain", "--tick", "0ms", "5ms", says=["--tick", "'0ms'", "too short"])
        self.expect_usage("explain", "--tick", says=["--tick", "needs a value"])
        self.expect_usage("explain", "--start", "-1s", "5ms", says=["--start", "'-1s'", "negative"])
        self.expect_usage("explain", "--tock", "5ms", says=["'--tock'", "--help"])
        self.expect_usage("explain", "-xyz", "5ms", says=["'-xyz'"])
        self.expect_usage("explain", "5ms", "-x", says=["'-x'"])
        self.expect_usage("explain", "--help=me", "5ms", says=["'--help=me'"])
        for size in ("1", "4097", "", "x", "20x", "-20", "99999999999999999999"):
            self.expect_usage("explain", "--wheel-size", size, "5ms",
                              says=["--wheel-size", f"'{size}'", "2 to 4096"])


class Svg(CommandTest):
    def test_the_picture_has_a_wheel_for_each_level_and_a_dot_for_each_stay(self):
        root = xml.etree.ElementTree.fromstring(pawl("explain", "350ms", "450ms", "--svg", "-")[1])
        name = "{http://www.w3.org/2000/svg}"
        texts = ["".join(text.itertext()) for text in root.iter(name + "text")]
        self.assertEqual([t for t in texts if t.startswith("level ")], ["level 0", "level 1", "level 2"])
        self.assertIn("20 slots of 400 ms", texts)
        self.assertEqual(sorted(t for t in texts if t.startswith("at ")), ["at 340 ms", "at 400 ms", "at 440 ms"])
        self.assertIn("450 ms: to level 2 slot 1, at 400 ms to level 1 slot 2, at 440 ms to level 0 slot 10, "
                      "due at 450 ms", texts)
        dots = [c for c in root.iter(name + "circle") if c.get("r") == "5"]
        self.assertEqual(len(dots), 5 + 2)  # and two in the legend

    def test_any_wheel_gives_a_picture(self):
        for size in ("2", "64", "65", "4096"):
            for delays in (["0s"], ["1ns"], ["1ms"] * 9, ["213503d", "1d", "3m"]):
                code, out, err = pawl("explain", "--wheel-size", size, *delays, "--svg", "-")
                self.assertEqual((code, err), (0, ""))
                xml.etree.ElementTree.fromstring(out)
                self.assertNotIn("nan", out)

    def test_it_goes_to_a_file_and_nothing_else_is_written(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "wheels.svg")
            self.assertEqual(pawl("explain", "450ms", "--svg", path), (0, "", ""))
            self.assertEqual(pathlib.Path(path).read_text(), pawl("explain", "450ms", "--svg", "-")[1])

    def test_a_file_that_cannot_be_written_is_named(self):
        code, out, err = pawl("explain", "450ms", "--svg", "/nowhere/wheels.svg")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("/nowhere/wheels.svg", err)
        if os.path.exists("/dev/full"):
            self.assertEqual(pawl("explain", "450ms", "--svg", "/dev/full")[0], 1)

    def test_the_command_draws_the_pictures_in_the_documents(self):
        drawn = re.compile(r"<!-- drawn by: pawl (explain .*?) --svg (\S+) -->")
        found = [(path, *match) for path in TOP.glob("docs/**/*.md") for match in drawn.findall(path.read_text())]
        self.assertTrue(found)
        for path, arguments, name in found:
            self.assertEqual((path.parent / name).read_text(), pawl(*arguments.split(), "--svg", "-")[1], name)


class Manners(CommandTest):
    def test_help_and_version_go_to_standard_output(self):
        for arguments in (["--help"], ["demo", "--help"], ["next", "--help"], ["run", "--help"], ["explain", "--help"], ["explain", "-h"]):
            code, out, err = pawl(*arguments)
            self.assertEqual((code, err), (0, ""))
            self.assertTrue(out.startswith("usage: pawl "))
            self.assertLessEqual(max(map(len, out.split("\n"))), 80)
        code, out, err = pawl("--version")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"^pawl \d+\.\d+\.\d+\n$")

    def test_help_is_also_a_command(self):
        self.assertEqual(pawl("help"), pawl("--help"))
        for command in ("board", "demo", "explain", "next", "run", "top"):
            self.assertEqual(pawl("help", command), pawl(command, "--help"))
        self.expect_usage("help", "wind", says=["'wind'", "explain"])
        self.assertEqual(pawl("help", "--help"), pawl("help"))
        self.expect_usage("help", "run", "demo", says=["'demo'", "at most one"])

    def test_without_a_command_or_with_an_unknown_one_nothing_is_done(self):
        code, out, err = pawl()
        self.assertEqual((code, out), (2, ""))
        self.assertTrue(err.startswith("usage: pawl "))
        self.expect_usage("wind", says=["'wind'", "explain"])

    def test_a_command_that_is_nearly_right_is_guessed(self):
        for word, meant in (("rum", "run"), ("rn", "run"), ("runs", "run"), ("rnu", "run"), ("urn", "run"), ("Run", "run"),
                            ("stop", "top"), ("nxet", "next"), ("hlep", "help"), ("sotre", "store"), ("exlpian", "explain"),
                            ("expln", "explain"), ("boards", "board")):
            self.assertEqual(pawl(word), (2, "", f"pawl: unknown command '{word}'; did you mean {meant}?\n"))
        self.expect_usage("help", "rum", says=["did you mean run?"])
        for word in ("", "r", "put", "serve", "nru-", "list", "exp", "explains-it"):
            self.expect_usage(word, says=[f"unknown command '{word}'; expected board, demo, explain, help, next, run, store or top"])
        self.assertNotIn("did you mean", self.expect_usage("run" * 10000, says=["unknown command"]))

    def test_a_full_disk_is_noticed(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        for arguments in (["--help"], ["--version"], ["explain", "450ms"], ["explain", "450ms", "--svg", "-"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PAWL, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=command.HANG)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn(b"standard output", done.stderr)

    def test_colours_only_on_a_terminal_and_not_with_no_color(self):
        self.assertNotIn("\033", pawl("explain", "450ms", TERM="xterm")[1])
        self.assertIn("\033[1;36m[1]", on_a_terminal("explain", "450ms")[1])
        self.assertNotIn("\033", on_a_terminal("explain", "450ms", NO_COLOR="1")[1])
        self.assertIn("\033", on_a_terminal("explain", "450ms", NO_COLOR="")[1])


command.main()
