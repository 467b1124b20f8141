/* SPDX-License-Identifier: MIT */
/* Threads that watch operations on random keys and complete them by a check, as fast as it goes. */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "../support/machine.h"
#include "workloads.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { TIMEOUT_S = 30, STEPS_PER_LOOK = 64 };

struct operation {
	struct pawl_op op;
	bool ready,
	        released; /* atomic: with two threads the other one may complete and release it */
	uint32_t first;   /* of its keys */
};

struct bench {
	const struct unpaced *unpaced;
	struct pawl_service *service;
	struct pawl_purgatory *purgatory;
	uint64_t *names; /* the bytes of the keys */
	struct pawl_key *keys;
	pthread_barrier_t ready;
	bool stop; /* atomic */
};

struct worker {
	struct bench *bench;
	struct operation *operations;
	uint32_t next;
	struct random random;
	uint64_t steps, ns;
	pthread_t thread;
} __attribute__((aligned(128)));

static struct operation *operation_of(struct pawl_op *op)
{
	return (struct operation *)op; /* its first member */
}

static bool is_ready(struct pawl_op *op)
{
	return __atomic_load_n(&operation_of(op)->ready, __ATOMIC_ACQUIRE);
}

static void on_complete(struct pawl_op *op)
{
	if (!is_ready(op))
		fail("an operation was completed that was not completable");
}

static void release(struct pawl_op *op)
{
	__atomic_store_n(&operation_of(op)->released, true, __ATOMIC_RELEASE);
}

static const struct pawl_op_type type = {
        .try_complete = is_ready, .on_complete = on_complete, .release = release};

/* Made before, or for each call. */
static struct pawl_key key_of(const struct bench *bench, uint32_t number)
{
	if (bench->unpaced->kept)
		return bench->keys[number];
	return pawl_purgatory_key(bench->purgatory, &bench->names[number], sizeof(uint64_t));
}

static void watch(struct worker *worker, struct operation *operation)
{
	const struct bench *bench = worker->bench;
	struct pawl_key keys[KEYS_PER_OPERATION];

	for (int i = 0; i < KEYS_PER_OPERATION; i++) {
		uint32_t number = random_below32(&worker->random, bench->unpaced->keys);

		keys[i] = key_of(bench, number);
		operation->first = i == 0 ? number : operation->first;
	}
	operation->ready = operation->released = false;
	pawl_op_init(&operation->op, &type);
	if (pawl_purgatory_try_or_watch(bench->purgatory, &operation->op, keys, KEYS_PER_OPERATION,
	                                TIMEOUT_S * SECOND) != 0)
		fail("an operation was not watched");
}

static void complete(struct worker *worker, struct operation *operation)
{
	__atomic_store_n(&operation->ready, true, __ATOMIC_RELEASE);
	pawl_purgatory_check(worker->bench->purgatory, key_of(worker->bench, operation->first));
	while (!__atomic_load_n(&operation->released, __ATOMIC_ACQUIRE))
		sched_yield(); /* the other thread is trying it */
}

static void step(struct worker *worker)
{
	struct operation *oldest = &worker->operations[worker->next];

	worker->next = worker->next + 1 < worker->bench->unpaced->pending ? worker->next + 1 : 0;
	complete(worker, oldest);
	watch(worker, oldest);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint32_t pending = worker->bench->unpaced->pending;
	uint64_t begin;

	for (uint32_t i = 0; i < pending; i++)
		watch(worker, &worker->operations[i]);
	pthread_barrier_wait(&worker->bench->ready);
	begin = clock_ns();
	while (!__atomic_load_n(&worker->bench->stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < STEPS_PER_LOOK; i++)
			step(worker);
		worker->steps += STEPS_PER_LOOK;
	}
	worker->ns = clock_ns() - begin;
	return NULL;
}

static void open_keys(struct bench *bench)
{
	uint32_t count = bench->unpaced->keys;

	bench->names = calloc(count, sizeof(*bench->names));
	bench->keys = calloc(count, sizeof(*bench->keys));
	if (!bench->names || !bench->keys)
		fail("no memory");
	for (uint32_t i = 0; i < count; i++) {
		bench->names[i] = i;
		bench->keys[i] = pawl_purgatory_key(bench->purgatory, &bench->names[i],
		                                    sizeof(bench->names[i]));
	}
}

static void start(struct bench *bench, struct worker *worker, uint64_t seed)
{
	size_t size = bench->unpaced->pending * sizeof(struct operation);

	*worker = (struct worker){.bench = bench, .random = {seed}};
	worker->operations = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!worker->operations || pthread_create(&worker->thread, NULL, work, worker) != 0)
		fail("no memory, or no thread");
}

static double finish(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
	return (double)worker->steps * 1e9 / (double)worker->ns;
}

double unpaced_rate(const struct unpaced *unpaced)
{
	struct worker *workers = aligned_alloc(128, unpaced->threads * sizeof(struct worker));
	struct bench bench = {.unpaced = unpaced};
	double rate = 0;

	if (!workers || pawl_service_open(&bench.service, NULL) != 0 ||
	    pawl_purgatory_open(&bench.purgatory, bench.service, NULL) != 0)
		fail("no memory, or no thread");
	open_keys(&bench);
	pthread_barrier_init(&bench.ready, NULL, unpaced->threads + 1);
	for (uint32_t i = 0; i < unpaced->threads; i++)
		start(&bench, &workers[i], i + 1);
	pthread_barrier_wait(&bench.ready);
	sleep_for(unpaced->ms * MILLISECOND);
	__atomic_store_n(&bench.stop, true, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < unpaced->threads; i++)
		rate += finish(&workers[i]);
	pawl_purgatory_close(bench.purgatory);
	pawl_service_close(bench.service, NULL);
	for (uint32_t i = 0; i < unpaced->threads; i++)
		free(workers[i].operations);
	pthread_barrier_destroy(&bench.ready);
	free(workers);
	free(bench.keys);
	free(bench.names);
	return rate;
}
