/* SPDX-License-Identifier: MIT */
/*
 * A wheel in an event loop: poll(2) waits for input or for the next timer, whichever comes first. Type lines, or pipe
 * some in. Each line pushes the idle timeout back; a heartbeat comes every 200 ms; after 1200 ms it ends.
 */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <pawl/pawl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MAX_MOVES 1000 /* of timers in one pass of the loop, so that input never waits for long */

struct connection {
	int fd;
	bool open;
	struct pawl_timer idle, heartbeat, end;
};

static uint64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* How long poll should wait for the next timer; -1 is forever. */
static int ms_until(uint64_t next, uint64_t now)
{
	if (next == PAWL_NEVER)
		return -1;
	if (next <= now)
		return 0;
	return next - now < INT_MAX ? (int)(next - now) : INT_MAX;
}

static void expire(struct pawl_wheel *wheel, struct connection *c, struct pawl_timer *timer)
{
	if (timer == &c->heartbeat) {
		printf("heartbeat\n");
		pawl_wheel_arm_at(wheel, timer, timer->deadline + 200);
	} else if (timer == &c->idle) {
		printf("idle: no input for 500 ms\n");
	} else {
		printf("over\n");
		c->open = false;
	}
}

static void read_input(struct pawl_wheel *wheel, struct connection *c)
{
	char buffer[256];
	ssize_t size = read(c->fd, buffer, sizeof(buffer));

	if (size > 0)
		pawl_wheel_touch_at(wheel, &c->idle, clock_ms() + 500);
	else
		c->fd = -1; /* the end of input: poll passes over it, the timers go on */
}

int main(void)
{
	struct pawl_wheel_options options = {.start = clock_ms()};
	size_t size = pawl_wheel_footprint(&options);
	struct pawl_wheel *wheel = pawl_wheel_init(malloc(size), size, &options);
	struct connection c = {.fd = STDIN_FILENO, .open = true};
	struct pawl_timer *timer;

	if (!wheel)
		return 1;
	pawl_wheel_arm_at(wheel, &c.idle, options.start + 500);
	pawl_wheel_arm_at(wheel, &c.heartbeat, options.start + 200);
	pawl_wheel_arm_at(wheel, &c.end, options.start + 1200);
	while (c.open) {
		struct pollfd input = {.fd = c.fd, .events = POLLIN};

		poll(&input, 1, ms_until(pawl_wheel_next(wheel), clock_ms()));
		pawl_wheel_advance(wheel, clock_ms(), MAX_MOVES);
		while (c.open && (timer = pawl_wheel_pop(wheel)) != NULL)
			expire(wheel, &c, timer);
		if (input.revents)
			read_input(wheel, &c);
	}
	pawl_wheel_cancel(wheel, &c.heartbeat);
	pawl_wheel_cancel(wheel, &c.idle);
	free(wheel);
	return 0;
}
