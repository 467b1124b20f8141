/* SPDX-License-Identifier: MIT */
/* The memory of a wheel: its size, its layout, and the first write to each level. */
#include "../base/saturate.h"
#include "compiler.h"
#include "slots.h"

#define DEFAULT_WHEEL_SIZE 256u /* measured: docs/design/wheel.md */
#define MIN_WHEEL_SIZE     2u
#define MAX_WHEEL_SIZE     4096u /* a word of pairs sums up 2 x 4096 slots */

static unsigned highest_bit(uint64_t x)
{
	unsigned number = 0;

	while (x >>= 1)
		number++;
	return number;
}

static bool power_of_two(uint64_t x)
{
	return (x & (x - 1)) == 0;
}

/*
 * The options with the defaults filled in. Field by field: gcc for ARM would copy or clear the struct by memcpy and
 * memset, and the wheel needs no libc.
 */
static void complete(const struct pawl_wheel_options *given, struct pawl_wheel_options *options)
{
	options->start = given ? given->start : 0;
	options->tick = given && given->tick ? given->tick : 1;
	options->wheel_size = given && given->wheel_size ? given->wheel_size : DEFAULT_WHEEL_SIZE;
	options->chains = given && given->chains ? given->chains : 1;
	options->ahead = given && given->ahead;
	options->reserved[0] = given ? given->reserved[0] : 0;
	options->reserved[1] = given ? given->reserved[1] : 0;
	options->reserved[2] = given ? given->reserved[2] : 0;
	options->reserved[3] = given ? given->reserved[3] : 0;
}

/* A program that sets a reserved word needs a later version of the library. */
static bool reserved_unset(const uint64_t reserved[4])
{
	return (reserved[0] | reserved[1] | reserved[2] | reserved[3]) == 0;
}

static bool valid(const struct pawl_wheel_options *options)
{
	return options->wheel_size >= MIN_WHEEL_SIZE && options->wheel_size <= MAX_WHEEL_SIZE &&
	       options->chains <= MAX_CHAINS && power_of_two(options->chains) &&
	       reserved_unset(options->reserved);
}

/* Enough levels for the coarsest one to hold all of time in one turn. */
static unsigned count_levels(const struct pawl_wheel_options *options)
{
	uint64_t cells = (LAST - 1) / options->tick + 1;
	unsigned levels = 1;

	while (cells >= options->wheel_size) {
		cells /= options->wheel_size;
		levels++;
	}
	return levels;
}

static size_t round_up_to_lines(size_t bytes)
{
	return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* A wheel with options.ahead has room for two windows: geometry.h. */
static uint64_t count_slots(const struct pawl_wheel_options *options)
{
	return (uint64_t)options->wheel_size * (options->ahead ? 2 : 1);
}

static size_t bitmap_words(uint64_t slots)
{
	return (size_t)((slots + BITS_PER_PAIR - 1) / BITS_PER_PAIR * 2);
}

static size_t bitmap_bytes(uint64_t slots)
{
	return round_up_to_lines(bitmap_words(slots) * sizeof(uint64_t));
}

/*
 * An odd number of cache lines, so that the heads of one slot do not all fall into the same set of the cache when its
 * chains are emptied in step.
 */
static size_t chain_bytes(uint64_t slots)
{
	return round_up_to_lines((size_t)slots * HEAD_SIZE) | CACHE_LINE;
}

static size_t level_bytes(const struct pawl_wheel_options *options)
{
	uint64_t slots = count_slots(options);

	return bitmap_bytes(slots) + options->chains * chain_bytes(slots);
}

static size_t head_bytes(unsigned levels)
{
	return sizeof(struct pawl_wheel) + levels * sizeof(struct level);
}

/* The slots begin on a cache line, wherever in one the wheel itself begins. */
static char *first_slots(struct pawl_wheel *wheel, unsigned levels)
{
	char *end = (char *)wheel + head_bytes(levels);

	return end + (CACHE_LINE - (uintptr_t)end % CACHE_LINE) % CACHE_LINE;
}

size_t pawl_wheel_footprint(const struct pawl_wheel_options *given)
{
	struct pawl_wheel_options options;

	complete(given, &options);
	if (!valid(&options))
		return 0;
	return head_bytes(count_levels(&options)) + CACHE_LINE +
	       count_levels(&options) * level_bytes(&options);
}

static void describe_levels(struct pawl_wheel *wheel)
{
	char *slots = first_slots(wheel, wheel->levels);
	uint64_t width = 1;

	for (unsigned i = 0; i < wheel->levels; i++) {
		struct level *level = &wheel->level[i];

		level->bits = (uint64_t *)(void *)slots;
		level->heads = slots + bitmap_bytes(wheel->slots);
		level->pairs = 0;
		level->opens = NO_TICK;
		level->upto = 0;
		level->width = width;
		level->shift = (uint8_t)highest_bit(width);
		level->ready = false;
		slots += wheel->level_stride;
		width *= wheel->wheel_size; /* may wrap after the last level: not used then */
	}
}

static void describe(struct pawl_wheel *wheel, const struct pawl_wheel_options *options)
{
	wheel->time = options->start;
	wheel->fast_span = 0;
	wheel->touched = 0;
	wheel->armed = 0;
	wheel->gone = 0;
	wheel->slots = count_slots(options);
	wheel->slot_mask = wheel->slots - 1;
	wheel->wheel_size = options->wheel_size;
	wheel->tick = options->tick;
	wheel->finest_span = saturating_product(wheel->slots - 1, options->tick);
	wheel->last_tick = LAST / options->tick;
	wheel->first = &wheel->level[0];
	wheel->cursor_list = NULL;
	wheel->cursor = NULL;
	wheel->fill_offset = 0;
	wheel->chain_stride = chain_bytes(wheel->slots);
	wheel->level_stride = level_bytes(options);
	wheel->chain_mask = options->chains - 1;
	wheel->due_chains = 0;
	wheel->pop_chain = 0;
	wheel->tick_shift = (uint8_t)highest_bit(options->tick);
	wheel->powers_of_two = power_of_two(options->tick) && power_of_two(options->wheel_size);
	wheel->stopped = false;
	wheel->levels = (uint8_t)count_levels(options);
	wheel->levels_used = 1;
	for (unsigned chain = 0; chain < MAX_CHAINS; chain++)
		list_init(&wheel->due[chain]);
}

struct pawl_wheel *pawl_wheel_init(void *mem, size_t size, const struct pawl_wheel_options *given)
{
	struct pawl_wheel_options options;
	struct pawl_wheel *wheel = mem;

	complete(given, &options);
	if (!mem || (uintptr_t)mem % STRICTEST_ALIGNMENT != 0 || !valid(&options) ||
	    size < pawl_wheel_footprint(&options))
		return NULL;
	describe(wheel, &options);
	describe_levels(wheel);
	pawl__level_prepare(wheel, &wheel->level[0]);
	wake_at(wheel, PAWL_NEVER);
	CHECKED(pawl__wheel_note(wheel));
	return wheel;
}

void pawl__level_prepare(struct pawl_wheel *wheel, struct level *level)
{
	/* volatile: otherwise the compiler would call memset, and the wheel needs no libc */
	volatile uint64_t *word = level->bits;
	uint8_t number = (uint8_t)(level - wheel->level);

	ASSERT(!level->ready);
	for (size_t i = 0; i < bitmap_words(wheel->slots); i++)
		word[i] = 0;
	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
		for (uint64_t slot = 0; slot < wheel->slots; slot++)
			list_retire(slot_head(wheel, level, slot, chain));
	level->ready = true;
	wheel->fast_span = pawl__fast_span(wheel);
	if (wheel->levels_used <= number)
		wheel->levels_used = (uint8_t)(number + 1);
}
