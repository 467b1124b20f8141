/* SPDX-License-Identifier: MIT */
/* Writes the metrics of a service, a purgatory and a wheel to which known things have happened: see openmetrics.py. */
#include <pawl/pawl.h>
#include <stdio.h>
#include <stdlib.h>

static void nothing(struct pawl_task *task)
{
	(void)task;
}

static bool never(struct pawl_op *op)
{
	(void)op;
	return false;
}

static void over(struct pawl_op *op)
{
	(void)op;
}

static const struct pawl_op_type type = {never, over, NULL, NULL, over};

static void print_service(struct pawl_service *service)
{
	static char text[16384];

	if (pawl_service_metrics(service, "jobs", text, sizeof(text)) >= (int)sizeof(text))
		abort();
	fputs(text, stdout);
}

static void print_purgatory(struct pawl_purgatory *purgatory)
{
	static char text[16384];

	if (pawl_purgatory_metrics(purgatory, "ops", text, sizeof(text)) >= (int)sizeof(text))
		abort();
	fputs(text, stdout);
}

static void print_wheel(void)
{
	static _Alignas(max_align_t) char memory[64 * 1024];
	struct pawl_wheel *wheel = pawl_wheel_init(memory, sizeof(memory), NULL);
	struct pawl_timer timers[3] = {PAWL_TIMER_INIT, PAWL_TIMER_INIT, PAWL_TIMER_INIT};
	char text[1000];

	for (int i = 0; i < 3; i++)
		pawl_wheel_arm_at(wheel, &timers[i], 100);
	pawl_wheel_advance(wheel, PAWL_NEVER - 1, 0);
	if (pawl_wheel_metrics(wheel, "w:1", text, sizeof(text)) >= (int)sizeof(text))
		abort();
	fputs(text, stdout);
}

int main(void)
{
	struct pawl_clock_manual clock;
	const struct pawl_service_options options = {.clock = &clock.clock,
	                                             .workers = PAWL_SERVICE_MANUAL};
	struct pawl_task tasks[12];
	struct pawl_op expired = PAWL_OP_INIT(&type), waits = PAWL_OP_INIT(&type);
	struct pawl_key keys[2];
	struct pawl_service *service;
	struct pawl_purgatory *purgatory;

	pawl_clock_manual_init(&clock);
	if (pawl_service_open(&service, &options) != 0 ||
	    pawl_purgatory_open(&purgatory, service, NULL) != 0)
		return 1;
	keys[0] = pawl_purgatory_key(purgatory, "a", 1);
	keys[1] = pawl_purgatory_key(purgatory, "b", 1);
	for (unsigned i = 0; i < 12; i++) {
		pawl_task_init(&tasks[i], nothing);
		pawl_service_arm(service, &tasks[i], i < 10 ? (i + 1) * PAWL_MS : PAWL_HOUR);
	}
	pawl_service_cancel(service, &tasks[11]);
	if (pawl_purgatory_try_or_watch(purgatory, &expired, keys, 1, 9 * PAWL_MS) != 0 ||
	    pawl_purgatory_try_or_watch(purgatory, &waits, keys, 2, PAWL_HOUR) != 0)
		return 1;
	pawl_clock_manual_advance(&clock, 10 * PAWL_MS);
	pawl_service_settle(service);
	print_service(service);
	print_purgatory(purgatory);
	print_wheel();
	fputs(PAWL_METRICS_END, stdout);
	pawl_purgatory_close(purgatory);
	pawl_service_close(service, NULL);
	return 0;
}
