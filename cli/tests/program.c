/* SPDX-License-Identifier: MIT */
/*
 * program SOCKET empty|busy|hostile|many: a program to look at, until its standard input ends.
 *
 *	empty    a service without a task
 *	busy     tasks of some functions, from now to next week, one of them slow; operations that wait under keys
 *	hostile  a function and an operation whose texts would be HTML
 *	many     300,000 tasks of 300 functions
 */
#define _GNU_SOURCE
#include <pawl/inspect.h>
#include <pawl/purgatory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HTML "<img src=x onerror=document.title='owned'>"

enum { MANY = 300 };

/* The assembler takes any name in quotes. */
void hostile_function(struct pawl_task *task) __asm__("\"" HTML "\"");
void hostile_function(struct pawl_task *task)
{
	(void)task;
}

static void expire_session(struct pawl_task *task)
{
	(void)task;
}

static void retry_delivery(struct pawl_task *task)
{
	(void)!__atomic_load_n(&task->internal, __ATOMIC_RELAXED); /* unlike the one above */
}

static void refresh_prices(struct pawl_task *task)
{
	const struct timespec a_while = {.tv_nsec = 3000000};

	(void)task;
	nanosleep(&a_while, NULL);
}

/* many_0 to many_299, four bytes each. They are never called. */
__asm__(".pushsection .text\n"
        ".altmacro\n"
        ".macro one number\n"
        ".type many_\\number, %function\n"
        "many_\\number: .skip 4\n"
        ".size many_\\number, 4\n"
        ".endm\n"
        ".set number, 0\n"
        ".globl many_functions\n"
        "many_functions:\n"
        ".rept 300\n"
        "one %number\n"
        ".set number, number + 1\n"
        ".endr\n"
        ".popsection\n");
extern const char many_functions[];

static bool never(struct pawl_op *op)
{
	(void)op;
	return false;
}

static void nothing(struct pawl_op *op)
{
	(void)op;
}

static const char *description;

static void describe(struct pawl_op *op, char *text, size_t size)
{
	(void)op;
	snprintf(text, size, "%s", description);
}

static void arm(struct pawl_service *service, pawl_task_fn *run, size_t count, uint64_t first_ns,
                uint64_t apart_ns)
{
	struct pawl_task *tasks = calloc(count, sizeof(*tasks));

	for (size_t i = 0; tasks && i < count; i++) {
		pawl_task_init(&tasks[i], run);
		pawl_service_arm(service, &tasks[i], first_ns + i * apart_ns);
	}
}

static void every(struct pawl_service *service, pawl_task_fn *run, size_t count, uint64_t period_ns)
{
	struct pawl_task *tasks = calloc(count, sizeof(*tasks));

	for (size_t i = 0; tasks && i < count; i++) {
		pawl_task_init(&tasks[i], run);
		pawl_service_arm_every(service, &tasks[i], period_ns, period_ns, PAWL_SERVICE_SKIP);
	}
}

/* `count` operations under each of the keys, one less under each next one. */
static void wait_under(struct pawl_service *service, const char *text, size_t count)
{
	static const struct pawl_op_type type = {never, nothing, NULL, NULL, nothing};
	static const struct pawl_purgatory_options options = {.describe = describe};
	struct pawl_purgatory *purgatory;

	description = text;
	if (pawl_purgatory_open(&purgatory, service, &options) != 0)
		exit(1);
	for (size_t number = 0; count > number; number++)
		for (size_t i = number; i < count; i++) {
			struct pawl_key key =
			        pawl_purgatory_key(purgatory, &number, sizeof(number));
			struct pawl_op *op = malloc(sizeof(*op));

			pawl_op_init(op, &type);
			if (pawl_purgatory_try_or_watch(purgatory, op, &key, 1,
			                                3600 * PAWL_SECOND) < 0)
				exit(1);
		}
}

static void fill(struct pawl_service *service, const char *mode)
{
	const uint64_t hour = 3600 * PAWL_SECOND;

	if (strcmp(mode, "busy") == 0) {
		arm(service, expire_session, 900, 30 * PAWL_SECOND, 2 * PAWL_SECOND);
		arm(service, retry_delivery, 300, 2 * hour, hour / 2);
		every(service, expire_session, 20, 50 * PAWL_MS);
		every(service, retry_delivery, 5, 20 * PAWL_MS);
		every(service, refresh_prices, 1, 300 * PAWL_MS);
		wait_under(service, "fetch of orders from offset 4711", 6);
	} else if (strcmp(mode, "hostile") == 0) {
		every(service, hostile_function, 1, 50 * PAWL_MS);
		wait_under(service, HTML "\x1b[2J\xe2\x80\xae", 1);
	} else if (strcmp(mode, "many") == 0) {
		uint64_t random = 1;

		for (unsigned i = 0; i < 1000 * MANY; i++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			arm(service, (pawl_task_fn *)(uintptr_t)(many_functions + 4 * (i % MANY)),
			    1, hour + (random >> 14) % (200 * hour), 0);
		}
	}
}

int main(int argc, char **argv)
{
	const struct pawl_service_options options = {.name = argc == 3 ? argv[2] : NULL};
	struct pawl_service *service;

	if (argc != 3 || pawl_service_open(&service, &options) != 0 ||
	    pawl_service_inspect(service, argv[1]) != 0)
		return 1;
	fill(service, argv[2]);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	pawl_service_inspect(service, NULL);
	_exit(0); /* pending tasks stay pending */
}
