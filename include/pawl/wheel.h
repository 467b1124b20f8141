/* SPDX-License-Identifier: MIT */
/*
 * pawl/wheel.h: a hierarchical timing wheel, the data structure alone.
 *
 * A wheel holds timers. You tell it the time, and it hands back the timers that have become due. It has no thread, no
 * clock, no allocation and no callback: you bring the memory and the time. Arming and cancelling take a constant number
 * of steps, however many timers there are. Time is an unsigned 64-bit number of units of your choice: milliseconds,
 * nanoseconds, the frames of a game.
 *
 *	#include <pawl/wheel.h>
 *	#include <stdio.h>
 *
 *	struct request { int id; struct pawl_timer timeout; };
 *
 *	int main(void)
 *	{
 *		static _Alignas(max_align_t) char memory[64 * 1024];
 *		struct pawl_wheel *wheel = pawl_wheel_init(memory, sizeof(memory), NULL);
 *		struct request one = {1, PAWL_TIMER_INIT}, two = {2, PAWL_TIMER_INIT};
 *		struct pawl_timer *timer;
 *
 *		pawl_wheel_arm_at(wheel, &one.timeout, 450);         // due at 450
 *		pawl_wheel_arm_at(wheel, &two.timeout, 300);         // due at 300,
 *		pawl_wheel_cancel(wheel, &two.timeout);              // or not
 *
 *		while (pawl_wheel_count(wheel) > 0) {                // the loop:
 *			uint64_t now = pawl_wheel_next(wheel);       // sleep until the next opening,
 *			pawl_wheel_advance(wheel, now, 0);           // tell the time,
 *			while ((timer = pawl_wheel_pop(wheel)) != NULL)      // handle what is due
 *				printf("request %d timed out\n", PAWL_CONTAINER_OF(timer, struct request, timeout)->id);
 *		}
 *	}
 *
 * How it works. Time is cut into ticks. Level 0 has n slots, each a list: they hold the timers of the next n ticks. A
 * timer that does not fit goes to a coarser level, where one slot is a whole turn of the level below; and so on. With
 * tick 1 (say 1 ms) and wheel_size 20, as in Kafka:
 *
 *	level 0  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |   slot   1 ms, turn  20 ms
 *	level 1  |   20 ms   |   40 ms   |   60 ms   |  ...                      slot  20 ms, turn 400 ms
 *	level 2  |                  400 ms                  |  ...               slot 400 ms, turn   8 s
 *	level 3  |  ...                                                          slot   8 s,  turn 160 s
 *
 * When time reaches the beginning of a slot, the slot opens. Timers of level 0 are then due; timers of any other level
 * move down, each to the level that is now right for it. A timer of 450 ms, armed at 0, makes this journey:
 *
 *	armed at     0   450 is beyond 20 and beyond 400:      level 2, slot  1, opens at 400
 *	opened at  400   50 ms are left, beyond 20:            level 1, slot  2, opens at 440
 *	opened at  440   10 ms are left:                       level 0, slot 10, opens at 450
 *	opened at  450   due
 *
 * By default a level has 256 slots. With a tick of 1 ms the turns are 256 ms, 66 s, 4.7 hours, 50 days, 35 years and
 * more. A timer moves at most once for each level above 0: once for anything from a quarter of a second to a minute.
 * pawl_wheel(3) has all levels, the exact formula, and more on bounded advances and on moving ahead.
 *
 * Promises:
 *  - Never early: deadlines are rounded up to the tick. With tick 1 a timer is due at its deadline.
 *  - Never lost: every armed timer is popped once or cancelled.
 *  - Nothing lingers: a cancelled timer is out of every list when cancel returns; its memory is yours.
 *  - Tickless: the cost of an advance is that of the slots it opens, not of the ticks that pass. A year is one call.
 *  - In order: with chains = 1, timers come out by tick, and within a tick in the order in which they were armed. A
 *    touched timer comes anywhere within its tick. A timer armed when already due comes after all that were due before.
 *  - No long stalls: pawl_wheel_ahead() moves timers down before their slot opens, a few at a time.
 *  - Bounded: advance makes at most the moves that you allow, and goes on in the next call.
 *  - All 64 bits: no delay is too long and no time too late. If now plus a delay might wrap, cap the sum yourself.
 *
 * Rules:
 *  - One thread at a time uses a wheel. Different wheels share nothing. No call accepts NULL for a wheel or a timer.
 *  - A timer is on one wheel at a time. Keep its memory, which is yours, in place until it is popped or cancelled.
 *  - There is nothing to close. Timers that are still armed when you discard the wheel must be zeroed before they are
 *    used again. A wheel points into itself: do not copy or move it.
 */
#ifndef PAWL_WHEEL_H
#define PAWL_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PAWL_API      __attribute__((visibility("default")))
#define PAWL_MUST_USE __attribute__((warn_unused_result)) /* do not ignore the result */
#else
#define PAWL_API
#define PAWL_MUST_USE
#endif

/* Later than any time. As a deadline it means 2^64-2, the last time there is. */
#define PAWL_NEVER UINT64_MAX

/* Nanoseconds, for the parts of the library that count in them: 30 * PAWL_SECOND. A wheel counts in any unit. */
#define PAWL_US     UINT64_C(1000)
#define PAWL_MS     UINT64_C(1000000)
#define PAWL_SECOND UINT64_C(1000000000)
#define PAWL_MINUTE UINT64_C(60000000000)
#define PAWL_HOUR   UINT64_C(3600000000000)

/* From a pointer to a timer, task or operation to the struct `type` that embeds it as `member`. A pointer of another
 * type than that member's is a warning in C and an error in C++; for C++ see the end of this file. */
#ifndef __cplusplus
#define PAWL_CONTAINER_OF(pointer, type, member) \
	((type *)(void *)((char *)(1 ? (pointer) : &((type *)0)->member) - offsetof(type, member)))
#endif

/* A timer, to be embedded in your struct. All zeroes, which is PAWL_TIMER_INIT, is an idle timer. */
struct pawl_timer {
	struct pawl_timer *next, *prev; /* private */
	uint64_t deadline;              /* as given to arm or touch; read it, do not write it */
};
#define PAWL_TIMER_INIT       \
	{                     \
		NULL, NULL, 0 \
	}

/* Options. Zeroes, or a NULL pointer in place of the struct, mean the defaults. If tick and wheel_size are both powers
 * of two, timers are placed without a division. 8 chains make the expiry of a million timers three to four times as
 * fast (`make bench`). The price: timers that are due and not yet popped come in no particular order. */
struct pawl_wheel_options {
	uint64_t start;       /* the wheel's first "now" */
	uint64_t tick;        /* time units in a slot of level 0; 0: 1 */
	uint32_t wheel_size;  /* slots in every level, 2 to 4096; 0: 256 */
	uint32_t chains;      /* lists in a slot: 1, 2, 4, 8 or 16; 0: 1 */
	bool ahead;           /* room for pawl_wheel_ahead(): twice the slots */
	uint64_t reserved[4]; /* for options of later versions: 0 */
};

struct pawl_wheel;
/* The bytes that a wheel of these options needs; 0 if the options are invalid. It counts all levels that 64 bits of
 * time can need. In KiB: 34 by default, 262 with 8 chains; 66 and 518 with ahead. About half with 32-bit pointers. */
PAWL_API size_t pawl_wheel_footprint(const struct pawl_wheel_options *options);

/* Make a wheel in your memory of `size` bytes, aligned as malloc aligns. It writes the wheel's head and level 0 only,
 * and a further level when a timer first needs it. Returns the wheel, at `mem` itself; or NULL, with nothing written,
 * if mem is NULL or misaligned, size is below the footprint, or the options are invalid. */
PAWL_API PAWL_MUST_USE struct pawl_wheel *pawl_wheel_init(void *mem, size_t size,
                                                          const struct pawl_wheel_options *options);

/* Arm the timer for `deadline`; an armed timer gets the new deadline. Never fails. Returns true if the timer waits;
 * false if the deadline is not after pawl_wheel_now(): then it is due, after all that became due before it. A constant
 * number of steps, except the first arming on a level, which prepares its slots. After a sleep, advance, then arm. */
PAWL_API bool pawl_wheel_arm_at(struct pawl_wheel *wheel, struct pawl_timer *timer,
                                uint64_t deadline);

/* The same for a timer that you know to be idle; an armed one breaks the wheel. It reads nothing of the timer, whose
 * memory you may have used meanwhile, and with very many timers is 1.7 times as fast. */
PAWL_API bool pawl_wheel_arm_idle_at(struct pawl_wheel *wheel, struct pawl_timer *timer,
                                     uint64_t deadline);

/* Arm the timer for a time from `earliest` to `latest`, chosen so that timers whose windows overlap are often due
 * together and the loop wakes up less often. The part of a window before now does not count; a latest before earliest
 * counts as earliest. Returns as arm does. */
PAWL_API bool pawl_wheel_arm_between(struct pawl_wheel *wheel, struct pawl_timer *timer,
                                     uint64_t earliest, uint64_t latest);

/* Push a deadline back, as for an idle timeout that restarts at every request. Returns as arm does. If the timer
 * waits, its present deadline is still to come, and the new one is not earlier, this is one store: the timer stays in
 * its slot, and when the slot opens one move puts it right, however often it was touched. Otherwise it arms. */
PAWL_API bool pawl_wheel_touch_at(struct pawl_wheel *wheel, struct pawl_timer *timer,
                                  uint64_t deadline);

/* Take a timer off the wheel, waiting or due, in a constant number of steps. Returns true if it was armed, and will not
 * be popped; false if it was idle: never armed, popped, or cancelled before. */
PAWL_API bool pawl_wheel_cancel(struct pawl_wheel *wheel, struct pawl_timer *timer);

/* Tell the wheel the time: every timer whose tick has come by `now` becomes due. A `now` before the wheel's own counts
 * as the wheel's own. max_moves bounds the work; 0: no bound. An advance that its bound stops goes on in the next
 * call, and is done when pawl_wheel_now() is `now`. Returns the moves made. If that is 0, this call made nothing due:
 * a loop need not pop then, unless an arm or a touch returned false since it last popped everything. */
PAWL_API size_t pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves);

/* The next due timer, now idle; NULL if none is due. A constant number of steps. Between two pops anything may be
 * armed, touched or cancelled. A loop that pops until NULL never ends if it keeps arming timers that are due at once.
 * To pop only what is due now, arm a timer of your own for 0 first, and pop until it comes: with chains = 1 it comes
 * after all that were due, and before all that became due since. With more chains, pop at most pawl_wheel_count(). */
PAWL_API PAWL_MUST_USE struct pawl_timer *pawl_wheel_pop(struct pawl_wheel *wheel);

/* When to advance next: now if a timer is due already (2^64-2 if now is even later); otherwise when the first slot that
 * holds a timer opens; PAWL_NEVER if there is no timer. Never after the time at which the earliest timer becomes due,
 * but perhaps before: when timers only move down or, with options.ahead and 1,024 timers or more, when to move them
 * ahead. It clears the marks of slots that were emptied, so the wheel is not const. */
PAWL_API uint64_t pawl_wheel_next(struct pawl_wheel *wheel);

/* When the earliest timer is due, exactly: its deadline rounded up to the tick; now or PAWL_NEVER as pawl_wheel_next().
 * It walks the slots that open before that: few timers, unless many share a slot above level 0. */
PAWL_API uint64_t pawl_wheel_earliest(const struct pawl_wheel *wheel);

/* Move timers down before their slot opens, so that no advance takes long. Needs options.ahead; with it, call this in
 * every pass: with many timers pawl_wheel_next() returns now while there is work left. Returns the moves made, at most
 * max_moves (0: no bound); 0 if there is nothing to do yet, or while an advance that its bound stopped has to go on
 * first. Timers become due at the same tick and in the same order. See "Moving ahead" in pawl_wheel(3). */
PAWL_API size_t pawl_wheel_ahead(struct pawl_wheel *wheel, size_t max_moves);

/* The time last advanced to, or options.start; after an advance that its bound stopped, the last time that is done. */
PAWL_API uint64_t pawl_wheel_now(const struct pawl_wheel *wheel);
/* How many timers are on the wheel: waiting, or due and not popped. */
PAWL_API size_t pawl_wheel_count(const struct pawl_wheel *wheel);
/* Whether the timer is on a wheel: waiting, or due and not popped. */
PAWL_API bool pawl_timer_armed(const struct pawl_timer *timer);
/* Whether the timer is due and not popped. Constant time with tick 1 and advances without a bound; otherwise it may
 * walk a slot, if the deadline falls into the present tick: pawl_wheel(3). */
PAWL_API bool pawl_wheel_due(const struct pawl_wheel *wheel, const struct pawl_timer *timer);
/* The deadline of a timer that is on a wheel, at most 2^64-2; PAWL_NEVER if it is idle. */
PAWL_API uint64_t pawl_timer_deadline(const struct pawl_timer *timer);

/* Where a waiting timer is. Later versions may add fields at the end. */
struct pawl_wheel_place {
	unsigned level; /* 0 is the finest */
	unsigned slot;  /* 0 to wheel_size - 1: the number of its cell modulo wheel_size */
	uint64_t opens; /* the time at which this slot opens */
};

/* Write the timer's place to *place, whose size is `size`: sizeof(*place). A touched timer may still be in the slot of
 * its old deadline. For teaching and tests: it may walk the slot. Returns false, and leaves *place alone, if the timer
 * is idle or due. */
PAWL_API bool pawl_wheel_get_place(const struct pawl_wheel *wheel, const struct pawl_timer *timer,
                                   struct pawl_wheel_place *place, size_t size);

/* Call fn for every timer until it returns false: first the due ones, then level by level from the coarsest to the
 * finest, the slots of a level in the order in which they open, and the timers of a slot list by list. With chains = 1
 * the timers of each tick come in the order of their pops, so that a wheel can be saved: "Saving a wheel" in
 * pawl_wheel(3). fn may cancel the timer that it is given, and must not call anything else that changes the wheel. */
PAWL_API void pawl_wheel_each(struct pawl_wheel *wheel,
                              bool (*fn)(struct pawl_timer *timer, void *arg), void *arg);

/* Check every list, bit and counter of the wheel, for tests and debugging. Returns NULL if all is well, otherwise the
 * broken invariant: memory was overwritten, a timer was freed or copied while armed, or two threads used the wheel. */
PAWL_API const char *pawl_wheel_check(const struct pawl_wheel *wheel);

#ifdef __cplusplus
}
/* PAWL_CONTAINER_OF by a pointer to member, since offsetof warns of a class with virtual functions. */
template <class T> struct pawl_container {
	typedef T self;
	template <class M, class C> static T *of(const volatile M *pointer, M C::*member)
	{
		M T::*own = member; /* C is T or a base of it */
		char *here = const_cast<char *>(reinterpret_cast<const volatile char *>(pointer));
		void *there = &(static_cast<T *>(static_cast<void *>(here))->*own);
		void *begin = here - (static_cast<char *>(there) - here);
		return static_cast<T *>(begin);
	}
};
#define PAWL_CONTAINER_OF(pointer, type, member) \
	pawl_container<type>::of(pointer, &pawl_container<type>::self::member)
#endif

#endif
