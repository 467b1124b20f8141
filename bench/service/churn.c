/* SPDX-License-Identifier: MIT */
/* Threads that arm and cancel tasks; each thread has its own tasks. */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "workloads.h"

#include <pthread.h>

enum {
	STEPS_PER_LOOK = 64, /* at whether it is time to stop */
	ALONE_OBJECTS =
	        64, /* that a thread arms one after the other while nothing else is pending */
	ALONE_DELAY_S = 30,
	CROWDED_MIN_MS = 1000, /* random delays, ms */
	CROWDED_MAX_MS = 60000,
};

struct churner {
	const struct service_peer *peer;
	void *service;
	struct object *objects; /* its share */
	uint32_t count;
	struct random random;
	bool crowded;
	uint64_t steps, ns; /* pairs, and the time that they took */

	pthread_t thread;
	pthread_barrier_t *ready;
	const bool *stop; /* atomic */
} __attribute__((aligned(128)));

static uint64_t crowded_delay(struct random *random)
{
	const uint32_t span = CROWDED_MAX_MS - CROWDED_MIN_MS + 1;

	return (CROWDED_MIN_MS + random_below32(random, span)) * MILLISECOND;
}

static void prepare(struct churner *churner)
{
	for (uint32_t i = 0; i < churner->count; i++) {
		churner->peer->init(&churner->objects[i], COUNT);
		if (churner->crowded)
			churner->peer->arm(churner->service, &churner->objects[i],
			                   crowded_delay(&churner->random));
	}
}

static void steps_alone(struct churner *churner)
{
	for (int i = 0; i < STEPS_PER_LOOK; i++) {
		struct object *object = &churner->objects[i % ALONE_OBJECTS];

		churner->peer->arm(churner->service, object, ALONE_DELAY_S * SECOND);
		churner->peer->cancel(churner->service, object);
	}
}

static void steps_crowded(struct churner *churner)
{
	for (int i = 0; i < STEPS_PER_LOOK; i++) {
		struct object *object =
		        &churner->objects[random_below32(&churner->random, churner->count)];

		churner->peer->cancel(churner->service, object);
		churner->peer->arm(churner->service, object, crowded_delay(&churner->random));
	}
}

static void *churn_thread(void *arg)
{
	struct churner *churner = arg;
	void (*steps)(struct churner *) = churner->crowded ? steps_crowded : steps_alone;
	uint64_t begin;

	prepare(churner);
	pthread_barrier_wait(churner->ready);
	begin = clock_ns();
	for (; !__atomic_load_n(churner->stop, __ATOMIC_RELAXED); churner->steps += STEPS_PER_LOOK)
		steps(churner);
	churner->ns = clock_ns() - begin;
	return NULL;
}

static double pairs_per_second(const struct churner *churners, unsigned threads)
{
	double pairs = 0;

	for (unsigned i = 0; i < threads; i++)
		pairs += (double)churners[i].steps * 1e9 / (double)churners[i].ns;
	return pairs;
}

double churn_run(const struct service_peer *peer, struct object *objects, const struct churn *churn,
                 uint64_t seed)
{
	struct churner churners[MAX_THREADS];
	uint32_t share = OBJECTS / churn->threads;
	bool stop = false;
	pthread_barrier_t ready;
	void *service = open_service(peer, &(struct service_setup){.capacity = OBJECTS});

	expect_runs(UINT64_MAX); /* some may become due meanwhile; they are not waited for */
	pthread_barrier_init(&ready, NULL, churn->threads + 1);
	for (unsigned i = 0; i < churn->threads; i++) {
		churners[i] = (struct churner){
		        .peer = peer,
		        .service = service,
		        .objects = objects + i * share,
		        .count = churn->crowded ? share : ALONE_OBJECTS,
		        .random = {.state = seed + i * UINT64_C(0x632be59bd9b4e019)},
		        .crowded = churn->crowded,
		        .ready = &ready,
		        .stop = &stop,
		};
		if (pthread_create(&churners[i].thread, NULL, churn_thread, &churners[i]))
			fail("cannot start a thread");
	}
	pthread_barrier_wait(&ready);
	sleep_for(churn->ns);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < churn->threads; i++)
		pthread_join(churners[i].thread, NULL);
	pthread_barrier_destroy(&ready);
	peer->close(service);
	return pairs_per_second(churners, churn->threads);
}
