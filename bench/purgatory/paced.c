/* SPDX-License-Identifier: MIT */
/*
 * Kafka's own workload for a purgatory, TestPurgatoryPerformance: requests are a Poisson process, all under the same
 * three keys. Each is completed after a log-normal time, unless its timeout is earlier. It is completed directly, by
 * pawl_op_complete: no key is checked. The unpaced workload checks keys.
 *
 * One thread makes the requests and completes them; Kafka has a second thread and a DelayQueue for that. The thread
 * wakes every millisecond and does the due work. It sleeps in between, so the CPU time of the process is that of the
 * requests.
 */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "../support/machine.h"
#include "workloads.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

#define MICROSECOND UINT64_C(1000)

enum { SAMPLES = 1 << 16, POOL_STEP = 4096 };

struct request {
	struct pawl_op op;
	struct pawl_timer completion; /* on a wheel of the benchmark's own, in microseconds */
	struct request *next_free;
	bool expired;
};

struct paced_bench {
	const struct paced *paced;
	struct pawl_service *service;
	struct pawl_purgatory *purgatory;
	struct pawl_key keys[KEYS_PER_OPERATION];
	struct pawl_wheel *wheel;
	struct request *free;
	struct request *returned; /* by the service's thread; atomic */
	uint32_t gaps_ns[SAMPLES],
	        latencies_us[SAMPLES]; /* drawn before, so as not to be measured */
	uint64_t made, completed, timed_out;
};

static struct paced_bench bench;
static _Thread_local bool on_bench_thread;

static void make_keys(struct pawl_key *keys)
{
	static const char names[KEYS_PER_OPERATION] = {'a', 'b', 'c'};

	for (int i = 0; i < KEYS_PER_OPERATION; i++)
		keys[i] = pawl_purgatory_key(bench.purgatory, &names[i], 1);
}

static bool never(struct pawl_op *op)
{
	(void)op;
	return false;
}

static void on_complete(struct pawl_op *op)
{
	(void)op;
}

static void on_expire(struct pawl_op *op)
{
	((struct request *)op)->expired = true;
}

static void reclaim(struct request *request)
{
	bench.completed += !request->expired;
	bench.timed_out += request->expired;
	request->next_free = bench.free;
	bench.free = request;
}

static void return_request(struct request *request)
{
	request->next_free = __atomic_load_n(&bench.returned, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&bench.returned, &request->next_free, request, true,
	                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* Called on the benchmark's thread, unless the service's thread is still at work on the request's deadline. */
static void release(struct pawl_op *op)
{
	if (on_bench_thread)
		reclaim((struct request *)op);
	else
		return_request((struct request *)op);
}

/* When the service's threads have ended. */
static void reclaim_returned(void)
{
	struct request *request = bench.returned, *next;

	for (; request; request = next) {
		next = request->next_free;
		reclaim(request);
	}
}

static const struct pawl_op_type type = {.try_complete = never,
                                         .on_complete = on_complete,
                                         .on_expire = on_expire,
                                         .release = release};

static double uniform(struct random *random)
{
	return ((double)(random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct random *random)
{
	return sqrt(-2 * log(uniform(random))) * cos(6.283185307179586 * uniform(random));
}

/* The quartile of the normal distribution is at 0.6745 sigma. */
static void draw_samples(void)
{
	const struct paced *paced = bench.paced;
	double sigma = log((double)paced->p75_ms / paced->p50_ms) / 0.6744897501960817;
	struct random random = {1};

	for (uint32_t i = 0; i < SAMPLES; i++) {
		double us = paced->p50_ms * 1e3 * exp(sigma * normal(&random));

		bench.gaps_ns[i] = (uint32_t)fmin(-log(uniform(&random)) * 1e9 / paced->rate, 4e9);
		bench.latencies_us[i] = (uint32_t)fmin(fmax(us, 1), 4e9);
	}
}

static void add_requests(void)
{
	struct request *requests = calloc(POOL_STEP, sizeof(*requests));

	if (!requests)
		fail("no memory");
	for (uint32_t i = 0; i < POOL_STEP; i++) {
		requests[i].next_free = bench.free;
		bench.free = &requests[i];
	}
}

static void make_request(uint64_t now_us)
{
	struct request *request;

	if (!bench.free)
		add_requests();
	request = bench.free;
	bench.free = request->next_free;
	request->expired = false;
	pawl_op_init(&request->op, &type);
	pawl_wheel_arm_at(bench.wheel, &request->completion,
	                  now_us + bench.latencies_us[bench.made++ % SAMPLES]);
	if (bench.paced->idle)
		return;
	pawl_op_ref(&request->op);
	if (!bench.paced->kept)
		make_keys(bench.keys);
	if (pawl_purgatory_try_or_watch(bench.purgatory, &request->op, bench.keys,
	                                KEYS_PER_OPERATION,
	                                bench.paced->timeout_ms * MILLISECOND) != 0)
		fail("a request was not watched");
}

static void complete_due(uint64_t now_us)
{
	struct pawl_timer *timer;

	pawl_wheel_advance(bench.wheel, now_us, 0);
	while ((timer = pawl_wheel_pop(bench.wheel)) != NULL) {
		struct request *request =
		        (struct request *)((char *)timer - offsetof(struct request, completion));

		if (bench.paced->idle) {
			release(&request->op);
			continue;
		}
		pawl_op_complete(&request->op);
		pawl_op_unref(&request->op);
	}
}

static double cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

/* Make the requests of `ms` as they become due. Returns the share of the rate that was reached. */
static double make_requests(void)
{
	uint64_t wanted = (uint64_t)(bench.paced->rate * bench.paced->ms / 1000);
	uint64_t begin = clock_ns(), due = begin, now = begin;

	while (bench.made < wanted) {
		now = clock_ns();
		complete_due((now - begin) / MICROSECOND);
		for (; due <= now && bench.made < wanted;
		     due += bench.gaps_ns[bench.made % SAMPLES])
			make_request((now - begin) / MICROSECOND);
		if (due > now)
			sleep_until(now / MILLISECOND * MILLISECOND + MILLISECOND);
	}
	return (double)(due - begin) / (double)(clock_ns() - begin);
}

static void open_bench(void)
{
	if (pawl_service_open(&bench.service, NULL) != 0 ||
	    pawl_purgatory_open(&bench.purgatory, bench.service, NULL) != 0)
		fail("no memory, or no thread");
	make_keys(bench.keys);
	bench.wheel = pawl_wheel_init(malloc(pawl_wheel_footprint(NULL)),
	                              pawl_wheel_footprint(NULL), NULL);
	if (!bench.wheel)
		fail("no memory");
	add_requests();
}

/* Complete the rest: none may be lost. */
static void close_bench(void)
{
	complete_due(PAWL_NEVER);
	pawl_purgatory_close(bench.purgatory);
	pawl_service_close(bench.service, NULL);
	reclaim_returned();
	if (bench.completed + bench.timed_out != bench.made)
		fail("%llu requests were made, but %llu released", (unsigned long long)bench.made,
		     (unsigned long long)(bench.completed + bench.timed_out));
	free(bench.wheel);
}

/* The pool is the benchmark's own memory and stays for the next run. */
struct paced_result paced_run(const struct paced *paced)
{
	struct paced_result result;
	double cpu;

	bench = (struct paced_bench){.paced = paced, .free = bench.free};
	on_bench_thread = true;
	draw_samples();
	open_bench();
	cpu = cpu_ns();
	result.held = make_requests();
	result.cpu_ns = (cpu_ns() - cpu) / (double)bench.made;
	close_bench();
	result.completed = bench.completed;
	result.timed_out = bench.timed_out;
	return result;
}
