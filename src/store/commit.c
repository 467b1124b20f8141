/* SPDX-License-Identifier: MIT */
/*
 * Changes: all of a commit, or none. First each change is checked and promised what it needs: memory, an id, bytes in a
 * slot. From then on nothing can fail. Then each is written into the log's buffer as a record and made in memory; and
 * the caller waits until the frame is on the disk.
 *
 * Other threads see a change before it is on the disk. What they do with it comes later in the log: if it survives, so
 * does this. Only a refusal is not in the log, so a refusal waits for the frames that it rests on.
 */
#define _GNU_SOURCE
#include "layout.h"

#define FEW       8u  /* changes that need no malloc */
#define MAX_DROPS 64u /* dead tasks that one bury may drop to make room */

/* What a change was promised. */
struct plan {
	struct task
	        *task; /* PUT: a new one, or NULL: it goes to the slot; else the one in memory */
	struct queue *queue; /* PUT */
	struct slot *slot;   /* where it is born or goes; NULL: it stays in memory */
	char *reason;
	bool promised; /* bytes in `slot` */
};

/* The most bytes of its records. */
static size_t most_bytes(const struct pawl_store_change *change)
{
	size_t place = 6 + MAX_NAME + 22; /* a queue and a slot */

	if (change->verb == PAWL_STORE_BURY)
		return 10 + MAX_NAME + MAX_DROPS * 10;
	return place + 25 + (change->verb == PAWL_STORE_PUT ? change->size : 0);
}

static int check_arguments(const struct pawl_store *store, const struct pawl_store_change *change)
{
	const struct pawl_store_task *task = change->task;

	if (change->reserved[0] | change->reserved[1])
		return -EINVAL;
	switch (change->verb) {
	case PAWL_STORE_PUT:
		if (!change->queue || !*change->queue || strlen(change->queue) > MAX_NAME ||
		    (!change->payload && change->size))
			return -EINVAL;
		return change->size > store->options.max_payload ? -EMSGSIZE : 0;
	case PAWL_STORE_BURY:
		if (!change->reason || strlen(change->reason) > MAX_NAME)
			return -EINVAL;
		return task && task->fence ? 0 : -EINVAL;
	case PAWL_STORE_ACK:
	case PAWL_STORE_RETRY:
		return task && task->fence ? 0 : -EINVAL;
	case PAWL_STORE_CANCEL:
	case PAWL_STORE_REQUEUE:
	case PAWL_STORE_DROP:
		return 0;
	}
	return -EINVAL;
}

static uint64_t capped(uint64_t time)
{
	return time < END_OF_TIME ? time : END_OF_TIME;
}

/* Where a task that is due then goes: to a slot, or NULL: into memory. If memory is full, the first slot takes what is
 * due before it. */
static int choose(struct pawl_store *store, uint64_t due, size_t more, struct slot **slot)
{
	uint64_t now = pawl__store_wall(store);
	uint64_t from = store->near_until > now ? store->near_until : now;

	*slot = NULL;
	if ((due <= now || due < from) && store->stats.memory_bytes + more <= store->options.memory)
		return 0;
	*slot = pawl__slot_for(store, from, due, due < from ? FINEST - 1 : FINEST, NULL);
	return *slot ? 0 : -ENOMEM;
}

static int promise_put(struct pawl_store *store, struct pawl_store_change *change,
                       struct plan *plan)
{
	struct stored stored = {.due = capped(change->at_ns),
	                        .payload = change->payload,
	                        .size = (uint32_t)change->size};
	int error = pawl__queue_get(store, change->queue, strlen(change->queue), &plan->queue);

	if (!error)
		error = choose(store, stored.due, store->promised + pawl__task_bytes(change->size),
		               &plan->slot);
	if (error)
		return error;
	if (plan->slot) {
		error = pawl__slot_promise(store, plan->slot, change->size);
		plan->promised = !error;
	} else {
		plan->slot = pawl__slot_near(store);
		plan->task = plan->slot ? pawl__task_new(&stored, plan->queue) : NULL;
		error = plan->task ? 0 : -ENOMEM;
		store->promised += pawl__task_bytes(change->size);
	}
	if (!error)
		error = pawl__birth_promise(plan->slot, &change->id);
	if (error)
		plan->slot = plan->promised ? plan->slot : NULL;
	return error;
}

static int promise_move(struct pawl_store *store, const struct pawl_store_change *change,
                        struct plan *plan)
{
	int error = choose(store, capped(change->at_ns), 0, &plan->slot);

	if (!error && plan->slot) {
		error = pawl__slot_promise(store, plan->slot, plan->task->size);
		plan->promised = !error;
	}
	return error;
}

/* A task that only a list of its slot knows has no state but its bit. */
static int promise_cancel(struct pawl_store *store, const struct pawl_store_change *change,
                          struct plan *plan)
{
	plan->task = pawl__task_find(store, change->id);
	if (!plan->task)
		return pawl__lives(store, change->id) ? 0 : -ENOENT;
	if (plan->task->state == LEASED)
		return -EBUSY;
	return plan->task->state == DEAD || plan->task->named ? -ENOENT : 0;
}

static int promise_dead(struct pawl_store *store, const struct pawl_store_change *change,
                        struct plan *plan)
{
	plan->task = pawl__task_find(store, change->id);
	if (!plan->task || plan->task->state != DEAD || plan->task->named)
		return -ENOENT;
	return change->verb == PAWL_STORE_REQUEUE ? promise_move(store, change, plan) : 0;
}

static int promise_leased(struct pawl_store *store, const struct pawl_store_change *change,
                          struct plan *plan)
{
	plan->task = pawl__task_find(store, change->task->id);
	if (!plan->task || plan->task->fence != change->task->fence || plan->task->named)
		return -ETIMEDOUT;
	if (change->verb == PAWL_STORE_RETRY)
		return promise_move(store, change, plan);
	if (change->verb == PAWL_STORE_BURY)
		plan->reason = copy_text(change->reason, strlen(change->reason));
	return change->verb == PAWL_STORE_BURY && !plan->reason ? -ENOMEM : 0;
}

static int promise(struct pawl_store *store, struct pawl_store_change *change, struct plan *plan)
{
	int error;

	if (change->verb == PAWL_STORE_PUT)
		return promise_put(store, change, plan);
	if (change->verb == PAWL_STORE_CANCEL)
		error = promise_cancel(store, change, plan);
	else if (change->verb == PAWL_STORE_REQUEUE || change->verb == PAWL_STORE_DROP)
		error = promise_dead(store, change, plan);
	else
		error = promise_leased(store, change, plan);
	if (plan->task && !error)
		plan->task->named = true;
	return error;
}

/* The commit fails: what this change was promised is free again. */
static void withdraw(const struct pawl_store_change *change, struct plan *plan)
{
	bool put = change->verb == PAWL_STORE_PUT;

	if (plan->promised)
		plan->slot->promised -= STORED_SIZE(put ? change->size : plan->task->size);
	if (put && plan->slot && plan->slot->unborn)
		plan->slot->unborn--;
	if (put && plan->task)
		pawl__task_free(plan->task);
	else if (plan->task)
		plan->task->named = false;
	free(plan->reason);
}

static void write_id(struct bytes *log, enum record record, uint64_t id)
{
	write_le(log, record, 1);
	write_le(log, id, 8);
}

void pawl__write_queue(struct bytes *log, const struct queue *queue)
{
	write_le(log, RECORD_QUEUE, 1);
	write_le(log, queue->number, 4);
	write_le(log, queue->size, 1);
	write_data(log, queue->name, queue->size);
}

void pawl__write_slot(struct bytes *log, struct slot *slot)
{
	if (slot->logged)
		return;
	slot->logged = true;
	write_le(log, RECORD_SLOT, 1);
	write_le(log, slot->serial, 4);
	write_le(log, slot->level, 1);
	write_le(log, slot->begin, 8);
	write_le(log, slot->end, 8);
}

static void make_put(struct pawl_store *store, struct bytes *log,
                     const struct pawl_store_change *change, const struct plan *plan)
{
	struct stored stored = {.id = change->id,
	                        .due = capped(change->at_ns),
	                        .payload = change->payload,
	                        .size = (uint32_t)change->size};

	if (plan->queue->number == NO_NUMBER) {
		pawl__queue_number(store, plan->queue);
		pawl__write_queue(log, plan->queue);
	}
	stored.queue = plan->queue->number;
	pawl__write_slot(log, plan->slot);
	write_id(log, RECORD_PUT, stored.id);
	write_le(log, stored.due, 8);
	write_le(log, stored.queue, 4);
	write_le(log, stored.size, 4);
	write_data(log, stored.payload, stored.size);
	if (plan->task)
		plan->task->id = stored.id;
	pawl__put(store, &stored, plan->task);
}

/* Record and make a move. slot NULL: it stays in memory. */
void pawl__move(struct pawl_store *store, struct bytes *log, struct task *task, uint64_t due,
                struct slot *slot, enum why why)
{
	if (slot)
		pawl__write_slot(log, slot);
	write_id(log, RECORD_MOVE, task->id);
	write_le(log, due, 8);
	write_le(log, slot ? slot->serial : NO_SLOT, 4);
	write_le(log, why, 1);
	pawl__task_move(store, task, due, slot, why);
}

static void make_end(struct pawl_store *store, struct bytes *log, uint64_t id, enum why why)
{
	write_id(log, RECORD_END, id);
	write_le(log, why, 1);
	pawl__end(store, id, why);
}

/* Dead tasks are kept up to a number, and up to a quarter of the memory. */
static bool too_many_dead(const struct pawl_store *store)
{
	return store->stats.dead > store->options.max_dead ||
	       store->dead_bytes > store->options.memory / 4;
}

/* The oldest dead tasks go; but not those that another change of this commit names. */
static void make_bury(struct pawl_store *store, struct bytes *log, const struct plan *plan)
{
	struct task *task = plan->task, *old, *next;
	size_t length = strlen(plan->reason);
	unsigned drops = 0;

	write_id(log, RECORD_BURY, task->id);
	write_le(log, length, 1);
	write_data(log, plan->reason, length);
	pawl__task_bury(store, task, plan->reason);
	for (old = store->dead.first; old != task && drops < MAX_DROPS && too_many_dead(store);
	     old = next) {
		next = old->in.link.next;
		if (old->named)
			continue;
		make_end(store, log, old->id, DROPPED);
		drops++;
	}
}

static void make(struct pawl_store *store, struct bytes *log,
                 const struct pawl_store_change *change, const struct plan *plan)
{
	if (plan->task)
		plan->task->named = false;
	switch (change->verb) {
	case PAWL_STORE_PUT:
		make_put(store, log, change, plan);
		break;
	case PAWL_STORE_CANCEL:
		make_end(store, log, change->id, CANCELLED);
		break;
	case PAWL_STORE_ACK:
		make_end(store, log, change->task->id, ACKED);
		break;
	case PAWL_STORE_DROP:
		make_end(store, log, change->id, DROPPED);
		break;
	case PAWL_STORE_RETRY:
		store->stats.retried++;
		pawl__move(store, log, plan->task, capped(change->at_ns), plan->slot, RETRIED);
		break;
	case PAWL_STORE_REQUEUE:
		pawl__move(store, log, plan->task, capped(change->at_ns), plan->slot, REQUEUED);
		break;
	case PAWL_STORE_BURY:
		make_bury(store, log, plan);
	}
}

static int promise_all(struct pawl_store *store, struct pawl_store_change *changes,
                       struct plan *plans, size_t n)
{
	size_t done = 0;
	int error = 0;

	store->promised = 0;
	while (done < n && !error) {
		error = promise(store, &changes[done], &plans[done]);
		changes[done++].error = error;
	}
	for (size_t i = 0; error && i < done; i++)
		withdraw(&changes[i], &plans[i]);
	return error;
}

/* Under the mutex. */
static int commit(struct pawl_store *store, struct pawl_store_change *changes, struct plan *plans,
                  size_t n, size_t size, enum use use)
{
	int error = pawl__log_room(store, size, use), waited;
	struct bytes *log;

	if (!error)
		error = promise_all(store, changes, plans, n);
	if (error) {
		waited = pawl__log_commit(store, store->log.sequence);
		return waited ? waited : error;
	}
	log = pawl__log_begin(store);
	for (size_t i = 0; i < n; i++)
		make(store, log, &changes[i], &plans[i]);
	error = pawl__log_commit(store, pawl__log_end(store));
	pawl__store_tell_fd(store);
	return error;
}

/* The worker's copy of a task is freed, and cleared. */
void pawl__copy_free(struct pawl_store_task *task)
{
	free((void *)(uintptr_t)task->payload);
	memset(task, 0, sizeof(*task));
}

static bool ends_lease(const struct pawl_store_change *change)
{
	return change->verb == PAWL_STORE_ACK || change->verb == PAWL_STORE_RETRY ||
	       change->verb == PAWL_STORE_BURY;
}

int pawl_store_commit(struct pawl_store *store, struct pawl_store_change *changes, size_t n)
{
	IN_STORE(store);
	struct plan few[FEW] = {{NULL, NULL, NULL, NULL, false}}, *plans = few;
	size_t size = 0;
	enum use use = FOR_CHANGE;
	int error = 0;

	for (size_t i = 0; i < n; i++) {
		changes[i].error = check_arguments(store, &changes[i]);
		if (changes[i].error == -EINVAL)
			return -EINVAL;
		error = error ? error : changes[i].error;
		size += error ? 0 : most_bytes(&changes[i]);
		use = changes[i].verb == PAWL_STORE_PUT ? FOR_PUT : use;
	}
	if (n == 0)
		return 0;
	if (!error && n > FEW)
		plans = calloc(n, sizeof(*plans));
	if (!plans)
		error = -ENOMEM;
	if (!error) {
		mutex_lock(&store->mutex);
		error = commit(store, changes, plans, n, size, use);
		mutex_unlock(&store->mutex);
	}
	if (plans != few)
		free(plans);
	for (size_t i = 0; i < n; i++)
		if (ends_lease(&changes[i]))
			pawl__copy_free(changes[i].task);
	return error;
}

static uint64_t after(struct pawl_store *store, uint64_t delay_ns)
{
	return deadline_after(pawl__store_wall(store), delay_ns);
}

int pawl_store_put_at(struct pawl_store *store, const char *queue, uint64_t at_ns,
                      const void *payload, size_t size, uint64_t *id)
{
	IN_STORE(store);
	struct pawl_store_change change = {.verb = PAWL_STORE_PUT,
	                                   .queue = queue,
	                                   .at_ns = at_ns,
	                                   .payload = payload,
	                                   .size = size};
	int error = pawl_store_commit(store, &change, 1);

	if (!error && id)
		*id = change.id;
	return error;
}

int pawl_store_put(struct pawl_store *store, const char *queue, uint64_t delay_ns,
                   const void *payload, size_t size, uint64_t *id)
{
	IN_STORE(store);
	return pawl_store_put_at(store, queue, after(store, delay_ns), payload, size, id);
}

int pawl_store_cancel(struct pawl_store *store, uint64_t id)
{
	IN_STORE(store);
	return pawl_store_commit(
	        store, &(struct pawl_store_change){.verb = PAWL_STORE_CANCEL, .id = id}, 1);
}

int pawl_store_ack(struct pawl_store *store, struct pawl_store_task *task)
{
	IN_STORE(store);
	return pawl_store_commit(
	        store, &(struct pawl_store_change){.verb = PAWL_STORE_ACK, .task = task}, 1);
}

int pawl_store_retry(struct pawl_store *store, struct pawl_store_task *task, uint64_t delay_ns)
{
	IN_STORE(store);
	struct pawl_store_change change = {
	        .verb = PAWL_STORE_RETRY, .task = task, .at_ns = after(store, delay_ns)};

	return pawl_store_commit(store, &change, 1);
}

int pawl_store_bury(struct pawl_store *store, struct pawl_store_task *task, const char *reason)
{
	IN_STORE(store);
	struct pawl_store_change change = {.verb = PAWL_STORE_BURY, .task = task, .reason = reason};

	return pawl_store_commit(store, &change, 1);
}

int pawl_store_requeue(struct pawl_store *store, uint64_t id, uint64_t delay_ns)
{
	IN_STORE(store);
	struct pawl_store_change change = {
	        .verb = PAWL_STORE_REQUEUE, .id = id, .at_ns = after(store, delay_ns)};

	return pawl_store_commit(store, &change, 1);
}

int pawl_store_drop(struct pawl_store *store, uint64_t id)
{
	IN_STORE(store);
	return pawl_store_commit(store,
	                         &(struct pawl_store_change){.verb = PAWL_STORE_DROP, .id = id}, 1);
}
