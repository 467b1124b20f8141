/* SPDX-License-Identifier: MIT */
/*
 * What every adapter does: a wheel behind the one timer of a loop.
 *
 * `wake` is the time that the loop's timer is set for. It is never after the time at which any timer
 * becomes due, so nothing is late; it may be before, where only cancelled timers were, or where slots are to
 * be opened ahead. So arming has the loop's timer set anew only for a deadline before `wake`, which most are
 * not, and looks for work ahead only once in MANY calls.
 */
#ifndef PAWL_ADAPTERS_TURN_H
#define PAWL_ADAPTERS_TURN_H

#include <errno.h>
#include <pawl/loop.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_SECOND     UINT64_C(1000000000)
#define DEFAULT_TICK_NS   (UINT64_C(1) << 20) /* a power of two is placed without a division */
#define DEFAULT_MAX_MOVES 1024u
#define DEFAULT_MAX_CALLS 256u
#define AHEAD             64u /* moves ahead in a turn, and one more for each call that it has made */
#define MANY              1024u /* timers: the loop wakes up to open ahead, too */

struct turns {
	struct pawl_wheel *wheel; /* ours: malloc'ed */
	pawl_due_fn *due;
	void *arg;
	uint64_t (*now)(void);                  /* the clock of all deadlines */
	void (*set_timer)(struct turns *turns); /* the loop's, to `wake`; PAWL_NEVER: off */
	size_t max_moves, max_calls;
	size_t armings; /* by arm and touch */
	uint64_t wake;
	bool count_sleep; /* the clock goes on while the loop's timers stand still */
	bool running;     /* a turn is under way, and sets the loop's timer when it ends */
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

/* `now` is the loop's own clock. 0, -EINVAL or -ENOMEM; but for 0 nothing is left behind. */
static inline int turns_init(struct turns *turns, uint64_t (*now)(void),
                             void (*set_timer)(struct turns *turns), pawl_due_fn *due, void *arg,
                             const struct pawl_loop_options *given)
{
	const struct pawl_loop_options defaults = {0}, *options = given ? given : &defaults;
	uint64_t (*clock)(void) = options->count_sleep ? sleep_counting_ns : now;
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
	*turns = (struct turns){
	        .wheel = pawl_wheel_init(malloc(size), size, &wheel),
	        .due = due,
	        .arg = arg,
	        .now = clock,
	        .set_timer = set_timer,
	        .count_sleep = options->count_sleep,
	        .max_moves = options->max_moves ? options->max_moves : DEFAULT_MAX_MOVES,
	        .max_calls = options->max_calls ? options->max_calls : DEFAULT_MAX_CALLS,
	        .wake = PAWL_NEVER,
	};
	return turns->wheel ? 0 : -ENOMEM;
}

/*
 * When a turn is next worth it: when a timer is due or a slot opens. But where there are many timers, already
 * when that slot can be opened ahead: one wake-up more for so many timers, and mostly none, since a slot that
 * was emptied ahead is no reason to wake up when it opens. Otherwise the first slot after a silence would open
 * with all of its timers.
 */
static inline uint64_t turns_next(struct turns *turns)
{
	uint64_t next = pawl_wheel_next(turns->wheel), ahead;

	if (pawl_wheel_count(turns->wheel) < MANY)
		return next;
	ahead = pawl_wheel_next_ahead(turns->wheel);
	return ahead < next ? ahead : next;
}

/*
 * What the next openings would do at once is done before, a few moves in each turn. As many as there were
 * calls, since a timer that is called is moved first, mostly once: so a loop that never sleeps keeps up. All
 * moves of a turn together are within max_moves.
 */
static inline void turns_open_ahead(struct turns *turns, size_t moves, size_t calls)
{
	size_t left = turns->max_moves - moves;

	if (left > 0)
		pawl_wheel_ahead(turns->wheel, left < AHEAD + calls ? left : AHEAD + calls);
}

/*
 * How long the loop may sleep. A timer of the loop that stands still while the machine is suspended is set for a
 * second at most: the turn then finds out how late it is.
 */
static inline uint64_t turns_sleep_ns(const struct turns *turns, uint64_t now)
{
	uint64_t left = turns->wake > now ? turns->wake - now : 0;

	return turns->count_sleep && left > NS_PER_SECOND ? NS_PER_SECOND : left;
}

/* What a timer with a function of its own has beside the struct pawl_timer; NULL: the adapter has plain timers. */
static inline struct pawl_loop_timer *turns_own(const struct turns *turns, struct pawl_timer *timer)
{
	return turns->due == pawl_loop_due ? PAWL_CONTAINER_OF(timer, struct pawl_loop_timer, timer)
	                                   : NULL;
}

/* The first time on the grid of a periodic timer that is after now: what was missed is left out. */
static inline uint64_t turns_next_period(uint64_t deadline, uint64_t period, uint64_t now)
{
	uint64_t missed = now > deadline ? (now - deadline) / period : 0;
	uint64_t last = deadline + missed * period; /* not after now */

	return period < PAWL_NEVER - last ? last + period : PAWL_NEVER;
}

/* A periodic timer is armed again before its function is called, which may then do with it what it likes. */
static inline void turns_call(struct turns *turns, struct pawl_timer *timer, uint64_t now)
{
	const struct pawl_loop_timer *own = turns_own(turns, timer);

	if (own && own->period_ns)
		pawl_wheel_arm(turns->wheel, timer,
		               turns_next_period(timer->deadline, own->period_ns, now));
	turns->due(timer, turns->arg);
}

/* A turn of bounded work, by the loop's time; how many functions it called. See `closed` afterwards. */
static inline size_t turns_run(struct turns *turns, uint64_t now)
{
	struct pawl_timer *timer;
	size_t calls = 0, moves;

	turns->running = true;
	moves = pawl_wheel_advance(turns->wheel, now, turns->max_moves);
	while (calls < turns->max_calls && !turns->closed &&
	       (timer = pawl_wheel_pop(turns->wheel)) != NULL) {
		calls++;
		turns_call(turns, timer, now);
	}
	turns->running = false;
	if (!turns->closed) {
		turns_open_ahead(turns, moves, calls);
		turns->wake = turns_next(turns);
		turns->set_timer(turns);
	}
	return calls;
}

/*
 * A timer is placed by the time that the wheel knows, and after a sleep that is an old one. Before `wake`
 * nothing becomes due by telling it, though the loop's own time may be behind; the bound is for timers
 * that are moved down on the way.
 */
static inline void turns_tell_time(struct turns *turns, uint64_t now)
{
	if (!turns->running && now < turns->wake)
		pawl_wheel_advance(turns->wheel, now, 1);
}

/* A timer was armed or touched. That it made work ahead is noticed after MANY of them, if not before. */
static inline void turns_wake_by(struct turns *turns, uint64_t deadline)
{
	bool look = ++turns->armings % MANY == 0;
	uint64_t next;

	if (turns->running || (deadline >= turns->wake && !look))
		return;
	next = turns_next(turns);
	if (next >= turns->wake)
		return;
	turns->wake = next;
	turns->set_timer(turns);
}

/* A sum that would pass the end of time stops there. */
static inline uint64_t turns_deadline(uint64_t now, uint64_t delay_ns)
{
	return delay_ns < PAWL_NEVER - now ? now + delay_ns : PAWL_NEVER;
}

static inline void turns_put(struct turns *turns, struct pawl_timer *timer, uint64_t now,
                             uint64_t deadline, uint64_t period_ns)
{
	struct pawl_loop_timer *own = turns_own(turns, timer);

	if (own)
		own->period_ns = period_ns;
	turns_tell_time(turns, now);
	pawl_wheel_arm(turns->wheel, timer, deadline);
	turns_wake_by(turns, deadline);
}

static inline void turns_arm_at(struct turns *turns, struct pawl_timer *timer, uint64_t deadline)
{
	turns_put(turns, timer, turns->now(), deadline, 0);
}

static inline void turns_arm(struct turns *turns, struct pawl_timer *timer, uint64_t delay_ns)
{
	uint64_t now = turns->now();

	turns_put(turns, timer, now, turns_deadline(now, delay_ns), 0);
}

static inline int turns_arm_every(struct turns *turns, struct pawl_loop_timer *timer,
                                  uint64_t period_ns)
{
	uint64_t now = turns->now();

	if (period_ns == 0 || turns->due != pawl_loop_due)
		return -EINVAL;
	turns_put(turns, &timer->timer, now, turns_deadline(now, period_ns), period_ns);
	return 0;
}

static inline void turns_touch(struct turns *turns, struct pawl_timer *timer, uint64_t delay_ns)
{
	uint64_t now = turns->now(), deadline = turns_deadline(now, delay_ns);

	turns_tell_time(turns, now);
	pawl_wheel_touch(turns->wheel, timer, deadline);
	turns_wake_by(turns, deadline);
}

static inline bool turns_cancel(struct turns *turns, struct pawl_timer *timer)
{
	struct pawl_loop_timer *own = turns_own(turns, timer);
	bool was_armed = pawl_wheel_cancel(turns->wheel, timer);

	if (own)
		own->period_ns = 0; /* a touch of an idle timer arms it once */
	if (!turns->running && turns->wake != PAWL_NEVER && pawl_wheel_count(turns->wheel) == 0) {
		turns->wake = PAWL_NEVER;
		turns->set_timer(turns);
	}
	return was_armed;
}

/* When all are due, one pop after the other leaves `dropped` free to cancel and free what it likes. */
static inline void turns_close(struct turns *turns, pawl_due_fn *dropped)
{
	struct pawl_timer *timer;

	turns->closed = true;
	if (!dropped)
		return;
	pawl_wheel_advance(turns->wheel, PAWL_NEVER, 0);
	while ((timer = pawl_wheel_pop(turns->wheel)) != NULL)
		dropped(timer, turns->arg);
}

#endif
