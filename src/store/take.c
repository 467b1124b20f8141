/* SPDX-License-Identifier: MIT */
/* Taking tasks, leases, and the two threads: one tells the time, the other has the files. */
#define _GNU_SOURCE
#include "layout.h"

#include <limits.h>

#define LOOK       PAWL_SECOND /* how often the clocks are compared: people set the wall clock */
#define TAKEN_MOST 4096u       /* at once */

uint64_t pawl__store_wall(const struct pawl_store *store)
{
	return pawl__clock_wall(store->clock);
}

/* The clock thread must look again at this time of the wall clock. */
void pawl__store_wake_clock(struct pawl_store *store, uint64_t wall)
{
	if (wall >= store->sleeps_until)
		return;
	store->sleeps_until = 0;
	store->clock->wake(store->clock);
}

void pawl__store_want_files(struct pawl_store *store)
{
	store->files_wanted = true;
	condition_signal(&store->work);
}

void pawl__store_tell_fd(struct pawl_store *store)
{
	bool due = store->ready > 0;

	if (store->fd < 0 || due == store->fd_set)
		return;
	store->fd_set = due;
	pawl__system_timer_set(store->fd, due ? 1 : PAWL_NEVER);
}

static void wake_takers(struct pawl_store *store, struct queue *queue)
{
	(void)store;
	condition_broadcast(&queue->arrived);
}

void pawl__store_wake_all(struct pawl_store *store)
{
	pawl__queues_each(store, wake_takers);
	condition_broadcast(&store->log.idle);
	condition_broadcast(&store->work);
	condition_broadcast(&store->done);
	pawl__store_wake_clock(store, 0);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A time of one clock by the other, if these times of both are now. */
static uint64_t by_other(uint64_t time, uint64_t now, uint64_t other)
{
	if (time == PAWL_NEVER)
		return PAWL_NEVER;
	return time > now ? saturating_sum(other, time - now) : other;
}

static bool syncs_in_time(const struct pawl_store *store)
{
	return store->options.sync_ns != 0 && store->options.sync_ns != PAWL_NEVER;
}

/* When the clock thread has something to do next, by the wall clock, except for the files. */
static uint64_t next_tick(struct pawl_store *store, uint64_t now, uint64_t clock)
{
	uint64_t by_clock = sooner(pawl_wheel_next(store->leases), pawl_wheel_next(store->takers));

	if (syncs_in_time(store) && store->log.unsynced_since && !store->failed)
		by_clock = sooner(by_clock, saturating_sum(store->log.unsynced_since,
		                                           store->options.sync_ns));
	return sooner(pawl_wheel_next(store->wheel), by_other(by_clock, clock, now));
}

/* With a sync now and then: the commits since the last one. */
static void sync_in_time(struct pawl_store *store, uint64_t clock)
{
	struct log *log = &store->log;

	if (syncs_in_time(store) && log->unsynced_since &&
	    clock - log->unsynced_since >= store->options.sync_ns)
		pawl__log_wait(store, log->sequence, true);
}

static void clock_thread(void *arg)
{
	struct pawl_store *store = arg;

	mutex_lock(&store->mutex);
	while (!store->stopped) {
		uint64_t now = pawl__store_wall(store), clock = store->clock->now(store->clock);

		pawl__store_tick(store);
		pawl__attachments_arm(store);
		sync_in_time(store, clock);
		if (store->files_at <= now || store->want_checkpoint || store->crowded)
			pawl__store_want_files(store);
		store->sleeps_until =
		        sooner(next_tick(store, now, clock), saturating_sum(now, LOOK));
		if (store->files_at > now) /* else the file thread has been told */
			store->sleeps_until = sooner(store->sleeps_until, store->files_at);
		clock = by_other(store->sleeps_until, now, clock);
		if (store->stopped || (store->arming && !store->starved))
			continue;
		mutex_unlock(&store->mutex);
		store->clock->wait(store->clock, clock);
		mutex_lock(&store->mutex);
		store->sleeps_until = 0;
	}
	mutex_unlock(&store->mutex);
}

static void file_thread(void *arg)
{
	struct pawl_store *store = arg;

	mutex_lock(&store->mutex);
	while (!store->stopped) {
		if (!store->files_wanted) {
			condition_wait(&store->work, &store->mutex);
			continue;
		}
		store->files_wanted = false;
		pawl__store_files(store);
	}
	mutex_unlock(&store->mutex);
}

int pawl__threads_start(struct pawl_store *store)
{
	int error = pawl__system_thread_start(&store->clock_thread, "pawl-store", 0, clock_thread,
	                                      store);

	if (error)
		return error;
	error = pawl__system_thread_start(&store->file_thread, "pawl-files", 0, file_thread, store);
	if (!error)
		store->threads = true;
	else {
		pawl_store_stop(store);
		pawl__system_thread_join(&store->clock_thread);
	}
	return error;
}

void pawl_store_stop(struct pawl_store *store)
{
	IN_STORE(store);
	mutex_lock(&store->mutex);
	store->stopped = true;
	pawl__store_wake_all(store);
	mutex_unlock(&store->mutex);
}

void pawl_store_poll(struct pawl_store *store)
{
	IN_STORE(store);
	mutex_lock(&store->mutex);
	if (store->options.manual && !store->stopped) {
		pawl__store_tick(store);
		sync_in_time(store, store->clock->now(store->clock));
		pawl__store_files(store);
		pawl__store_tick(store);
		pawl__attachments_arm(store);
	}
	mutex_unlock(&store->mutex);
}

uint64_t pawl_store_now(struct pawl_store *store)
{
	IN_STORE(store);
	return pawl__store_wall(store);
}

uint64_t pawl_store_next(struct pawl_store *store)
{
	IN_STORE(store);
	uint64_t now = pawl__store_wall(store), when;

	mutex_lock(&store->mutex);
	when = store->ready ? now
	                    : sooner(next_tick(store, now, store->clock->now(store->clock)),
	                             store->files_at);
	mutex_unlock(&store->mutex);
	return when != PAWL_NEVER && when < now ? now : when;
}

int pawl_store_fd(struct pawl_store *store)
{
	IN_STORE(store);
	int fd;

	mutex_lock(&store->mutex);
	if (store->fd < 0 && !store->options.manual)
		store->fd = pawl__system_timer_open(MONOTONIC);
	pawl__store_tell_fd(store);
	fd = store->options.manual ? -EINVAL : store->fd;
	mutex_unlock(&store->mutex);
	return fd;
}

/* A copy for a worker or a list: the payload, a zero, the reason, a zero. */
int pawl__copy(const struct queue *queue, const struct stored *stored, struct pawl_store_task *to)
{
	char *bytes = malloc((size_t)stored->size + stored->reason_size + 2);

	if (!bytes)
		return -ENOMEM;
	if (stored->size)
		memcpy(bytes, stored->payload, stored->size);
	bytes[stored->size] = '\0';
	if (stored->reason_size)
		memcpy(bytes + stored->size + 1, stored->reason, stored->reason_size);
	bytes[stored->size + 1 + stored->reason_size] = '\0';
	*to = (struct pawl_store_task){
	        .id = stored->id,
	        .due_ns = stored->due,
	        .queue = queue->name,
	        .payload = bytes,
	        .reason = stored->reason ? bytes + stored->size + 1 : NULL,
	        .size = stored->size,
	        .tries = stored->tries,
	};
	return 0;
}

/* Give out due tasks of the queue. The fence is the number of the frame with their tries. */
static int give(struct pawl_store *store, struct queue *queue, uint64_t lease_ns,
                struct pawl_store_task *tasks, size_t max)
{
	uint64_t clock = store->clock->now(store->clock), until = deadline_after(clock, lease_ns);
	struct bytes *log = pawl__log_begin(store);
	size_t count = 0;
	int error = 0;

	while (count < max && !error && first_ready(queue)) {
		struct task *task = first_ready(queue);
		const struct stored stored = pawl__task_stored(task);

		error = pawl__copy(queue, &stored, &tasks[count]);
		if (error)
			break;
		write_le(log, RECORD_TRY, 1);
		write_le(log, task->id, 8);
		pawl__task_try(store, task);
		pawl__task_lease(store, task, until, store->log.sequence + 1);
		tasks[count].tries = task->tries;
		tasks[count++].fence = task->fence;
	}
	store->stats.taken += count;
	pawl__store_wake_clock(store, by_other(until, clock, pawl__store_wall(store)));
	pawl__store_tell_fd(store);
	if (pawl__log_wait(store, pawl__log_end(store), false))
		error = store->failed;
	else if (count)
		return (int)count;
	for (size_t i = 0; i < count; i++)
		pawl__copy_free(&tasks[i]);
	return error;
}

/* Wait until a task is due, or the time is over, or the store ends. */
static void await_task(struct pawl_store *store, struct queue *queue, uint64_t until)
{
	uint64_t clock = store->clock->now(store->clock);
	struct taker taker = {.queue = queue};

	pawl_wheel_arm_at(store->takers, &taker.timer, until);
	pawl__store_wake_clock(store, by_other(until, clock, pawl__store_wall(store)));
	queue->takers++;
	while (!first_ready(queue) && !store->stopped && !store->failed &&
	       pawl_timer_armed(&taker.timer))
		condition_wait(&queue->arrived, &store->mutex);
	queue->takers--;
	pawl_wheel_cancel(store->takers, &taker.timer);
}

/* While it waits for room in the log, another thread may take what is due: then it waits on. */
static int take(struct pawl_store *store, struct queue *queue, uint64_t until, size_t most)
{
	int error;

	do {
		pawl__store_tick(store);
		if (!store->options.manual && !first_ready(queue) &&
		    store->clock->now(store->clock) < until)
			await_task(store, queue, until);
		error = pawl__log_room(store, most * 9, FOR_CHANGE);
	} while (!error && !first_ready(queue) && !store->options.manual &&
	         store->clock->now(store->clock) < until);
	return error;
}

int pawl_store_take(struct pawl_store *store, const char *name, uint64_t lease_ns, uint64_t wait_ns,
                    struct pawl_store_task *tasks, size_t max)
{
	IN_STORE(store);
	size_t most = store->options.log_size / LOG_USES / 16;
	struct queue *queue;
	int error;

	if (!name || max == 0 || lease_ns == 0)
		return -EINVAL;
	most = most < TAKEN_MOST ? most : TAKEN_MOST;
	most = most < max ? most : max;
	mutex_lock(&store->mutex);
	error = pawl__queue_get(store, name, strlen(name), &queue);
	if (!error)
		error = take(store, queue, deadline_after(store->clock->now(store->clock), wait_ns),
		             most);
	if (!error && first_ready(queue))
		error = give(store, queue, lease_ns, tasks, most);
	mutex_unlock(&store->mutex);
	return error;
}

static struct task *leased(struct pawl_store *store, const struct pawl_store_task *task)
{
	struct task *found = task->fence ? pawl__task_find(store, task->id) : NULL;

	return found && found->fence == task->fence ? found : NULL;
}

int pawl_store_extend(struct pawl_store *store, const struct pawl_store_task *task,
                      uint64_t lease_ns)
{
	IN_STORE(store);
	uint64_t clock = store->clock->now(store->clock), until = deadline_after(clock, lease_ns);
	struct task *found;
	int error;

	mutex_lock(&store->mutex);
	pawl__store_tick(store);
	found = store->stopped ? NULL : leased(store, task);
	if (found) {
		pawl_wheel_arm_at(store->leases, &found->in.timer, until);
		pawl__store_wake_clock(store, by_other(until, clock, pawl__store_wall(store)));
	}
	error = found ? 0 : store->stopped ? -ECANCELED : -ETIMEDOUT;
	mutex_unlock(&store->mutex);
	return error;
}

int pawl_store_release(struct pawl_store *store, struct pawl_store_task *task)
{
	IN_STORE(store);
	bool listed = task->fence == 0;
	struct task *found;

	mutex_lock(&store->mutex);
	found = leased(store, task);
	if (found)
		pawl__task_unlease(store, found);
	pawl__store_tell_fd(store);
	mutex_unlock(&store->mutex);
	pawl__copy_free(task);
	return found || listed ? 0 : -ETIMEDOUT;
}
