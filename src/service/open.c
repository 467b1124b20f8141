/* SPDX-License-Identifier: MIT */
/* Open and close: a service's memory and threads. */
#define _GNU_SOURCE
#include "shard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct shard) == LINE,
               "struct shard fills one LINE: an address in the array is that of a shard");

static unsigned shards_for_cpus(void)
{
	unsigned cpus = pawl__system_cpus(), shards = 1;

	while (shards < 64 && shards < 2 * cpus)
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

/* A manual clock that was zeroed and not initialised has no functions. */
static bool clock_complete(const struct pawl_clock *clock)
{
	return clock->now && clock->wait && clock->wake;
}

static bool valid(const struct pawl_service_options *options)
{
	const struct pawl_wheel_options wheel = {.wheel_size = options->wheel_size};

	return reserved_are_zero(options->reserved) && pawl_wheel_footprint(&wheel) != 0 &&
	       options->shards <= MAX_SHARDS &&
	       (!options->clock || clock_complete(options->clock)) &&
	       (options->workers == PAWL_SERVICE_MANUAL ? !options->dispatch
	                                                : options->workers <= MAX_WORKERS) &&
	       (options->stack_size == 0 ||
	        (options->stack_size >= MIN_STACK && options->stack_size <= MAX_STACK));
}

/* One shard keeps the wheel's order. With more shards there is no order to keep, and more chains are faster. */
static bool open_shard(struct pawl_service *service, struct shard *shard,
                       const struct pawl_service_options *options)
{
	const struct pawl_wheel_options wheel = {
	        .start = ticks_down(&service->ticks, clock_now(service)),
	        .wheel_size = options->wheel_size,
	        .chains = options->shards == 1 ? 1 : 2, /* more is faster, but 128 KiB each */
	        .ahead = true,
	};
	size_t size = pawl_wheel_footprint(&wheel);

	*shard = (struct shard){.visit_by = PAWL_NEVER,
	                        .stats = &service->shard_stats[shard - service->shards].stats};
	shard->wheel = pawl_wheel_init(malloc(size), size, &wheel);
	CHECKED(pawl__wheel_own(shard->wheel, service));
	return shard->wheel != NULL;
}

static int open_memory(struct pawl_service *service, const struct pawl_service_options *options)
{
	service->shards = pawl__system_lines(options->shards * sizeof(struct shard));
	service->shards_end = service->shards + options->shards;
	service->walls = pawl__system_lines(options->shards * sizeof(struct wall));
	service->shard_stats = pawl__system_lines(options->shards * sizeof(struct shard_stats));
	service->workers = pawl__system_lines(service->worker_count * sizeof(struct worker));
	if (!service->shards || !service->walls || !service->shard_stats || !service->workers)
		return -ENOMEM;
	for (; service->shard_count < options->shards; service->shard_count++)
		if (!open_shard(service, &service->shards[service->shard_count], options))
			return -ENOMEM;
	pawl__wall_open(service);
	for (unsigned i = 0; i < service->worker_count; i++) {
		service->workers[i].service = service;
		service->workers[i].number = i + 1;
		service->workers[i].shard = i % service->shard_count;
	}
	if (service->pool.dispatch)
		pawl__pool_open(service);
	return 0;
}

static void free_memory(struct pawl_service *service)
{
	pawl__service_close_fd(service);
	for (unsigned i = 0; i < service->shard_count; i++) {
		CHECKED(pawl__object_forget(A_WHEEL, service->shards[i].wheel));
		free(service->shards[i].wheel);
	}
	CHECKED(pawl__object_forget(A_SERVICE, service));
	pawl__system_free_lines(service->shards);
	pawl__system_free_lines(service->walls);
	pawl__system_free_lines(service->shard_stats);
	pawl__system_free_lines(service->workers);
	free(service->journals);
	pawl__samples_free(service);
	mutex_destroy(&service->inspecting);
	condition_destroy(&service->changed);
	condition_destroy(&service->called);
	mutex_destroy(&service->mutex);
	__atomic_store_n(&service->clock->service, NULL, __ATOMIC_RELEASE);
	pawl__system_free_lines(service);
}

static int start_threads(struct pawl_service *service)
{
	void (*run)(void *) = service->pool.dispatch ? pawl__pool_thread : pawl__worker_thread;
	unsigned started = 0;
	int error = 0;

	while (!error && started < service->thread_count) {
		struct worker *worker = &service->workers[started];

		error = pawl__system_thread_start(&worker->thread, service->name,
		                                  service->stack_size, run, worker);
		started += !error;
	}
	if (error)
		pawl__service_end_threads(service, started);
	return error;
}

static int claim_clock(struct pawl_service *service, struct pawl_clock *clock)
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
	service->manual = options->workers == PAWL_SERVICE_MANUAL;
	service->worker_count = service->manual ? 1 : options->workers;
	service->pool.dispatch = options->dispatch;
	service->pool.arg = options->dispatch_arg;
	service->thread_count = service->manual ? 0 : options->dispatch ? 1 : options->workers;
	service->stack_size = options->stack_size;
	service->on_thread_start = options->on_thread_start;
	service->on_thread_start_arg = options->on_thread_start_arg;
	service->fd = -1;
	strncpy(service->name, options->name, sizeof(service->name) - 1);
	CHECKED(pawl__object_note(A_SERVICE, service, service->name));
	mutex_init(&service->mutex);
	mutex_init(&service->inspecting);
	condition_init(&service->called);
	condition_init(&service->changed);
}

int pawl_service_open(struct pawl_service **opened, const struct pawl_service_options *given)
{
	struct pawl_service_options options = complete(given);
	struct pawl_service *service;
	int error;

	if (!valid(&options))
		return -EINVAL;
	service = pawl__system_lines(sizeof(*service));
	if (!service)
		return -ENOMEM;
	error = claim_clock(service, options.clock);
	if (error) {
		pawl__system_free_lines(service);
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

/* The mistake that a close would be now; NULL: none. */
static const char *close_too_early(struct pawl_service *service)
{
	const char *mistake = NULL;

	mutex_lock(&service->mutex);
	if (service->parts)
		mistake = "a purgatory of the service is open: close that first";
	else if (service->pool.task_polled && service->state == OPEN)
		mistake = "a task has polled, so a job of the pool may be left and poll later: "
		          "stop the service, end the pool, then close";
	mutex_unlock(&service->mutex);
	return mistake;
}

static void refuse_early_close(struct pawl_service *service)
{
	const char *mistake = close_too_early(service);

	if (mistake)
		pawl__mistake("pawl_service_close", "%s", mistake);
}

void pawl_service_close(struct pawl_service *service, pawl_task_fn *dropped)
{
	if (!service)
		return;
	IN_SERVICE(service);
	pawl__service_refuse_inside_task(service, "pawl_service_close");
	refuse_early_close(service);
	pawl_service_stop(service, dropped);
	free_memory(service);
}
