/* SPDX-License-Identifier: MIT */
/*
 * What the parent knows of each task, and what a store may have after a kill.
 *
 * A change that was reported as done must be there. A change that had begun may be there or not; but the changes of one
 * commit are all there, or none. Threads report in another order than they commit, so what is known of a task has a
 * version, which comes from the fence of the lease: of two changes, the one with the higher fence came later.
 */
#define _GNU_SOURCE
#include "kills.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 2048, PENDING = 1, DEAD = 2 };

static struct task gone; /* for good */
#define GONE (&gone)

struct model model;

/* What a thread is doing. */
static struct doing {
	struct message changes[MOST];
	size_t count;
	bool stale; /* it ends a lease, and a later one is known */
	bool taking;
	uint64_t taking_since; /* the number of that message */
	uint64_t fence;        /* of its last take */
} doing[THREADS];

static struct message *heard; /* in this round */
static size_t heard_count, heard_room;
static uint64_t current_round, heard_before; /* messages of the rounds before */
static uint64_t highest_fence, fence_before; /* of all; of the rounds before */
static uint64_t *ids;                        /* a hash set of all ids */
static size_t id_room, id_count;
static uint32_t highest_serial;

static const char *const verbs[] = {"put", "cancel", "ack", "retry", "bury", "requeue", "drop"};
static const char *const kinds[] = {"opened", "begin", "result", "taking",
                                    "taken",  "took",  "wrong"};

static void print_message(const struct message *message)
{
	bool change = message->kind == BEGIN || message->kind == RESULT;

	printf("    thread %u: %s %s, id %" PRIx64 ", fence %" PRIu64 ", due %" PRIu64
	       ", value %d\n",
	       message->thread, kinds[message->kind], change ? verbs[message->verb] : "",
	       message->id, message->fence, message->due, (int)message->value);
}

void wrong(const struct task *task, const char *format, ...)
{
	va_list arguments;

	printf("store-kills: round %" PRIu64 ": ", current_round);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	puts("");
	if (task) {
		printf("  task %" PRIu64 ", id %" PRIx64 ", due %" PRIu64 ", tries %u + %u%s%s%s\n",
		       task->number, task->id, task->due, task->base, task->count,
		       task->known ? "" : ", perhaps not put", task->dead ? ", dead" : "",
		       task->ended_at ? ", gone" : "");
		puts("  what was said of it in this round:");
		for (size_t i = 0; i < heard_count; i++)
			if (heard[i].number == task->number && heard[i].kind != TAKING &&
			    heard[i].kind != TOOK)
				print_message(&heard[i]);
	}
	fflush(stdout);
	exit(1);
}

static void *must(void *memory)
{
	if (!memory)
		wrong(NULL, "no memory for the model");
	return memory;
}

uint32_t model_slots(void)
{
	return highest_serial;
}

/* Ids are never used again. */
static void insert_id(uint64_t id)
{
	size_t at = (size_t)(id * RANDOM_STEP >> 20) & (id_room - 1);

	while (ids[at]) {
		if (ids[at] == id)
			wrong(NULL, "the id %" PRIx64 " names two tasks", id);
		at = (at + 1) & (id_room - 1);
	}
	ids[at] = id;
	id_count++;
}

static void note_id(uint64_t id)
{
	uint64_t *old = ids;
	size_t old_room = id_room;

	if (id == 0)
		wrong(NULL, "a task has the id 0");
	if (2 * id_count >= id_room) {
		id_room = id_room ? 2 * id_room : 1 << 16;
		ids = must(calloc(id_room, sizeof(*ids)));
		id_count = 0;
		for (size_t i = 0; i < old_room; i++)
			if (old[i])
				insert_id(old[i]);
		free(old);
	}
	insert_id(id);
	highest_serial = id >> 32 > highest_serial ? (uint32_t)(id >> 32) : highest_serial;
}

/* NULL: it is gone for good, and was so when the round began. */
static struct task *find(uint64_t number)
{
	struct task *task = number < model.room ? model.tasks[number] : NULL;

	if (!task)
		wrong(NULL, "task %" PRIu64 " was never put", number);
	return task == GONE ? NULL : task;
}

static struct task *add(const struct message *message)
{
	uint64_t number = message->number;
	struct task *task = must(calloc(1, sizeof(*task)));

	if (number >= model.room) {
		size_t room = 2 * (size_t)number + 1024;

		model.tasks = must(realloc(model.tasks, room * sizeof(struct task *)));
		memset(model.tasks + model.room, 0, (room - model.room) * sizeof(struct task *));
		model.room = room;
	}
	if (model.live_count == model.live_room) {
		model.live_room = model.live_room ? 2 * model.live_room : 1024;
		model.live = must(realloc(model.live, model.live_room * sizeof(struct task *)));
	}
	task->number = number;
	task->due = message->due;
	task->place = (uint32_t)model.live_count;
	model.live[model.live_count++] = task;
	model.tasks[number] = task;
	model.next_number = number >= model.next_number ? number + 1 : model.next_number;
	return task;
}

static void forget(struct task *task)
{
	struct task *last = model.live[--model.live_count];

	model.live[task->place] = last;
	last->place = task->place;
	model.tasks[task->number] = GONE;
	free(task);
}

/* The put of this task has happened, and so have those of the same commit. */
static void know(struct task *task, uint64_t id)
{
	if (task->known) {
		if (task->id != id)
			wrong(task, "a task has another id than before, %" PRIx64, id);
		return;
	}
	note_id(id);
	task->id = id;
	task->known = true;
	model.puts++;
}

static void end_task(struct task *task)
{
	if (!task->ended_at)
		model.ends++;
	task->ended_at = heard_before + heard_count;
}

static void set(struct task *task, uint64_t version, uint64_t due, bool dead)
{
	if (version <= task->version)
		return;
	task->version = version;
	task->due = due ? due : task->due;
	task->dead = dead;
}

/* Tries begin anew with a requeue; a task that is dead is not delivered. */
static void requeued(struct task *task, uint64_t fence)
{
	task->base = 0;
	task->count = task->count_since_burial;
	task->vague |= fence != task->buried_fence;
}

static void hear_done(struct task *task, const struct message *message)
{
	switch (message->verb) {
	case PAWL_STORE_PUT:
		know(task, message->id);
		break;
	case PAWL_STORE_RETRY:
		set(task, 4 * message->fence + 1, message->due, false);
		break;
	case PAWL_STORE_BURY:
		set(task, 4 * message->fence + 1, 0, true);
		break;
	case PAWL_STORE_REQUEUE:
		set(task, 4 * message->fence + 2, message->due, false);
		requeued(task, message->fence);
		break;
	default:
		end_task(task);
	}
}

static bool may_fail(const struct message *message)
{
	switch (message->verb) {
	case PAWL_STORE_PUT: /* with another change in the same commit */
		return message->value == -ETIMEDOUT || message->value == -ENOENT;
	case PAWL_STORE_ACK:
	case PAWL_STORE_RETRY:
	case PAWL_STORE_BURY:
		return message->value == -ETIMEDOUT;
	case PAWL_STORE_CANCEL:
		return message->value == -EBUSY || message->value == -ENOENT;
	default:
		return message->value == -ENOENT;
	}
}

static bool ends_lease(const struct message *message)
{
	return message->verb == PAWL_STORE_ACK || message->verb == PAWL_STORE_RETRY ||
	       message->verb == PAWL_STORE_BURY;
}

static void hear_begin(const struct message *message)
{
	struct doing *thread = &doing[message->thread];
	struct task *task;

	if (message->number == NO_TASK)
		return;
	thread->stale &= thread->count > 0;
	thread->changes[thread->count++] = *message;
	if (message->verb == PAWL_STORE_PUT) {
		add(message);
		return;
	}
	task = find(message->number);
	thread->stale |= task && ends_lease(message) && task->last_fence > message->fence;
	if (task && message->verb == PAWL_STORE_BURY && message->fence > task->buried_fence) {
		task->buried_fence = message->fence;
		task->count_since_burial = 0;
	}
}

static void hear_result(const struct message *message)
{
	struct task *task;

	doing[message->thread].count = 0;
	if (message->number == NO_TASK) {
		if (message->value != -ENOENT)
			wrong(NULL, "a cancel of no task returned %d", (int)message->value);
		return;
	}
	task = find(message->number);
	if (message->value != 0 && !may_fail(message))
		wrong(task, "%s failed: %s", verbs[message->verb], strerror(-message->value));
	if (message->value == 0 && doing[message->thread].stale)
		wrong(task, "%s with a stale lease returned 0", verbs[message->verb]);
	if (message->value == 0 && !task)
		wrong(NULL, "%s of task %" PRIu64 ", which was gone before, returned 0",
		      verbs[message->verb], message->number);
	if (message->value == 0)
		hear_done(task, message);
	else if (message->verb == PAWL_STORE_PUT)
		end_task(task);
}

/* Whether a change that is under way makes the task due then. */
static bool may_be_due(const struct task *task, uint64_t due)
{
	for (size_t i = 0; i < THREADS; i++)
		for (size_t j = 0; j < doing[i].count; j++) {
			const struct message *change = &doing[i].changes[j];

			if (change->number == task->number && change->due == due &&
			    (change->verb == PAWL_STORE_RETRY ||
			     change->verb == PAWL_STORE_REQUEUE))
				return true;
		}
	return false;
}

/* A put that is under way was seen: the rest of its commit has happened, too. */
static void know_commit_of(const struct task *task)
{
	for (size_t i = 0; i < THREADS; i++)
		for (size_t j = 0; j < doing[i].count; j++)
			if (doing[i].changes[j].number == task->number)
				for (size_t k = 0; k < doing[i].count; k++)
					if (doing[i].changes[k].verb == PAWL_STORE_ACK)
						end_task(find(doing[i].changes[k].number));
}

static void check_delivery(struct task *task, const struct message *message)
{
	const struct doing *thread = &doing[message->thread];

	if (task->ended_at && thread->taking_since > task->ended_at)
		wrong(task, "a task that is gone for good was taken");
	if (message->fence <= fence_before || message->fence < thread->fence)
		wrong(task, "the fence %" PRIu64 " is below an earlier one", message->fence);
	if (4 * message->fence > task->version && message->due != task->due &&
	    !may_be_due(task, message->due))
		wrong(task, "it was taken as due at %" PRIu64, message->due);
	if (message->fence == task->last_fence)
		wrong(task, "two deliveries have the same fence");
	if (message->fence > task->last_fence && task->last_fence > task->buried_fence &&
	    (uint32_t)message->value <= task->last_tries)
		wrong(task, "the tries did not grow: %d", (int)message->value);
}

static void hear_taken(const struct message *message)
{
	struct task *task = find(message->number);

	if (!task)
		wrong(NULL, "task %" PRIu64 ", which was gone before this round, was taken",
		      message->number);
	check_delivery(task, message);
	if (!task->known)
		know_commit_of(task);
	know(task, message->id);
	model.deliveries++;
	task->count++;
	task->count_since_burial += message->fence > task->buried_fence;
	doing[message->thread].fence = message->fence;
	highest_fence = message->fence > highest_fence ? message->fence : highest_fence;
	if (message->fence > task->last_fence) {
		task->last_fence = message->fence;
		task->last_tries = (uint32_t)message->value;
	}
}

void model_hear(const struct message *message)
{
	static const char *const found[] = {"", "was given out early", "has other bytes",
	                                    "is in a wrong queue"};

	if (heard_count == heard_room) {
		heard_room = heard_room ? 2 * heard_room : 4096;
		heard = must(realloc(heard, heard_room * sizeof(*heard)));
	}
	heard[heard_count++] = *message;
	switch (message->kind) {
	case BEGIN:
		hear_begin(message);
		break;
	case RESULT:
		hear_result(message);
		break;
	case TAKING:
		doing[message->thread].taking = true;
		doing[message->thread].taking_since = heard_before + heard_count;
		break;
	case TAKEN:
		hear_taken(message);
		break;
	case TOOK:
		doing[message->thread].taking = false;
		break;
	case WRONG:
		if (message->value > 0)
			wrong(NULL, "task %" PRIu64 " %s", message->number, found[message->value]);
		wrong(NULL, "the child failed: %s", strerror(-message->value));
	}
}

void model_begin_round(uint64_t round)
{
	current_round = round;
	heard_before += heard_count;
	heard_count = 0;
	fence_before = highest_fence;
	memset(doing, 0, sizeof(doing));
}

/* What the changes under way may have done. */
static void allow(void)
{
	for (size_t i = 0; i < THREADS; i++)
		for (size_t j = 0; j < doing[i].count; j++) {
			const struct message *change = &doing[i].changes[j];
			struct task *task = find(change->number);

			if (!task)
				continue;
			task->may_be_gone |= change->verb == PAWL_STORE_ACK ||
			                     change->verb == PAWL_STORE_CANCEL ||
			                     change->verb == PAWL_STORE_DROP;
			task->may_be_dead |= change->verb == PAWL_STORE_BURY;
			task->may_be_back |= change->verb == PAWL_STORE_REQUEUE;
		}
}

static uint32_t takes_under_way(void)
{
	uint32_t count = 0;

	for (size_t i = 0; i < THREADS; i++)
		count += doing[i].taking;
	return count;
}

static void compare_tries(struct task *task, const struct pawl_store_task *found)
{
	uint32_t least = task->base + task->count;

	if (!task->vague && (found->tries < least || found->tries > least + takes_under_way()))
		wrong(task, "it was tried %u times, of which %u are known", found->tries, least);
	task->base = found->tries;
	task->count = 0;
	task->vague = false;
}

static void compare(const struct pawl_store_task *found, uint8_t state)
{
	uint64_t number = payload_number(found);
	struct task *task;

	if (number == NO_TASK)
		wrong(NULL, "task with the id %" PRIx64 ": other bytes", found->id);
	task = find(number);
	if (!task)
		wrong(NULL, "task %" PRIu64 " is back", number);
	if (task->ended_at)
		wrong(task, "it is back, or still there");
	if (task->seen)
		wrong(task, "it is there twice");
	if (strcmp(found->queue, queue_of(number)) != 0)
		wrong(task, "it is in the queue %s", found->queue);
	know(task, found->id);
	if (state == PENDING && task->dead && !task->may_be_back)
		wrong(task, "it was dead, and is pending");
	if (state == DEAD && !task->dead && !task->may_be_dead)
		wrong(task, "it was pending, and is dead");
	if (state == PENDING && found->due_ns != task->due && !may_be_due(task, found->due_ns))
		wrong(task, "it is due at %" PRIu64, found->due_ns);
	if (state == PENDING && task->dead)
		requeued(task, task->buried_fence);
	compare_tries(task, found);
	task->seen = state;
	task->dead = state == DEAD;
	task->due = found->due_ns;
	model.dead += state == DEAD;
}

static size_t compare_all(struct pawl_store *store, enum pawl_store_state state)
{
	static struct pawl_store_task page[PAGE];
	uint64_t from = 0, after = 0;
	size_t total = 0;
	int count;

	while ((count = pawl_store_list(store, state, NULL, from, after, page, PAGE)) > 0) {
		from = page[count - 1].due_ns;
		after = page[count - 1].id;
		total += (size_t)count;
		for (int i = 0; i < count; i++) {
			compare(&page[i], state == PAWL_STORE_DEAD ? DEAD : PENDING);
			pawl_store_release(store, &page[i]);
		}
	}
	if (count < 0)
		wrong(NULL, "pawl_store_list: %s", strerror(-count));
	return total;
}

/* The changes of a commit that was under way: all, or none. */
static void compare_commit(const struct doing *thread)
{
	size_t there = 0, puts = 0;

	for (size_t i = 0; i < thread->count; i++) {
		const struct task *task = find(thread->changes[i].number);

		if (thread->changes[i].verb != PAWL_STORE_PUT || !task || task->ended_at ||
		    (!task->seen && task->may_be_gone)) /* another thread took it and ended it */
			continue;
		puts++;
		there += task->seen != 0;
	}
	if (there != 0 && there != puts)
		wrong(NULL, "of a commit with %zu puts, %zu are there", puts, there);
	for (size_t i = 0; there && i < thread->count; i++) {
		const struct task *task = find(thread->changes[i].number);

		if (thread->changes[i].verb == PAWL_STORE_ACK && task && task->seen)
			wrong(task, "its ack was lost, but a put of the same commit was not");
	}
}

/* What was not seen must be gone for good. The next round begins with what is there. */
static void settle(void)
{
	for (size_t i = model.live_count; i-- > 0;) {
		struct task *task = model.live[i];

		if (!task->seen && task->known && !task->ended_at && !task->may_be_gone)
			wrong(task, "it is lost");
		if (!task->seen) {
			forget(task);
			continue;
		}
		task->seen = 0;
		task->version = 4 * task->buried_fence + 1;
		task->may_be_gone = task->may_be_dead = task->may_be_back = false;
	}
}

void model_compare(struct pawl_store *store)
{
	struct pawl_store_stats stats;
	size_t pending;

	allow();
	model.dead = 0;
	pending = compare_all(store, PAWL_STORE_PENDING);
	compare_all(store, PAWL_STORE_DEAD);
	for (size_t i = 0; i < THREADS; i++)
		compare_commit(&doing[i]);
	settle();
	pawl_store_get_stats(store, &stats, sizeof(stats));
	if (stats.pending != pending || stats.dead != model.dead || stats.damaged)
		wrong(NULL,
		      "%zu pending and %zu dead tasks are there, the statistics say %" PRIu64
		      " and %" PRIu64 ", and %" PRIu64 " damages",
		      pending, model.dead, stats.pending, stats.dead, stats.damaged);
	memset(doing, 0, sizeof(doing));
}

/* Dead tasks are kept up to a number of bytes, then the oldest go. It must not come to that: the model has them all. */
void model_thin_dead(struct pawl_store *store, struct random *random)
{
	for (size_t i = model.live_count; i-- > 0 && model.dead > MOST_DEAD;) {
		struct task *task = model.live[i];
		bool drop = random_below(random, 2);
		uint64_t delay = random_below(random, PAWL_HOUR);
		int error = 0;

		if (!task->dead)
			continue;
		if (drop) {
			error = pawl_store_drop(store, task->id);
		} else {
			task->due = pawl_store_now(store) + delay;
			task->dead = false;
			task->base = task->count = 0;
			error = pawl_store_requeue(store, task->id, delay);
		}
		if (error)
			wrong(task, "%s: %s", drop ? "drop" : "requeue", strerror(-error));
		model.dead--;
		if (drop)
			forget(task);
	}
}

static void drain_task(struct pawl_store *store, struct pawl_store_task *taken)
{
	struct task *task = find(payload_number(taken));
	uint64_t fence = taken->fence;
	int error;

	if (!task || task->dead || taken->id != task->id || taken->due_ns != task->due)
		wrong(task, "drain: it was taken, and is gone, dead or other");
	if (taken->tries != task->base + 1 || fence <= fence_before)
		wrong(task, "drain: its tries or its fence are wrong: %u", taken->tries);
	error = pawl_store_ack(store, taken);
	if (error)
		wrong(task, "ack: %s", strerror(-error));
	highest_fence = fence > highest_fence ? fence : highest_fence;
	model.ends++;
	forget(task);
}

static size_t drain_some(struct pawl_store *store)
{
	struct pawl_store_task tasks[MOST];
	size_t total = 0;
	int count;

	for (uint64_t queue = 0; queue < QUEUES; queue++)
		while ((count = pawl_store_take(store, queue_of(queue), PAWL_HOUR, 0, tasks,
		                                MOST)) > 0)
			for (int i = 0; i < count; i++, total++)
				drain_task(store, &tasks[i]);
	return total;
}

/* All are taken and acknowledged, or dropped; then nothing is left, neither in the store nor in the model. */
void model_drain(struct pawl_store *store, struct pawl_clock_manual *clock)
{
	struct pawl_store_stats stats;
	unsigned idle = 0;

	model_begin_round(current_round + 1);
	pawl_clock_manual_advance(clock, 24 * PAWL_HOUR * 60);
	while (idle < 3) {
		pawl_store_poll(store);
		idle = drain_some(store) ? 0 : idle + 1;
	}
	for (size_t i = model.live_count; i-- > 0;) {
		struct task *task = model.live[i];
		int error = task->dead ? pawl_store_drop(store, task->id) : 0;

		if (!task->dead || error)
			wrong(task, "drain: it was not taken, or not dropped");
		forget(task);
	}
	model.dead = 0;
	model.wall = pawl_store_now(store);
	pawl_store_get_stats(store, &stats, sizeof(stats));
	if (stats.pending || stats.dead || stats.in_memory)
		wrong(NULL, "drain: %" PRIu64 " pending and %" PRIu64 " dead are left",
		      stats.pending, stats.dead);
}
