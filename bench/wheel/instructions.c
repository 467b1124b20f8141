/* SPDX-License-Identifier: MIT */
/*
 * pawl-count-instructions: small fixed scripts. scripts/check-instructions runs them under callgrind, which counts the
 * instructions of each. They do the same in every run and on every machine, so only the compiler and the source change
 * the counts.
 *
 *	pawl-count-instructions               run the scripts
 *	pawl-count-instructions --compiler    print the compiler and flags
 */
#define _GNU_SOURCE
#include "../../src/base/random.h"

#include <ftw.h>
#include <pawl/pawl.h>
#include <pawl/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set by the build. */
#ifndef PAWL_BENCH_LIBRARY_FLAGS
#define PAWL_BENCH_LIBRARY_FLAGS "unknown"
#endif

enum { TIMERS = 4096, MAX_DELAY = 60000, PUSH_BACK = 5000, EMPTY_ADVANCES = 4096, PAIRS = 4096 };
enum { STORED = 4096, PAYLOAD = 64, TAKEN_AT_ONCE = 64 };

/* A script is a function that callgrind can find by its name: neither inlined nor cloned. */
#ifdef __clang__
#define SCRIPT __attribute__((noinline)) void
#else
#define SCRIPT __attribute__((noipa)) void
#endif

struct stage {
	struct pawl_wheel *wheel;
	uint64_t deadline[TIMERS];
	struct pawl_timer timer[TIMERS];
};

static inline void arm(struct stage *stage)
{
	for (size_t i = 0; i < TIMERS; i++)
		pawl_wheel_arm_at(stage->wheel, &stage->timer[i], stage->deadline[i]);
}

static inline void arm_idle(struct stage *stage)
{
	for (size_t i = 0; i < TIMERS; i++)
		pawl_wheel_arm_idle_at(stage->wheel, &stage->timer[i], stage->deadline[i]);
}

static inline void touch(struct stage *stage)
{
	for (size_t i = 0; i < TIMERS; i++)
		pawl_wheel_touch_at(stage->wheel, &stage->timer[i], stage->deadline[i] + PUSH_BACK);
}

static inline void cancel(struct stage *stage)
{
	for (size_t i = 0; i < TIMERS; i++)
		pawl_wheel_cancel(stage->wheel, &stage->timer[i]);
}

/* With timers on the wheel, but none in a slot that opens. */
static inline void advance_empty(struct stage *stage)
{
	uint64_t now = pawl_wheel_now(stage->wheel);

	for (size_t i = 0; i < EMPTY_ADVANCES; i++)
		pawl_wheel_advance(stage->wheel, ++now, 0);
}

static inline void expire(struct stage *stage)
{
	uint64_t next;

	while ((next = pawl_wheel_next(stage->wheel)) != PAWL_NEVER) {
		pawl_wheel_advance(stage->wheel, next, 0);
		while (pawl_wheel_pop(stage->wheel))
			;
	}
}

/* clang-format off */
SCRIPT script_arm_1(struct stage *stage) { arm(stage); }
SCRIPT script_arm_8(struct stage *stage) { arm(stage); }
SCRIPT script_arm_idle_1(struct stage *stage) { arm_idle(stage); }
SCRIPT script_arm_idle_8(struct stage *stage) { arm_idle(stage); }
SCRIPT script_touch_1(struct stage *stage) { touch(stage); }
SCRIPT script_touch_8(struct stage *stage) { touch(stage); }
SCRIPT script_cancel_1(struct stage *stage) { cancel(stage); }
SCRIPT script_cancel_8(struct stage *stage) { cancel(stage); }
SCRIPT script_advance_1(struct stage *stage) { advance_empty(stage); }
SCRIPT script_advance_8(struct stage *stage) { advance_empty(stage); }
SCRIPT script_expire_1(struct stage *stage) { expire(stage); }
SCRIPT script_expire_8(struct stage *stage) { expire(stage); }
/* clang-format on */

struct scripts {
	void (*arm)(struct stage *), (*arm_idle)(struct stage *), (*touch)(struct stage *),
	        (*cancel)(struct stage *);
	void (*advance)(struct stage *), (*expire)(struct stage *);
};

static void set_stage(struct stage *stage, uint32_t chains)
{
	const struct pawl_wheel_options options = {.chains = chains};
	size_t size = pawl_wheel_footprint(&options);
	struct random random = {.state = 20240229};

	memset(stage, 0, sizeof(*stage));
	stage->wheel = pawl_wheel_init(malloc(size), size, &options);
	if (!stage->wheel)
		abort();
	for (size_t i = 0; i < TIMERS; i++)
		stage->deadline[i] = 1 + random_below32(&random, MAX_DELAY);
	arm(stage); /* so that the levels are ready */
	cancel(stage);
}

static void play(uint32_t chains, const struct scripts *scripts)
{
	static struct stage stage;
	struct pawl_timer far = {0};

	set_stage(&stage, chains);
	scripts->arm(&stage);
	scripts->touch(&stage);
	scripts->cancel(&stage);
	scripts->arm_idle(&stage);
	scripts->expire(&stage);
	pawl_wheel_arm_at(stage.wheel, &far, 1000000);
	scripts->advance(&stage);
	free(stage.wheel);
}

static void never_run(struct pawl_task *task)
{
	(void)task;
	abort();
}

SCRIPT script_service(struct pawl_service *service, struct pawl_task *task)
{
	for (size_t i = 0; i < PAIRS; i++) {
		pawl_service_arm(service, task, 1000000000 + i * 1000000);
		pawl_service_cancel(service, task);
	}
}

static void play_service(void)
{
	struct pawl_clock_manual clock;
	struct pawl_service_options options = {
	        .clock = &clock.clock, .workers = PAWL_SERVICE_MANUAL, .shards = 1};
	struct pawl_service *service;
	struct pawl_task task;

	pawl_clock_manual_init(&clock);
	if (pawl_service_open(&service, &options) != 0)
		abort();
	pawl_task_init(&task, never_run);
	pawl_service_arm(service, &task, 1);
	pawl_service_cancel(service, &task);
	script_service(service, &task);
	pawl_service_close(service, NULL);
}

/* Of the store without the kernel's part. Each put is a commit; most go to slots. */
SCRIPT script_store_put(struct pawl_store *store)
{
	static const char payload[PAYLOAD];

	for (uint64_t i = 0; i < STORED; i++)
		if (pawl_store_put(store, "jobs", i * 7919 % STORED * 20 * PAWL_SECOND, payload,
		                   PAYLOAD, NULL) != 0)
			abort();
}

/* Tasks that are due and in memory. Each ack is a commit. */
SCRIPT script_store_take(struct pawl_store *store)
{
	struct pawl_store_task tasks[TAKEN_AT_ONCE];

	for (size_t i = 0; i < STORED; i += TAKEN_AT_ONCE) {
		if (pawl_store_take(store, "near", PAWL_HOUR, 0, tasks, TAKEN_AT_ONCE) !=
		    TAKEN_AT_ONCE)
			abort();
		for (size_t j = 0; j < TAKEN_AT_ONCE; j++)
			if (pawl_store_ack(store, &tasks[j]) != 0)
				abort();
	}
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static void play_store(void)
{
	struct pawl_clock_manual clock;
	struct pawl_store_options options = {
	        .sync_ns = PAWL_NEVER, .clock = &clock.clock, .manual = true};
	char directory[] = "/tmp/pawl-count.XXXXXX", payload[PAYLOAD] = "";
	struct pawl_store *store;

	pawl_clock_manual_init(&clock);
	if (!mkdtemp(directory) || pawl_store_open(&store, directory, &options) != 0)
		abort();
	script_store_put(store);
	for (uint64_t i = 0; i < STORED; i++)
		if (pawl_store_put(store, "near", i * PAWL_MS, payload, PAYLOAD, NULL) != 0)
			abort();
	pawl_clock_manual_advance(&clock, STORED * PAWL_MS);
	script_store_take(store);
	pawl_store_close(store);
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif
#ifdef __x86_64__
#define MACHINE "x86_64"
#else
#define MACHINE "another machine"
#endif

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--compiler") == 0) {
		puts(COMPILER ", " MACHINE ", " PAWL_BENCH_LIBRARY_FLAGS);
		return 0;
	}
	play(1, &(struct scripts){script_arm_1, script_arm_idle_1, script_touch_1, script_cancel_1,
	                          script_advance_1, script_expire_1});
	play(8, &(struct scripts){script_arm_8, script_arm_idle_8, script_touch_8, script_cancel_8,
	                          script_advance_8, script_expire_8});
	play_service();
	play_store();
	return 0;
}
