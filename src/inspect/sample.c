/* SPDX-License-Identifier: MIT */
/*
 * A random sample of the pending tasks.
 *
 * The wheel cannot tell how many tasks a slot has: a cancel does not know the slot. Nor can a walk see the middle of a
 * long list without the tasks before it. So the tasks themselves are sampled. `rate` is the probability with which each
 * pending task of the shard is in the sample. Four events keep it the same for all of them:
 *
 *	the sample is drawn   each task is taken with probability `rate`
 *	a task is armed       it is taken with probability `rate`
 *	a task leaves         it leaves the sample
 *	the sample is full    one of ROOM + 1 tasks, at random, is removed: the rate becomes rate * ROOM / (ROOM + 1)
 *
 * None of these events depends on the task. So the sample is fair whatever the program does, unless that depends on the
 * sample.
 *
 * Armings are not drawn one by one: `wait` says which one is next. Its distribution is geometric, so each arming is
 * drawn with probability `rate`, independently of the others.
 *
 * If most tasks leave, few are left in the sample. Then it is drawn again, which walks all tasks. The sample has twice
 * as many tasks as are needed, so half of all tasks have left since: a walk costs less than their armings and ends did.
 *
 * Drawing. The walk releases the lock after each batch. Bookmarks say where it goes on, on each of the lists that it
 * walks in step: a bookmark is a task with a number after those of the sample, so that its leaving is noticed. If it
 * leaves, or moves to another list, the list is walked from its beginning. So a task may be seen twice, and may be armed
 * before the walk comes to it. Each time the answer must be the same: it is a hash of the task's address. The walk begins
 * with the coarsest level, since tasks move down.
 */
#define _GNU_SOURCE
#include "../service/sample.h"
#include "../service/shard.h"
#include "../wheel/walk.h"

#include <stdlib.h>

/* Numbers in sample->tasks: those of the sample and one too many, and the bookmarks. */
enum { FIRST_BOOKMARK = SAMPLE_ROOM + 1, NUMBERS = FIRST_BOOKMARK + WALK_LISTS };

_Static_assert(NUMBERS <= UINT16_MAX && MAX_WORKERS <= UINT16_MAX,
               "task->sampled and task->runner hold every number");

/* Only for a service that is, or was, inspected. */
static struct sample *sample_of(const struct pawl_service *service, const struct shard *shard)
{
	return &service->samples[shard - service->shards];
}

static uint64_t spread_bits(uint64_t bits)
{
	bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
	return bits ^ (bits >> 31);
}

/* splitmix64 */
static uint64_t draw_bits(struct sample *sample)
{
	return spread_bits(sample->random += UINT64_C(0x9e3779b97f4a7c15));
}

/* From 0 to less than 1. */
static double fraction(uint64_t bits)
{
	return (double)(bits >> 11) / (double)(UINT64_C(1) << 53);
}

/*
 * A number from 1 on that is above n with probability (1 - rate) to the power of n. It is found bit by bit: powers[i] is
 * that for n = 2^i.
 */
static uint64_t draw_wait(struct sample *sample)
{
	double limit = fraction(draw_bits(sample)), power = 1 - sample->rate, reached = 1;
	double powers[64];
	unsigned bits = 0;
	uint64_t wait = 1;

	for (; power > limit && bits < 63; power *= power)
		powers[bits++] = power;
	while (bits-- > 0)
		if (reached * powers[bits] > limit) {
			reached *= powers[bits];
			wait += UINT64_C(1) << bits;
		}
	return wait;
}

/* Whether drawing takes the task: always the same answer during one drawing. */
static bool is_chosen(const struct sample *sample, const struct pawl_task *task)
{
	return !task->internal &&
	       fraction(spread_bits((uintptr_t)task ^ sample->seed)) < sample->rate;
}

static void enter(struct sample *sample, struct pawl_task *task)
{
	ASSERT(task->sampled == 0 && sample->count < FIRST_BOOKMARK);
	sample->tasks[sample->count++] = task;
	task->sampled = (uint16_t)sample->count;
}

/* Also a bookmark. */
static void remove_from(struct shard *shard, struct sample *sample, struct pawl_task *task)
{
	unsigned number = task->sampled - 1u;

	lock_assert_held(&shard->lock);
	ASSERT(number < NUMBERS && sample->tasks[number] == task);
	if (number < FIRST_BOOKMARK) {
		sample->tasks[number] = sample->tasks[--sample->count];
		sample->tasks[number]->sampled = task->sampled;
	} else {
		sample->tasks[number] = NULL;
	}
	task->sampled = 0;
}

static void take(struct shard *shard, struct sample *sample, struct pawl_task *task)
{
	enter(sample, task);
	if (sample->count <= SAMPLE_ROOM)
		return;
	remove_from(shard, sample, sample->tasks[draw_bits(sample) % sample->count]);
	sample->rate *= SAMPLE_ROOM / (SAMPLE_ROOM + 1.0);
}

void pawl__sample_leaving(struct pawl_service *service, struct shard *shard, struct pawl_task *task)
{
	remove_from(shard, sample_of(service, shard), task);
}

void pawl__sample_arming(struct pawl_service *service, struct shard *shard, struct pawl_task *task)
{
	struct sample *sample = sample_of(service, shard);

	lock_assert_held(&shard->lock);
	if (--sample->wait > 0)
		return;
	if (sample->drawing ? is_chosen(sample, task) : !task->internal)
		take(shard, sample, task);
	sample->wait = sample->drawing ? 1 : draw_wait(sample);
}

/* Walks */

struct drawing {
	struct shard *shard;
	struct sample *sample;
	struct list_walk walk;
	sample_fn *fn; /* to be called for each task; NULL: the sample is drawn */
	void *arg;
	struct pawl_task *batch[BATCH];
	unsigned count;
};

/* A walk calls it for each timer. The tasks are looked at afterwards: so their cache misses overlap. */
static void add_to_batch(struct pawl_timer *timer, void *arg)
{
	struct drawing *drawing = arg;
	struct pawl_task *task = task_of(timer);

	__builtin_prefetch(&task->run);
	drawing->batch[drawing->count++] = task;
}

static void look_at(const struct drawing *drawing, struct pawl_task *task)
{
	if (!drawing->fn && !task->sampled && is_chosen(drawing->sample, task))
		take(drawing->shard, drawing->sample, task);
	else if (drawing->fn && !task->internal)
		drawing->fn(task, drawing->arg);
}

/* Remove the bookmarks, so that they may be chosen now. */
static void take_bookmarks(struct shard *shard, struct sample *sample, struct list_walk *walk)
{
	for (unsigned i = 0; i < walk->count; i++) {
		struct pawl_task *bookmark = sample->tasks[FIRST_BOOKMARK + i];

		walk->lists[i].next = bookmark ? &bookmark->timer : NULL;
		if (bookmark)
			remove_from(shard, sample, bookmark);
	}
}

static void put_bookmarks(struct shard *shard, struct sample *sample, const struct list_walk *walk)
{
	for (unsigned i = 0; i < walk->count; i++) {
		struct pawl_timer *next = walk->lists[i].next;

		if (!next)
			continue;
		if (task_of(next)->sampled) /* it is looked at again; or a bookmark already */
			remove_from(shard, sample, task_of(next));
		sample->tasks[FIRST_BOOKMARK + i] = task_of(next);
		task_of(next)->sampled = (uint16_t)(FIRST_BOOKMARK + i + 1);
	}
}

/* A batch of the walk. Returns whether the level goes on. */
static bool walk_batch(struct drawing *drawing)
{
	struct shard *shard = drawing->shard;
	bool more;

	lock_acquire(&shard->lock);
	take_bookmarks(shard, drawing->sample, &drawing->walk);
	drawing->count = 0;
	more = pawl__wheel_walk(shard->wheel, &drawing->walk, BATCH, add_to_batch, drawing);
	for (unsigned i = 0; i < drawing->count; i++)
		look_at(drawing, drawing->batch[i]);
	put_bookmarks(shard, drawing->sample, &drawing->walk);
	lock_release(&shard->lock);
	return more;
}

/* From the coarsest level, which a new task may add, to the due tasks. */
static void walk_shard(struct drawing *drawing)
{
	unsigned levels;

	lock_acquire(&drawing->shard->lock);
	levels = pawl__wheel_levels(drawing->shard->wheel);
	lock_release(&drawing->shard->lock);
	while (levels-- > 0) {
		drawing->walk = (struct list_walk){.level = levels};
		while (walk_batch(drawing))
			continue;
	}
}

/* Remove the last tasks of the sample, at most a batch. Returns whether there are more. */
static bool remove_batch(struct shard *shard, struct sample *sample)
{
	unsigned left;

	lock_acquire(&shard->lock);
	sample->rate = 0;
	sample->wait = UINT64_MAX;
	left = sample->count > BATCH ? sample->count - BATCH : 0;
	while (sample->count > left)
		sample->tasks[--sample->count]->sampled = 0;
	lock_release(&shard->lock);
	return left > 0;
}

static void empty_sample(struct shard *shard, struct sample *sample)
{
	while (remove_batch(shard, sample))
		continue;
}

static void begin_drawing(struct shard *shard, struct sample *sample, double rate)
{
	lock_acquire(&shard->lock);
	sample->rate = rate;
	sample->seed = draw_bits(sample);
	sample->drawing = true;
	sample->wait = 1;
	lock_release(&shard->lock);
}

static double end_drawing(struct shard *shard, struct sample *sample)
{
	double rate;

	lock_acquire(&shard->lock);
	sample->drawing = false;
	sample->wait = draw_wait(sample);
	rate = sample->rate;
	lock_release(&shard->lock);
	return rate;
}

static double rate_of(struct shard *shard, const struct sample *sample)
{
	double rate;

	lock_acquire(&shard->lock);
	rate = sample->rate;
	lock_release(&shard->lock);
	return rate;
}

/* Returns the rate that it has now. */
static double prepare_sample(struct shard *shard, struct sample *sample, double rate)
{
	struct drawing drawing = {.shard = shard, .sample = sample};
	double present = rate_of(shard, sample);

	if (present >= rate)
		return present;
	empty_sample(shard, sample);
	begin_drawing(shard, sample, 2 * rate < 1 ? 2 * rate : 1);
	walk_shard(&drawing);
	return end_drawing(shard, sample);
}

double pawl__samples_prepare(struct pawl_service *service, double rate)
{
	double smallest = rate;

	__atomic_store_n(&service->sampling, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < service->shard_count; i++) {
		double present = prepare_sample(&service->shards[i], &service->samples[i], rate);

		smallest = present < smallest ? present : smallest;
	}
	return smallest;
}

void pawl__samples_walk_all(struct pawl_service *service, sample_fn *fn, void *arg)
{
	__atomic_store_n(&service->sampling, false, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < service->shard_count; i++) {
		struct drawing drawing = {.shard = &service->shards[i],
		                          .sample = &service->samples[i],
		                          .fn = fn,
		                          .arg = arg};

		empty_sample(drawing.shard, drawing.sample);
		walk_shard(&drawing);
	}
}

/*
 * Read the tasks of the sample before number `end`, at most a batch: first their addresses, so that the cache misses
 * overlap. Returns the number where it stopped.
 */
static unsigned read_batch(struct shard *shard, struct sample *sample, unsigned end, double rate,
                           sample_fn *fn, void *arg)
{
	struct pawl_task *tasks[BATCH];
	unsigned count = 0, at;
	double probability;

	lock_acquire(&shard->lock);
	probability = sample->rate > 0 ? rate / sample->rate : 1;
	end = end < sample->count ? end : sample->count;
	for (at = end; at > 0 && end - at < BATCH; at--) {
		struct pawl_task *task = sample->tasks[at - 1];

		if (probability < 1 && fraction(draw_bits(sample)) >= probability)
			continue;
		__builtin_prefetch(&task->deadline_ns);
		tasks[count++] = task;
	}
	for (unsigned i = 0; i < count; i++)
		fn(tasks[i], arg);
	lock_release(&shard->lock);
	return at;
}

void pawl__samples_read(struct pawl_service *service, double rate, sample_fn *fn, void *arg)
{
	for (unsigned i = 0; i < service->shard_count; i++) {
		unsigned at = UINT32_MAX;

		while (at > 0)
			at = read_batch(&service->shards[i], &service->samples[i], at, rate, fn,
			                arg);
	}
}

/* Memory that is not used is not touched. */
bool pawl__samples_open(struct pawl_service *service)
{
	struct pawl_task **tasks;
	struct sample *samples;

	if (service->samples)
		return true;
	samples = pawl__system_lines(service->shard_count * sizeof(*samples));
	tasks = calloc(service->shard_count * (size_t)NUMBERS, sizeof(struct pawl_task *));
	if (!samples || !tasks) {
		pawl__system_free_lines(samples);
		free(tasks);
		return false;
	}
	for (unsigned i = 0; i < service->shard_count; i++)
		samples[i] = (struct sample){
		        .wait = UINT64_MAX, .random = i, .tasks = tasks + i * NUMBERS};
	service->samples = samples;
	return true;
}

void pawl__samples_free(struct pawl_service *service)
{
	if (service->samples)
		free(service->samples->tasks);
	pawl__system_free_lines(service->samples);
}
