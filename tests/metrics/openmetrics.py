#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""openmetrics.py PROBE: the text of the probe, read by the parser of Prometheus' client library, says what the probe
did. If the first python3 of PATH does not have that library, Debian's may (python3-prometheus-client). Without it:
exit 77, skipped."""
import os
import subprocess
import sys

DEBIANS = "/usr/bin/python3"
try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    if os.path.exists(DEBIANS) and "--debians" not in sys.argv:
        os.execv(DEBIANS, [DEBIANS, __file__, sys.argv[1], "--debians"])
    print("openmetrics: skipped: python3 has no prometheus_client")
    sys.exit(77)

TEXT = subprocess.run([sys.argv[1]], capture_output=True, check=True, timeout=1200).stdout.decode()
FAMILIES = {family.name: family for family in text_string_to_metric_families(TEXT)}


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"openmetrics: {what} is {found!r}, expected {expected!r}")


def value(family, suffix="", **labels):
    found = [s.value for s in FAMILIES[family].samples if s.name == family + suffix and s.labels == labels]
    expect(len(found), 1, f"the number of {family}{suffix} {labels}")
    return found[0]


for name, family in FAMILIES.items():
    expect(family.documentation != "", True, f"that {name} is explained")
for name, kind in (("jobs_armed", "counter"), ("jobs_pending", "gauge"), ("jobs_lateness_seconds", "histogram"),
                   ("jobs_slowest_seconds", "gauge"), ("ops_lateness_seconds", "histogram"), ("w:1_timers", "gauge")):
    expect(FAMILIES[name].type, kind, f"the type of {name}")
    expect(FAMILIES[name].unit, "seconds" if name.endswith("seconds") else "", f"the unit of {name}")

# Ten tasks that were late by 0 to 9 ms, one cancelled, one that waits.
expect(value("jobs_armed", "_total"), 12, "armed")
expect(value("jobs_ran", "_total"), 10, "ran")
expect(value("jobs_cancelled", "_total"), 1, "cancelled")
expect(value("jobs_pending"), 1, "pending")
expect(value("jobs_lateness_seconds", "_count"), 10, "the count of lateness")
expect(value("jobs_lateness_seconds", "_sum"), 0.045, "the sum of lateness")
expect(value("jobs_lateness_seconds", "_bucket", le="0.000001023"), 1, "on time")
expect(value("jobs_lateness_seconds", "_bucket", le="0.001048575"), 2, "by at most a millisecond")
expect(value("jobs_lateness_seconds", "_bucket", le="0.004194303"), 5, "by at most four")
expect(value("jobs_lateness_seconds", "_bucket", le="0.016777215"), 10, "by at most sixteen")
expect(value("jobs_lateness_seconds", "_bucket", le="+Inf"), 10, "by whatever")
buckets = [s for s in FAMILIES["jobs_lateness_seconds"].samples if s.name.endswith("_bucket")]
expect(len(buckets), 16, "the number of buckets")

# One operation that expired a millisecond late, one that waits under two keys.
expect(value("ops_expired", "_total"), 1, "expired")
expect(value("ops_delayed"), 1, "delayed")
expect(value("ops_watched"), 2, "watched")
expect(value("ops_lateness_seconds", "_sum"), 0.001, "the sum of lateness")

expect(value("w:1_timers"), 3, "timers")
expect(value("w:1_now"), 2**64 - 2, "now")
print(f"openmetrics: {len(FAMILIES)} families are read as they were written")
