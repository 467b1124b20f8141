/* SPDX-License-Identifier: MIT */
/*
 * Due tasks of a queue on the workers of a service. An attachment has some runners, tasks of that service. A runner
 * takes a task, calls the user's function and arms itself again, until nothing is due; then it is idle. A task that
 * becomes due arms an idle runner.
 */
#define _GNU_SOURCE
#include "layout.h"

#define MOST_RUNNERS 1024u

struct runner {
	struct pawl_task task;
	struct pawl_store_attachment *of;
	struct runner *next; /* in `idle` */
};

struct pawl_store_attachment {
	struct pawl_store *store;
	struct pawl_service *service;
	struct queue *queue;
	struct pawl_store_attachment *next; /* in the queue's list */
	uint64_t lease_ns;
	pawl_store_fn *fn;
	void *arg;
	struct runner *idle; /* under the store's mutex */
	bool ended;
	struct pawl_task **tasks;
	unsigned count;
	struct runner runners[];
};

/* Under the store's mutex. The order is this mutex, then the service's locks: a service holds none of its own when it
 * calls a runner. */
static int arm(const struct pawl_store_attachment *attachment, struct pawl_task *task)
{
	int error;

	mutex_ignore(&attachment->store->mutex);
	error = pawl_service_arm(attachment->service, task, 0);
	mutex_heed(&attachment->store->mutex);
	return error;
}

/* Arm one idle runner. If the service has no quota left, the next tick tries again. */
void pawl__attachment_wake(struct pawl_store_attachment *attachment)
{
	for (; attachment; attachment = attachment->next) {
		struct runner *runner = attachment->idle;

		if (!runner)
			continue;
		if (arm(attachment, &runner->task)) {
			attachment->store->starved = true;
			continue;
		}
		attachment->idle = runner->next;
		return;
	}
}

static void run(struct pawl_task *service_task)
{
	struct runner *runner = PAWL_CONTAINER_OF(service_task, struct runner, task);
	struct pawl_store_attachment *attachment = runner->of;
	struct pawl_store *store = attachment->store;
	struct pawl_store_task task;

	if (pawl_store_take(store, attachment->queue->name, attachment->lease_ns, 0, &task, 1) ==
	    1) {
		attachment->fn(store, &task, attachment->arg);
		if (task.payload)
			pawl__copy_free(&task);
	}
	mutex_lock(&store->mutex);
	if (attachment->ended || !attachment->queue->due.first || arm(attachment, service_task)) {
		runner->next = attachment->idle;
		attachment->idle = runner;
	}
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
		for (struct task *task = new->queue->due.first; task; task = task->in.link.next)
			pawl__attachment_wake(new);
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

	IN_STORE(store);
	mutex_lock(&store->mutex);
	attachment->ended = true;
	for (at = &attachment->queue->attached; *at != attachment;)
		at = &(*at)->next;
	*at = attachment->next;
	mutex_unlock(&store->mutex);
	pawl_service_cancel_wait_all(attachment->service, attachment->tasks, attachment->count);
	free(attachment->tasks);
	free(attachment);
}
