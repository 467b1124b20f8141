/* SPDX-License-Identifier: MIT */
/*
 * The glue keeps the place of each timer next to it, and updates it from the wheel's own lists after each step: so the
 * picture shows what the wheel did, not what a formula says that it should do.
 */
#include "glue.h"

#include "../cli/journey/journey.h"
#include "../src/base/random.h"
#include "../src/wheel/next.h"
#include "../src/wheel/slots.h"
#include "heap.h"
#include "memory.h"

#define MOVED_MAX 2048u
#define SEEN_MAX  2048u
#define WORDS_MAX 1024u

/* A timer and its last known place. All zeroes is an idle timer, so fresh memory is full of idle timers. */
struct dot {
	struct pawl_timer timer; /* first: a timer is its dot */
	uint64_t opens;
	uint32_t level, slot;
	bool waits; /* in a slot: the place says something */
};

/* A timer that moved, and where it was before. */
struct moved {
	struct dot *dot;
	struct pawl_wheel_place from;
	bool waited;
};

static struct {
	struct pawl_wheel *wheel;
	struct pawl_wheel_options options;
	struct dot *dots;
	uint32_t *counts;
	uint32_t capacity;
	bool with_heap;
	uint32_t ahead;         /* moves ahead in a tick; 0: none */
	uint64_t moving;        /* the tick in which timers were moved last... */
	uint32_t moved_in_tick; /* ...and how many */
	struct heap heap;
	struct random random;
	struct glue_numbers numbers;
	struct glue_place place;
	struct glue_seen seen[SEEN_MAX];
	uint32_t seen_count, seen_max;
	struct moved moved[MOVED_MAX];
	struct glue_moved moved_out[MOVED_MAX];
	uint32_t moved_count;
	uint64_t
	        opening; /* the last one counted; an advance that its bound stopped goes on with it */
	char words[WORDS_MAX];
} page;

/* "450 ms". The page groups the digits. */
static void write_ms(uint64_t time, char text[JOURNEY_TIME])
{
	uint64_t power = 1;

	while (time / power >= 10)
		power *= 10;
	for (; power > 0; power /= 10)
		*text++ = (char)('0' + time / power % 10);
	*text++ = ' ';
	*text++ = 'm';
	*text++ = 's';
	*text = '\0';
}

static struct dot *dot_from(const struct pawl_timer *timer)
{
	return (struct dot *)(void *)timer;
}

static uint32_t id_of(const struct dot *dot)
{
	return (uint32_t)(dot - page.dots);
}

static uint32_t *count_at(uint32_t level, uint32_t slot)
{
	return &page.counts[level * page.options.wheel_size + slot];
}

static void leave(struct dot *dot)
{
	if (dot->waits)
		--*count_at(dot->level, dot->slot);
	dot->waits = false;
}

static void enter(struct dot *dot, const struct pawl_wheel_place *place)
{
	leave(dot);
	dot->waits = true;
	dot->level = place->level;
	dot->slot = place->slot;
	dot->opens = place->opens;
	++*count_at(dot->level, dot->slot);
}

static struct pawl_wheel_place place_of(const struct dot *dot)
{
	return (struct pawl_wheel_place){dot->level, dot->slot, dot->opens};
}

static void note_moved(struct dot *dot)
{
	if (page.moved_count == MOVED_MAX)
		return;
	page.moved[page.moved_count++] = (struct moved){dot, place_of(dot), dot->waits};
}

/* A journey so far: if the timer waits, it was last seen at `place`. */
static void resume(struct journey *journey, struct dot *dot, bool waits,
                   struct pawl_wheel_place place)
{
	journey_begin(journey, page.wheel, &page.options, &dot->timer);
	journey->waiting = waits;
	journey->place = place;
}

static bool take_memory(void)
{
	size_t size = pawl_wheel_footprint(&page.options);
	void *wheel = size ? memory_take(size) : NULL;

	page.dots = memory_take(page.capacity * sizeof(struct dot));
	page.wheel = wheel ? pawl_wheel_init(wheel, size, &page.options) : NULL;
	if (!page.wheel || !page.dots)
		return false;
	page.counts =
	        memory_take(page.wheel->levels * page.options.wheel_size * sizeof(*page.counts));
	if (!page.with_heap)
		return page.counts;
	page.heap.entries = memory_take(page.capacity * sizeof(struct heap_entry));
	page.heap.index_of = memory_take(page.capacity * sizeof(uint32_t));
	return page.counts && page.heap.entries && page.heap.index_of;
}

bool glue_init(uint64_t tick, uint32_t wheel_size, uint32_t chains, uint32_t capacity, bool heap)
{
	page.options = (struct pawl_wheel_options){
	        .tick = tick, .wheel_size = wheel_size, .chains = chains, .ahead = true};
	page.capacity = capacity;
	page.with_heap = heap;
	page.heap = (struct heap){0};
	page.numbers = (struct glue_numbers){0};
	page.moved_count = 0;
	page.opening = PAWL_NEVER;
	page.ahead = 0;
	page.moving = PAWL_NEVER;
	memory_reset();
	return tick != 0 && wheel_size != 0 && chains != 0 && take_memory();
}

static void say(const struct journey_step *step)
{
	journey_words(step, write_ms, page.words, sizeof(page.words));
}

/* Armed or touched: it waits at this place, or is due. */
static void placed(struct dot *dot, bool waits, const struct pawl_wheel_place *place)
{
	if (waits)
		enter(dot, place);
	else
		leave(dot);
	if (page.with_heap)
		heap_arm(&page.heap, id_of(dot), dot->timer.deadline);
}

/* Arm or touch the timer, and write what happened. A touch that was only a store leaves it where it is. */
static bool put(uint32_t id, uint64_t deadline,
                void (*how)(struct journey *, uint64_t, struct journey_step *))
{
	struct dot *dot = &page.dots[id];
	struct journey journey;
	struct journey_step step;

	resume(&journey, dot, dot->waits, place_of(dot));
	how(&journey, deadline, &step);
	say(&step);
	page.numbers.puts += step.event != JOURNEY_TOUCHED;
	placed(dot, step.waiting, &step.place);
	return step.waiting;
}

bool glue_arm(uint32_t id, uint64_t deadline)
{
	return put(id, deadline, journey_arm);
}

bool glue_touch(uint32_t id, uint64_t deadline)
{
	return put(id, deadline, journey_touch);
}

bool glue_cancel(uint32_t id)
{
	struct dot *dot = &page.dots[id];
	struct journey journey;
	struct journey_step step;

	resume(&journey, dot, dot->waits, place_of(dot));
	journey_cancel(&journey, &step);
	say(&step);
	leave(dot);
	if (page.with_heap)
		heap_cancel(&page.heap, id);
	return step.event == JOURNEY_CANCELLED;
}

/* Arm without words. The timer is the last of its slot, so asking for its place does not walk far. */
static void arm_quietly(struct dot *dot, uint64_t deadline)
{
	struct pawl_wheel_place place = {0, 0, 0};
	bool waits = pawl_wheel_arm_at(page.wheel, &dot->timer, deadline) &&
	             pawl_wheel_get_place(page.wheel, &dot->timer, &place, sizeof(place));

	page.numbers.puts++;
	placed(dot, waits, &place);
}

/* 1 to span; small delays are more likely. */
static uint32_t random_delay(uint32_t span)
{
	return 1 + random_below32(&page.random, 1 + random_below32(&page.random, span));
}

void glue_fill(uint32_t first, uint32_t count, uint32_t span, uint32_t seed)
{
	uint64_t now = pawl_wheel_now(page.wheel);

	if (seed)
		page.random.state = seed;
	for (uint32_t id = first; id < first + count; id++)
		arm_quietly(&page.dots[id], now + random_delay(span));
}

typedef bool front_fn(struct pawl_timer *timer, const struct pawl_wheel_place *place);

static void front_of_list(struct pawl_timer *head, const struct pawl_wheel_place *place,
                          front_fn *fn)
{
	if (list_empty(head))
		return;
	for (struct pawl_timer *timer = head->next; timer != head; timer = timer->next)
		if (!fn(timer, place))
			return;
}

static void fronts_of_level(const struct pawl_wheel *wheel, const struct level *level, front_fn *fn)
{
	for (uint64_t slot = 0; slot < wheel->slots; slot++) {
		struct pawl_wheel_place place;

		if (!bit_is_set(level, slot))
			continue;
		place.level = (unsigned)(level - wheel->level);
		place.slot = (unsigned)(slot % wheel->wheel_size);
		place.opens =
		        time_of_tick(wheel, tick_of_cell(level, cell_of_slot(wheel, level, slot)));
		for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
			front_of_list(slot_head(wheel, level, slot, chain), &place, fn);
	}
}

/*
 * Call fn for the timers of each list of each slot, from the front, until it returns false for that list. A timer that
 * moves down comes to the front: so fn can stop at the first timer that it met there before. pawl_wheel_get_place()
 * would walk a slot for each timer.
 */
static void each_front(const struct pawl_wheel *wheel, front_fn *fn)
{
	for (unsigned i = 0; i < wheel->levels_used; i++)
		if (wheel->level[i].ready)
			fronts_of_level(wheel, &wheel->level[i], fn);
}

/* A timer at the front of a slot: it was known there, or the last step moved it there. */
static bool follow(struct pawl_timer *timer, const struct pawl_wheel_place *place)
{
	struct dot *dot = dot_from(timer);

	if (dot->waits && dot->level == place->level && dot->opens == place->opens)
		return false;
	note_moved(dot);
	enter(dot, place);
	return true;
}

static void count_opening(uint64_t opening, size_t moves)
{
	if (opening == page.opening)
		return;
	page.opening = opening;
	page.numbers.openings++;
	page.numbers.empty += moves == 0;
}

void glue_ahead(uint32_t moves_a_tick)
{
	page.ahead = moves_a_tick;
}

/* The time, not before now, at which there is something to do: to open, or to move ahead from the next tick on. */
static uint64_t next_to_do(uint64_t opening)
{
	uint64_t now = pawl_wheel_now(page.wheel), next, rest;

	if (!page.ahead)
		return opening;
	next = pawl__wheel_next_ahead(page.wheel);
	if (next > now)
		return next;
	rest = page.options.tick - now % page.options.tick;
	return rest < opening - now ? now + rest : opening;
}

/* A step that its bound stopped goes on in the same tick. */
static void count_moves(uint64_t time, size_t moves)
{
	uint32_t *most = page.ahead ? &page.numbers.most_with_ahead : &page.numbers.most_moves;

	if (time != page.moving)
		page.moved_in_tick = 0;
	page.moving = time;
	page.moved_in_tick += (uint32_t)moves;
	if (page.moved_in_tick > *most)
		*most = page.moved_in_tick;
}

uint32_t glue_step(uint64_t to, uint32_t max_moves)
{
	uint64_t opening = pawl__wheel_next_opening(page.wheel), next = next_to_do(opening);
	uint64_t stop = next < to ? next : to;
	bool moves_on = pawl_wheel_now(page.wheel) < stop;
	size_t moves = pawl_wheel_advance(page.wheel, stop, max_moves), ahead = 0;

	if (opening <= stop)
		count_opening(opening, moves);
	if (page.ahead && moves_on && next == stop && pawl_wheel_now(page.wheel) == stop)
		ahead = pawl_wheel_ahead(page.wheel, page.ahead);
	count_moves(stop, moves + ahead);
	page.numbers.moves += (uint32_t)moves;
	page.numbers.moves_ahead += (uint32_t)ahead;
	return (uint32_t)(moves + ahead);
}

void glue_follow(void)
{
	each_front(page.wheel, follow);
}

uint32_t glue_pop(void)
{
	struct pawl_timer *timer = pawl_wheel_pop(page.wheel);

	if (!timer)
		return NO_TIMER;
	note_moved(dot_from(timer));
	leave(dot_from(timer));
	page.numbers.popped++;
	return id_of(dot_from(timer));
}

uint32_t glue_heap_expire(uint32_t max)
{
	return page.with_heap ? heap_expire(&page.heap, pawl_wheel_now(page.wheel), max) : 0;
}

uint64_t glue_now(void)
{
	return pawl_wheel_now(page.wheel);
}

/* Not pawl_wheel_next(): on a wheel with many timers it says when to move ahead, which is up to the user here. */
uint64_t glue_next(void)
{
	if (pawl__wheel_any_due(page.wheel))
		return pawl_wheel_now(page.wheel);
	return pawl__wheel_next_opening(page.wheel);
}

uint64_t glue_deadline(uint32_t id)
{
	return page.dots[id].timer.deadline;
}

uint64_t glue_levels(void)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < page.wheel->levels_used; i++)
		if (page.wheel->level[i].ready)
			bits |= UINT64_C(1) << i;
	return bits;
}

const struct glue_place *glue_place(uint32_t id)
{
	struct pawl_wheel_place place = {0, 0, 0};

	page.place.waits =
	        pawl_wheel_get_place(page.wheel, &page.dots[id].timer, &place, sizeof(place));
	page.place.level = place.level;
	page.place.slot = place.slot;
	page.place.opens_low = (uint32_t)place.opens;
	page.place.opens_high = (uint32_t)(place.opens >> 32);
	return &page.place;
}

const struct glue_numbers *glue_numbers(void)
{
	page.numbers.pending = (uint32_t)pawl_wheel_count(page.wheel);
	page.numbers.heap_count = page.heap.count;
	page.numbers.heap_comparisons = page.heap.comparisons;
	page.numbers.heap_moves = page.heap.moves;
	return &page.numbers;
}

const char *glue_check(void)
{
	return pawl_wheel_check(page.wheel);
}

const uint32_t *glue_counts(void)
{
	return page.counts;
}

static bool see(struct pawl_timer *timer, void *unused)
{
	const struct dot *dot = dot_from(timer);

	(void)unused;
	if (page.seen_count == page.seen_max)
		return false;
	page.seen[page.seen_count++] = (struct glue_seen){id_of(dot), dot->level, dot->slot};
	return true;
}

uint32_t glue_each(uint32_t max)
{
	page.seen_max = max < SEEN_MAX ? max : SEEN_MAX;
	page.seen_count = 0;
	pawl_wheel_each(page.wheel, see, NULL);
	return page.seen_count;
}

const struct glue_seen *glue_seen(void)
{
	return page.seen;
}

uint32_t glue_moved_count(void)
{
	return page.moved_count;
}

const struct glue_moved *glue_moved(void)
{
	for (uint32_t i = 0; i < page.moved_count; i++) {
		const struct dot *dot = page.moved[i].dot;

		page.moved_out[i].id = id_of(dot);
		page.moved_out[i].due = !dot->waits;
		page.moved_out[i].from_level = page.moved[i].from.level;
		page.moved_out[i].from_slot = page.moved[i].from.slot;
		page.moved_out[i].level = dot->level;
		page.moved_out[i].slot = dot->slot;
	}
	return page.moved_out;
}

void glue_forget_moved(void)
{
	page.moved_count = 0;
}

uint32_t glue_tell(uint32_t index)
{
	const struct moved *moved = &page.moved[index];
	struct journey journey;
	struct journey_step steps[2];
	size_t length;

	resume(&journey, moved->dot, moved->waited, moved->from);
	if (!journey_look(&journey, steps))
		return 0;
	length = journey_words(&steps[0], write_ms, page.words, sizeof(page.words) - 1);
	page.words[length++] = ' ';
	length += journey_words(&steps[1], write_ms, page.words + length,
	                        sizeof(page.words) - length);
	return (uint32_t)length;
}

const char *glue_words(void)
{
	return page.words;
}

const uint32_t *glue_trace(void)
{
	return page.heap.trace;
}

uint32_t glue_trace_count(void)
{
	return page.heap.traced;
}

void glue_forget_trace(void)
{
	page.heap.traced = 0;
}
