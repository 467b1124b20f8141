/* SPDX-License-Identifier: MIT */
/* A service, a purgatory and a wheel, each with options that a program sets by its own headers. */
#include <pawl/pawl.h>
#include <stdlib.h>

#include "../support/test.h"

/* Sizes by the headers as they are: present.c. */
extern const size_t present_service_stats, present_purgatory_stats, present_place,
        present_store_stats;

struct parts {
	struct pawl_clock_manual hands;
	struct pawl_service *service;
	struct pawl_purgatory *purgatory;
	struct pawl_wheel *wheel;
	struct pawl_task task;
	struct pawl_timer timer;
};

static inline void run(struct pawl_task *task)
{
	(void)task;
}

/* A task has run 3 ms late, and a timer waits on level 2. */
static inline void open_parts(struct parts *parts)
{
	static _Alignas(max_align_t) char memory[64 * 1024];
	const struct pawl_wheel_options wheel = {.wheel_size = 20};
	const struct pawl_purgatory_options purgatory = {.shards = 1};
	const struct pawl_service_options service = {.workers = PAWL_SERVICE_MANUAL,
	                                             .clock = &parts->hands.clock};

	pawl_clock_manual_init(&parts->hands);
	EXPECT_EQ(pawl_service_open(&parts->service, &service), 0);
	EXPECT_EQ(pawl_purgatory_open(&parts->purgatory, parts->service, &purgatory), 0);
	parts->wheel = pawl_wheel_init(memory, sizeof(memory), &wheel);
	EXPECT(parts->wheel != NULL);
	pawl_task_init(&parts->task, run);
	EXPECT_EQ(pawl_service_arm(parts->service, &parts->task, 5 * PAWL_MS), 0);
	pawl_clock_manual_advance(&parts->hands, 8 * PAWL_MS);
	pawl_service_settle(parts->service);
	parts->timer = (struct pawl_timer){0};
	pawl_wheel_arm_at(parts->wheel, &parts->timer, 450);
}

static inline void close_parts(struct parts *parts)
{
	pawl_purgatory_close(parts->purgatory);
	pawl_service_close(parts->service, NULL);
}
