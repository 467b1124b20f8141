/* SPDX-License-Identifier: MIT */
/*
 * Workers run due tasks, one at a time, so that a slow task delays its own worker and nothing else. Finishing one task
 * and beginning the next is one critical section.
 */
#define _GNU_SOURCE
#include "../system/probes.h"
#include "journal.h"
#include "shard.h"

static _Thread_local struct worker *current_worker;

/* Inside a task of one service a thread may poll another service: so look at all of them. */
bool pawl__worker_is_here(const struct worker *worker)
{
	const struct worker *inner = current_worker;

	while (inner && inner != worker)
		inner = inner->outer;
	return inner != NULL;
}

bool pawl__service_is_here(const struct pawl_service *service)
{
	const struct worker *inner = current_worker;

	while (inner && inner->service != service)
		inner = inner->outer;
	return inner != NULL;
}

void pawl__service_refuse_inside_task(const struct pawl_service *service, const char *call)
{
	if (pawl__service_is_here(service))
		pawl__mistake(call, "it was called in a task of the same service, and would wait "
		                    "for itself: call it on another thread, or after the task");
}

void pawl__worker_enter(struct worker *worker)
{
	worker->outer = current_worker;
	current_worker = worker;
}

void pawl__worker_leave(struct worker *worker)
{
	current_worker = worker->outer;
}

/* A copy of what is needed after the run: the task may be freed by then. */
struct job {
	struct pawl_task *task; /* NULL: no task is due */
	pawl_task_fn *run;
	uint64_t deadline_ns, period_ns;
	bool internal;
	bool more; /* another worker is needed: to run a task, or to lead */
};

static const struct job no_job;

/*
 * The next due task; NULL: none is due. Or a whole batch was put back because the wall clock was set: then the worker
 * comes back once it has released the lock. Under the lock.
 */
static struct pawl_timer *pop(struct pawl_service *service, struct shard *shard,
                              struct wakes *wakes)
{
	lock_assert_held(&shard->lock);
	for (unsigned i = 0; i < BATCH; i++) {
		struct pawl_timer *timer = shard->closed ? NULL : pawl_wheel_pop(shard->wheel);

		if (!timer || !task_of(timer)->at_time ||
		    !pawl__wall_put_back(service, shard, task_of(timer), wakes))
			return timer;
	}
	return NULL;
}

/* Begin the run of the next due task. Under the lock. A periodic task keeps its quota while it runs. */
static struct job begin_next(struct pawl_service *service, struct worker *worker,
                             struct shard *shard, struct wakes *wakes)
{
	struct pawl_timer *timer = pop(service, shard, wakes);
	bool more = service->worker_count > 1;
	struct pawl_task *task;

	lock_assert_held(&shard->lock);
	if (!timer)
		return no_job;
	task = task_of(timer);
	begin_run(shard, worker, task);
	worker->quota = task->period_ns != 0;
	if (!worker->quota)
		quota_return(service, task);
	shard->counts[task->internal].ran++;
	if (more && !anything_due(shard)) {
		clear_ready(shard); /* or other workers would come here in vain */
		more = !has_leader(service);
	}
	return (struct job){
	        task, task->run, task->deadline_ns, task->period_ns, task->internal, more,
	};
}

/* The next deadline of a periodic task whose run ended at `now`. */
static uint64_t next_deadline(const struct pawl_task *task, uint64_t now)
{
	uint64_t next = saturating_sum(task->deadline_ns, task->period_ns);

	ASSERT(task->period_ns != 0 && !task->at_time);
	if (task->missed == PAWL_SERVICE_DELAY)
		return saturating_sum(now, task->period_ns);
	if (task->missed == PAWL_SERVICE_SKIP && next <= now)
		return saturating_sum(next, (now - next) / task->period_ns * task->period_ns +
		                                    task->period_ns);
	return next;
}

/* Give a periodic task its next deadline. False: its rule has no further time, so it becomes idle. Under the lock. */
static bool next_period(struct pawl_service *service, struct worker *worker, struct shard *shard,
                        struct pawl_task *task, uint64_t now)
{
	uint64_t wall;

	lock_assert_held(&shard->lock);
	if (!task->at_time) {
		task->deadline_ns = next_deadline(task, now);
		return true;
	}
	wall = pawl__schedule_next(task, wall_now(service));
	if (wall == PAWL_NEVER) {
		wall_unlist(task);
		quota_return(service, task);
		worker->quota = false;
		return false;
	}
	set_wall_time(shard, task, wall, now);
	pawl__schedule_wait(task, now);
	return true;
}

/* The run is over. Reads the task only if it cannot have been freed: see layout.h. Under the lock. */
static void finish(struct pawl_service *service, struct worker *worker, struct shard *shard,
                   const struct job *job, uint64_t now, struct wakes *wakes)
{
	bool next = job->period_ns && !worker->again && !worker->ended &&
	            next_period(service, worker, shard, job->task, now);

	lock_assert_held(&shard->lock);
	if (next)
		shard->counts[job->task->internal].armed++;
	end_run(shard, worker, wakes);
	if (worker->again && job->task->at_time)
		job->task->deadline_ns = wall_deadline(&shard->wall->pair, now, job->task->wall_ns);
	if (next || worker->again) { /* it has its quota, which a cancel returns */
		sample_arming(service, shard, job->task);
		put_on_wheel(service, shard, job->task, now, false, wakes);
	}
}

static void record(struct worker *worker, const struct job *job, uint64_t start, uint64_t end)
{
	uint64_t late = start > job->deadline_ns ? start - job->deadline_ns : 0, took = end - start;

	if (job->internal)
		return;
	probe4(late, worker->service, job->run, late, took);
	if (took > worker->run_time.max || !worker->slowest)
		__atomic_store_n(&worker->slowest, job->run, __ATOMIC_RELAXED);
	histogram_count(&worker->lateness, late);
	histogram_count(&worker->run_time, took);
}

/* For the live view, if there is a viewer. `before`: how many runs of the batch came before. */
static void note(const struct worker *worker, const struct job *job, uint64_t start, uint64_t end,
                 size_t before)
{
	struct journal *journal = __atomic_load_n(&worker->journal, __ATOMIC_ACQUIRE);

	if (__builtin_expect(journal != NULL, 0) && !job->internal &&
	    !journal_skips(journal, end - start, before))
		journal_note(journal, job->run, job->deadline_ns, start, end - start);
}

/* Up to `max` tasks of one shard; and as many moves ahead, since a busy service may have no other time for them. */
static size_t run_shard(struct pawl_service *service, struct worker *worker, struct shard *shard,
                        size_t max)
{
	struct wakes wakes = {0};
	uint64_t start, end;
	size_t ran = 0;
	struct job job;

	lock_acquire(&shard->lock);
	shard->running++;
	job = begin_next(service, worker, shard, &wakes);
	if (!job.task)
		leave_shard(shard, &wakes);
	lock_release(&shard->lock);
	wake(service, &wakes);
	for (start = clock_now(service); job.task; start = end) {
		struct job done = job;

		if (worker->answers)
			pawl__pool_started(worker);
		else if (job.more)
			pawl__sleep_wake_worker(service);
		probe3(run, service, job.task, job.run);
		assert_nothing_held();
		job.run(job.task);
		end = clock_now(service);
		record(worker, &done, start, end);
		note(worker, &done, start, end, ran);
		wakes = (struct wakes){0};
		lock_acquire(&shard->lock);
		finish(service, worker, shard, &done, end, &wakes);
		job = ++ran < max ? begin_next(service, worker, shard, &wakes) : no_job;
		if (!job.task) {
			leave_shard(shard, &wakes);
			pawl__shard_move_ahead(service, shard, ran, &wakes);
		}
		lock_release(&shard->lock);
		wakes.worker &= !job.task; /* this worker runs the task that became due */
		wake(service, &wakes);
	}
	return ran;
}

/* Up to `max` tasks: a batch from each shard, round robin. */
size_t pawl__worker_run_due(struct worker *worker, size_t max)
{
	struct pawl_service *service = worker->service;
	size_t ran = 0;

	pawl__worker_enter(worker);
	for (unsigned i = 0; i < service->shard_count && ran < max; i++) {
		struct shard *shard = &service->shards[worker->shard];
		size_t most = max - ran < BATCH ? max - ran : BATCH;

		worker->shard = worker->shard + 1 < service->shard_count ? worker->shard + 1 : 0;
		if (__atomic_load_n(&shard->ready, __ATOMIC_SEQ_CST))
			ran += run_shard(service, worker, shard, most);
	}
	pawl__worker_leave(worker);
	return ran;
}

/*
 * The bound of a poll: as many tasks as are pending when it begins. So a task that arms itself with delay 0 does not
 * keep the poll going forever. (To count the due tasks would take a walk through them.)
 */
size_t pawl__service_poll_bound(struct pawl_service *service, size_t max)
{
	size_t pending = pawl__service_pending(service, true);

	return max && max < pending ? max : pending;
}

void pawl__worker_begin_thread(const struct worker *worker)
{
	const struct pawl_service *service = worker->service;

	CHECKED(pawl__call_enter("a worker"));
	pawl__sleep_precisely(service);
	if (service->on_thread_start)
		service->on_thread_start(worker->number - 1, service->on_thread_start_arg);
}

void pawl__worker_thread(void *arg)
{
	struct worker *worker = arg;
	struct pawl_service *service = worker->service;

	pawl__worker_begin_thread(worker);
	while (!__atomic_load_n(&service->stopping, __ATOMIC_SEQ_CST)) {
		uint64_t tick = ticks_down(&service->ticks, clock_now(service));

		pawl__service_visit_shards(service, tick);
		if (pawl__worker_run_due(worker, BATCH) > 0 ||
		    pawl__service_move_ahead(service, worker->shard))
			continue;
		if (!pawl__sleep_lead(service, tick))
			pawl__sleep_follow(service);
	}
}
