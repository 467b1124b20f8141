/* SPDX-License-Identifier: MIT */
/*
 * Due tasks of a queue on the workers of a service. An attachment has some runners, tasks of that service. A runner
 * takes a task, calls the user's function and arms itself again, until nothing is due; then it is idle. When a task
 * becomes due, an idle runner is armed.
 */
#define _GNU_SOURCE
#include "layout.h"

#define MOST_RUNNERS 1024u

struct runner {
	struct pawl_task task;
	struct pawl_store_attachment *of;
	struct runner *next; /* in `idle`, or in the store's `arming` */
};

struct pawl_store_attachment {
	struct pawl_store *store;
	struct pawl_service *service;
	struct queue *queue;
	struct pawl_store_attachment *next; /* in the queue's list */
	uint64_t lease_ns;
	pawl_store_fn *fn;
	void *arg;
	struct runner *idle; /* these three under the store's mutex */
	bool arming;         /* the clock thread arms one of its runners */
	bool ended;
	struct pawl_task **tasks;
	unsigned count;
	struct runner runners[];
};

static void list_move(struct runner **from, struct runner **to)
{
	struct runner *runner = *from;

	*from = runner->next;
	runner->next = *to;
	*to = runner;
}

static void be_idle(struct runner *runner)
{
	runner->next = runner->of->idle;
	runner->of->idle = runner;
}

/* An idle runner is to be armed: by the clock thread, because no lock of a service may be acquired under the mutex. */
void pawl__attachment_wake(struct pawl_store *store, struct pawl_store_attachment *attachment)
{
	while (attachment && !attachment->idle)
		attachment = attachment->next;
	if (!attachment)
		return;
	list_move(&attachment->idle, &store->arming);
	pawl__store_wake_clock(store, 0);
}

/* Without a quota, or on a service that was stopped, a runner stays idle, and the next tick tries again. */
void pawl__attachments_arm(struct pawl_store *store)
{
	struct runner *runner;

	mutex_assert_held(&store->mutex);
	while ((runner = store->arming) != NULL) {
		struct pawl_store_attachment *attachment = runner->of;
		int error;

		store->arming = runner->next;
		attachment->arming = true;
		mutex_unlock(&store->mutex);
		error = pawl_service_arm(attachment->service, &runner->task, 0);
		mutex_lock(&store->mutex);
		attachment->arming = false;
		if (error)
			be_idle(runner);
		store->starved |= error != 0;
		condition_broadcast(&store->done);
	}
}

static void run(struct pawl_task *service_task)
{
	struct runner *runner = PAWL_CONTAINER_OF(service_task, struct runner, task);
	struct pawl_store_attachment *attachment = runner->of;
	struct pawl_store *store = attachment->store;
	struct pawl_store_task task;
	bool again;
	int got =
	        pawl_store_take(store, attachment->queue->name, attachment->lease_ns, 0, &task, 1);

	if (got == 1) {
		attachment->fn(store, &task, attachment->arg);
		if (task.payload)
			pawl__copy_free(&task);
	}
	mutex_lock(&store->mutex);
	again = got >= 0 && first_ready(attachment->queue) && !attachment->ended;
	store->starved |= got < 0; /* it failed: a later tick tries again */
	if (!again)
		be_idle(runner);
	mutex_unlock(&store->mutex);
	if (!again || pawl_service_arm(attachment->service, service_task, 0) == 0)
		return;
	mutex_lock(&store->mutex);
	be_idle(runner);
	store->starved = true;
	mutex_unlock(&store->mutex);
}

int pawl_store_attach(struct pawl_store_attachment **attachment, struct pawl_store *store,
                      struct pawl_service *service, const char *queue, uint64_t lease_ns,
                      unsigned concurrency, pawl_store_fn *fn, void *arg)
{
	IN_STORE(store);
	struct pawl_store_attachment *new;
	int error;

	if (!queue || !lease_ns || !concurrency || concurrency > MOST_RUNNERS || !fn)
		return -EINVAL;
	new = calloc(1, sizeof(*new) + concurrency * sizeof(new->runners[0]));
	if (new)
		new->tasks = calloc(concurrency, sizeof(*new->tasks));
	if (!new || !new->tasks) {
		free(new);
		return -ENOMEM;
	}
	new->store = store;
	new->service = service;
	new->lease_ns = lease_ns;
	new->fn = fn;
	new->arg = arg;
	new->count = concurrency;
	for (unsigned i = 0; i < concurrency; i++) {
		struct runner *runner = &new->runners[i];

		pawl_task_init(&runner->task, run);
		runner->of = new;
		runner->next = new->idle;
		new->idle = runner;
		new->tasks[i] = &runner->task;
	}
	mutex_lock(&store->mutex);
	error = pawl__queue_get(store, queue, strlen(queue), &new->queue);
	if (!error) {
		new->next = new->queue->attached;
		new->queue->attached = new;
		for (struct task *task = first_ready(new->queue); task != new->queue->behind;
		     task = task->in.link.next)
			pawl__attachment_wake(store, new);
	}
	mutex_unlock(&store->mutex);
	if (error) {
		free(new->tasks);
		free(new);
		return error;
	}
	*attachment = new;
	return 0;
}

void pawl_store_detach(struct pawl_store_attachment *attachment)
{
	struct pawl_store *store = attachment->store;
	struct pawl_store_attachment **at;
	struct runner **runner;

	IN_STORE(store);
	mutex_lock(&store->mutex);
	attachment->ended = true;
	for (at = &attachment->queue->attached; *at != attachment;)
		at = &(*at)->next;
	*at = attachment->next;
	for (runner = &store->arming; *runner;)
		if ((*runner)->of == attachment)
			*runner = (*runner)->next;
		else
			runner = &(*runner)->next;
	while (attachment->arming)
		condition_wait(&store->done, &store->mutex);
	mutex_unlock(&store->mutex);
	pawl_service_cancel_wait_all(attachment->service, attachment->tasks, attachment->count);
	free(attachment->tasks);
	free(attachment);
}
