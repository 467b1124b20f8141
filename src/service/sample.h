/* SPDX-License-Identifier: MIT */
/*
 * A random sample of the pending tasks, for the live view: each pending user task of a shard is in the shard's sample
 * with the same probability, `rate`, whatever its deadline, its function and its place on the wheel. sample.c says how.
 */
#ifndef PAWL_SERVICE_SAMPLE_H
#define PAWL_SERVICE_SAMPLE_H

#include "layout.h"

/*
 * How many tasks a snapshot looks at. A share of 2 % then has a standard error of 5.5 % of itself: that it is wrong by
 * more than a quarter happens five times in a million. PAWL_SMALL, for verify/schedules: two tasks are too many.
 */
#ifdef PAWL_SMALL
#define SAMPLE_SIZE 1u
#else
#define SAMPLE_SIZE 16384u
#endif

/* Tasks in the sample of a shard. It begins with twice as many as are needed, and is drawn again when half are left. */
#define SAMPLE_ROOM (2 * SAMPLE_SIZE)

/* Under the lock of its shard. */
struct sample {
	uint64_t wait;            /* which arming from now on is drawn: 1 is the next one */
	double rate;              /* the probability for each task; 0: there is no sample */
	uint64_t random, seed;    /* the state of the generator; for is_chosen() */
	struct pawl_task **tasks; /* task->sampled is its number here, from 1; 0: not here */
	unsigned count;
	bool drawing; /* it is being drawn */
} __attribute__((aligned(LINE)));

bool pawl__samples_open(struct pawl_service *service); /* false: no memory */
void pawl__samples_free(struct pawl_service *service);

/* For the two functions below. Under the lock. */
void pawl__sample_arming(struct pawl_service *service, struct shard *shard, struct pawl_task *task);
void pawl__sample_leaving(struct pawl_service *service, struct shard *shard,
                          struct pawl_task *task);

typedef void sample_fn(const struct pawl_task *task, void *arg);

/* Call fn, under the lock, for each pending task. The samples are empty afterwards. */
void pawl__samples_walk_all(struct pawl_service *service, sample_fn *fn, void *arg);

/*
 * Make each shard's sample have this rate at least. One that does not is drawn: that walks all tasks of the shard, in
 * short critical sections. From then on it is kept up to date. Returns the smallest rate, at most `rate`.
 */
double pawl__samples_prepare(struct pawl_service *service, double rate);

/*
 * Call fn, under the lock, for tasks of the samples, so that it is called for each pending task with the probability
 * `rate`, at most that of every sample.
 */
void pawl__samples_read(struct pawl_service *service, double rate, sample_fn *fn, void *arg);

/* The task was idle, or running, and goes on the wheel. Under the lock. */
static inline void sample_arming(struct pawl_service *service, struct shard *shard,
                                 struct pawl_task *task)
{
	lock_assert_held(&shard->lock);
	if (__builtin_expect(__atomic_load_n(&service->sampling, __ATOMIC_ACQUIRE), 0))
		pawl__sample_arming(service, shard, task);
}

/* The task was taken off the wheel, and does not go back. Under the lock. */
static inline void sample_leaving(struct pawl_service *service, struct shard *shard,
                                  struct pawl_task *task)
{
	lock_assert_held(&shard->lock);
	if (__builtin_expect(task->sampled != 0, 0))
		pawl__sample_leaving(service, shard, task);
}

#endif
