/* SPDX-License-Identifier: MIT */
/* workloads.h: what pawl-bench-purgatory runs. */
#ifndef PAWL_BENCH_PURGATORY_WORKLOADS_H
#define PAWL_BENCH_PURGATORY_WORKLOADS_H

#include <pawl/pawl.h>

enum { KEYS_PER_OPERATION = 3 };

/* As fast as it goes: watch, make completable, check the first key. */
struct unpaced {
	uint32_t keys, threads, pending; /* pending: operations that each thread has */
	bool kept;                       /* keys are made once; else for each call, from bytes */
	uint32_t ms;
};

/* Operations a second, of all threads. */
double unpaced_rate(const struct unpaced *unpaced);

/* Requests are a Poisson process; the time until each completes is log-normal. */
struct paced {
	uint32_t timeout_ms, p75_ms, p50_ms;
	double rate; /* requests a second */
	uint32_t ms; /* how long requests are made */
	bool kept;   /* keys are made once; else for each request, from bytes */
	bool idle;   /* all except the purgatory: the cost of the benchmark itself */
};

struct paced_result {
	double held;                   /* the share of the rate that was reached */
	double cpu_ns;                 /* CPU of the whole process for each request */
	uint64_t completed, timed_out; /* they add up to the requests made */
};

struct paced_result paced_run(const struct paced *paced);

#endif
