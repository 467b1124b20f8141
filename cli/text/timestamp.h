/* SPDX-License-Identifier: MIT */
/* Moments as people and logs write them: 2026-12-01T09:00:00Z, or seconds since 1970. */
#ifndef PAWL_CLI_TIMESTAMP_H
#define PAWL_CLI_TIMESTAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMESTAMP_EXPECTED                                                                        \
	"ISO 8601 as 2026-12-01T09:00:00Z or 2026-12-01T10:00:00.5+01:00, or seconds since 1970 " \
	"(13 digits: ms, 16: us, 19: ns), from 1970 to 2554"

struct timestamp {
	uint64_t ns; /* since 1970-01-01T00:00:00Z */
	bool zoned;  /* it said which zone; else UTC was assumed */
};

/*
 * The seconds of an ISO 8601 moment may be missing: 2026-12-01T09:00Z.
 * Between the date and the time of an ISO 8601 moment a blank may stand for the T, as in many logs.
 *
 * The moment that the `length` bytes of `text` are. Fractions of a nanosecond are rounded up. A leap
 * second is the second after it. Returns NULL, or what is wrong; *stamp is then as before.
 */
const char *timestamp_parse(const char *text, size_t length, struct timestamp *stamp);

#endif
