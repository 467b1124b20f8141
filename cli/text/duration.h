/* SPDX-License-Identifier: MIT */
/* Durations as people write them: 250ms, 1.5s, 1h30m. */
#ifndef PAWL_CLI_DURATION_H
#define PAWL_CLI_DURATION_H

#include <stddef.h>
#include <stdint.h>

#define DURATION_EXPECTED \
	"a number and ns, us, ms, s, m, h or d, as in 250ms, 1.5s or 1h30m, up to 213503d"

/*
 * The duration that the `length` bytes of `text` are, in nanoseconds: numbers with units, which go from large to
 * small, each at most once. Fractions of a nanosecond are rounded up, so
 * that nothing is early. Returns NULL, or what is wrong; *ns is then as before.
 */
const char *duration_parse(const char *text, size_t length, uint64_t *ns);

/* "0 ns", "12.3 us", "4.56 ms", "7.89 s": three digits, in the unit that suits. Zero-terminated. */
#define DURATION_TEXT 32
void duration_format(uint64_t ns, char text[DURATION_TEXT]);

#endif
