/* SPDX-License-Identifier: MIT */
/*
 * workloads.h: the workloads that are measured.
 *
 * docs/benchmarks.md describes them. One thread, a virtual clock, n timers, each at the beginning of an object of 64 or
 * 192 bytes. (A peer with larger timers is left out.) Objects are armed in random order, as in a program that has run
 * for a while: if they were armed by address, lists would be walked in the order in which the CPU prefetches. With few
 * timers, rounds are repeated until there is enough to measure.
 */
#ifndef PAWL_BENCH_WORKLOADS_H
#define PAWL_BENCH_WORKLOADS_H

#include "../../src/base/random.h"
#include "../peers/peer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CACHE_LINE = 64,
	MAX_OBJECT_SIZE = 192,
	MAX_DELAY = 60000,
	SPARSE_TIMERS = 100,
	MAX_TIMERS = 50000000,
};

/* Shared by all peers, one after the other: the objects, and the orders in which they are armed and cancelled. */
struct arena {
	unsigned char *objects;
	size_t object_size;                 /* a multiple of a cache line */
	uint32_t *arm_order, *cancel_order; /* two random permutations of 0 to n - 1 */
	uint32_t n;
};

static inline void *object_at(const struct arena *arena, uint32_t i)
{
	return arena->objects + i * arena->object_size;
}

/* One peer at work. */
struct bench {
	const struct peer *peer;
	void *self;
	const struct arena *arena;
	size_t memory_before; /* in use before the peer was opened */
	uint64_t now;
	struct random random;
	uint32_t steps_per_tick; /* in churn and refresh */
};

enum { MAX_WORKLOADS = 8, ROWS_PER_WORKLOAD = 4 };

/* The results of one run. */
struct result {
	double figure[ROWS_PER_WORKLOAD];
	uint32_t *advance_ns; /* ns of each of MAX_DELAY advances; the caller's memory */
	uint32_t *call_ns;    /* with moving ahead: ns of the longest call at each tick; likewise */
};

/* The abilities that a workload needs of a peer. */
enum need {
	TELLS_TIME = 1, /* advance and pop */
	SAYS_NEXT = 2,
	IS_BOUNDED = 4,
	MAKES_PASSES = 8,
	ANY_DELAY = 16,
	DELIVERS = 32, /* not null */
	MOVES_AHEAD = 64,
};

enum row_kind {
	TIME,         /* ns */
	LONGEST,      /* its figure is the longest of advance_ns */
	LONGEST_CALL, /* and of call_ns */
	NUMBER,
};

/* One run of it fills some rows of the table. */
struct workload {
	struct row {
		const char *key;   /* its name for --only */
		const char *label; /* what the table shows */
		const char *unit;
		enum row_kind kind;
		bool memory; /* by malloc's count: not for peers in the kernel, or that keep memory */
	} rows[ROWS_PER_WORKLOAD];
	unsigned needs;
	uint32_t ticks; /* in which steps are made; 0: it has no steps */
	bool calls;     /* every single call counts, so an interrupt must not */
	uint32_t most;  /* timers; 0: any number */
	bool sparse;    /* always on SPARSE_TIMERS timers */
	void (*run)(struct bench *bench, struct result *result);
};

extern const struct workload workloads[];
extern const size_t workload_count;

/* Memory for up to `capacity` objects of up to this size. Exits if there is none. */
void arena_open(struct arena *arena, uint32_t capacity, size_t largest_object);
void arena_close(struct arena *arena);

/* Use n objects of this size from now on, in new orders. */
void arena_resize(struct arena *arena, uint32_t n, size_t object_size, struct random *random);

/* Whether the peer has the functions, its timers fit into the arena's objects, and it can hold as many. */
bool workload_possible(const struct workload *workload, const struct peer *peer,
                       const struct arena *arena);

/* How much work one run is, in no particular unit. */
double workload_weight(const struct workload *workload, const struct peer *peer,
                       const struct arena *arena, uint32_t steps_per_tick);

/* Whether this row applies to this peer. */
bool row_possible(const struct row *row, const struct peer *peer);

/*
 * Open the peer on zeroed objects, run the workload, close it. The seed decides all that is random.
 * Exits if timers are lost.
 */
void workload_run(const struct workload *workload, const struct peer *peer,
                  const struct arena *arena, uint32_t steps_per_tick, uint64_t seed,
                  struct result *result);

/* The cost of memory itself: ns to read a random object, if its address is known before, or depends on the last one. */
struct memory_floor {
	double independent, dependent;
};

struct memory_floor memory_floor(const struct arena *arena, struct random *random);

#endif
