/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "connections.h"

#include "../../src/base/random.h"
#include "../support/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	MESSAGE = 16, /* bytes */
	BATCH = 100,  /* messages that are sent before the loop runs */
	TIMEOUT_MS = 60000,
	SPARE_DESCRIPTORS = 100,

	VERIFIED_CONNECTIONS = 200,
	VERIFIED_TIMEOUT_MS = 50,
	VERIFIED_BATCHES = 300,
	PATIENCE_S = 60,
};

uint32_t most_connections(void)
{
	size_t descriptors = raise_limit(RLIMIT_NOFILE);

	if (descriptors > UINT32_MAX)
		descriptors = UINT32_MAX;
	return descriptors > SPARE_DESCRIPTORS ? (uint32_t)(descriptors - SPARE_DESCRIPTORS) / 2
	                                       : 0;
}

void connections_open(struct connections *connections, uint32_t count)
{
	*connections = (struct connections){.count = count, .timeout_ms = TIMEOUT_MS};
	connections->fds = calloc(count, sizeof(int));
	connections->far_ends = calloc(count, sizeof(int));
	connections->armed = calloc(count, sizeof(bool));
	connections->last_ns = calloc(count, sizeof(uint64_t));
	if (!connections->fds || !connections->far_ends || !connections->armed ||
	    !connections->last_ns)
		fail("no memory for %u connections", count);
	for (uint32_t i = 0; i < count; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
			fail("connection %u of %u: %s", i + 1, count, strerror(errno));
		connections->fds[i] = ends[0];
		connections->far_ends[i] = ends[1];
	}
}

void connections_close(struct connections *connections)
{
	for (uint32_t i = 0; i < connections->count; i++) {
		close(connections->fds[i]);
		close(connections->far_ends[i]);
	}
	free(connections->fds);
	free(connections->far_ends);
	free(connections->armed);
	free(connections->last_ns);
}

/* The loop begins with all timeouts running. */
static void *open_loop(const struct loop_peer *peer, struct connections *connections)
{
	uint64_t now;
	void *self;

	connections->clock = peer->clock ? peer->clock : clock_ns;
	connections->resolution_ns = peer->resolution_ns;
	now = connections->clock();
	for (uint32_t i = 0; i < connections->count; i++) {
		connections->armed[i] = true;
		connections->last_ns[i] = now;
	}
	connections->armed_count = connections->count;
	self = peer->open(peer, connections);
	if (!self)
		fail("%s cannot be opened for %u connections", peer->name, connections->count);
	for (uint32_t i = 0; i < connections->count; i++)
		if (!peer->add(self, i))
			fail("%s cannot add connection %u", peer->name, i + 1);
	return self;
}

static void run_loop(const struct loop_peer *peer, void *self, struct connections *connections)
{
	if (!connections->done)
		peer->run(self);
}

void connection_read(struct connections *connections, uint32_t i)
{
	char buffer[16 * MESSAGE];
	ssize_t bytes = read(connections->fds[i], buffer, sizeof(buffer));

	if (bytes <= 0)
		return;
	connections->received += (uint64_t)bytes / MESSAGE;
	if (connections->received == connections->wanted)
		connections->done = true;
	if (!connections->armed[i]) {
		connections->armed[i] = true;
		connections->armed_count++;
	}
	connections->last_ns[i] = connections->began_ns;
}

void connection_expired(struct connections *connections, uint32_t i)
{
	uint64_t due = connections->last_ns[i] + connections->timeout_ms * 1000000;

	if (!connections->armed[i]) {
		connections->wrong = "a timeout ended that was not running";
		return;
	}
	if (connections->clock() + connections->resolution_ns < due)
		connections->wrong = "a timeout was early";
	connections->armed[i] = false;
	connections->armed_count--;
	if (connections->until_expired && connections->armed_count == 0)
		connections->done = true;
}

static void send_batch(struct connections *connections, uint32_t count, struct random *random)
{
	static const char message[MESSAGE];

	for (uint32_t sent = 0; sent < count; sent++) {
		uint32_t i = random_below32(random, connections->count);

		if (write(connections->far_ends[i], message, MESSAGE) != MESSAGE)
			fail("a message could not be sent: %s", strerror(errno));
	}
	connections->wanted += count;
	connections->done = false;
	connections->began_ns = connections->clock();
}

bool verify_loop(const struct loop_peer *peer, uint64_t seed)
{
	struct random random = {.state = seed};
	struct connections connections;
	void *self;

	connections_open(&connections, VERIFIED_CONNECTIONS);
	connections.timeout_ms = VERIFIED_TIMEOUT_MS;
	self = open_loop(peer, &connections);
	alarm(PATIENCE_S); /* ends the program if a timeout never comes */
	for (uint32_t batch = 0; batch < VERIFIED_BATCHES && !connections.wrong; batch++) {
		send_batch(&connections, 1 + random_below32(&random, 4), &random);
		run_loop(peer, self, &connections);
		sleep_for(MILLISECOND);
	}
	connections.until_expired = true;
	connections.done = connections.armed_count == 0;
	if (!connections.wrong)
		run_loop(peer, self, &connections);
	alarm(0);
	peer->close(self);
	connections_close(&connections);
	if (connections.wrong)
		fprintf(stderr, "%s: %s\n", peer->name, connections.wrong);
	return !connections.wrong;
}

double message_cost(const struct loop_peer *peer, struct connections *connections,
                    uint64_t messages, uint64_t seed)
{
	struct random random = {.state = seed};
	uint64_t batches = messages / BATCH, spent = 0;
	void *self = open_loop(peer, connections);

	for (uint64_t batch = 0; batch < batches; batch++) {
		send_batch(connections, BATCH, &random);
		uint64_t before = read_clock(CLOCK_THREAD_CPUTIME_ID);
		run_loop(peer, self, connections);
		spent += read_clock(CLOCK_THREAD_CPUTIME_ID) - before;
	}
	peer->close(self);
	return (double)spent / (double)(batches * BATCH);
}
