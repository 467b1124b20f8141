/* SPDX-License-Identifier: MIT */
/*
 * The facts of a journey, read from the wheel: a timer has moved if its place has changed.
 *
 * At one time a timer moves at most once. A slot that opens at time o moves its timers to their slots as seen from o,
 * and none of these opens at o. So an advance to the next opening shows every step.
 */
#include "journey.h"

#define LAST (PAWL_NEVER - 1) /* the last time of a wheel */

void journey_begin(struct journey *journey, struct pawl_wheel *wheel,
                   const struct pawl_wheel_options *options, struct pawl_timer *timer)
{
	journey->wheel = wheel;
	journey->timer = timer;
	journey->tick = options->tick;
	journey->wheel_size = options->wheel_size;
	journey->waiting = false;
	journey->place = (struct pawl_wheel_place){0, 0, 0};
}

static uint64_t sum_capped(uint64_t a, uint64_t b)
{
	return a <= LAST && b <= LAST - a ? a + b : LAST;
}

static uint64_t product_capped(uint64_t a, uint64_t b)
{
	return b == 0 || a <= LAST / b ? a * b : LAST;
}

static uint64_t rounded_up(const struct journey *journey, uint64_t deadline)
{
	uint64_t rest = deadline % journey->tick;

	return rest == 0 ? deadline : sum_capped(deadline, journey->tick - rest);
}

static uint64_t slot_ticks(const struct journey *journey, unsigned level)
{
	uint64_t ticks = 1;

	while (level-- > 0)
		ticks = product_capped(ticks, journey->wheel_size);
	return ticks;
}

struct journey_level journey_level_at(const struct journey *journey, unsigned level, uint64_t now)
{
	uint64_t width = slot_ticks(journey, level);
	uint64_t cell = now / journey->tick / width;
	uint64_t turn = product_capped(width, journey->wheel_size);
	uint64_t first = cell * width;

	return (struct journey_level){
	        .level = level,
	        .slots = journey->wheel_size,
	        .current = (unsigned)(cell % journey->wheel_size),
	        .slot_ticks = width,
	        .first = first,
	        .last = sum_capped(first, turn - 1),
	};
}

/* Not returned by value: that would need memcpy, which is not available here. */
static void describe(const struct journey *journey, enum journey_event event, uint64_t time,
                     struct journey_step *step)
{
	step->event = event;
	step->time = time;
	step->deadline = journey->timer->deadline;
	step->due = rounded_up(journey, step->deadline);
	step->waiting = journey->waiting;
	step->place = journey->place;
	step->from_level = journey->place.level;
	step->serves_again = false;
	step->below_ends = 0;
}

/* Why the timer is not on a finer level, and whether its slot was passed in this turn. */
static void add_reasons(const struct journey *journey, struct journey_step *step)
{
	unsigned level = step->place.level;

	step->serves_again =
	        step->place.slot < journey_level_at(journey, level, step->time).current;
	if (level > 0) {
		uint64_t last = journey_level_at(journey, level - 1, step->time).last;

		step->below_ends = product_capped(sum_capped(last, 1), journey->tick);
	}
}

static bool same_place(const struct pawl_wheel_place *a, const struct pawl_wheel_place *b)
{
	return a->level == b->level && a->opens == b->opens;
}

static void read_place(struct journey *journey)
{
	journey->waiting = pawl_wheel_get_place(journey->wheel, journey->timer, &journey->place,
	                                        sizeof(journey->place));
}

static void describe_put(struct journey *journey, struct journey_step *step)
{
	uint64_t now = pawl_wheel_now(journey->wheel);

	read_place(journey);
	describe(journey, journey->waiting ? JOURNEY_PUT : JOURNEY_LATE, now, step);
	if (journey->waiting)
		add_reasons(journey, step);
}

void journey_arm(struct journey *journey, uint64_t deadline, struct journey_step *step)
{
	pawl_wheel_arm_at(journey->wheel, journey->timer, deadline);
	describe_put(journey, step);
}

void journey_touch(struct journey *journey, uint64_t deadline, struct journey_step *step)
{
	bool stays = journey->waiting && deadline >= journey->timer->deadline;
	struct pawl_wheel_place before = journey->place;

	pawl_wheel_touch_at(journey->wheel, journey->timer, deadline);
	describe_put(journey, step);
	if (stays && journey->waiting && same_place(&journey->place, &before))
		step->event = JOURNEY_TOUCHED;
}

void journey_cancel(struct journey *journey, struct journey_step *step)
{
	uint64_t now = pawl_wheel_now(journey->wheel);
	bool armed = pawl_wheel_cancel(journey->wheel, journey->timer);

	describe(journey, armed ? JOURNEY_CANCELLED : JOURNEY_IDLE, now, step);
	journey->waiting = false;
}

bool journey_advance(struct pawl_wheel *wheel, uint64_t now)
{
	uint64_t next = pawl_wheel_next(wheel);
	bool due = next <= pawl_wheel_now(wheel);

	pawl_wheel_advance(wheel, next < now && !due ? next : now, 0);
	return pawl_wheel_now(wheel) >= now;
}

unsigned journey_look(struct journey *journey, struct journey_step steps[2])
{
	struct pawl_wheel_place before = journey->place;

	if (!journey->waiting)
		return 0;
	describe(journey, JOURNEY_OPENED, before.opens, &steps[0]);
	read_place(journey);
	if (journey->waiting && same_place(&journey->place, &before))
		return 0;
	describe(journey, journey->waiting ? JOURNEY_MOVED : JOURNEY_DUE, before.opens, &steps[1]);
	if (journey->waiting) {
		steps[1].from_level = before.level;
		add_reasons(journey, &steps[1]);
	}
	return 2;
}
