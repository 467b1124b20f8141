/* SPDX-License-Identifier: MIT */
/*
 * The playground's glue, natively: after any operations on any wheel, the places that it keeps are those of the wheel,
 * and the heap holds the same timers. In the browser it uses the memory of WebAssembly; here it uses malloc, so that
 * the sanitizers check it.
 */
#include "../glue.h"

#include "../../src/base/random.h"
#include "../../tests/support/test.h"
#include "../memory.h"

#include <stdlib.h>

#define TIMERS     300u
#define OPERATIONS 3000u
#define PIECES     8

static void *pieces[PIECES];
static int taken;

void memory_reset(void)
{
	while (taken > 0)
		free(pieces[--taken]);
}

void *memory_take(size_t size)
{
	void *piece = calloc(1, size);

	EXPECT(taken < PIECES);
	pieces[taken++] = piece;
	return piece;
}

static uint32_t counted(uint32_t wheel_size)
{
	uint32_t sum = 0;

	for (uint32_t level = 0; glue_levels() >> level; level++)
		for (uint32_t slot = 0; slot < wheel_size; slot++)
			sum += glue_counts()[level * wheel_size + slot];
	return sum;
}

/* Every timer met is where pawl_wheel_get_place() says, and the counts of the slots are right. */
static void expect_truth(uint32_t wheel_size)
{
	uint32_t seen = glue_each(TIMERS);

	EXPECT_EQ(seen, glue_numbers()->pending);
	EXPECT_EQ(counted(wheel_size), seen);
	for (uint32_t i = 0; i < seen; i++) {
		const struct glue_place *place = glue_place(glue_seen()[i].id);

		EXPECT(place->waits);
		EXPECT_EQ(glue_seen()[i].level, place->level);
		EXPECT_EQ(glue_seen()[i].slot, place->slot);
	}
	EXPECT(glue_check() == NULL);
}

static void pop_all(void)
{
	while (glue_pop() != NO_TIMER)
		;
}

/* There are words for each timer that a step moved or made due. */
static void tell_all(void)
{
	for (uint32_t i = 0; i < glue_moved_count(); i++)
		EXPECT(glue_tell(i) > 0);
	glue_forget_moved();
}

static void advance(uint64_t to, uint32_t max_moves)
{
	while (glue_now() < to) {
		glue_step(to, max_moves);
		glue_follow();
		pop_all();
		tell_all();
		glue_heap_expire(UINT32_MAX);
	}
}

static bool moves_ahead; /* now and then, and more or less */

static void act(struct random *random)
{
	uint32_t id = (uint32_t)random_below(random, TIMERS);
	uint64_t deadline = glue_now() + random_below(random, 5000);

	if (moves_ahead && random_below(random, 20) == 0)
		glue_ahead((uint32_t)random_below(random, 5));
	switch (random_below(random, 5)) {
	case 0:
	case 1:
		glue_arm(id, deadline);
		break;
	case 2:
		glue_touch(id, deadline);
		break;
	case 3:
		glue_cancel(id);
		break;
	default:
		advance(glue_now() + random_below(random, 300), (uint32_t)random_below(random, 9));
	}
	pop_all(); /* what was armed too late: arming has told of it */
	glue_forget_moved();
}

static void act_on(uint64_t tick, uint32_t size, uint32_t chains)
{
	struct random random = {tick * 7 + size + chains};

	EXPECT(glue_init(tick, size, chains, TIMERS, true));
	glue_fill(0, TIMERS / 2, 4000, 1);
	for (unsigned i = 0; i < OPERATIONS; i++) {
		act(&random);
		expect_truth(size);
		if (tick > 1)
			continue; /* the heap knows no ticks: its timers leave before the wheel's */
		glue_heap_expire(UINT32_MAX);
		EXPECT_EQ(glue_numbers()->heap_count, glue_numbers()->pending);
	}
	advance(glue_now() + 10000, 0);
	EXPECT_EQ(glue_numbers()->pending, 0);
	EXPECT_EQ(glue_numbers()->heap_count, 0);
	EXPECT_EQ(glue_numbers()->empty, 0);
}

static void the_page_shows_what_the_wheel_says(void)
{
	act_on(1, 20, 1);
	act_on(1, 2, 1);
	act_on(1, 256, 8);
	act_on(7, 20, 16);
	act_on(1000, 3, 2);
	memory_reset();
}

static void the_page_shows_what_the_wheel_says_where_timers_move_ahead(void)
{
	moves_ahead = true;
	the_page_shows_what_the_wheel_says();
	moves_ahead = false;
}

/* 300 timers move down from one slot of level 1; then each of the 20 ticks is due as a whole, which is one move. */
static uint32_t most_moves_of_a_slot(uint32_t ahead)
{
	EXPECT(glue_init(1, 20, 1, TIMERS, false));
	glue_ahead(ahead);
	for (uint32_t id = 0; id < TIMERS; id++)
		EXPECT(glue_arm(id, 20 + id % 20));
	advance(40, 7);
	EXPECT_EQ(glue_numbers()->popped, TIMERS);
	EXPECT_EQ(glue_numbers()->openings, 20);
	EXPECT_EQ(glue_numbers()->moves + glue_numbers()->moves_ahead, TIMERS + 20);
	return ahead ? glue_numbers()->most_with_ahead : glue_numbers()->most_moves;
}

static void the_most_moves_in_a_tick_are_counted(void)
{
	EXPECT_EQ(most_moves_of_a_slot(0), TIMERS + 1);
	EXPECT_EQ(glue_numbers()->most_with_ahead, 0);
	EXPECT_EQ(glue_numbers()->moves_ahead, 0);
	EXPECT_EQ(most_moves_of_a_slot(20), 20);
	EXPECT_EQ(glue_numbers()->most_moves, 0);
	EXPECT_EQ(glue_numbers()->moves_ahead, TIMERS);
	memory_reset();
}

static void the_words_are_those_of_a_journey(void)
{
	EXPECT(glue_init(1, 20, 1, TIMERS, false));
	EXPECT(glue_arm(0, 350));
	EXPECT_STR(glue_words(),
	           "At 0 ms it is armed, due at 350 ms. Level 0 holds what is due before "
	           "20 ms, so it goes to level 1, slot 17, which opens at 340 ms.");
	glue_step(1000, 0);
	glue_follow();
	EXPECT_EQ(glue_moved_count(), 1);
	EXPECT(glue_tell(0) > 0);
	EXPECT_STR(glue_words(),
	           "At 340 ms slot 17 of level 1 opens: 10 ms to go. It moves down to "
	           "level 0, slot 10, which opens at 350 ms.");
	memory_reset();
}

static void wrong_options_are_refused(void)
{
	EXPECT(!glue_init(0, 20, 1, TIMERS, false));
	EXPECT(!glue_init(1, 0, 1, TIMERS, false));
	EXPECT(!glue_init(1, 1, 1, TIMERS, false));
	EXPECT(!glue_init(1, 4097, 1, TIMERS, false));
	EXPECT(!glue_init(1, 20, 3, TIMERS, false));
	memory_reset();
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(the_page_shows_what_the_wheel_says),
	        TEST(the_page_shows_what_the_wheel_says_where_timers_move_ahead),
	        TEST(the_most_moves_in_a_tick_are_counted),
	        TEST(the_words_are_those_of_a_journey),
	        TEST(wrong_options_are_refused),
	};

	return RUN_TESTS(tests);
}
