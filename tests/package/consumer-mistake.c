/* SPDX-License-Identifier: MIT */
/* A program with a mistake, which the checked library answers: a pending task is initialised, and never runs. */
#include <pawl/pawl.h>
#include <stdlib.h>

static void run(struct pawl_task *task)
{
	(void)task;
}

int main(void)
{
	const struct pawl_service_options options = {.name = "jobs"};
	struct pawl_service *service;
	struct pawl_task task;

	if (pawl_service_open(&service, &options) != 0)
		return 1;
	pawl_task_init(&task, run);
	pawl_service_arm(service, &task, PAWL_HOUR);
	pawl_task_init(&task, run);
	_Exit(0); /* the service has a task of which it does not know the end */
}
