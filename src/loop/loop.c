/* SPDX-License-Identifier: MIT */
/*
 * What all adapters share: a wheel behind one timer of an event loop.
 *
 * `wake` is the time that the loop's timer is set to. It is never later than the first deadline on the wheel, so no
 * timer is late. It may be earlier: after a cancel, or because timers are to be moved ahead. So arming sets the loop's
 * timer only for a deadline before `wake`, which is rare, and checks for work ahead once in MANY calls.
 *
 * When the loop's timer fires, the adapter makes one pass: a bounded number of moves and calls. At its end it sets the
 * loop's timer again. (The public name of a pass is pawl_X_turn(), where X is the adapter's name.)
 */
#ifndef PAWL_ADAPTERS_PASS_H
#define PAWL_ADAPTERS_PASS_H

#include "../src/wheel/saturate.h"

#include <errno.h>
#include <pawl/loop.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_SECOND     UINT64_C(1000000000)
#define NS_PER_DAY        (86400 * NS_PER_SECOND)
#define DEFAULT_TICK_NS   (UINT64_C(1) << 20) /* with a power of two the wheel needs no division */
#define DEFAULT_MAX_MOVES 1024u
#define DEFAULT_MAX_CALLS 256u
#define AHEAD             64u   /* most moves ahead in a pass, and one more for each call in it */
#define MANY              1024u /* with so many timers the loop wakes up to move ahead, too */

/* A development build ends the program where a comment here does not hold; a release build has no code for it. */
#ifdef PAWL_ASSERT
#define ADAPTER_ASSERT(holds) ((holds) ? (void)0 : abort())
#else
#define ADAPTER_ASSERT(holds) ((void)0)
#endif

struct adapter;

/* What an adapter does with its loop. */
struct adapter_loop {
	uint64_t (*now)(void);                      /* the loop's own clock */
	void (*set_timer)(struct adapter *adapter); /* to `wake`; PAWL_NEVER: off */
	void (*release)(
	        struct adapter *adapter); /* ends the timer, then adapter_free(); never in a pass */
};

/* The first member of each adapter's struct. */
struct adapter {
	struct pawl_wheel *wheel; /* ours: malloc'ed */
	const struct adapter_loop *loop;
	pawl_due_fn *due;
	void *arg;
	uint64_t (*now)(void); /* the clock of all deadlines */
	size_t max_moves, max_calls;
	size_t armings; /* by arm and touch */
	uint64_t wake;
	bool count_sleep; /* the clock goes on in a suspension, while the loop's timers stand still */
	bool running;     /* in a pass, which sets the loop's timer when it ends */
	bool closed;
};

#ifdef CLOCK_BOOTTIME
#define CLOCK_OF_SLEEP CLOCK_BOOTTIME
#else
#define CLOCK_OF_SLEEP CLOCK_MONOTONIC
#endif

static inline uint64_t clock_ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static inline uint64_t monotonic_ns(void)
{
	return clock_ns_of(CLOCK_MONOTONIC);
}

static inline uint64_t sleep_counting_ns(void)
{
	return clock_ns_of(CLOCK_OF_SLEEP);
}

/* 0, -EINVAL or -ENOMEM; on an error nothing is left behind. */
static inline int adapter_init(struct adapter *adapter, const struct adapter_loop *loop,
                               pawl_due_fn *due, void *arg, const struct pawl_loop_options *given)
{
	const struct pawl_loop_options defaults = {0}, *options = given ? given : &defaults;
	uint64_t (*clock)(void) = options->count_sleep ? sleep_counting_ns : loop->now;
	const struct pawl_wheel_options wheel = {
	        .start = clock(),
	        .tick = options->tick_ns ? options->tick_ns : DEFAULT_TICK_NS,
	        .wheel_size = options->wheel_size,
	        .chains = options->chains,
	        .ahead = true,
	};
	size_t size = pawl_wheel_footprint(&wheel);

	if (!due || size == 0)
		return -EINVAL;
	*adapter = (struct adapter){
	        .wheel = pawl_wheel_init(malloc(size), size, &wheel),
	        .loop = loop,
	        .due = due,
	        .arg = arg,
	        .now = clock,
	        .count_sleep = options->count_sleep,
	        .max_moves = options->max_moves ? options->max_moves : DEFAULT_MAX_MOVES,
	        .max_calls = options->max_calls ? options->max_calls : DEFAULT_MAX_CALLS,
	        .wake = PAWL_NEVER,
	};
	return adapter->wheel ? 0 : -ENOMEM;
}

/* Allocate an adapter's struct, and initialise the struct adapter at its start. NULL: *error says why. */
static inline void *adapter_new(size_t size, const struct adapter_loop *loop, pawl_due_fn *due,
                                void *arg, const struct pawl_loop_options *options, int *error)
{
	void *made = malloc(size);

	*error = made ? adapter_init(made, loop, due, arg, options) : -ENOMEM;
	if (!*error)
		return made;
	free(made);
	return NULL;
}

static inline void adapter_free(struct adapter *adapter)
{
	free(adapter->wheel);
	free(adapter);
}

/*
 * When the next pass is needed: when a timer is due or a slot opens. With many timers, already when that slot can be
 * emptied ahead. That costs at most one more wake-up, and mostly none: a slot that was emptied ahead needs no wake-up
 * when it opens. Otherwise the first slot after a quiet time would open with all of its timers.
 */
static inline uint64_t adapter_next_pass(struct adapter *adapter)
{
	uint64_t next = pawl_wheel_next(adapter->wheel), ahead;

	if (pawl_wheel_count(adapter->wheel) < MANY)
		return next;
	ahead = pawl_wheel_next_ahead(adapter->wheel);
	return ahead < next ? ahead : next;
}

static inline void adapter_set_timer(struct adapter *adapter, uint64_t wake)
{
	ADAPTER_ASSERT(!adapter->running && !adapter->closed);
	ADAPTER_ASSERT(wake <= pawl_wheel_next(adapter->wheel));
	adapter->wake = wake;
	adapter->loop->set_timer(adapter);
}

/*
 * Each pass makes a few of the moves that the next openings would make at once. It makes one more for each call, since
 * a timer is mostly moved once before it is called: so a loop that never sleeps keeps up. All moves of a pass together
 * are within max_moves.
 */
static inline void adapter_move_ahead(struct adapter *adapter, size_t moves, size_t calls)
{
	size_t left = adapter->max_moves - moves;

	ADAPTER_ASSERT(moves <= adapter->max_moves);
	if (left > 0)
		pawl_wheel_ahead(adapter->wheel, left < AHEAD + calls ? left : AHEAD + calls);
}

/*
 * How long the loop may sleep. With count_sleep it is a second at most: the loop's timer stands still in a suspension,
 * and the pass after it finds out how much time has passed.
 */
static inline uint64_t adapter_sleep_ns(const struct adapter *adapter, uint64_t now)
{
	uint64_t left = adapter->wake > now ? adapter->wake - now : 0;

	return adapter->count_sleep && left > NS_PER_SECOND ? NS_PER_SECOND : left;
}

/*
 * For a loop that does not accept every delay: some kernels refuse 64 bits of nanoseconds, and a time_t may have 32
 * bits. The pass after a day finds nothing due and sets the timer again.
 */
static inline uint64_t at_most_a_day(uint64_t ns)
{
	return ns < NS_PER_DAY ? ns : NS_PER_DAY;
}

/* The struct pawl_loop_timer of a timer with its own function. NULL: the adapter has plain timers. */
static inline struct pawl_loop_timer *adapter_own(const struct adapter *adapter,
                                                  struct pawl_timer *timer)
{
	return adapter->due == pawl_loop_due
	               ? PAWL_CONTAINER_OF(timer, struct pawl_loop_timer, timer)
	               : NULL;
}

/* An idle timer has no period: touch arms it once. */
static inline void adapter_set_period(const struct adapter *adapter, struct pawl_timer *timer,
                                      uint64_t period_ns)
{
	struct pawl_loop_timer *own = adapter_own(adapter, timer);

	if (own)
		own->period_ns = period_ns;
}

/* The first time on a periodic timer's grid after now: missed periods are left out. */
static inline uint64_t adapter_next_period(uint64_t deadline, uint64_t period, uint64_t now)
{
	uint64_t missed = now > deadline ? (now - deadline) / period : 0;
	uint64_t last = deadline + missed * period; /* not after now */

	return saturating_sum(last, period);
}

/* A periodic timer is armed again before its function is called, so that the function may cancel or arm it. */
static inline void adapter_call(struct adapter *adapter, struct pawl_timer *timer, uint64_t now)
{
	const struct pawl_loop_timer *own = adapter_own(adapter, timer);

	if (own && own->period_ns)
		pawl_wheel_arm(adapter->wheel, timer,
		               adapter_next_period(timer->deadline, own->period_ns, now));
	adapter->due(timer, adapter->arg);
}

/*
 * One pass at the loop's time `now`. Returns how many functions it called; 0 inside one of them. If one of them closed
 * the adapter, the adapter is gone afterwards.
 */
static inline size_t adapter_pass(struct adapter *adapter, uint64_t now)
{
	struct pawl_timer *timer;
	size_t calls = 0, moves;

	if (adapter->running)
		return 0;
	adapter->running = true;
	moves = pawl_wheel_advance(adapter->wheel, now, adapter->max_moves);
	while (calls < adapter->max_calls && !adapter->closed &&
	       (timer = pawl_wheel_pop(adapter->wheel)) != NULL) {
		calls++;
		adapter_call(adapter, timer, now);
	}
	adapter->running = false;
	if (adapter->closed) {
		adapter->loop->release(adapter);
		return calls;
	}
	adapter_move_ahead(adapter, moves, calls);
	adapter_set_timer(adapter, adapter_next_pass(adapter));
	return calls;
}

/*
 * The wheel finds a timer's slot from the time that it knows, which is old after a sleep. Before `wake`, advancing it
 * makes nothing due. Slots may open, and the bound is for the timers that they move.
 */
static inline void adapter_tell_time(struct adapter *adapter, uint64_t now)
{
	if (!adapter->running && now < adapter->wake)
		pawl_wheel_advance(adapter->wheel, now, 1);
}

/* After arm and touch. If they made work ahead, that is noticed after at most MANY calls. */
static inline void adapter_wake_by(struct adapter *adapter, uint64_t deadline)
{
	bool check_ahead = ++adapter->armings % MANY == 0;
	uint64_t next;

	if (adapter->running || (deadline >= adapter->wake && !check_ahead))
		return;
	next = adapter_next_pass(adapter);
	if (next < adapter->wake)
		adapter_set_timer(adapter, next);
}

/* The sum saturates at the end of time. */
static inline uint64_t adapter_deadline(uint64_t now, uint64_t delay_ns)
{
	return saturating_sum(now, delay_ns);
}

static inline void adapter_put(struct adapter *adapter, struct pawl_timer *timer, uint64_t now,
                               uint64_t deadline, uint64_t period_ns)
{
	ADAPTER_ASSERT(!adapter->closed);
	adapter_set_period(adapter, timer, period_ns);
	adapter_tell_time(adapter, now);
	pawl_wheel_arm(adapter->wheel, timer, deadline);
	adapter_wake_by(adapter, deadline);
}

static inline void adapter_arm_at(struct adapter *adapter, struct pawl_timer *timer,
                                  uint64_t deadline)
{
	adapter_put(adapter, timer, adapter->now(), deadline, 0);
}

static inline void adapter_arm(struct adapter *adapter, struct pawl_timer *timer, uint64_t delay_ns)
{
	uint64_t now = adapter->now();

	adapter_put(adapter, timer, now, adapter_deadline(now, delay_ns), 0);
}

static inline int adapter_arm_every(struct adapter *adapter, struct pawl_loop_timer *timer,
                                    uint64_t period_ns)
{
	uint64_t now = adapter->now();

	if (period_ns == 0 || adapter->due != pawl_loop_due)
		return -EINVAL;
	adapter_put(adapter, &timer->timer, now, adapter_deadline(now, period_ns), period_ns);
	return 0;
}

static inline void adapter_touch(struct adapter *adapter, struct pawl_timer *timer,
                                 uint64_t delay_ns)
{
	uint64_t now = adapter->now(), deadline = adapter_deadline(now, delay_ns);

	ADAPTER_ASSERT(!adapter->closed);
	adapter_tell_time(adapter, now);
	pawl_wheel_touch(adapter->wheel, timer, deadline);
	adapter_wake_by(adapter, deadline);
}

static inline bool adapter_cancel(struct adapter *adapter, struct pawl_timer *timer)
{
	bool was_armed = pawl_wheel_cancel(adapter->wheel, timer);

	adapter_set_period(adapter, timer, 0);
	if (!adapter->running && !adapter->closed && adapter->wake != PAWL_NEVER &&
	    pawl_wheel_count(adapter->wheel) == 0)
		adapter_set_timer(adapter, PAWL_NEVER);
	return was_armed;
}

/* At PAWL_NEVER all timers are due. They are popped one by one, so `dropped` may cancel and free any of them. */
static inline void adapter_close(struct adapter *adapter, pawl_due_fn *dropped)
{
	struct pawl_timer *timer;

	adapter->closed = true;
	if (dropped) {
		pawl_wheel_advance(adapter->wheel, PAWL_NEVER, 0);
		while ((timer = pawl_wheel_pop(adapter->wheel)) != NULL) {
			adapter_set_period(adapter, timer, 0);
			dropped(timer, adapter->arg);
		}
	}
	if (!adapter->running)
		adapter->loop->release(adapter);
}

/* The public functions that are the same in all adapters: pawl_X_arm() and so on, of a struct pawl_X. */
#define ADAPTER_FUNCTIONS(X)                                                                       \
	_Static_assert(offsetof(struct pawl_##X, base) == 0, "adapter_free() frees the base");     \
                                                                                                   \
	void pawl_##X##_arm(struct pawl_##X *adapter, struct pawl_timer *timer, uint64_t delay_ns) \
	{                                                                                          \
		adapter_arm(&adapter->base, timer, delay_ns);                                      \
	}                                                                                          \
	void pawl_##X##_arm_at(struct pawl_##X *adapter, struct pawl_timer *timer,                 \
	                       uint64_t deadline_ns)                                               \
	{                                                                                          \
		adapter_arm_at(&adapter->base, timer, deadline_ns);                                \
	}                                                                                          \
	int pawl_##X##_arm_every(struct pawl_##X *adapter, struct pawl_loop_timer *timer,          \
	                         uint64_t period_ns)                                               \
	{                                                                                          \
		return adapter_arm_every(&adapter->base, timer, period_ns);                        \
	}                                                                                          \
	void pawl_##X##_touch(struct pawl_##X *adapter, struct pawl_timer *timer,                  \
	                      uint64_t delay_ns)                                                   \
	{                                                                                          \
		adapter_touch(&adapter->base, timer, delay_ns);                                    \
	}                                                                                          \
	bool pawl_##X##_cancel(struct pawl_##X *adapter, struct pawl_timer *timer)                 \
	{                                                                                          \
		return adapter_cancel(&adapter->base, timer);                                      \
	}                                                                                          \
	uint64_t pawl_##X##_now(const struct pawl_##X *adapter)                                    \
	{                                                                                          \
		return adapter->base.now();                                                        \
	}                                                                                          \
	struct pawl_wheel *pawl_##X##_wheel(struct pawl_##X *adapter)                              \
	{                                                                                          \
		return adapter->base.wheel;                                                        \
	}                                                                                          \
	void pawl_##X##_close(struct pawl_##X *adapter, pawl_due_fn *dropped)                      \
	{                                                                                          \
		if (adapter)                                                                       \
			adapter_close(&adapter->base, dropped);                                    \
	}

#endif
