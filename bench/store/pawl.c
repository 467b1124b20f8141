/* SPDX-License-Identifier: MIT */
/* pawl's store with its threads. Its clock is manual, so that a day passes in seconds. */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "peer.h"

#include <pawl/store.h>
#include <stdlib.h>
#include <string.h>

struct own {
	struct pawl_store *store;
	struct pawl_clock_manual clock;
	struct pawl_store_task taken[MOST_JOBS];
	struct pawl_store_change changes[MOST_JOBS];
};

static void *pawl_open(const char *directory, bool sync, uint64_t now)
{
	struct own *own = calloc(1, sizeof(*own));
	char problem[PAWL_STORE_PROBLEM] = "";
	struct pawl_store_options options = {.sync_ns = sync ? 0 : PAWL_NEVER, .problem = problem};
	int error;

	if (!own)
		fail("no memory");
	pawl_clock_manual_init(&own->clock);
	pawl_clock_manual_set_wall(&own->clock, timespec_of(now));
	options.clock = &own->clock.clock;
	error = pawl_store_open(&own->store, directory, &options);
	if (error)
		fail("pawl_store_open: %s %s", strerror(-error), problem);
	return own;
}

static void pawl_close(void *store)
{
	struct own *own = store;

	pawl_store_close(own->store);
	free(own);
}

static void commit(struct own *own, size_t count)
{
	int error = pawl_store_commit(own->store, own->changes, count);

	if (error)
		fail("pawl_store_commit: %s", strerror(-error));
}

static void pawl_put(void *store, const struct job *jobs, size_t count)
{
	struct own *own = store;

	for (size_t i = 0; i < count; i++)
		own->changes[i] = (struct pawl_store_change){.verb = PAWL_STORE_PUT,
		                                             .queue = "jobs",
		                                             .at_ns = jobs[i].due,
		                                             .payload = jobs[i].payload,
		                                             .size = PAYLOAD};
	commit(own, count);
}

static void pawl_take(void *store, uint64_t now, struct job *jobs, size_t count)
{
	struct own *own = store;
	uint64_t wall = pawl_store_now(own->store);
	size_t have = 0;

	if (now > wall)
		pawl_clock_manual_advance(&own->clock, now - wall);
	while (have < count) {
		int got = pawl_store_take(own->store, "jobs", PAWL_HOUR, PAWL_HOUR,
		                          own->taken + have, count - have);

		if (got < 0)
			fail("pawl_store_take: %s", strerror(-got));
		have += (size_t)got;
	}
	for (size_t i = 0; i < count; i++) {
		jobs[i].due = own->taken[i].due_ns;
		memcpy(&jobs[i].number, own->taken[i].payload, sizeof(jobs[i].number));
		memcpy(jobs[i].payload, own->taken[i].payload, PAYLOAD);
	}
}

static void pawl_ack(void *store, const struct job *jobs, size_t count)
{
	struct own *own = store;

	(void)jobs;
	for (size_t i = 0; i < count; i++)
		own->changes[i] =
		        (struct pawl_store_change){.verb = PAWL_STORE_ACK, .task = &own->taken[i]};
	commit(own, count);
}

const struct store_peer store_peer_pawl = {
        "pawl",    "pawl's store: a log, and a file for each slot of time",
        pawl_open, pawl_close,
        pawl_put,  pawl_take,
        pawl_ack,
};
