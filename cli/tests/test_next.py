# SPDX-License-Identifier: MIT
"""pawl next. The times themselves are tested with the calendar; here it is what is printed, and what is refused."""
import datetime

import command
from command import CommandTest, pawl


def times(rule, start, *options, zone="Europe/Berlin"):
    code, out, err = pawl("next", rule, "--zone", zone, "--from", start, *options)
    assert (code, err) == (0, ""), err
    return out.splitlines()


class Next(CommandTest):
    def test_a_time_in_a_gap_fires_at_its_end(self):
        self.assertEqual(times("30 2 * * *", "2026-03-28T00:00", "-n", "3"), [
            "2026-03-28T02:30:00+01:00 Sat", "2026-03-29T03:00:00+02:00 Sun", "2026-03-30T02:30:00+02:00 Mon"])

    def test_a_time_in_an_overlap_fires_the_first_time(self):
        self.assertEqual(times("30 2 * * *", "2026-10-24T00:00", "-n", "3"), [
            "2026-10-24T02:30:00+02:00 Sat", "2026-10-25T02:30:00+02:00 Sun", "2026-10-26T02:30:00+01:00 Mon"])

    def test_a_wildcard_skips_a_gap_and_fires_twice_in_an_overlap(self):
        self.assertEqual(times("30 * * * *", "2026-03-29T01:00", "-n", "2"), [
            "2026-03-29T01:30:00+01:00 Sun", "2026-03-29T03:30:00+02:00 Sun"])
        self.assertEqual(times("30 * * * *", "2026-10-25T02:00", "-n", "3"), [
            "2026-10-25T02:30:00+02:00 Sun", "2026-10-25T02:30:00+01:00 Sun", "2026-10-25T03:30:00+01:00 Sun"])

    def test_it_prints_five_times_unless_told_otherwise(self):
        hours = [f"2026-12-01T{hour:02}:00:00+00:00 Tue" for hour in range(24)]
        self.assertEqual(times("@hourly", "2026-12-01T00:00Z", zone="UTC"), hours[:5])
        for option in (["-n", "24"], ["-n24"], ["--count", "24"], ["--count=24"]):
            self.assertEqual(times("@hourly", "2026-12-01T00:00Z", *option, zone="UTC"), hours)
        self.assertEqual(len(times("* * * * *", "0", "-n", "1000")), 1000)

    def test_from_is_the_first_time_that_counts(self):
        for start, first in (("2026-12-01T09:00:00Z", "09:00"), ("2026-12-01T09:00:00.000000001Z", "10:00"),
                             ("2026-12-01T08:59:59.5Z", "09:00"), ("1796115600", "09:00"), ("1796115601", "10:00")):
            self.assertEqual(times("0 * * * *", start, "-n1", zone="UTC"), [f"2026-12-01T{first}:00+00:00 Tue"])

    def test_from_is_local_unless_it_has_an_offset(self):
        midnight = ["2026-12-01T00:00:00+01:00 Tue"]
        for start in ("2026-12-01T00:00", "2026-11-30T23:00Z", "2026-11-30T18:00-05:00"):
            self.assertEqual(times("* * * * *", start, "-n1"), midnight)

    def test_from_in_a_gap_is_its_end(self):
        self.assertEqual(times("* * * * *", "2026-03-29T02:30", "-n1"), ["2026-03-29T03:00:00+02:00 Sun"])

    def test_offsets_west_of_utc_of_half_an_hour_and_of_seconds(self):
        self.assertEqual(times("0 0 * * *", "2026-12-01T00:00", "-n1", zone="America/St_Johns"),
                         ["2026-12-01T00:00:00-03:30 Tue"])
        self.assertEqual(times("0 0 * * *", "1970-01-02T00:00", "-n1", zone="Africa/Monrovia"),
                         ["1970-01-02T00:00:00-00:44:30 Fri"])

    def test_rules_with_seconds_and_rare_ones(self):
        self.assertEqual(times("*/30 0 0 1 1 *", "2026-01-01T00:00", "-n2", zone="UTC"),
                         ["2026-01-01T00:00:00+00:00 Thu", "2026-01-01T00:00:30+00:00 Thu"])
        self.assertEqual(times("0 0 29 2 MON", "2028-02-22T00:00", "-n2", zone="UTC"),
                         ["2028-02-28T00:00:00+00:00 Mon", "2028-02-29T00:00:00+00:00 Tue"])
        self.assertEqual([line[:4] for line in times("0 0 29 2 *", "2097-01-01T00:00", "-n2", zone="UTC")], ["2104", "2108"])

    def test_without_from_it_begins_now(self):
        before = datetime.datetime.now(datetime.timezone.utc)
        code, out, err = pawl("next", "* * * * * *", "--zone", "UTC", "-n1")
        after = datetime.datetime.now(datetime.timezone.utc)
        first = datetime.datetime.fromisoformat(out.split()[0])
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(before <= first <= after + datetime.timedelta(seconds=1), (before, out, after))

    def test_without_a_zone_it_is_the_machine_s(self):
        default, local = (pawl("next", "0 0 * * *", "--from", "1796115600", *zone) for zone in ([], ["--zone", "local"]))
        self.assertEqual((default[0], default), (0, local))

    def test_a_rule_that_never_fires(self):
        self.expect_usage("next", "0 0 30 2 *", says=["'0 0 30 2 *': it never fires"], expected=1)

    def test_bad_arguments_are_named_with_their_value_and_what_is_allowed(self):
        for rule, says in (("60 2 * * *", ["60", "0 to 59"]), ("30 2 * *", ["RULE is '30 2 * *'"]), ("", ["RULE is ''"]),
                           ("@never", ["@never"])):
            self.expect_usage("next", rule, says=["next: RULE is", *says])
        for zone in ("Europe/Atlantis", "", "../etc/passwd", "x" * 300):
            self.expect_usage("next", "@daily", "--zone", zone, says=[f"next: --zone is '{zone}': "])
        for count in ("0", "1001", "-1", "five", "", "99999999999999999999"):
            self.expect_usage("next", "@daily", "-n", count, says=[f"-n is '{count}'; expected a whole number from 1 to 1000"])
            self.expect_usage("next", "@daily", "--count", count, says=[f"--count is '{count}'; expected"])
        for start in ("yesterday", "2026-02-30T00:00", "1969-12-31T00:00", ""):
            self.expect_usage("next", "@daily", "--from", start, says=[f"--from is '{start}': ", "expected ISO 8601"])

    def test_the_rule_is_one_argument(self):
        self.expect_usage("next", says=["there is no RULE", "pawl next \"30 2 * * *\""])
        self.expect_usage("next", "30", "2", "*", "*", "*", says=["'2' is one RULE too many", "in quotation marks"])
        self.expect_usage("next", "@daily", "-n", says=["option -n needs a value"])
        self.expect_usage("next", "@daily", "-x", says=["option '-x' is unknown"])


command.main()
