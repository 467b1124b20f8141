/* SPDX-License-Identifier: MIT */
/*
 * Windows of time: choose a time that other windows are likely to share, the multiple of the largest power of two.
 *
 *	earliest - 1   0101 0110 1111
 *	latest         0101 1001 0011
 *	                    ^            the first bit in which they differ: 1 in latest, 0 in earliest - 1
 *	within         0101 1000 0000    latest, with zeroes after that bit
 *
 * The bits before it are common to both, so the result is after earliest - 1 and not after latest. A multiple of a
 * larger power of two would have a zero at that bit as well, and so would not be after earliest - 1.
 */
#ifndef PAWL_WHEEL_WITHIN_H
#define PAWL_WHEEL_WITHIN_H

#include <stdint.h>

/* A latest before earliest counts as earliest. */
static inline uint64_t time_within(uint64_t earliest, uint64_t latest)
{
	uint64_t differ = (earliest - 1) ^ latest;

	if (earliest == 0 || latest <= earliest)
		return earliest;
	for (unsigned shift = 1; shift < 64; shift *= 2)
		differ |= differ >> shift; /* ones from the first bit in which they differ */
	return latest & ~(differ >> 1);
}

#endif
