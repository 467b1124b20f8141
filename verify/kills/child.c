/* SPDX-License-Identifier: MIT */
/* The process that is killed. */
#define _GNU_SOURCE
#include "kills.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REMEMBERED = 256, PENDING_MOST = 12000 };

/* Tasks of this child that any of its threads may cancel, or that are dead. */
struct memory {
	struct message tasks[REMEMBERED];
	size_t count;
};

static struct {
	struct pawl_store *store;
	struct pawl_clock_manual clock;
	struct shared *shared;
	const struct model *model;
	int pipe;
	pthread_mutex_t mutex; /* of the memories */
	struct memory put, dead;
	unsigned buried;
	uint64_t next_number;
	bool slow; /* time passes slowly, and the near tasks are too many for the memory */
	bool syncs_take_time;
} child = {.mutex = PTHREAD_MUTEX_INITIALIZER};

struct worker {
	struct random random;
	uint8_t thread;
	pthread_t pthread;
};

static const char *const queues[QUEUES] = {"mail", "sessions", "a queue with a longer name"};

const char *queue_of(uint64_t number)
{
	return queues[number % QUEUES];
}

size_t payload_size(uint64_t number)
{
	struct random random = {number};
	uint64_t kind = random_below(&random, 1024);

	if (kind == 0)
		return MOST_PAYLOAD;
	return 8 + (size_t)random_below(&random, kind < 16 ? 3000 : 120);
}

void payload_fill(uint64_t number, unsigned char *payload)
{
	size_t size = payload_size(number);

	memcpy(payload, &number, sizeof(number));
	for (size_t i = sizeof(number); i < size; i++)
		payload[i] = (unsigned char)(number * 31 + i * (i >> 8 | 1));
}

uint64_t payload_number(const struct pawl_store_task *task)
{
	unsigned char expected[MOST_PAYLOAD];
	uint64_t number;

	if (task->size < sizeof(number))
		return NO_TASK;
	memcpy(&number, task->payload, sizeof(number));
	if (task->size != payload_size(number))
		return NO_TASK;
	payload_fill(number, expected);
	return memcmp(expected, task->payload, task->size) == 0 ? number : NO_TASK;
}

/* kill -9 needs no sync. A pause in its place: threads meet a checkpoint, or each other, as they do on a disk. */
static int pretend_to_sync(int fd)
{
	static uint64_t calls; /* atomic */
	struct random random = {__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED)};
	struct timespec pause = {.tv_nsec = (long)random_below(&random, 200000)};

	(void)fd;
	if (child.syncs_take_time)
		nanosleep(&pause, NULL);
	return 0;
}

int fdatasync(int fd)
{
	return pretend_to_sync(fd);
}

int fsync(int fd)
{
	return pretend_to_sync(fd);
}

static void tell(const struct message *messages, size_t count)
{
	size_t size = count * sizeof(*messages);

	if (write(child.pipe, messages, size) != (ssize_t)size)
		_exit(1); /* the parent is gone */
}

static void tell_wrong(struct worker *worker, int what, uint64_t number)
{
	tell(
	        &(struct message){
	                .kind = WRONG, .thread = worker->thread, .value = what, .number = number},
	        1);
}

static void remember(struct worker *worker, struct memory *memory, const struct message *message)
{
	pthread_mutex_lock(&child.mutex);
	memory->tasks[memory->count < REMEMBERED ? memory->count++
	                                         : random_below(&worker->random, REMEMBERED)] =
	        *message;
	pthread_mutex_unlock(&child.mutex);
}

/* One at random, which is forgotten. */
static bool recall(struct worker *worker, struct memory *memory, struct message *message)
{
	size_t at;
	bool found = false;

	pthread_mutex_lock(&child.mutex);
	if (memory->count) {
		at = random_below(&worker->random, memory->count);
		*message = memory->tasks[at];
		memory->tasks[at] = memory->tasks[--memory->count];
		found = true;
	}
	pthread_mutex_unlock(&child.mutex);
	return found;
}

/* Say it, do it, say what came of it. */
static int commit(struct worker *worker, struct pawl_store_change *changes,
                  struct message *messages, size_t count)
{
	int error;

	for (size_t i = 0; i < count; i++) {
		messages[i].kind = BEGIN;
		messages[i].verb = (uint8_t)changes[i].verb;
		messages[i].thread = worker->thread;
	}
	tell(messages, count);
	error = pawl_store_commit(child.store, changes, count);
	for (size_t i = 0; i < count; i++) {
		messages[i].kind = RESULT;
		messages[i].value = error;
		messages[i].id = changes[i].verb == PAWL_STORE_PUT ? changes[i].id : messages[i].id;
	}
	tell(messages, count);
	return error;
}

/* From a little late to three weeks ahead; while time is slow, only seconds. */
static uint64_t some_time(struct worker *worker)
{
	enum { KINDS = 8 };
	static const uint64_t BURST = 5 * PAWL_HOUR;
	static const uint64_t spans[KINDS] = {
	        PAWL_SECOND / 2,  2 * PAWL_SECOND, 10 * PAWL_SECOND,   PAWL_MINUTE,
	        10 * PAWL_MINUTE, 5 * PAWL_HOUR,   24 * PAWL_HOUR * 2, 24 * PAWL_HOUR * 21};
	uint64_t span = spans[random_below(&worker->random, child.slow ? 3 : KINDS)];
	uint64_t now = pawl_store_now(child.store);

	if (random_below(&worker->random, 4) == 0) /* more at the same time than the memory holds */
		return (now / BURST + 1) * BURST;
	return now - PAWL_SECOND / 8 + random_below(&worker->random, span);
}

static void plan_put(struct worker *worker, struct pawl_store_change *change,
                     struct message *message, unsigned char *payload)
{
	uint64_t number = __atomic_fetch_add(&child.next_number, 1, __ATOMIC_RELAXED);

	payload_fill(number, payload);
	*change = (struct pawl_store_change){.verb = PAWL_STORE_PUT,
	                                     .queue = queue_of(number),
	                                     .payload = payload,
	                                     .size = payload_size(number),
	                                     .at_ns = some_time(worker)};
	*message = (struct message){.number = number, .due = change->at_ns};
}

static void put(struct worker *worker)
{
	static __thread unsigned char payloads[MOST][MOST_PAYLOAD];
	struct pawl_store_change changes[MOST];
	struct message messages[MOST];
	size_t count =
	        random_below(&worker->random, 3) ? 1 : 1 + random_below(&worker->random, MOST);
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		plan_put(worker, &changes[i], &messages[i], payloads[i]);
		bytes += changes[i].size;
		if (bytes > MOST_PAYLOAD / 2)
			count = i + 1; /* or an eighth of the log will not do */
	}
	if (count < MOST && random_below(&worker->random, 16) == 0) {
		changes[count] = (struct pawl_store_change){.verb = PAWL_STORE_CANCEL, .id = 1};
		messages[count++] = (struct message){.number = NO_TASK}; /* so none is put */
	}
	if (commit(worker, changes, messages, count) == 0)
		remember(worker, &child.put, &messages[0]);
}

static void cancel(struct worker *worker)
{
	struct message message;
	const struct model *before = child.model;

	if (random_below(&worker->random, 2) && before->live_count) {
		const struct task *task =
		        before->live[random_below(&worker->random, before->live_count)];

		message = (struct message){.number = task->number, .id = task->id};
	} else if (!recall(worker, &child.put, &message)) {
		return;
	}
	commit(worker, &(struct pawl_store_change){.verb = PAWL_STORE_CANCEL, .id = message.id},
	       &message, 1);
}

/* Requeue or drop a dead task, of this child or of those before. */
static void revive(struct worker *worker)
{
	struct message message;
	const struct model *before = child.model;
	struct pawl_store_change change = {.verb = PAWL_STORE_DROP};

	if (random_below(&worker->random, 2) || !recall(worker, &child.dead, &message)) {
		const struct task *task =
		        before->live_count
		                ? before->live[random_below(&worker->random, before->live_count)]
		                : NULL;

		if (!task || !task->dead)
			return;
		message = (struct message){
		        .number = task->number, .id = task->id, .fence = task->buried_fence};
	}
	change.id = message.id;
	if (random_below(&worker->random, 2)) {
		change.verb = PAWL_STORE_REQUEUE;
		change.at_ns = message.due = some_time(worker);
	}
	commit(worker, &change, &message, 1);
}

static bool may_bury(const struct pawl_store_task *task)
{
	return task->size <= LARGEST_DEAD &&
	       __atomic_add_fetch(&child.buried, 1, __ATOMIC_RELAXED) <= MOST_BURIED;
}

/* What a worker does with a task: most are acknowledged. With some an ack and a put are one commit. */
static void end(struct worker *worker, struct pawl_store_task *task, uint64_t number)
{
	static __thread unsigned char payload[MOST_PAYLOAD];
	struct pawl_store_change changes[2] = {{.verb = PAWL_STORE_ACK, .task = task}};
	struct message messages[2] = {{.number = number, .id = task->id, .fence = task->fence}};
	size_t count = 1;

	switch (random_below(&worker->random, 16)) {
	case 0:
	case 1:
		changes[0].verb = PAWL_STORE_RETRY;
		changes[0].at_ns = messages[0].due = some_time(worker);
		break;
	case 2:
		if (may_bury(task)) {
			changes[0].verb = PAWL_STORE_BURY;
			changes[0].reason = "it does not work";
		}
		break;
	case 3:
		pawl_store_release(child.store, task);
		return;
	case 4: /* the lease ends by time: this worker never comes back */
		*task = (struct pawl_store_task){.payload = task->payload};
		pawl_store_release(child.store, task);
		return;
	case 5:
		pawl_store_extend(child.store, task, PAWL_MINUTE);
		break;
	case 6:
	case 7:
		plan_put(worker, &changes[1], &messages[1], payload);
		count = 2;
	}
	if (commit(worker, changes, messages, count) == 0 && changes[0].verb == PAWL_STORE_BURY)
		remember(worker, &child.dead, &messages[0]);
}

static void take(struct worker *worker)
{
	struct pawl_store_task tasks[MOST];
	struct message messages[MOST + 1] = {{.kind = TAKING, .thread = worker->thread}};
	const char *queue = queues[random_below(&worker->random, QUEUES)];
	uint64_t lease = 1 + random_below(&worker->random, 10 * PAWL_MINUTE);
	uint64_t wait = random_below(&worker->random, 4) ? 0 : PAWL_SECOND;
	int count;

	tell(messages, 1);
	count = pawl_store_take(child.store, queue, lease, wait, tasks,
	                        1 + random_below(&worker->random, MOST));
	for (int i = 0; i < count; i++) {
		messages[i] = (struct message){.kind = TAKEN,
		                               .thread = worker->thread,
		                               .value = (int32_t)tasks[i].tries,
		                               .number = payload_number(&tasks[i]),
		                               .id = tasks[i].id,
		                               .fence = tasks[i].fence,
		                               .due = tasks[i].due_ns};
		if (tasks[i].due_ns > pawl_store_now(child.store))
			tell_wrong(worker, EARLY, messages[i].number);
		if (messages[i].number == NO_TASK)
			tell_wrong(worker, BAD_PAYLOAD, tasks[i].id);
		else if (strcmp(queue, queue_of(messages[i].number)) != 0)
			tell_wrong(worker, BAD_QUEUE, messages[i].number);
	}
	if (count < 0)
		tell_wrong(worker, count, 0);
	count = count < 0 ? 0 : count;
	messages[count] = (struct message){.kind = TOOK, .thread = worker->thread};
	tell(messages, (size_t)count + 1);
	if (random_below(&worker->random, 16) == 0) /* a slow worker, whose leases may end */
		nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
	for (int i = 0; i < count; i++)
		end(worker, &tasks[i], messages[i].number);
}

static bool crowded(void)
{
	struct pawl_store_stats stats;

	pawl_store_get_stats(child.store, &stats, sizeof(stats));
	return stats.pending > PENDING_MOST;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	while (!__atomic_load_n(&child.shared->stop, __ATOMIC_RELAXED)) {
		uint64_t what = random_below(&worker->random, 16);

		if (what < 7 && !crowded())
			put(worker);
		else if (what < (child.slow && !crowded() ? 8 : 14))
			take(worker);
		else if (what == 14)
			cancel(worker);
		else
			revive(worker);
	}
	return NULL;
}

static void set_clock(uint64_t wall)
{
	pawl_clock_manual_init(&child.clock);
	pawl_clock_manual_set_wall(&child.clock,
	                           (struct timespec){.tv_sec = (time_t)(wall / PAWL_SECOND),
	                                             .tv_nsec = (long)(wall % PAWL_SECOND)});
}

/* A step of time: mostly milliseconds, at times days, more of them if there is too much to do. */
static uint64_t step(struct random *random)
{
	uint64_t kind = random_below(random, crowded() ? 200 : 1000);

	if (child.slow && kind > 1)
		return random_below(random, PAWL_MS / 2);
	if (kind == 0)
		return random_below(random, 24 * PAWL_HOUR * 4);
	if (kind < 5)
		return random_below(random, PAWL_HOUR);
	return random_below(random, kind < 50 ? 10 * PAWL_SECOND : 20 * PAWL_MS);
}

/* Where the parent finds the time and the figures of a child that it has killed. */
static void publish(void)
{
	struct pawl_store_stats stats;

	pawl_store_get_stats(child.store, &stats, sizeof(stats));
	child.shared->stats = stats;
}

static void move_time(struct random *random)
{
	const struct timespec pause = {.tv_nsec = 200000};

	nanosleep(&pause, NULL);
	pawl_clock_manual_advance(&child.clock, step(random));
	__atomic_store_n(&child.shared->wall, pawl_store_now(child.store), __ATOMIC_RELAXED);
	publish();
}

void child_run(const char *directory, const struct pawl_store_options *options,
               const struct model *before, struct shared *shared, int pipe, uint64_t seed)
{
	struct pawl_store_options own = *options;
	struct worker workers[THREADS];
	struct random random = {seed};
	int error;

	child.shared = shared;
	child.model = before;
	child.pipe = pipe;
	child.next_number = before->next_number;
	child.slow = random_below(&random, 4) == 0;
	child.syncs_take_time = true;
	set_clock(before->wall);
	own.clock = &child.clock.clock;
	own.manual = false;
	error = pawl_store_open(&child.store, directory, &own);
	tell(&(struct message){.kind = error ? WRONG : OPENED, .value = error}, 1);
	if (error)
		_exit(1);
	for (uint8_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.random = {random_next(&random)}, .thread = i};
		if (pthread_create(&workers[i].pthread, NULL, work, &workers[i]) != 0)
			_exit(1);
	}
	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED))
		move_time(&random);
	pawl_clock_manual_advance(&child.clock, 2 * PAWL_SECOND); /* for the takes that wait */
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].pthread, NULL);
	publish();
	pawl_store_close(child.store);
	_exit(0);
}
