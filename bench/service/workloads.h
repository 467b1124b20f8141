/* SPDX-License-Identifier: MIT */
/* workloads.h: the workloads that are measured. Each call is one repetition and opens its own service. */
#ifndef PAWL_BENCH_SERVICE_WORKLOADS_H
#define PAWL_BENCH_SERVICE_WORKLOADS_H

#include "../../src/base/random.h"
#include "peer.h"

enum { OBJECTS = 1000000, MAX_THREADS = 4 };

/* The program fails if a task is early, or lost: if not all run within a minute. */

/* Begin to count runs; and wait until there are as many. */
void expect_runs(uint64_t runs);
void await_runs(const struct service_peer *peer);

/*
 * Run a random script on the service, in two threads with their own tasks. Each arming must run exactly once and not
 * early, and not at all after it was cancelled. If not, it says on stderr what went wrong and returns false.
 */
bool verify_service(const struct service_peer *peer, uint64_t seed);

void *open_service(const struct service_peer *peer, const struct service_setup *setup);

/* Tasks that come at a rate: what arms the one of that number, and what it needs for that. */
struct steady {
	const struct service_peer *peer;
	void *self;
	struct object *objects;
	struct random random;
	void (*arm)(struct steady *steady, uint32_t i, uint64_t delay_ns);
};

/*
 * Arm `rate` tasks a second for `ms`, in a batch each millisecond, each 10 to 110 ms before its time, and wait until all
 * have run. They note when they run. Returns the CPU time of the service's threads.
 */
uint64_t run_at_rate(struct steady *steady, uint32_t rate, uint32_t ms);

struct churn {
	unsigned threads;
	bool crowded; /* OBJECTS tasks are pending; else only the armed one */
	uint64_t ns;  /* how long */
};

/* Pairs of arm and cancel a second, of all threads together. */
double churn_run(const struct service_peer *peer, struct object *objects, const struct churn *churn,
                 uint64_t seed);

/* OBJECTS tasks at once: ns a task, until all have run. */
double backlog_run(const struct service_peer *peer, struct object *objects, bool polled,
                   uint64_t seed);

/* The quantiles of lateness, in hundredths of a per cent. */
enum { QUANTILES = 5 };
extern const uint32_t quantiles[QUANTILES];

struct lateness {
	int64_t ns_at[QUANTILES]; /* this share of the tasks is not later than this */
	uint64_t tasks, cpu_ns;   /* CPU time of the service's threads, all tasks together */
};

/* OBJECTS tasks that are armed beforehand and fall due within one second. */
struct lateness live_run(const struct service_peer *peer, struct object *objects, uint64_t seed);

/* `rate` tasks a second are armed for `ms`. */
struct lateness rate_run(const struct service_peer *peer, struct object *objects, uint32_t rate,
                         uint32_t ms, uint64_t seed);

struct wakeups {
	uint64_t count;  /* how often the service's thread woke up */
	uint64_t fewest; /* the fewest possible wake-ups, if all tasks were known beforehand */
	uint64_t tasks, cpu_ns;
};

/* As rate_run, with pawl and ticks of 50 us. Each task may be late by a tenth of its delay; exact: not at all. */
struct wakeups windows_run(struct object *objects, uint32_t rate, uint32_t ms, bool exact,
                           uint64_t seed);

enum inspection {
	CLOSED,
	OPEN,
	VIEWED
}; /* no socket; a socket without a viewer; a viewer that asks once a second */

struct inspected {
	uint64_t tasks;
	uint64_t cpu_ns;  /* of the service's threads, including that of the view */
	uint64_t view_ns; /* of the thread of the view alone */
};

/* As rate_run, with pawl. */
struct inspected inspect_run(struct object *objects, uint32_t rate, uint32_t ms,
                             enum inspection inspection, uint64_t seed);

#endif
