/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include "../../src/base/assert.h"

enum { BUCKET_BITS = 2, BUCKETS_A_POWER = 1 << BUCKET_BITS };

static unsigned bucket_of(uint64_t ms)
{
	unsigned shift;

	if (ms < BUCKETS_A_POWER)
		return (unsigned)ms;
	shift = 63u - (unsigned)__builtin_clzll(ms) - BUCKET_BITS;
	return shift * BUCKETS_A_POWER + (unsigned)(ms >> shift);
}

static uint64_t end_of(unsigned bucket)
{
	unsigned shift = bucket / BUCKETS_A_POWER - 1;

	if (bucket < BUCKETS_A_POWER)
		return bucket;
	return ((uint64_t)(bucket % BUCKETS_A_POWER + BUCKETS_A_POWER + 1) << shift) - 1;
}

void lateness_count(struct lateness *lateness, uint64_t ms)
{
	uint32_t *bucket = &lateness->buckets[bucket_of(ms)];

	ASSERT(bucket < lateness->buckets + LATENESS_BUCKETS);
	lateness->count++;
	if (*bucket < UINT32_MAX)
		++*bucket;
	if (ms > lateness->max)
		lateness->max = ms;
}

uint64_t lateness_percentile(const struct lateness *lateness, unsigned percent)
{
	uint64_t seen = 0;

	for (unsigned bucket = 0; bucket < LATENESS_BUCKETS; bucket++) {
		seen += lateness->buckets[bucket];
		if (seen > 0 && seen * 100 >= lateness->count * percent)
			return end_of(bucket) < lateness->max ? end_of(bucket) : lateness->max;
	}
	return lateness->max;
}
