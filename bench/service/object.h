/* SPDX-License-Identifier: MIT */
/*
 * object.h: the objects whose tasks the services run.
 *
 * An object is two cache lines, for every service. Its task does one of two things. Both are inlined into a function of
 * the service's own type, so that no service pays for a call that another one does not have.
 */
#ifndef PAWL_BENCH_SERVICE_OBJECT_H
#define PAWL_BENCH_SERVICE_OBJECT_H

#include "../support/heap.h"
#include "../support/machine.h"

#include <pawl/service.h>
#include <semaphore.h>
#include <stdbool.h>

struct obvious_task {
	struct heap_timer timer; /* first */
	void (*run)(struct obvious_task *task);
};

struct object {
	union {
		struct pawl_task pawl;
		struct obvious_task obvious;
	} task; /* first, so that a task is its object */

	uint64_t deadline_ns; /* when it is due, or a little before; the harness's */
	uint64_t ran_ns;      /* when it ran last */
	uint32_t runs;        /* atomic */
} __attribute__((aligned(128)));

enum behaviour {
	COUNT, /* count the run in the tally */
	STAMP, /* and note the time */
};

/* The service's threads, mostly one, count the runs. The run that reaches `target` posts `done`. */
struct tally {
	uint64_t count, target;
	bool shared; /* by several threads */
	sem_t done;
} __attribute__((aligned(128)));

extern struct tally tally;

static inline void object_count(struct object *object)
{
	uint64_t count;

	(void)object;
	if (tally.shared) {
		count = __atomic_add_fetch(&tally.count, 1, __ATOMIC_RELAXED);
	} else {
		count = tally.count + 1;
		__atomic_store_n(&tally.count, count, __ATOMIC_RELAXED);
	}
	if (count == tally.target)
		sem_post(&tally.done);
}

static inline void object_stamp(struct object *object)
{
	object->ran_ns = clock_ns();
	__atomic_store_n(&object->runs, object->runs + 1, __ATOMIC_RELEASE);
	object_count(object);
}

#endif
