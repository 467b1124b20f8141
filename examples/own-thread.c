/* SPDX-License-Identifier: MIT */
/*
 * A service without threads, whose tasks run in your own loop. The loop sleeps on the service's clock until the next
 * poll has something to do. Any thread may arm a task. If its deadline is before the end of that sleep, the service
 * wakes the loop. Kafka's reaper does the same with advanceClock.
 */
#include <pawl/pawl.h>
#include <pthread.h>
#include <stdio.h>

struct loop {
	struct pawl_clock_system clock;
	struct pawl_service *service;
	struct pawl_task tea, end; /* `end` is armed by another thread */
	bool over;
};

static void tea_is_ready(struct pawl_task *task)
{
	(void)task;
	printf("tea\n"); /* in an hour, if the loop goes on for so long */
}

static void end_loop(struct pawl_task *task)
{
	struct loop *loop = PAWL_CONTAINER_OF(task, struct loop, end);

	printf("over\n");
	loop->over = true; /* no atomic: tasks run on the loop's own thread */
}

static void *another_thread(void *arg)
{
	struct loop *loop = arg;

	pawl_service_arm(loop->service, &loop->end, 0); /* it wakes the loop */
	return NULL;
}

static void run(struct loop *loop)
{
	struct pawl_clock *clock = &loop->clock.clock;

	while (!loop->over) {
		clock->wait(clock, pawl_service_next(loop->service));
		pawl_service_poll(loop->service, 0);
	}
}

int main(void)
{
	static struct loop loop;
	const struct pawl_service_options options = {.workers = PAWL_SERVICE_MANUAL,
	                                             .clock = &loop.clock.clock};
	pthread_t thread;

	pawl_clock_monotonic_init(&loop.clock);
	if (pawl_service_open(&loop.service, &options) != 0)
		return 1;
	pawl_task_init(&loop.tea, tea_is_ready);
	pawl_task_init(&loop.end, end_loop);
	pawl_service_arm(loop.service, &loop.tea, PAWL_HOUR);
	if (pthread_create(&thread, NULL, another_thread, &loop) != 0)
		return 1;
	run(&loop);
	pthread_join(thread, NULL);
	pawl_service_close(loop.service, NULL);
	return 0;
}
