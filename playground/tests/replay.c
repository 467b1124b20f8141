/* SPDX-License-Identifier: MIT */
/*
 * The native library's answer to the operations of the browser: reads operations, carries them out on a wheel, and
 * prints as JSON where every timer is after each of them.
 *
 *	wheel TICK SIZE CHAINS TIMERS     first
 *	arm ID DEADLINE | touch ID DEADLINE | cancel ID
 *	fill FIRST COUNT SPAN SEED
 *	advance TO
 *	ahead MOVES                       from now on, in each tick
 *
 * With more than PLACES_MAX timers it prints only how many there are in each slot.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/random.h"
#include "../../src/wheel/next.h"
#include "../../src/wheel/slots.h"
#include "pawl/wheel.h"

#define PLACES_MAX 2048
#define LEVELS_MAX 64
#define SLOTS_MAX  4096

static struct pawl_wheel *wheel;
static struct pawl_timer *timers;
static uint32_t count;
static uint64_t tick;
static uint32_t ahead;              /* moves in each tick */
static uint32_t popped[PLACES_MAX]; /* the first ids, in their order, since the last print */
static uint32_t popped_count;
static uint32_t by_slot[LEVELS_MAX][SLOTS_MAX];

static void fail(const char *why, const char *line)
{
	fprintf(stderr, "replay: %s: %s\n", why, line);
	exit(1);
}

static void make_wheel(const char *line)
{
	struct pawl_wheel_options options = {0};
	size_t size;

	if (sscanf(line, "wheel %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32, &options.tick,
	           &options.wheel_size, &options.chains, &count) != 4)
		fail("not a wheel", line);
	options.ahead = true;
	tick = options.tick;
	size = pawl_wheel_footprint(&options);
	wheel = pawl_wheel_init(malloc(size), size, &options);
	timers = calloc(count, sizeof(*timers));
	if (!wheel || !timers)
		fail("there is no such wheel", line);
}

static struct pawl_timer *timer_of(uint32_t id, const char *line)
{
	if (id >= count)
		fail("there is no such timer", line);
	return &timers[id];
}

static void pop_all(void)
{
	struct pawl_timer *timer;

	while ((timer = pawl_wheel_pop(wheel)) != NULL)
		if (popped_count < PLACES_MAX)
			popped[popped_count++] = (uint32_t)(timer - timers);
}

static void fill(uint32_t first, uint32_t number, uint32_t span, uint32_t seed)
{
	struct random random = {seed};
	uint64_t now = pawl_wheel_now(wheel);

	for (uint32_t id = first; id < first + number; id++) {
		uint32_t within = 1 + random_below32(&random, span);

		pawl_wheel_arm_at(wheel, &timers[id], now + 1 + random_below32(&random, within));
	}
}

/* Tick by tick while moves ahead are on: the page visits only the ticks in which there is something to do. */
static void advance(uint64_t to)
{
	for (uint64_t t = pawl_wheel_now(wheel) / tick + 1; ahead && t <= to / tick; t++) {
		pawl_wheel_advance(wheel, t * tick, 0);
		pawl_wheel_ahead(wheel, ahead);
	}
	pawl_wheel_advance(wheel, to, 0);
}

static void act(const char *line)
{
	uint32_t id, number, span, seed;
	uint64_t time;

	if (sscanf(line, "arm %" SCNu32 " %" SCNu64, &id, &time) == 2)
		pawl_wheel_arm_at(wheel, timer_of(id, line), time);
	else if (sscanf(line, "touch %" SCNu32 " %" SCNu64, &id, &time) == 2)
		pawl_wheel_touch_at(wheel, timer_of(id, line), time);
	else if (sscanf(line, "cancel %" SCNu32, &id) == 1)
		pawl_wheel_cancel(wheel, timer_of(id, line));
	else if (sscanf(line, "advance %" SCNu64, &time) == 1)
		advance(time);
	else if (sscanf(line, "ahead %" SCNu32, &number) == 1)
		ahead = number;
	else if (sscanf(line, "fill %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32, &id, &number,
	                &span, &seed) == 4 &&
	         timer_of(id + number - 1, line))
		fill(id, number, span, seed);
	else
		fail("not an operation", line);
	pop_all();
}

/* "id": [level, slot, opens], as text: 64 bits are more than a number of JSON's readers holds. */
static void print_places(void)
{
	const char *comma = "";
	struct pawl_wheel_place place;

	printf("\"places\":{");
	for (uint32_t id = 0; id < count; id++) {
		if (!pawl_wheel_get_place(wheel, &timers[id], &place, sizeof(place)))
			continue;
		printf("%s\"%" PRIu32 "\":[%u,%u,\"%" PRIu64 "\"]", comma, id, place.level,
		       place.slot, place.opens);
		comma = ",";
	}
	printf("}");
}

static uint32_t length_of(const struct pawl_timer *head)
{
	uint32_t length = 0;

	if (list_empty(head))
		return 0;
	for (const struct pawl_timer *timer = head->next; timer != head; timer = timer->next)
		length++;
	return length;
}

/*
 * From the lists: pawl_wheel_get_place() would walk a slot for each of its timers. With moves ahead there are two slots in
 * memory for each that is drawn.
 */
static void count_by_slot(void)
{
	memset(by_slot, 0, sizeof(by_slot));
	for (unsigned i = 0; i < wheel->levels_used; i++) {
		const struct level *level = &wheel->level[i];

		for (uint64_t slot = 0; level->ready && slot < wheel->slots; slot++)
			for (uint64_t chain = 0;
			     bit_is_set(level, slot) && chain <= wheel->chain_mask; chain++)
				by_slot[i][slot % wheel->wheel_size] +=
				        length_of(slot_head(wheel, level, slot, chain));
	}
}

static void print_counts(void)
{
	const char *comma = "";

	count_by_slot();
	printf("\"slots\":{");
	for (unsigned level = 0; level < LEVELS_MAX; level++)
		for (unsigned slot = 0; slot < SLOTS_MAX; slot++) {
			if (by_slot[level][slot] == 0)
				continue;
			printf("%s\"%u/%u\":%" PRIu32, comma, level, slot, by_slot[level][slot]);
			comma = ",";
		}
	printf("}");
}

static void print_popped(void)
{
	printf("\"popped\":[");
	for (uint32_t i = 0; i < popped_count; i++)
		printf("%s%" PRIu32, i > 0 ? "," : "", popped[i]);
	printf("]");
	popped_count = 0;
}

/* As the page says it: moving ahead does not count. */
static uint64_t next(void)
{
	return pawl__wheel_any_due(wheel) ? pawl_wheel_now(wheel) : pawl__wheel_next_opening(wheel);
}

static void print_state(bool first)
{
	printf("%s\n{\"now\":\"%" PRIu64 "\",\"next\":\"%" PRIu64 "\",\"pending\":%zu,",
	       first ? "" : ",", pawl_wheel_now(wheel), next(), pawl_wheel_count(wheel));
	if (count <= PLACES_MAX)
		print_places();
	else
		print_counts();
	printf(",");
	print_popped();
	printf("}");
}

int main(void)
{
	char line[256];

	if (!fgets(line, sizeof(line), stdin))
		fail("there is no wheel", "");
	make_wheel(line);
	printf("[");
	for (bool first = true; fgets(line, sizeof(line), stdin); first = false) {
		act(line);
		print_state(first);
	}
	printf("\n]\n");
	free(timers);
	free(wheel);
	return 0;
}
