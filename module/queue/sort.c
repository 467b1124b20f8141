/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include <string.h>

#include "memory.h"

enum { BYTES = 8, VALUES = 256, FEW = 32 };

static void insertion_sort(struct sort_item *items, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct sort_item item = items[i];
		size_t j = i;

		for (; j > 0 && items[j - 1].key > item.key; j--)
			items[j] = items[j - 1];
		items[j] = item;
	}
}

static unsigned byte_of(uint64_t key, unsigned byte)
{
	return key >> (8 * byte) & 0xff;
}

/* Where the items with each value of this byte begin. */
static void find_starts(size_t starts[VALUES], const struct sort_item *items, size_t count,
                        unsigned byte)
{
	size_t sum = 0;

	memset(starts, 0, VALUES * sizeof(*starts));
	for (size_t i = 0; i < count; i++)
		starts[byte_of(items[i].key, byte)]++;
	for (unsigned value = 0; value < VALUES; value++) {
		size_t here = starts[value];

		starts[value] = sum;
		sum += here;
	}
}

/* The bits in which any two keys differ: a byte without one needs no pass. */
static uint64_t differing_bits(const struct sort_item *items, size_t count)
{
	uint64_t bits = 0;

	for (size_t i = 1; i < count; i++)
		bits |= items[i].key ^ items[0].key;
	return bits;
}

static void sort_by_bytes(struct sort_item *items, size_t count)
{
	struct sort_item *other = memory_new(count * sizeof(*items)), *from = items, *to = other;
	uint64_t bits = differing_bits(items, count);
	size_t starts[VALUES];

	for (unsigned byte = 0; byte < BYTES; byte++) {
		struct sort_item *swap = from;

		if (byte_of(bits, byte) == 0)
			continue;
		find_starts(starts, from, count, byte);
		for (size_t i = 0; i < count; i++)
			to[starts[byte_of(from[i].key, byte)]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, count * sizeof(*items));
	memory_free(other);
}

void sort_stable(struct sort_item *items, size_t count)
{
	if (count <= FEW)
		insertion_sort(items, count);
	else
		sort_by_bytes(items, count);
}
