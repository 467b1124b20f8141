/* SPDX-License-Identifier: MIT */
/*
 * workloads.h: what is measured.
 *
 * One thread, a virtual clock, n timers, each at the beginning of an object of 64 bytes. Delays are
 * uniform in 1..60,000 ticks unless it says otherwise. Objects are armed in an order that has nothing
 * to do with their addresses, as in a program that has run for a while: armed by address, lists would
 * be walked in the order that the CPU prefetches.
 *
 *  arm      all of them on an empty structure; ns a timer
 *  cancel   all of them in another random order; ns a timer. What a peer puts off here (clearing
 *           marks of empty slots, say) it pays for in churn.
 *  churn    cancel one at random and arm it anew, with the clock moving a tick every so many steps,
 *           for 70,000 ticks, longer than the longest delay, so that all moves between levels are paid
 *           for. What comes due is armed anew. ns a step, all included. A peer that moves nothing as
 *           time passes runs a tenth of the ticks.
 *  expire   advance tick by tick until the last is due, popping after each tick; ns a timer
 *  longest  the longest single advance in that; ns. All repetitions do the same at the same tick, so
 *           each tick is taken at its median first: an interrupt hits another tick each time.
 *  refresh  idle time-outs of 30,000 ticks, each last refreshed within the 15,000 ticks before: pick
 *           one at random and push it back to now + 30,000, the clock moving as in churn, for
 *           35,000 ticks. What comes due is armed anew. ns a step, all included. The same tenth.
 *  sparse   100 timers over 3,600,000 ticks: advancing and popping every tick, ns a tick; and jumping
 *           from next to next, ns a timer
 *
 * With few timers, rounds are repeated until there is enough to measure.
 */
#ifndef PAWL_BENCH_WORKLOADS_H
#define PAWL_BENCH_WORKLOADS_H

#include "peer.h"
#include "random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OBJECT_SIZE = 64, MAX_DELAY = 60000, SPARSE_TIMERS = 100, MAX_TIMERS = 50000000 };

struct object {
	_Alignas(OBJECT_SIZE) unsigned char bytes[OBJECT_SIZE];
};

/* What all peers work on in turn: the memory, and the orders in which to go through it. */
struct arena {
	struct object *objects;
	uint32_t *arm_order, *cancel_order; /* two random permutations of 0 to n - 1 */
	uint32_t n;
};

/* One peer at work. */
struct bench {
	const struct peer *peer;
	void *self;
	const struct arena *arena;
	uint64_t now;
	struct random random;
	uint32_t steps_per_tick; /* in churn and refresh */
};

enum { ROWS_PER_WORKLOAD = 2 };

/* What one run has measured. */
struct result {
	double ns[ROWS_PER_WORKLOAD];
	uint32_t *advance_ns; /* what each of MAX_DELAY advances took; the caller's memory */
};

/* One run of it fills one or two rows of the table. */
struct workload {
	struct row {
		const char *key;   /* what --only takes */
		const char *label; /* what the table shows */
		bool longest;      /* its figure is the longest of advance_ns */
	} rows[ROWS_PER_WORKLOAD];
	bool needs_time, needs_next; /* functions that a peer may lack */
	bool sparse;                 /* always on SPARSE_TIMERS timers */
	void (*run)(struct bench *bench, struct result *result);
};

extern const struct workload workloads[];
extern const size_t workload_count;

/* Memory for up to `capacity` objects. Exits if there is none. */
void arena_open(struct arena *arena, uint32_t capacity);
void arena_close(struct arena *arena);

/* Use the first n objects from now on, in new orders. */
void arena_resize(struct arena *arena, uint32_t n, struct random *random);

bool workload_possible(const struct workload *workload, const struct peer *peer);

/*
 * Open the peer on zeroed objects, run the workload, close it. The seed decides all that is random.
 * Exits if timers are lost.
 */
void workload_run(const struct workload *workload, const struct peer *peer,
                  const struct arena *arena, uint32_t steps_per_tick, uint64_t seed,
                  struct result *result);

/* What memory itself costs: ns to read one object at random, independent of the one before or not. */
struct memory_floor {
	double independent, dependent;
};

struct memory_floor memory_floor(const struct arena *arena, struct random *random);

#endif
