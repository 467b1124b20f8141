/* SPDX-License-Identifier: MIT */
/* Open and close: a service's memory and threads. */
#define _GNU_SOURCE
#include "shard.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(struct shard) == LINE, "an address in the array is the address of a shard");

static bool special(unsigned workers)
{
	return workers == PAWL_INLINE || workers == PAWL_MANUAL;
}

static unsigned shards_for_cpus(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned shards = 1;

	while (shards < 64 && (long)shards < 2 * cpus)
		shards *= 2;
	return shards;
}

static struct pawl_service_options complete(const struct pawl_service_options *given)
{
	struct pawl_service_options options = {0};

	if (given)
		options = *given;
	if (!options.name)
		options.name = "pawl";
	if (options.tick_ns == 0)
		options.tick_ns = DEFAULT_TICK;
	if (options.workers == 0)
		options.workers = 1;
	if (options.shards == 0)
		options.shards = shards_for_cpus();
	return options;
}

static bool valid(const struct pawl_service_options *options)
{
	const struct pawl_wheel_options wheel = {.wheel_size = options->wheel_size};

	return pawl_wheel_footprint(&wheel) != 0 && options->shards <= MAX_SHARDS &&
	       (special(options->workers) || options->workers <= MAX_WORKERS);
}

/* One shard shall keep the wheel's order; where there are more, order is open, and chains are faster. */
static bool open_shard(struct pawl_service *service, struct shard *shard,
                       const struct pawl_service_options *options)
{
	const struct pawl_wheel_options wheel = {
	        .start = ticks_down(&service->ticks, clock_now(service)),
	        .wheel_size = options->wheel_size,
	        .chains = options->shards == 1 ? 1 : 2, /* more is faster, and 128 KiB a chain */
	        .ahead = OPENS_AHEAD,
	};
	size_t size = pawl_wheel_footprint(&wheel);

	*shard = (struct shard){.promised = PAWL_NEVER};
	shard->wheel = pawl_wheel_init(malloc(size), size, &wheel);
	return shard->wheel != NULL;
}

static void *zeroed_lines(size_t count, size_t size)
{
	void *memory = aligned_alloc(LINE, count * size);

	return memory ? memset(memory, 0, count * size) : NULL;
}

static int open_memory(struct pawl_service *service, const struct pawl_service_options *options)
{
	service->shards = zeroed_lines(options->shards, sizeof(struct shard));
	service->shards_end = service->shards + options->shards;
	service->workers = zeroed_lines(service->worker_count, sizeof(struct worker));
	if (!service->shards || !service->workers)
		return -ENOMEM;
	for (; service->shard_count < options->shards; service->shard_count++)
		if (!open_shard(service, &service->shards[service->shard_count], options))
			return -ENOMEM;
	for (unsigned i = 0; i < service->worker_count; i++) {
		service->workers[i].service = service;
		service->workers[i].number = i + 1;
		service->workers[i].shard = i % service->shard_count;
	}
	return 0;
}

static void free_memory(struct pawl_service *service)
{
	for (unsigned i = 0; i < service->shard_count; i++)
		free(service->shards[i].wheel);
	free(service->shards);
	free(service->workers);
	pthread_cond_destroy(&service->changed);
	pthread_cond_destroy(&service->called);
	pthread_mutex_destroy(&service->mutex);
	__atomic_store_n(&service->clock->service, NULL, __ATOMIC_RELEASE);
	free(service);
}

/* With all signals blocked: they are the program's own affair. */
static int start_thread(struct pawl_service *service, pthread_t *thread, void *(*run)(void *),
                        void *arg)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error)
		pthread_setname_np(*thread, service->name);
	return -error;
}

static int start_threads(struct pawl_service *service)
{
	unsigned wanted = service->manual ? 0 : service->worker_count, started = 0;
	int error = 0;

	while (!error && started < wanted) {
		struct worker *worker = &service->workers[started];

		error = start_thread(service, &worker->thread, pawl__worker_thread, worker);
		started += !error;
	}
	if (error)
		pawl__service_end_threads(service, started);
	return error;
}

static int take_clock(struct pawl_service *service, struct pawl_clock *clock)
{
	void *nobody = NULL;

	if (!clock) {
		pawl_clock_monotonic_init(&service->default_clock);
		clock = &service->default_clock.clock;
	}
	if (!__atomic_compare_exchange_n(&clock->service, &nobody, service, false, __ATOMIC_ACQ_REL,
	                                 __ATOMIC_ACQUIRE))
		return -EBUSY;
	service->clock = clock;
	return 0;
}

static void describe(struct pawl_service *service, const struct pawl_service_options *options)
{
	service->ticks = ticks_of(options->tick_ns);
	service->max_pending = options->max_pending;
	service->manual = options->workers == PAWL_MANUAL;
	service->worker_count = special(options->workers) ? 1 : options->workers;
	strncpy(service->name, options->name, sizeof(service->name) - 1);
	pthread_mutex_init(&service->mutex, NULL);
	pthread_cond_init(&service->called, NULL);
	pthread_cond_init(&service->changed, NULL);
}

int pawl_service_open(struct pawl_service **opened, const struct pawl_service_options *given)
{
	struct pawl_service_options options = complete(given);
	struct pawl_service *service;
	int error;

	if (!valid(&options))
		return -EINVAL;
	service = zeroed_lines(1, sizeof(*service));
	if (!service)
		return -ENOMEM;
	error = take_clock(service, options.clock);
	if (error) {
		free(service);
		return error;
	}
	describe(service, &options);
	error = open_memory(service, &options);
	if (!error)
		error = start_threads(service);
	if (error) {
		free_memory(service);
		return error;
	}
	*opened = service;
	return 0;
}

void pawl_service_close(struct pawl_service *service, pawl_task_fn *dropped)
{
	if (!service)
		return;
	pawl__service_refuse_inside_task(service, "pawl_service_close");
	pawl_service_stop(service, dropped);
	free_memory(service);
}
