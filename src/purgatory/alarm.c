/* SPDX-License-Identifier: MIT */
/*
 * Deadlines. Each shard has a wheel of deadlines, and alarms: tasks of the service that pop the deadlines which are
 * due. One critical section pops a deadline and wins its operation, so a deadline that is popped has won.
 *
 * One alarm, `next_alarm`, is armed for the next deadline, or for the next opening of the wheel. When it runs, another
 * alarm becomes `next_alarm` before any of the user's functions is called. So a slow on_complete does not delay
 * other deadlines. If more deadlines are due, that alarm runs at once, on another worker. There is one alarm more than
 * workers. With PAWL_SERVICE_MANUAL there is one alarm, since one poll runs all that is due.
 *
 *	worker 1, alarm A                       worker 2, alarm B
 *	-----------------                       -----------------
 *	runs: pops a, wins it
 *	B is next_alarm now, armed for this tick,
 *	  since b is also due
 *	on_complete(a), on_expire(a)            runs: pops b, wins it; A runs, so C becomes next_alarm...
 */
#define _GNU_SOURCE
#include "../base/histogram.h"
#include "../system/probes.h"
#include "table.h"

#include <errno.h>

#define WHEEL_SIZE 256u /* slots */
#define MOVES      256u /* of the wheel in one critical section */
#ifdef PAWL_SMALL
#define RUNS 1u
#else
#define RUNS 64u /* operations that an alarm expires before other tasks run */
#endif

/* An alarm that does not run; NULL: all run, and the first one that ends arms itself for the next deadline. */
static struct alarm *idle_alarm(struct op_shard *shard)
{
	lock_assert_held(&shard->lock);
	for (unsigned i = 0; i < shard->purgatory->alarm_count; i++)
		if (!shard->alarms[i].runs)
			return &shard->alarms[i];
	return NULL;
}

/* True: call pawl__alarm_set. */
static bool schedule_alarm(struct op_shard *shard, uint64_t tick)
{
	lock_assert_held(&shard->lock);
	if (shard->next_alarm ? tick >= shard->next_alarm_at : tick == PAWL_NEVER)
		return false;
	if (!shard->next_alarm)
		shard->next_alarm = idle_alarm(shard);
	shard->next_alarm_at = tick;
	return shard->next_alarm;
}

bool pawl__deadline_arm(struct op_shard *shard, struct pawl_op *op, uint64_t now_ns,
                        uint64_t timeout_ns)
{
	const struct pawl_purgatory *purgatory = shard->purgatory;
	uint64_t tick = ticks_up(&purgatory->ticks, saturating_sum(now_ns, timeout_ns));

	lock_assert_held(&shard->lock);
	ASSERT(!pawl_timer_armed(&op->timer));
	pawl_wheel_advance(shard->wheel, ticks_down(&purgatory->ticks, now_ns), 1);
	pawl_wheel_arm_idle_at(shard->wheel, &op->timer, tick);
	return schedule_alarm(shard, tick);
}

/*
 * Arm next_alarm. Two threads may do so at the same time, and the later tick may be armed last: so look again until
 * nothing has changed meanwhile. An alarm that is armed but no longer next_alarm finds nothing to do.
 */
void pawl__alarm_set(struct op_shard *shard)
{
	struct pawl_purgatory *purgatory = shard->purgatory;
	struct alarm *next_alarm = NULL;
	uint64_t at = PAWL_NEVER;

	for (;;) {
		bool done;

		lock_acquire(&shard->lock);
		done = !shard->next_alarm ||
		       (shard->next_alarm == next_alarm && shard->next_alarm_at == at);
		next_alarm = shard->next_alarm;
		at = shard->next_alarm_at;
		lock_release(&shard->lock);
		if (done)
			return;
		pawl_service_arm_at(purgatory->service, &next_alarm->task,
		                    ns_of_tick(&purgatory->ticks, at));
	}
}

static struct pawl_op *op_of(struct pawl_timer *timer)
{
	return (struct pawl_op *)((char *)timer - offsetof(struct pawl_op, timer));
}

void pawl__deadline_win(struct op_shard *shard, struct pawl_op *op, uint64_t late_ns)
{
	lock_assert_held(&shard->lock);
	op_win_from_others(shard, op, EXPIRED);
	shard_count(shard, &shard->stats.expired);
	histogram_count(shard->lateness, late_ns);
	probe3(expire, shard->purgatory, op, late_ns);
}

/*
 * The next operation that is due, won. NULL: none. Or so many timers had to move that other threads get the lock first;
 * then *more stays true.
 */
static struct pawl_op *expire_one(struct op_shard *shard, uint64_t now_ns, bool *more)
{
	uint64_t tick = ticks_down(&shard->purgatory->ticks, now_ns), due_ns;
	struct pawl_timer *timer;

	lock_assert_held(&shard->lock);
	pawl_wheel_advance(shard->wheel, tick, MOVES);
	timer = pawl_wheel_pop(shard->wheel);
	*more = timer || pawl_wheel_now(shard->wheel) < tick;
	if (!timer)
		return NULL;
	due_ns = ns_of_tick(&shard->purgatory->ticks, timer->deadline);
	pawl__deadline_win(shard, op_of(timer), now_ns > due_ns ? now_ns - due_ns : 0);
	return op_of(timer);
}

/* Without a next_alarm, choose one, for the next opening of the wheel. True: call pawl__alarm_set. */
static bool schedule_next(struct op_shard *shard)
{
	lock_assert_held(&shard->lock);
	return !shard->next_alarm && schedule_alarm(shard, pawl_wheel_next(shard->wheel));
}

/*
 * How many operations one run may expire. A worker also has other tasks. A poll runs all that is due, but not what is
 * submitted meanwhile, or it might never end.
 */
static size_t most_runs(struct op_shard *shard)
{
	lock_assert_held(&shard->lock);
	return pawl__service_manual(shard->purgatory->service) ? shard->delayed : RUNS;
}

/* Returns how many operations it may expire. */
static size_t begin_run(struct alarm *alarm)
{
	struct op_shard *shard = alarm->shard;
	size_t most;

	lock_acquire(&shard->lock);
	ASSERT(!alarm->runs);
	alarm->runs = true;
	if (shard->next_alarm == alarm)
		shard->next_alarm = NULL;
	most = most_runs(shard);
	lock_release(&shard->lock);
	return most;
}

static void end_run(struct alarm *alarm)
{
	struct op_shard *shard = alarm->shard;
	bool set;

	lock_acquire(&shard->lock);
	ASSERT(alarm->runs);
	alarm->runs = false;
	set = schedule_next(shard);
	lock_release(&shard->lock);
	if (set)
		pawl__alarm_set(shard);
}

static void run_alarm(struct alarm *alarm)
{
	struct op_shard *shard = alarm->shard;
	struct pawl_clock *clock = shard->purgatory->clock;
	size_t left = begin_run(alarm);
	bool more = true;

	while (left > 0 && more) {
		uint64_t now_ns = clock->now(clock);
		struct pawl_op *op;
		bool set;

		lock_acquire(&shard->lock);
		op = expire_one(shard, now_ns, &more);
		set = op && schedule_next(shard);
		lock_release(&shard->lock);
		if (set)
			pawl__alarm_set(shard);
		if (op) {
			left--;
			pawl__op_run(op);
		}
	}
	end_run(alarm);
}

/* The function of the service's task. */
static void alarm_task(struct pawl_task *task)
{
	struct alarm *alarm = (struct alarm *)task; /* its first member */
	struct thread *thread = &pawl__purgatory_thread;
	struct nested_call call = {alarm->shard->purgatory, thread->nested};

	thread->nested = &call;
	run_alarm(alarm);
	thread->nested = call.outer;
}

/* The histogram, the alarms and the wheel are one block of memory, most of which is not written before it is used. */
int pawl__alarms_open(struct op_shard *shard)
{
	const struct pawl_purgatory *purgatory = shard->purgatory;
	const struct pawl_wheel_options options = {
	        .start = ticks_down(&purgatory->ticks, purgatory->clock->now(purgatory->clock)),
	        .wheel_size = WHEEL_SIZE,
	};
	const size_t align = _Alignof(max_align_t); /* of the wheel */
	size_t front = sizeof(*shard->lateness) + purgatory->alarm_count * sizeof(*shard->alarms);
	size_t wheel_at = (front + align - 1) / align * align;
	size_t size = pawl_wheel_footprint(&options);

	shard->lateness = calloc(1, wheel_at + size);
	if (!shard->lateness)
		return -ENOMEM;
	shard->alarms = (struct alarm *)(shard->lateness + 1);
	shard->wheel = pawl_wheel_init((char *)shard->lateness + wheel_at, size, &options);
	CHECKED(pawl__wheel_own(shard->wheel, purgatory));
	for (unsigned i = 0; i < purgatory->alarm_count; i++) {
		shard->alarms[i] = (struct alarm){.shard = shard};
		pawl__task_init_internal(&shard->alarms[i].task, alarm_task);
	}
	return 0;
}

/*
 * Cancel the alarms, and wait for those that run. An alarm that runs may still arm another one, and so may a
 * try_or_watch that began before stop. Such an alarm finds nothing to do; close calls this function once more for it.
 */
void pawl__alarms_stop(struct pawl_purgatory *purgatory)
{
	for (unsigned s = 0; s < purgatory->shard_count; s++)
		for (unsigned i = 0; i < purgatory->alarm_count; i++)
			pawl_service_cancel_wait(purgatory->service,
			                         &purgatory->shards[s].alarms[i].task);
}
