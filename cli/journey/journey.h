/* SPDX-License-Identifier: MIT */
/*
 * The journey of a timer through the levels of a wheel: what happens to it, as facts and in words.
 *
 * It is used by `pawl explain` and by a page in the browser, so it needs only pawl/wheel.h, and no C library. It does
 * not compute places itself: it reads each step from a real wheel.
 *
 *	struct journey journey;
 *	struct journey_step step, steps[2];
 *
 *	journey_begin(&journey, wheel, &options, &timer);
 *	journey_arm(&journey, 450, &step);                      // put on level 2, slot 1
 *	while (!done) {
 *		done = journey_advance(wheel, now);             // one opening at a time
 *		count = journey_look(&journey, steps);          // slot 1 opens; it moves to level 1
 *	}
 *
 * Any number of journeys may share a wheel, and the wheel may also have other timers. If time is advanced by larger
 * steps than those of journey_advance, the steps in between are missed.
 */
#ifndef PAWL_CLI_JOURNEY_H
#define PAWL_CLI_JOURNEY_H

#include <pawl/wheel.h>

enum journey_event {
	JOURNEY_PUT,       /* armed, or touched to an earlier deadline: it is at `place` */
	JOURNEY_LATE,      /* armed or touched to a deadline that is not after now: due at once */
	JOURNEY_TOUCHED,   /* a later deadline; it stays at `place` until that opens */
	JOURNEY_OPENED,    /* its slot, `place`, opens; MOVED or DUE follows */
	JOURNEY_MOVED,     /* it is at `place` now */
	JOURNEY_DUE,       /* it can be popped */
	JOURNEY_CANCELLED, /* removed from `place`, if it was `waiting`; else it was due */
	JOURNEY_IDLE,      /* cancelled, but it was not armed */
};

/* A level at some time. All in ticks; tick T begins at T * options.tick. */
struct journey_level {
	unsigned level;
	unsigned slots;      /* wheel_size */
	unsigned current;    /* the slot that contains this time */
	uint64_t slot_ticks; /* the width of a slot */
	uint64_t first,
	        last; /* its range, the ticks that it holds: wheel_size slots from `current` on */
};

struct journey_step {
	enum journey_event event;
	uint64_t time;                 /* when it happens, in the wheel's units */
	uint64_t deadline;             /* as asked for */
	uint64_t due;                  /* rounded up to the tick: when it will be due */
	bool waiting;                  /* place is valid */
	struct pawl_wheel_place place; /* where it is; OPENED, CANCELLED: where it was */
	unsigned from_level;           /* MOVED: the level that it comes from */
	bool serves_again;   /* PUT, MOVED: the slot was passed in this turn, and is free again */
	uint64_t below_ends; /* PUT, MOVED: the level below place.level holds what is due before */
};

struct journey {
	struct pawl_wheel *wheel;
	struct pawl_timer *timer;
	uint64_t tick;
	uint32_t wheel_size;
	bool waiting;
	struct pawl_wheel_place place;
};

/*
 * Follow `timer`, which is idle, on `wheel`, which was made with `options`; here tick and wheel_size must not be 0. The
 * wheel and the timer are borrowed.
 */
void journey_begin(struct journey *journey, struct pawl_wheel *wheel,
                   const struct pawl_wheel_options *options, struct pawl_timer *timer);

/* Arm, touch or cancel the timer. *step is what happened. */
void journey_arm(struct journey *journey, uint64_t deadline, struct journey_step *step);
void journey_touch(struct journey *journey, uint64_t deadline, struct journey_step *step);
void journey_cancel(struct journey *journey, struct journey_step *step);

/*
 * Advance the wheel to `now`, but at most to the next opening of a slot, unless a timer is due: pop it first. All slots
 * that open at that time are then open. true: the wheel's time is `now` or later.
 */
bool journey_advance(struct pawl_wheel *wheel, uint64_t now);

/* The steps of the timer in the last journey_advance: 0 steps, or 2, OPENED and then MOVED or DUE. */
unsigned journey_look(struct journey *journey, struct journey_step steps[2]);

/* The wheel's level, at time `now`. For drawings. */
struct journey_level journey_level_at(const struct journey *journey, unsigned level, uint64_t now);

/* Writes a time, or a duration, for the sentences. */
#define JOURNEY_TIME 48
typedef void journey_time_fn(uint64_t time, char text[JOURNEY_TIME]);

/*
 * The step as a sentence. Writes at most size - 1 bytes and a zero. Returns the length of the whole sentence: `size` or
 * more means that it was cut.
 */
size_t journey_words(const struct journey_step *step, journey_time_fn *write_time, char *text,
                     size_t size);

#endif
