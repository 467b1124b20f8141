/* SPDX-License-Identifier: MIT */
/*
 * pawl/wheel.h: a hierarchical timing wheel, the data structure alone.
 *
 * A wheel holds timers. You tell it the time, and it hands back the timers that have become due. It
 * has no thread, no clock, no allocation and no callback: you bring the memory and the time. Arming
 * and cancelling take a constant number of steps however many timers there are.
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
 *		pawl_wheel_arm(wheel, &one.timeout, 450);            // due at 450
 *		pawl_wheel_arm(wheel, &two.timeout, 300);            // due at 300,
 *		pawl_wheel_cancel(wheel, &two.timeout);              // or not
 *
 *		while (pawl_wheel_count(wheel) > 0) {                // the loop:
 *			uint64_t now = pawl_wheel_next(wheel);       // sleep until it matters again,
 *			pawl_wheel_advance(wheel, now, 0);           // tell the time,
 *			while ((timer = pawl_wheel_pop(wheel)) != NULL)      // take what is due
 *				printf("request %d timed out\n", PAWL_CONTAINER_OF(timer, struct request, timeout)->id);
 *		}
 *	}
 *
 * The wheel's time is an unsigned 64-bit number of units, and what a unit is only you know:
 * milliseconds, nanoseconds, the frames of a game.
 *
 *
 * How it works
 *
 * Time is cut into ticks. A wheel of n slots holds the timers of the next n ticks, a list a slot. What
 * does not fit goes to a coarser wheel, the overflow wheel, one slot of which is a whole turn of the
 * wheel below; and so on. With tick 1 (say 1 ms) and wheel_size 20, as in Kafka:
 *
 *	level 0  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |   slot   1 ms, turn  20 ms
 *	level 1  |   20 ms   |   40 ms   |   60 ms   |  ...                      slot  20 ms, turn 400 ms
 *	level 2  |                  400 ms                  |  ...               slot 400 ms, turn   8 s
 *	level 3  |  ...                                                          slot   8 s,  turn 160 s
 *
 * When time reaches the beginning of a slot, the slot opens. Level 0's timers are then due; those of
 * any other level are moved down, each to the level that is now right for it. A timer of 450 ms, armed
 * at 0, makes this journey:
 *
 *	armed at     0   450 is beyond 20 and beyond 400:      level 2, slot  1, opens at 400
 *	opened at  400   50 ms are left, beyond 20:            level 1, slot  2, opens at 440
 *	opened at  440   10 ms are left:                       level 0, slot 10, opens at 450
 *	opened at  450   due
 *
 * The default, 256 slots of one tick, with a tick of 1 ms:
 *
 *	level   a slot    a turn        level   a slot     a turn
 *	  0       1 ms    256 ms          4        50 days    35 years
 *	  1     256 ms     66 s           5        35 years   8,900 years
 *	  2      66 s     4.7 hours       6     8,900 years   2.3 million years
 *	  3     4.7 h      50 days        7       2.3 M y     all 64 bits
 *
 * So a timer is moved at most once for each level above 0: once for anything from a quarter of a
 * second to a minute. A level's memory is not written before a timer needs that level.
 *
 * Exactly: in whole ticks, D = ceil(deadline / tick) and N = floor(now / tick). A timer goes to the
 * first level L on which floor(D / n^L) - floor(N / n^L) < n, into slot floor(D / n^L) mod n, which
 * opens at floor(D / n^L) * n^L * tick, or at 2^64-2 if that is later. The window of a level slides
 * with time: a slot that has just been passed serves again at once, for what is n slots ahead.
 *
 *
 * What is promised
 *
 *  - Never early: deadlines are rounded up to the tick. With tick 1 a timer is due at its deadline.
 *  - Never lost: every armed timer is popped once or cancelled.
 *  - Nothing lingers: a cancelled timer is out of every list when cancel returns; its memory is yours.
 *  - Tickless: advancing costs what there is to open, not the ticks passed. A year is one call.
 *  - In order: with chains = 1, timers come out by tick, and within a tick in the order they were
 *    armed. But those touched since come within their tick somewhere, and those armed when already
 *    due come behind all that was due before.
 *  - No long moments: pawl_wheel_ahead() moves timers down before their slot opens, a few at a time.
 *  - Bounded: advance makes at most as many moves as you allow, and goes on in the next call. (Slots
 *    that cancelling emptied are looked at on the way and not counted: each once.)
 *  - All 64 bits: no delay is too long, no time too late; a sum that would wrap is yours to cap.
 *
 *
 * Rules
 *
 *  - One thread at a time uses a wheel. Different wheels know nothing of each other.
 *  - A timer's memory is yours. Keep it in place from arm until it is popped or cancelled.
 *  - A timer is on one wheel at a time. Arming it on a second one while the first has it is undefined.
 *  - NULL is not a wheel and not a timer: no call but the two that take options accepts it.
 *  - There is nothing to close. Forget the wheel's memory when you like; timers still armed then must
 *    be zeroed before they are used again.
 *  - A wheel points into itself: it may not be copied or moved.
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
#define PAWL_API __attribute__((visibility("default")))
#else
#define PAWL_API
#endif

/* Later than any time. As a deadline it is taken as 2^64-2, the last moment there is. */
#define PAWL_NEVER UINT64_MAX

/*
 * Nanoseconds, for all that counts in them: 30 * PAWL_SECOND. They have 64 bits and no sign, and can be used in #if.
 * A wheel of your own counts in whatever you like.
 */
#define PAWL_US     UINT64_C(1000)
#define PAWL_MS     UINT64_C(1000000)
#define PAWL_SECOND UINT64_C(1000000000)
#define PAWL_MINUTE UINT64_C(60000000000)
#define PAWL_HOUR   UINT64_C(3600000000000)

/*
 * The struct `type` whose `member` the pointer points to: of a timer, task or operation to what it is embedded in.
 * A pointer to something else than that member's type is a warning in C and an error in C++.
 */
#define PAWL_CONTAINER_OF(pointer, type, member) \
	((type *)(void *)((char *)(1 ? (pointer) : &((type *)0)->member) - offsetof(type, member)))

/*
 * A timer. Embed it in your struct and find your struct again from the pointer that pop returns, by
 * PAWL_CONTAINER_OF. All zeroes is an idle timer: nothing else is needed to initialise it.
 */
struct pawl_timer {
	struct pawl_timer *next, *prev; /* private */
	uint64_t deadline;              /* as given to arm or touch; read it, do not write it */
};

/* The same as zeroes: struct pawl_timer timer = PAWL_TIMER_INIT; */
#define PAWL_TIMER_INIT       \
	{                     \
		NULL, NULL, 0 \
	}

/* Zeroes, or a NULL pointer in place of the whole struct, mean the defaults. */
struct pawl_wheel_options {
	uint64_t start;      /* the wheel's first "now" */
	uint64_t tick;       /* time units in a slot of level 0; 0: 1 */
	uint32_t wheel_size; /* slots in every level, 2 to 4096; 0: 256 */
	uint32_t chains;     /* lists in a slot: 1, 2, 4, 8 or 16; 0: 1 */
	bool ahead;          /* room for pawl_wheel_ahead(): twice the slots */
};
/*
 * chains: what opening a slot costs is memory latency: a list is walked one cache miss after the
 * other. With several chains a slot is as many lists, filled in turn and walked in step, so that
 * their misses overlap. With a million timers 8 chains make expiry some four times as fast as one, with a
 * hundred thousand up to twice, in large objects, with a thousand not at all (`make bench`). The price is
 * order: it is then open among all that are due and not yet popped. (Whoever pops everything after each
 * tick still gets the ticks in order.)
 *
 * A tick that is a power of two together with such a wheel_size is placed without a division.
 */

/* Where a waiting timer sits. */
struct pawl_place {
	unsigned level; /* 0 is the finest */
	unsigned slot;  /* 0 to wheel_size - 1: the number of its cell modulo wheel_size */
	uint64_t opens; /* the time at which this slot opens */
};

struct pawl_wheel;

/*
 * The bytes that a wheel of these options takes, for init. It counts all levels that 64 bits of time
 * can need, but memory that is never written costs nothing where it comes from fresh pages.
 *
 *	chains 1: 34 KiB      chains 8: 262 KiB      (default wheel_size and tick)
 *	with ahead: 66 KiB              518 KiB
 *	with 32-bit pointers about half of it: 18, 133, 34, 261 KiB
 *
 * Returns 0 if the options are invalid: wheel_size 1 or above 4096, or chains not in the list above.
 */
PAWL_API size_t pawl_wheel_footprint(const struct pawl_wheel_options *options);

/*
 * Make a wheel in your memory of `size` bytes, aligned as malloc aligns. It is at `mem` itself. Writes
 * the wheel's head and level 0, and nothing else until a further level is needed.
 *
 * Returns NULL, and writes nothing, if mem is NULL or misaligned, size is below the footprint, or the
 * options are invalid.
 */
PAWL_API struct pawl_wheel *pawl_wheel_init(void *mem, size_t size,
                                            const struct pawl_wheel_options *options);

/*
 * Arm the timer for `deadline`. If it is armed already, it is moved. Never fails. A constant number of
 * steps, but for the first arming on a level, which prepares that level's slots.
 *
 * true   it waits.
 * false  the deadline is not after pawl_wheel_now(): it is due already, behind all that became due
 *        before it, and a pop hands it out.
 *
 * The timer is placed by the time that the wheel knows, the one last advanced to. So after a sleep
 * advance first and arm then; otherwise it is still due on time, but may be moved once more often.
 */
PAWL_API bool pawl_wheel_arm(struct pawl_wheel *wheel, struct pawl_timer *timer, uint64_t deadline);

/*
 * The same for a timer that you know to be idle: zeroed and never armed, popped, or cancelled. Nothing of the timer
 * is read, and with very many of them arming is some 1.7 times as fast. To call an armed timer idle breaks
 * the wheel; a library built for development (PAWL_DEV) ends the program there.
 */
PAWL_API bool pawl_wheel_arm_idle(struct pawl_wheel *wheel, struct pawl_timer *timer,
                                  uint64_t deadline);

/*
 * Arm the timer for a time from `earliest` to `latest`, chosen so that timers with windows that overlap are often due
 * together, and the loop wakes up less often. What is past of a window does not count; a latest before earliest
 * counts as earliest. The answer is arm's.
 */
PAWL_API bool pawl_wheel_arm_within(struct pawl_wheel *wheel, struct pawl_timer *timer,
                                    uint64_t earliest, uint64_t latest);

/* The time that is chosen, with ticks of 1: in the window, the multiple of the largest power of two. */
PAWL_API uint64_t pawl_time_within(uint64_t earliest, uint64_t latest);

/*
 * Push a deadline back, as for an idle time-out that starts anew at every request.
 *
 * If the timer waits, and its present deadline is still to come, and the new one is not earlier, then
 * this is a store: the timer stays in its slot, and when that slot opens it is put where it belongs
 * by then. However often it was touched in between, that is one move. In every other case (an earlier
 * deadline; a timer that is due or idle, or whose tick is just running out) it does what arm does. The
 * answer is arm's.
 */
PAWL_API bool pawl_wheel_touch(struct pawl_wheel *wheel, struct pawl_timer *timer,
                               uint64_t deadline);

/*
 * Take the timer off the wheel, whether it waits or is due. A constant number of steps.
 *
 * true   it was armed; now it is idle and will not be popped.
 * false  it was idle: never armed, popped, or cancelled before.
 */
PAWL_API bool pawl_wheel_cancel(struct pawl_wheel *wheel, struct pawl_timer *timer);

/*
 * Tell the wheel the time: every timer whose deadline's tick has come by `now` becomes due. A `now`
 * before the wheel's own is taken for the wheel's own. If there is nothing to open, it is one compare.
 *
 * max_moves bounds the work; 0 is no bound. A move is a timer touched one by one: moved down, put
 * back after a touch, or made due; a slot that is made due as a whole counts as one. Returns the
 * moves made. If that is 0, nothing has become due by this call: a loop that calls advance at every tick
 * need not pop then, unless an arm or a touch has returned false since it last popped everything.
 *
 * If the bound was reached with a slot still to open at time o (o <= now), then pawl_wheel_now() is o-1
 * and timers are placed as seen from o; pawl_wheel_next() is at most o; what became due can be popped;
 * the next advance goes on where this one stopped. Arm, touch, cancel and pop may be called in
 * between. All is done when pawl_wheel_now() is `now`. In such a loop take new deadlines from `now`, not
 * from pawl_wheel_now(), which lags behind: else a timer armed anew may join the slot that is open.
 *
 *	do {
 *		pawl_wheel_advance(wheel, now, 1000);
 *		while ((timer = pawl_wheel_pop(wheel)) != NULL)
 *			expire(timer);
 *		poll_sockets();
 *	} while (pawl_wheel_now(wheel) < now);
 *
 * An advance to 2^64-2 or later makes everything due.
 */
PAWL_API size_t pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves);

/*
 * Do a part of what the next openings will do: move down timers whose slot is the next one of its level to
 * open. At most max_moves of them, 0 is no bound; returns the moves made: 0 if there is nothing to do, or if the
 * wheel was made without options.ahead. Call it when you have time to spare: openings then find few timers left,
 * so no advance takes long. A timer that moves early is due at the same tick and in the same order.
 *
 *	pawl_wheel_advance(wheel, now, 0);
 *	while ((timer = pawl_wheel_pop(wheel)) != NULL)
 *		expire(timer);
 *	pawl_wheel_ahead(wheel, 64);                             // in every turn, or before a sleep
 *
 * The wheel of the drawing above, at 395 ms. Level 1's slot at 400 and level 2's are next, and open together:
 *
 *	                  now
 *	                 395  400          420                      800
 *	level 0      | | | | | | | | | | | | | | | | | | | | | | |            holds what is before 420
 *	level 1      |         |  a b c   |          |  ...                   a, b, c move to level 0 first,
 *	level 2      |         |     d  e  f  g            |  ...             then d to g to level 1 or 0
 *
 * Once a slot is begun, all that is armed for its stretch of time goes to the finer level too; so where a
 * timer sits, pawl_wheel_place(), may be one level finer than the formula above says. While pawl_wheel_ahead
 * is not called, timers are where it says.
 *
 * A timer that is cancelled after it was moved early was moved in vain. So a slot is not begun long before it
 * opens: at most a turn of level 0 before, or an eighth of its own width if that is more.
 *
 * It is 0, too, after an advance that its bound stopped, which has to go on first. After a long sleep nothing has
 * been moved ahead: give that advance a bound.
 */
PAWL_API size_t pawl_wheel_ahead(struct pawl_wheel *wheel, size_t max_moves);

/*
 * The next due timer, now idle; or NULL if none is due. The wheel never calls back, so between two
 * pops anything may be armed, touched or cancelled. A constant number of steps.
 *
 * Beware of a loop that pops until NULL and arms again what is due at once: it never ends. Count.
 */
PAWL_API struct pawl_timer *pawl_wheel_pop(struct pawl_wheel *wheel);

/*
 * The time at which advance is next worth calling: now if something is due already (2^64-2 if now is
 * even later); else when the first slot that holds a timer opens; PAWL_NEVER if there is no timer at
 * all. After an advance that its bound stopped: the time of the slot left to open, while any timer
 * waits, even if that slot was emptied since.
 *
 * Never after the time at which the earliest timer becomes due (its deadline, rounded up to the
 * tick); it may be before, where timers only move down. A slot that pawl_wheel_ahead() has emptied is not
 * named: there is nothing left to open. Never for a slot whose timers were all
 * cancelled: it looks, and forgets such slots. So it is not const, and pays for them once.
 */
PAWL_API uint64_t pawl_wheel_next(struct pawl_wheel *wheel);

/*
 * The same without regard to what is due already: when the next slot that holds a timer opens. For
 * whoever advances the wheel but leaves it to others to pop.
 */
PAWL_API uint64_t pawl_wheel_next_opening(struct pawl_wheel *wheel);

/*
 * When to wake up for an advance or for pawl_wheel_ahead(), whichever comes first. Timers that are due already do not
 * count: pop them first. It is now as long as pawl_wheel_ahead() has something to do: call that before you sleep.
 * Without options.ahead it is pawl_wheel_next_opening(). For loops with so many timers that the wake-up pays.
 */
PAWL_API uint64_t pawl_wheel_next_ahead(struct pawl_wheel *wheel);

/* The time last advanced to, or options.start. After an advance that its bound stopped, see there. */
PAWL_API uint64_t pawl_wheel_now(const struct pawl_wheel *wheel);

/* How many timers are on the wheel: waiting, or due and not popped. */
PAWL_API size_t pawl_wheel_count(const struct pawl_wheel *wheel);

/* Whether the timer is on a wheel: waiting, or due and not popped. */
PAWL_API bool pawl_timer_armed(const struct pawl_timer *timer);

/* The deadline of a timer that is on a wheel, at most 2^64-2; PAWL_NEVER if it is idle. */
PAWL_API uint64_t pawl_timer_deadline(const struct pawl_timer *timer);

/*
 * Where a waiting timer sits: after a touch that is not where its deadline belongs. For teaching and
 * tests: it may walk the slot. Returns false, and leaves *place alone, if the timer is idle or due.
 */
PAWL_API bool pawl_wheel_place(const struct pawl_wheel *wheel, const struct pawl_timer *timer,
                               struct pawl_place *place);

/*
 * Call fn for every timer, until it returns false: first the due ones, then level by level from the
 * coarsest to the finest, the slots of a level in the order in which they open, each in its own order.
 * fn may cancel the timer that it is given, and must not call anything else that changes the wheel.
 */
PAWL_API void pawl_wheel_each(struct pawl_wheel *wheel,
                              bool (*fn)(struct pawl_timer *timer, void *arg), void *arg);

/*
 * Look at every list, bit and counter of the wheel, in time proportional to all it holds. Returns NULL
 * if all is well, else the name of the invariant that is broken: memory was overwritten, a timer was
 * freed or copied while armed, or two threads used the wheel at once. For tests and debugging: where
 * links lead nowhere it may also crash.
 */
PAWL_API const char *pawl_wheel_check(const struct pawl_wheel *wheel);

#ifdef __cplusplus
}
#endif

#endif
