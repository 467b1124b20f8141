/* SPDX-License-Identifier: MIT */
/* Times as in logs: 2026-12-01T09:00:00Z, or seconds since 1970. */
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
	bool zoned;  /* the text has an offset or Z; otherwise UTC is assumed */
};

/*
 * Parse a time. ISO 8601 may be without seconds (2026-12-01T09:00Z), and with a blank in place of the T, as in many
 * logs. Fractions of a nanosecond are rounded up. A leap second is the second after it. Returns NULL, or what is wrong;
 * then *stamp is unchanged.
 */
const char *timestamp_parse(const char *text, size_t length, struct timestamp *stamp);

#endif
