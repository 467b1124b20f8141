#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_tzdata.py [EMULATOR...] PROBE: every zone of this machine's tzdata against Python's own reader of it.

For the years 2016 to 2035: the offset on every day, and each of its changes to the second. (For the later years tzdata
has only a rule in the last line of each file.) Of all zones with the same changes, one is tested further: around each
change, a naive model reads its clocks minute by minute and says when rules fire. The rules are at fixed times inside,
at the edge of and next to the gap or overlap, or have wildcards.
"""
import datetime
import functools
import hashlib
import pathlib
import subprocess
import sys
import zoneinfo

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
FIRST = int(datetime.datetime(2016, 1, 1, tzinfo=UTC).timestamp())
LAST = int(datetime.datetime(2036, 1, 1, tzinfo=UTC).timestamp())
SAMPLE = 86400
AROUND = 3 * 3600  # seconds on both sides of a change that are looked at
DIRECTORY = pathlib.Path("/usr/share/zoneinfo")
TOGETHER = 32  # zones per probe: its start takes long under an emulator


def zones():
    """The names of zones, one for each content."""
    seen = {}
    for name in sorted(zoneinfo.available_timezones()):
        file = DIRECTORY / name
        if file.is_file():
            seen.setdefault(hashlib.sha256(file.read_bytes()).digest(), name)
    return sorted(seen.values())


def offset(zone, time):
    ahead = datetime.datetime.fromtimestamp(time, zone).utcoffset()
    return ahead.days * 86400 + ahead.seconds


def find_change(zone, low, high):
    """The first second of the new offset, given that it differs between the two."""
    before = offset(zone, low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset(zone, middle) == before else (low, middle)
    return high


@functools.lru_cache(maxsize=2000)
def clock(local):
    return EPOCH + datetime.timedelta(seconds=local)


class Rule:
    """minute and hour are lists or None for *; day and month likewise."""

    def __init__(self, minutes, hours, day=None, month=None):
        self.minutes, self.hours, self.day, self.month = minutes, hours, day, month
        self.wildcard = minutes is None or hours is None
        self.text = " ".join([self.field(minutes), self.field(hours), self.field(day and [day]),
                              self.field(month and [month]), "*"])

    @staticmethod
    def field(values):
        return "*" if values is None else ",".join(map(str, values))

    def matches(self, local):
        at = clock(local)
        return ((self.minutes is None or at.minute in self.minutes) and (self.hours is None or at.hour in self.hours)
                and (self.day is None or at.day == self.day) and (self.month is None or at.month == self.month))

    def fires(self, shown):
        """The times at which it fires, among pairs of a time and its local time, a minute apart."""
        latest = shown[0][1]
        for time, local in shown[1:]:
            if self.wildcard:
                if self.matches(local):
                    yield time
            elif any(self.matches(one) for one in range(latest + 60, local + 1, 60)):
                yield time
            latest = max(latest, local)


def rules_for(old_local, new_local):
    """For a change at which clocks go from the one local time to the other."""
    low, high = sorted((old_local, new_local))
    middle = (low + high) // 120 * 60
    times = {low - 60, low, low + 60, middle, high - 60, high, high + 60}
    rules = [Rule([clock(m).minute], [clock(m).hour]) for m in sorted(times)]
    at = clock(middle)
    hours = sorted({clock(m).hour for m in times})
    rules.append(Rule([at.minute], [at.hour], at.day, at.month))
    rules.append(Rule([0, 15, 30, 45], hours))
    rules.append(Rule([0, 15, 30, 45], None))
    rules.append(Rule([at.minute], None))
    rules.append(Rule(None, [at.hour]))
    return rules


class Questions:
    """Questions for the probe, and what it should answer."""

    def __init__(self):
        self.lines, self.expected = [], []

    def ask(self, line, answer):
        self.lines.append(line)
        self.expected.append(answer)

    def answers(self):
        run = subprocess.run(sys.argv[1:], input="\n".join(self.lines) + "\n", capture_output=True, text=True, check=True)
        return run.stdout.split("\n")[:-1]

    def complaints(self):
        """A line for each wrong answer."""
        answers = self.answers()
        if len(answers) != len(self.expected):
            yield f"{len(answers)} answers to {len(self.expected)} questions that begin {self.lines[0]}: {answers[:1]}"
            return
        pairs = iter(zip(answers, self.expected))
        for line in self.lines:
            if line.startswith("zone "):
                name = line[len("zone "):]
                continue
            answer, expected = next(pairs)
            if answer.strip() != expected:
                yield f"{name}: {line}: {answer}, expected {expected}"


def ask_of_zone(questions, name, seen):
    """Returns how often the offset changes. `seen` has the changes that were looked at closely."""
    zone = zoneinfo.ZoneInfo(name)
    changes = []
    before = offset(zone, FIRST)
    questions.lines.append(f"zone {name}")
    for time in range(FIRST, LAST, SAMPLE):
        now = offset(zone, time)
        questions.ask(f"offset {time}", str(now))
        if now != before:
            at = find_change(zone, time - SAMPLE, time)
            questions.ask(f"offset {at - 1}", str(before))
            questions.ask(f"offset {at}", str(now))
            changes.append((at, before, now))
        before = now
    for change in changes:
        if tuple(changes) not in seen:
            ask_of_change(questions, zone, *change)
    seen.add(tuple(changes))
    return len(changes)


def ask_of_change(questions, zone, at, old, new):
    assert at % 60 == 0 and old % 60 == 0 and new % 60 == 0, (zone, at)
    shown = [(time, time + offset(zone, time)) for time in range(at - AROUND, at + AROUND + 1, 60)]
    latest = shown[0][1]
    for time, local in shown[1:]:
        for one in range(latest + 60, local + 1, 60):
            questions.ask(f"time {one}", str(time))
        latest = max(latest, local)
    for rule in rules_for(at + old, at + new):
        fires = " ".join(map(str, rule.fires(shown)))
        questions.ask(f"fires {at - AROUND} {at + AROUND} {rule.text}", fires)


def main():
    changes = asked = wrong = 0
    names, seen = zones(), set()
    for first in range(0, len(names), TOGETHER):
        questions = Questions()
        for name in names[first:first + TOGETHER]:
            changes += ask_of_zone(questions, name, seen)
        asked += len(questions.expected)
        for complaint in questions.complaints():
            wrong += 1
            if wrong < 20:
                print(complaint, file=sys.stderr)
    print(f"{len(names)} zones, {len(seen)} of them different in these years, {changes} changes of the offset,"
          f" {asked} questions, {wrong} wrong answers")
    # Where tzdata is missing nothing would be wrong.
    return 1 if wrong or len(names) < 100 or changes < 1000 else 0


sys.exit(main())
