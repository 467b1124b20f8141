/* SPDX-License-Identifier: MIT */
/*
 * Any journey against the formula in pawl_wheel(3); and what is told of a timer that is touched, cancelled or late. The
 * journeys by which Kafka's timing wheel is usually explained are in test_explain.py, word for word.
 */
#include "../journey/journey.h"

#include <inttypes.h>

#include "../../src/base/random.h"
#include "../../src/base/saturate.h"
#include "../../tests/support/test.h"
#include "../../tests/support/wheels.h"
#include "../text/duration.h"

static void in_ms(uint64_t time, char text[JOURNEY_TIME])
{
	snprintf(text, JOURNEY_TIME, "%" PRIu64 " ms", time);
}

/* A timer on a wheel of its own, and what has been told of it. */
struct tale {
	struct pawl_wheel_options options;
	struct pawl_wheel *wheel;
	struct pawl_timer timer;
	struct journey journey;
	struct journey_step last;
	char text[2048];
};

static struct tale *tale_on(uint64_t start, uint64_t tick, uint32_t wheel_size)
{
	struct tale *tale = calloc(1, sizeof(*tale));

	tale->options =
	        (struct pawl_wheel_options){.start = start, .tick = tick, .wheel_size = wheel_size};
	tale->wheel = wheel_with(&tale->options);
	journey_begin(&tale->journey, tale->wheel, &tale->options, &tale->timer);
	return tale;
}

static void close_tale(struct tale *tale)
{
	free(tale->wheel);
	free(tale);
}

static void tell(struct tale *tale, const struct journey_step *step, journey_time_fn *write_time)
{
	size_t length = strlen(tale->text);

	tale->last = *step;
	journey_words(step, write_time, tale->text + length, sizeof(tale->text) - length);
	strncat(tale->text, "\n", sizeof(tale->text) - strlen(tale->text) - 1);
}

static void arm(struct tale *tale, uint64_t deadline)
{
	struct journey_step step;

	journey_arm(&tale->journey, deadline, &step);
	tell(tale, &step, in_ms);
}

static void touch(struct tale *tale, uint64_t deadline)
{
	struct journey_step step;

	journey_touch(&tale->journey, deadline, &step);
	tell(tale, &step, in_ms);
}

static void cancel(struct tale *tale)
{
	struct journey_step step;

	journey_cancel(&tale->journey, &step);
	tell(tale, &step, in_ms);
}

static void go_on_until(struct tale *tale, uint64_t now)
{
	struct journey_step steps[2];
	bool done = false;

	while (!done) {
		done = journey_advance(tale->wheel, now);
		for (unsigned i = 0, count = journey_look(&tale->journey, steps); i < count; i++)
			tell(tale, &steps[i], in_ms);
	}
}

static void a_delay_of_0_is_due_at_once(void)
{
	struct tale *tale = tale_on(7, 1, 20);

	arm(tale, 7);
	go_on_until(tale, 9);
	EXPECT_STR(
	        tale->text,
	        "At 7 ms it is armed, due at 7 ms. That is not after now, so it is due at once.\n");
	cancel(tale);
	cancel(tale);
	EXPECT_STR(strchr(tale->text, '\n') + 1,
	           "At 9 ms it is cancelled, due but not popped yet: it will not be.\n"
	           "At 9 ms it is cancelled, but it was not armed.\n");
	close_tale(tale);
}

static void a_deadline_between_two_ticks_is_rounded_up(void)
{
	struct tale *tale = tale_on(0, 1000000, 20);
	struct journey_step step, steps[2];

	journey_arm(&tale->journey, 2500000, &step);
	tell(tale, &step, duration_exact);
	EXPECT(!journey_advance(tale->wheel, 4000000));
	EXPECT_EQ(pawl_wheel_now(tale->wheel), 3000000);
	EXPECT_EQ(journey_look(&tale->journey, steps), 2);
	tell(tale, &steps[1], duration_exact);
	EXPECT_STR(tale->text,
	           "At 0 ms it is armed, due at 2.5 ms, rounded up to 3 ms. It goes to level 0, "
	           "slot 3, which "
	           "opens at 3 ms.\n"
	           "At 3 ms it is due, 500 us after its deadline and never before it.\n");
	close_tale(tale);
}

static void a_touched_timer_stays_and_is_put_right_later(void)
{
	struct tale *tale = tale_on(0, 1, 20);

	arm(tale, 450);
	go_on_until(tale, 100);
	tale->text[0] = '\0';
	touch(tale, 1300);
	go_on_until(tale, 1300);
	EXPECT_STR(tale->text, "At 100 ms it is touched, and now due at 1300 ms. It stays in slot "
	                       "1 of level 2 until that "
	                       "opens at 400 ms, and is put right then.\n"
	                       "At 400 ms slot 1 of level 2 opens: 900 ms to go.\n"
	                       "It is put on level 2, slot 3, which opens at 1200 ms.\n"
	                       "At 1200 ms slot 3 of level 2 opens: 100 ms to go.\n"
	                       "It moves down to level 1, slot 5, which opens at 1300 ms.\n"
	                       "At 1300 ms slot 5 of level 1 opens.\n"
	                       "At 1300 ms it is due.\n");
	close_tale(tale);
}

static void a_touch_to_an_earlier_deadline_is_an_arming(void)
{
	struct tale *tale = tale_on(0, 1, 20);

	arm(tale, 450);
	touch(tale, 430); /* in the same slot */
	EXPECT_EQ(tale->last.event, JOURNEY_PUT);
	touch(tale, 30);
	EXPECT_EQ(tale->last.event, JOURNEY_PUT);
	EXPECT_EQ(tale->last.place.level, 1);
	EXPECT_EQ(tale->last.place.slot, 1);
	touch(tale, 0);
	EXPECT_EQ(tale->last.event, JOURNEY_LATE);
	close_tale(tale);
}

static void a_cancelled_timer_leaves_its_slot_at_once(void)
{
	struct tale *tale = tale_on(0, 1, 20);

	arm(tale, 450);
	go_on_until(tale, 405);
	tale->text[0] = '\0';
	cancel(tale);
	go_on_until(tale, 1000);
	EXPECT_STR(tale->text, "At 405 ms it is cancelled: it leaves slot 2 of level 1 at once, "
	                       "and nothing of it stays.\n");
	close_tale(tale);
}

static void levels_have_the_ranges_of_kafkas_example(void)
{
	struct tale *tale = tale_on(0, 1, 20);
	struct journey_level level = journey_level_at(&tale->journey, 0, 2);

	EXPECT_EQ(level.first, 2);
	EXPECT_EQ(level.last, 21);
	EXPECT_EQ(level.current, 2);
	level = journey_level_at(&tale->journey, 1, 450);
	EXPECT_EQ(level.slot_ticks, 20);
	EXPECT_EQ(level.first, 440);
	EXPECT_EQ(level.last, 839);
	EXPECT_EQ(level.current, 2);
	EXPECT_EQ(level.slots, 20);
	level = journey_level_at(&tale->journey, 2, 450);
	EXPECT_EQ(level.slot_ticks, 400);
	EXPECT_EQ(level.first, 400);
	EXPECT_EQ(level.last, 8399);
	close_tale(tale);
}

static void text_that_does_not_fit_is_cut_and_counted(void)
{
	struct tale *tale = tale_on(0, 1, 20);
	struct journey_step step;
	char whole[256], part[256];
	size_t length;

	journey_arm(&tale->journey, 450, &step);
	length = journey_words(&step, in_ms, whole, sizeof(whole));
	EXPECT_EQ(length, strlen(whole));
	EXPECT_EQ(journey_words(&step, in_ms, NULL, 0), length);
	for (size_t size = 1; size < sizeof(part); size++) {
		memset(part, '#', sizeof(part));
		EXPECT_EQ(journey_words(&step, in_ms, part, size), length);
		EXPECT_EQ(strlen(part), length < size ? length : size - 1);
		EXPECT(strncmp(part, whole, strlen(part)) == 0);
		EXPECT(size > length + 1 || part[size - 1] == '\0');
		EXPECT_EQ(part[size], '#');
	}
	close_tale(tale);
}

/* When a tick begins, but at most the last time. */
static uint64_t time_of_tick(const struct tale *tale, uint64_t tick)
{
	uint64_t time;

	if (__builtin_mul_overflow(tick, tale->options.tick, &time) || time == PAWL_NEVER)
		return PAWL_NEVER - 1;
	return time;
}

/* The ticks of a level in use: at most as many as there are. */
static uint64_t width_of(const struct tale *tale, unsigned level)
{
	uint64_t width = 1;

	while (level-- > 0)
		width *= tale->options.wheel_size;
	return width;
}

/* The contract's formula. */
static void expect_place_by_formula(const struct tale *tale, const struct journey_step *step)
{
	uint64_t tick = tale->options.tick;
	uint64_t due = step->deadline / tick + (step->deadline % tick != 0),
	         now = step->time / tick;
	unsigned level = 0;
	uint64_t cell;

	while (due / width_of(tale, level) - now / width_of(tale, level) >=
	       tale->options.wheel_size)
		level++;
	cell = due / width_of(tale, level);
	EXPECT_EQ(step->place.level, level);
	EXPECT_EQ(step->place.slot, cell % tale->options.wheel_size);
	EXPECT_EQ(step->place.opens, time_of_tick(tale, cell * width_of(tale, level)));
	if (level > 0) {
		uint64_t below = width_of(tale, level - 1), ends;

		if (__builtin_add_overflow(now / below * below, width_of(tale, level), &ends))
			ends = PAWL_NEVER;
		EXPECT_EQ(step->below_ends, time_of_tick(tale, ends));
	}
}

static void follow_to_the_end(struct tale *tale, uint64_t deadline)
{
	struct journey_step steps[2];
	unsigned level;

	journey_arm(&tale->journey, deadline, &steps[1]);
	if (steps[1].event == JOURNEY_PUT)
		expect_place_by_formula(tale, &steps[1]);
	for (level = steps[1].place.level; tale->journey.waiting; level = steps[1].place.level) {
		uint64_t opens = tale->journey.place.opens;

		journey_advance(tale->wheel, PAWL_NEVER - 1);
		EXPECT_EQ(journey_look(&tale->journey, steps), 2);
		EXPECT_EQ(steps[0].event, JOURNEY_OPENED);
		EXPECT_EQ(steps[0].time, opens);
		if (steps[1].event == JOURNEY_DUE)
			break;
		EXPECT_EQ(steps[1].event, JOURNEY_MOVED);
		EXPECT(steps[1].place.level < level);
		expect_place_by_formula(tale, &steps[1]);
	}
	EXPECT(steps[1].event == JOURNEY_LATE || steps[1].time == steps[1].due);
	EXPECT(steps[1].due >= steps[1].deadline);
	EXPECT(pawl_wheel_pop(tale->wheel) == &tale->timer);
}

static void any_journey_follows_the_formula(void)
{
	static const uint32_t sizes[] = {2, 3, 20, 256, 4096};
	static const uint64_t ticks[] = {1, 3, 1000, 1000000, UINT64_C(1) << 63, PAWL_NEVER};
	struct random random = {1};

	for (unsigned run = 0; run < 6000; run++) {
		uint64_t start = random_next(&random) >> random_below(&random, 64);
		uint64_t delay = random_next(&random) >> random_below(&random, 64);
		uint64_t deadline = saturating_sum(start, delay);
		struct tale *tale = tale_on(start, ticks[run % 6], sizes[random_below(&random, 5)]);

		follow_to_the_end(tale, deadline);
		close_tale(tale);
	}
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_delay_of_0_is_due_at_once),
	        TEST(a_deadline_between_two_ticks_is_rounded_up),
	        TEST(a_touched_timer_stays_and_is_put_right_later),
	        TEST(a_touch_to_an_earlier_deadline_is_an_arming),
	        TEST(a_cancelled_timer_leaves_its_slot_at_once),
	        TEST(levels_have_the_ranges_of_kafkas_example),
	        TEST(text_that_does_not_fit_is_cut_and_counted),
	        TEST(any_journey_follows_the_formula),
	};

	return RUN_TESTS(tests);
}
