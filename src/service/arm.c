/* SPDX-License-Identifier: MIT */
/* Arm, touch and cancel: by any thread. layout.h has the states of a task. */
#define _GNU_SOURCE
#include "../system/probes.h"
#include "../wheel/within.h"
#include "shard.h"

#include <errno.h>

void pawl_task_init(struct pawl_task *task, pawl_task_fn *run)
{
	CHECKED(pawl__task_expect_idle(&task->timer, __func__));
	*task = (struct pawl_task){.run = run};
}

void pawl__task_init_internal(struct pawl_task *task, pawl_task_fn *run)
{
	*task = (struct pawl_task){.run = run, .internal = true};
}

/* Threads get their numbers in the order of their first arming, so neighbours get different shards. */
static unsigned thread_number(void)
{
	static unsigned threads;
	static _Thread_local unsigned number; /* from 1 */

	if (!number)
		number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	return number;
}

/* The task's home, or NULL if it has none in this service. */
static struct shard *home_of(const struct pawl_service *service, const struct pawl_task *task)
{
	struct shard *home;

	CHECKED(pawl__expect_given(task, "task"));
	home = __atomic_load_n((struct shard *const *)&task->home, __ATOMIC_ACQUIRE);
	return home >= service->shards && home < service->shards_end ? home : NULL;
}

/*
 * Two threads may arm a new task at the same time: one of them gives it a home. NULL: the task is pending in another
 * service. (That is read without the other service's lock, since that service may have been closed. So it finds
 * mistakes, not races.)
 */
static __attribute__((noinline)) struct shard *give_home(struct pawl_service *service,
                                                         struct pawl_task *task)
{
	void *shard = &service->shards[thread_number() % service->shard_count];
	void *before = __atomic_load_n(&task->home, __ATOMIC_ACQUIRE);

	CHECKED(before && !home_of(service, task) ? pawl__task_expect_known(&task->timer)
	                                          : (void)0);
	if (before && !home_of(service, task) && pawl_timer_armed(&task->timer))
		return home_of(service, task); /* unless another thread has just armed it here */
	if (!home_of(service, task) &&
	    __atomic_compare_exchange_n(&task->home, &before, shard, false, __ATOMIC_ACQ_REL,
	                                __ATOMIC_ACQUIRE))
		return shard;
	return home_of(service, task);
}

/* Its home, perhaps a new one; NULL: the task is pending in another service. */
static inline struct shard *find_home(struct pawl_service *service, struct pawl_task *task)
{
	struct shard *home = home_of(service, task);

	return home ? home : give_home(service, task);
}

/* The worker that runs the task, or NULL. Under the lock of its home. */
static struct worker *runner_of(struct pawl_service *service, struct shard *shard,
                                struct pawl_task *task)
{
	struct worker *worker;

	lock_assert_held(&shard->lock);
	if (task->runner == 0)
		return NULL;
	if (task->runner > service->worker_count)
		return NULL; /* a number from another service, where the task was before */
	worker = &service->workers[task->runner - 1];
	if (__atomic_load_n(&worker->current, __ATOMIC_RELAXED) == task)
		return worker;
	task->runner = 0; /* it has returned: the next call need not look */
	return NULL;
}

struct arming {
	uint64_t now_ns, deadline_ns, period_ns;
	enum pawl_service_missed missed;
	bool unless_pending;  /* a task that will run anyway stays as it is */
	bool touch;           /* a pending or running periodic task keeps its period */
	enum at_time at_time; /* not BY_CLOCK: deadline_ns is computed under the lock */
	uint64_t wall_ns;     /* BY_WALL */
	const struct pawl_calendar_rule *rule; /* BY_RULE */
	const struct pawl_zone *zone;
};

/* The task is running: it goes on the wheel when the run is over. */
static __attribute__((noinline)) int arm_running(struct pawl_service *service, struct shard *shard,
                                                 struct worker *worker,
                                                 const struct pawl_task *task)
{
	lock_assert_held(&shard->lock);
	if (worker->again)
		return 0;
	if (!worker->quota && !quota_reserve(service, task))
		return -EAGAIN;
	worker->quota = true;
	worker->again = true;
	shard->counts[task->internal].armed++;
	return 0;
}

static inline __attribute__((always_inline)) int
arm_waiting(struct pawl_service *service, struct shard *shard, struct pawl_task *task)
{
	lock_assert_held(&shard->lock);
	if (pawl_timer_armed(&task->timer))
		return 0;
	if (!quota_reserve(service, task))
		return -EAGAIN;
	shard->counts[task->internal].armed++;
	sample_arming(service, shard, task);
	return 0;
}

static bool keeps_period(const struct worker *worker, const struct pawl_task *task)
{
	if (task->at_time)
		return false;
	return worker ? worker->again || !worker->ended : pawl_timer_armed(&task->timer);
}

/* It is pending, or will be when its run is over. */
static bool will_run(const struct worker *worker, const struct pawl_task *task)
{
	if (!worker)
		return pawl_timer_armed(&task->timer);
	return worker->again || (task->period_ns && !worker->ended);
}

/*
 * The wall-clock time of an arming. Under the lock: if the wall clock is set after it was read here, the task is listed
 * when the clocks are compared, and gets its time anew.
 */
static inline __attribute__((always_inline)) uint64_t wall_of(struct pawl_service *service,
                                                              const struct arming *arming)
{
	if (arming->at_time == BY_RULE)
		return pawl__schedule_first(arming->rule, arming->zone, wall_now(service));
	return arming->wall_ns;
}

static inline __attribute__((always_inline)) int
arm_locked(struct pawl_service *service, struct shard *shard, struct pawl_task *task,
           const struct arming *arming, struct wakes *wakes)
{
	struct worker *worker = runner_of(service, shard, task);
	bool touch = arming->touch && keeps_period(worker, task);
	uint64_t wall = wall_of(service, arming);
	int error;

	lock_assert_held(&shard->lock);
	if (shard->closed || task->refusing)
		return -ECANCELED;
	if (arming->unless_pending && will_run(worker, task))
		return -EALREADY;
	if (arming->at_time == BY_RULE && wall == PAWL_NEVER)
		return -ENOENT;
	error = worker ? arm_running(service, shard, worker, task)
	               : arm_waiting(service, shard, task);
	if (error)
		return error;
	probe3(arm, service, task, arming->deadline_ns);
	task->deadline_ns = arming->deadline_ns;
	if (task->at_time)
		wall_unlist(task);
	if (!touch) {
		task->period_ns = arming->period_ns;
		task->missed = (uint8_t)arming->missed;
		task->at_time = (uint8_t)arming->at_time;
	}
	if (arming->at_time == BY_RULE) {
		pawl__schedule_set(task, arming->rule, arming->zone);
		pawl__schedule_wait(task, arming->now_ns);
	}
	if (arming->at_time) {
		set_wall_time(shard, task, wall, arming->now_ns);
		wall_append(&shard->wall->listed, task);
		wakes->wall = true;
	}
	if (!worker)
		put_on_wheel(service, shard, task, arming->now_ns, touch, wakes);
	return 0;
}

/* Inlined into each function below, where most of `arming` is constant. */
static inline __attribute__((always_inline)) int
arm(struct pawl_service *service, struct pawl_task *task, const struct arming *arming)
{
	struct shard *shard;
	struct wakes wakes = {0};
	int error;

	CHECKED(pawl__expect_given(task, "task"));
	if (!task->run)
		return -EINVAL;
	shard = find_home(service, task);
	if (!shard)
		return -EBUSY;
	lock_acquire(&shard->lock);
	error = arm_locked(service, shard, task, arming, &wakes);
	lock_release(&shard->lock);
	wake(service, &wakes);
	return error;
}

int pawl_service_arm(struct pawl_service *service, struct pawl_task *task, uint64_t delay_ns)
{
	IN_SERVICE(service);
	CHECKED_DELAY(delay_ns);
	uint64_t now = clock_now(service);

	return arm(service, task,
	           &(struct arming){.now_ns = now, .deadline_ns = saturating_sum(now, delay_ns)});
}

int pawl_service_arm_at(struct pawl_service *service, struct pawl_task *task, uint64_t deadline_ns)
{
	IN_SERVICE(service);
	return arm(service, task,
	           &(struct arming){.now_ns = clock_now(service), .deadline_ns = deadline_ns});
}

int pawl_service_arm_unless_pending(struct pawl_service *service, struct pawl_task *task,
                                    uint64_t delay_ns)
{
	IN_SERVICE(service);
	CHECKED_DELAY(delay_ns);
	uint64_t now = clock_now(service);

	return arm(service, task,
	           &(struct arming){.now_ns = now,
	                            .deadline_ns = saturating_sum(now, delay_ns),
	                            .unless_pending = true});
}

/* In ticks, since the service wakes up at ticks. If no tick is in the window, the deadline is rounded up, as in arm. */
int pawl_service_arm_within(struct pawl_service *service, struct pawl_task *task,
                            uint64_t earliest_ns, uint64_t latest_ns)
{
	IN_SERVICE(service);
	CHECKED_DELAY(earliest_ns);
	CHECKED_DELAY(latest_ns);
	uint64_t now = clock_now(service), deadline = saturating_sum(now, earliest_ns);
	uint64_t first = ticks_up(&service->ticks, deadline);
	uint64_t last = ticks_down(&service->ticks, saturating_sum(now, latest_ns));

	if (latest_ns < earliest_ns)
		return -EINVAL;
	if (first < last)
		deadline = ns_of_tick(&service->ticks, time_within(first, last));
	return arm(service, task, &(struct arming){.now_ns = now, .deadline_ns = deadline});
}

int pawl_service_arm_at_time(struct pawl_service *service, struct pawl_task *task,
                             struct timespec time)
{
	IN_SERVICE(service);
	if (time.tv_nsec < 0 || time.tv_nsec >= (long)PAWL_SECOND)
		return -EINVAL;
	return arm(service, task,
	           &(struct arming){.now_ns = clock_now(service),
	                            .at_time = BY_WALL,
	                            .wall_ns = wall_ns(time)});
}

int pawl__service_arm_by_rule(struct pawl_service *service, struct pawl_task *task,
                              const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                              uint64_t period_ns, enum pawl_service_missed missed)
{
	return arm(service, task,
	           &(struct arming){.now_ns = clock_now(service),
	                            .period_ns = period_ns,
	                            .missed = missed,
	                            .at_time = BY_RULE,
	                            .rule = rule,
	                            .zone = zone});
}

int pawl_service_arm_every(struct pawl_service *service, struct pawl_task *task, uint64_t first_ns,
                           uint64_t period_ns, enum pawl_service_missed missed)
{
	IN_SERVICE(service);
	CHECKED_DELAY(first_ns);
	CHECKED_DELAY(period_ns);
	uint64_t now = clock_now(service);

	if (period_ns == 0 || (missed != PAWL_SERVICE_SKIP && missed != PAWL_SERVICE_BURST &&
	                       missed != PAWL_SERVICE_DELAY))
		return -EINVAL;
	return arm(service, task,
	           &(struct arming){.now_ns = now,
	                            .deadline_ns = saturating_sum(now, first_ns),
	                            .period_ns = period_ns,
	                            .missed = missed});
}

int pawl_service_touch(struct pawl_service *service, struct pawl_task *task, uint64_t delay_ns)
{
	IN_SERVICE(service);
	CHECKED_DELAY(delay_ns);
	uint64_t now = clock_now(service);

	return arm(service, task,
	           &(struct arming){.now_ns = now,
	                            .deadline_ns = saturating_sum(now, delay_ns),
	                            .touch = true});
}

/* Under the lock. */
static bool pending(struct pawl_service *service, struct shard *shard, struct pawl_task *task)
{
	struct worker *worker = runner_of(service, shard, task);

	lock_assert_held(&shard->lock);
	return worker ? worker->again : pawl_timer_armed(&task->timer);
}

uint64_t pawl_service_deadline(struct pawl_service *service, struct pawl_task *task)
{
	IN_SERVICE(service);
	struct shard *shard = home_of(service, task);
	uint64_t deadline, now = clock_now(service);
	bool found, at_time;

	if (!shard)
		return PAWL_NEVER;
	lock_acquire(&shard->lock);
	found = pending(service, shard, task);
	at_time = task->at_time;
	deadline = at_time ? task->wall_ns : task->deadline_ns;
	lock_release(&shard->lock);
	if (!found)
		return PAWL_NEVER;
	if (at_time)
		deadline = wall_deadline(&(struct pair){now, wall_now(service)}, now, deadline);
	return deadline < PAWL_NEVER ? deadline : PAWL_NEVER - 1;
}

/* The run to wait for. */
struct awaited {
	struct worker *worker; /* NULL: none */
	uint64_t run;
};

static enum pawl_service_found cancel_running(struct pawl_service *service, struct shard *shard,
                                              struct worker *worker, struct pawl_task *task,
                                              struct awaited *awaited)
{
	lock_assert_held(&shard->lock);
	shard->counts[task->internal].cancelled += worker->again;
	worker->again = false;
	worker->ended = true;
	if (task->at_time)
		wall_unlist(task);
	if (worker->quota)
		quota_return(service, task);
	worker->quota = false;
	if (awaited && !pawl__worker_is_here(worker)) {
		worker->awaited = true;
		*awaited = (struct awaited){worker, worker->runs};
	}
	return PAWL_SERVICE_RUNNING;
}

static enum pawl_service_found cancel_locked(struct pawl_service *service, struct shard *shard,
                                             struct pawl_task *task, struct awaited *awaited)
{
	struct worker *worker = runner_of(service, shard, task);

	lock_assert_held(&shard->lock);
	if (worker && worker->drops && pawl__worker_is_here(worker))
		return PAWL_SERVICE_IDLE; /* `dropped` itself asks: it has the task already */
	if (worker)
		return cancel_running(service, shard, worker, task, awaited);
	if (!pawl_wheel_cancel(shard->wheel, &task->timer))
		return PAWL_SERVICE_IDLE;
	if (task->at_time)
		wall_unlist(task);
	sample_leaving(service, shard, task);
	shard->counts[task->internal].cancelled++;
	quota_return(service, task);
	return PAWL_SERVICE_CANCELLED;
}

static enum pawl_service_found cancel(struct pawl_service *service, struct pawl_task *task,
                                      struct awaited *awaited)
{
	struct shard *shard = home_of(service, task);
	enum pawl_service_found found;

	if (!shard)
		return PAWL_SERVICE_IDLE;
	lock_acquire(&shard->lock);
	found = cancel_locked(service, shard, task, awaited);
	lock_release(&shard->lock);
	probe3(cancel, service, task, found);
	return found;
}

enum pawl_service_found pawl_service_cancel(struct pawl_service *service, struct pawl_task *task)
{
	IN_SERVICE(service);
	return cancel(service, task, NULL);
}

enum pawl_service_found pawl_service_cancel_wait(struct pawl_service *service,
                                                 struct pawl_task *task)
{
	IN_SERVICE(service);
	struct awaited awaited = {NULL, 0};
	enum pawl_service_found found = cancel(service, task, &awaited);

	if (awaited.worker)
		pawl__service_await_run(service, awaited.worker, awaited.run);
	return found;
}

/* The number of calls of cancel_wait_all for which the task refuses armings: 1 more, or 1 less. */
static void change_refusing(struct pawl_service *service, struct pawl_task *task, int change)
{
	struct shard *shard = find_home(service, task);

	if (!shard)
		return;
	lock_acquire(&shard->lock);
	ASSERT(change < 0 ? task->refusing > 0 : task->refusing < UINT8_MAX);
	task->refusing = (uint8_t)(task->refusing + change);
	lock_release(&shard->lock);
}

/*
 * A loop that looks until all are idle is not enough: while it looks at one, another one arms the one before.
 *
 *	this thread                             the tasks, which arm each other
 *	-----------                             -------------------------------
 *	all refuse armings, and are cancelled   arm: -ECANCELED
 *	                                        every pending task is cancelled, so none begins to run
 *	wait for the end of each run
 *	they accept armings again               nothing is left that could arm
 *
 * A task that was never armed gets a home first: another one may be about to arm it.
 */
void pawl_service_cancel_wait_all(struct pawl_service *service, struct pawl_task *const *tasks,
                                  size_t n)
{
	IN_SERVICE(service);
	for (size_t i = 0; i < n; i++) {
		change_refusing(service, tasks[i], 1);
		pawl_service_cancel(service, tasks[i]);
	}
	for (size_t i = 0; i < n; i++)
		pawl_service_cancel_wait(service, tasks[i]);
	for (size_t i = 0; i < n; i++)
		change_refusing(service, tasks[i], -1);
}
