/* SPDX-License-Identifier: MIT */
/* Durations such as 250ms, 1.5s and 1h30m. */
#ifndef PAWL_CLI_DURATION_H
#define PAWL_CLI_DURATION_H

#include <stddef.h>
#include <stdint.h>

#define DURATION_EXPECTED \
	"a number and ns, us, ms, s, m, h or d, as in 250ms, 1.5s or 1h30m, up to 213503d"

/*
 * Parse a duration, in nanoseconds: numbers with units, from large units to small ones, each at most once. Fractions of
 * a nanosecond are rounded up, so that nothing is early. Returns NULL, or what is wrong; then *ns is unchanged.
 */
const char *duration_parse(const char *text, size_t length, uint64_t *ns);

/* The largest text, and its zero: 213503 d 23 h 34 min 33.709551615 s. */
#define DURATION_TEXT 48

/* For a measured duration: "0 ns", "12.3 us", "4.56 ms", "7.89 s", three digits in a suitable unit; from a minute on "2
 * min 5 s", "6 h". */
void duration_format(uint64_t ns, char text[DURATION_TEXT]);

/* For a chosen duration, exactly: "0 ms", "2.5 ms", "1 h 30 min", "59 min 59.999 s". */
void duration_exact(uint64_t ns, char text[DURATION_TEXT]);

/* The same as expressions, valid until the end of the block. */
#define LASTING(ns) duration_text(duration_format, ns, (char[DURATION_TEXT]){0})
#define EXACTLY(ns) duration_text(duration_exact, ns, (char[DURATION_TEXT]){0})

static inline const char *duration_text(void (*write)(uint64_t ns, char text[DURATION_TEXT]),
                                        uint64_t ns, char text[DURATION_TEXT])
{
	write(ns, text);
	return text;
}

#endif
