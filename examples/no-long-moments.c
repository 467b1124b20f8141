/* SPDX-License-Identifier: MIT */
/*
 * No long stalls: a loop that moves timers before their slot opens, a few in each pass. A hundred thousand requests
 * have a timeout of 30 seconds and are never answered; twice, on a wheel without room for moving ahead and on a wheel
 * with it. The example counts the longest pass, in timers moved. The time is made up: a pass takes a millisecond.
 */
#include <pawl/wheel.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUESTS 100000
#define AHEAD    64 /* moves ahead in a pass */

struct request {
	struct pawl_timer timeout; /* first: a timer is its request */
	uint64_t timed_out;
};

static void expire(struct request *request, uint64_t now)
{
	request->timed_out = now;
}

/* One pass of the loop. Returns how many timers were moved in it. */
static size_t pass(struct pawl_wheel *wheel, uint64_t now)
{
	struct pawl_timer *timer;
	size_t moves = pawl_wheel_advance(wheel, now, 0);

	while (moves > 0 && (timer = pawl_wheel_pop(wheel)) != NULL) /* 0: nothing became due */
		expire((struct request *)timer, now);
	return moves + pawl_wheel_ahead(wheel, AHEAD);
}

/* The loop, until every request has timed out. Returns the most timers moved in one pass. */
static size_t run(struct pawl_wheel *wheel)
{
	size_t most = 0;

	for (uint64_t now = 0; pawl_wheel_count(wheel) > 0; now++) {
		uint64_t next = pawl_wheel_next(wheel);
		size_t moves;

		if (next > now)
			now = next; /* here it would sleep, and look at its sockets */
		moves = pass(wheel, now);
		most = moves > most ? moves : most;
	}
	return most;
}

/* Ten requests come in each millisecond. Returns whether each timed out when it should. */
static bool try_with(struct request *requests, bool ahead)
{
	struct pawl_wheel_options options = {.ahead = ahead};
	size_t size = pawl_wheel_footprint(&options);
	struct pawl_wheel *wheel = pawl_wheel_init(malloc(size), size, &options);
	bool on_time = wheel != NULL;

	if (!wheel)
		return false;
	for (uint64_t i = 0; i < REQUESTS; i++)
		pawl_wheel_arm_at(wheel, &requests[i].timeout, i / 10 + 30000);
	printf("%s moving ahead: at most %zu moves in a pass\n", ahead ? "with" : "without",
	       run(wheel));
	for (uint64_t i = 0; i < REQUESTS; i++)
		on_time &= requests[i].timed_out == i / 10 + 30000;
	free(wheel);
	return on_time;
}

int main(void)
{
	struct request *requests = calloc(REQUESTS, sizeof(*requests));
	bool on_time = requests && try_with(requests, false) && try_with(requests, true);

	printf("%s\n", on_time ? "all timed out on time" : "not all timed out on time");
	free(requests);
	return on_time ? 0 : 1;
}
