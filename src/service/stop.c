/* SPDX-License-Identifier: MIT */
/* Stop: close the shards, end the threads, and drop the pending tasks: hand each to `dropped`. */
#define _GNU_SOURCE
#include "shard.h"

void pawl__service_end_threads(struct pawl_service *service, unsigned started)
{
	pawl__sleep_stop(service);
	for (unsigned i = 0; i < started; i++)
		pawl__system_thread_join(&service->workers[i].thread);
}

/* The next pending task, or NULL. Advances the wheel to the end of time, when every task is due. */
static struct pawl_task *begin_drop(struct pawl_service *service, struct shard *shard)
{
	struct pawl_timer *timer;

	lock_acquire(&shard->lock);
	ASSERT(shard->closed);
	for (;;) {
		pawl_wheel_advance(shard->wheel, PAWL_NEVER, BATCH);
		timer = pawl_wheel_pop(shard->wheel);
		if (timer || pawl_wheel_now(shard->wheel) == PAWL_NEVER)
			break;
		lock_release(&shard->lock); /* a cancel may wait for it */
		lock_acquire(&shard->lock);
	}
	if (timer) {
		shard->counts[task_of(timer)->internal].dropped++;
		quota_return(service, task_of(timer));
		shard->running++;
		begin_run(shard, service->workers, task_of(timer));
		wall_unlist(task_of(timer)); /* also a periodic one: `dropped` may free it */
		service->workers->drops = true;
	}
	lock_release(&shard->lock);
	return timer ? task_of(timer) : NULL;
}

static void hand_out(struct pawl_task *task, pawl_task_fn *dropped)
{
	assert_nothing_held();
	if (dropped && !task->internal)
		dropped(task);
}

static void end_drop(struct pawl_service *service, struct shard *shard)
{
	struct wakes wakes = {0};

	lock_acquire(&shard->lock);
	end_run(shard, service->workers, &wakes);
	leave_shard(shard, &wakes);
	lock_release(&shard->lock);
	wake(service, &wakes);
}

/*
 * Called when no worker thread is left. A drop counts as a run, of a worker whose thread has ended. Else a cancel_wait
 * meanwhile would return PAWL_SERVICE_IDLE, and its caller would free the task while `dropped` still uses it.
 */
static void drop_pending(struct pawl_service *service, pawl_task_fn *dropped)
{
	struct pawl_task *task;

	pawl__worker_enter(service->workers);
	for (unsigned i = 0; i < service->shard_count; i++)
		while ((task = begin_drop(service, &service->shards[i])) != NULL) {
			hand_out(task, dropped);
			end_drop(service, &service->shards[i]);
		}
	pawl__worker_leave(service->workers);
}

static void close_shards(struct pawl_service *service)
{
	for (unsigned i = 0; i < service->shard_count; i++) {
		lock_acquire(&service->shards[i].lock);
		__atomic_store_n(&service->shards[i].closed, true, __ATOMIC_RELAXED);
		lock_release(&service->shards[i].lock);
	}
}

/* True: this thread stops the service. False: another thread does, or did; this waits until it has. */
static bool begin_stop(struct pawl_service *service)
{
	bool first;

	mutex_lock(&service->mutex);
	first = service->state == OPEN;
	if (first)
		service->state = STOPPING;
	while (service->state == STOPPING && !first)
		condition_wait(&service->changed, &service->mutex);
	mutex_unlock(&service->mutex);
	return first;
}

void pawl_service_stop(struct pawl_service *service, pawl_task_fn *dropped)
{
	IN_SERVICE(service);
	pawl__service_refuse_inside_task(service, "pawl_service_stop");
	if (!begin_stop(service))
		return;
	close_shards(service);
	pawl__service_changed(service); /* for settle: nothing can become due from now on */
	if (service->manual)
		pawl__service_stop_polling(service);
	else
		pawl__service_end_threads(service, service->thread_count);
	if (service->pool.dispatch)
		pawl__pool_stop(service);
	drop_pending(service, dropped);
	mutex_lock(&service->inspecting);
	pawl__service_end_inspection(service);
	mutex_lock(&service->mutex);
	service->state = STOPPED;
	mutex_unlock(&service->mutex);
	mutex_unlock(&service->inspecting);
	pawl__service_changed(service);
}
