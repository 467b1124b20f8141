/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-connections: idle connections whose timeouts are refreshed at each message, with real sockets; the CPU time
 * of a message.
 *
 * A connection is one end of a socket pair; messages are written to the other end. The loop is as a user of pawl would
 * write it: epoll, timers, and the clock is read once a pass. It runs with the timers of several peers of the wheel's
 * benchmark.
 */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "../peers/peer.h"
#include "../support/arguments.h"
#include "../support/machine.h"
#include "../support/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint64_t SEED = 20240229;

enum {
	MAX_CONNECTIONS = 1000000,
	SPARE_DESCRIPTORS = 100,
	REPETITIONS = 5,
	REPETITIONS_QUICK = 3,
	MESSAGES = 100000,
	MESSAGES_QUICK = 10000,

	MESSAGE = 16, /* bytes */
	BATCH = 100,  /* messages that are sent before the loop runs */
	TIMEOUT_MS = 60000,
	EVENTS = 256,
	TIMER_SIZE = 64,
	LONGEST_WAIT_MS = 1000000,

	VERIFIED_CONNECTIONS = 200,
	VERIFIED_TIMEOUT_MS = 50,
	VERIFIED_BATCHES = 300,
	PATIENCE_S = 60,
};

extern const struct peer peer_pawl_1, peer_heap_4, peer_null;

static const struct variant {
	const char *name, *about;
	const struct peer *timers;
} variants[] = {
        {"epoll", "without any timeouts: what the messages cost by themselves", &peer_null},
        {"epoll+pawl", "with pawl's wheel", &peer_pawl_1},
        {"epoll+heap-4", "with a 4-ary heap", &peer_heap_4},
};

enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

struct connection {
	_Alignas(64) unsigned char timer[TIMER_SIZE];
	int fd, far_end;
	bool armed;
	uint64_t last; /* when it was last read from */
};

struct loop {
	const struct peer *timers;
	void *structure;
	int epoll;
	uint64_t opened_ns, now; /* ms since then, as the timers know it */
	uint64_t timeout_ms;
	uint64_t received, wanted; /* messages */
	uint32_t armed_count;
	const char *wrong; /* NULL: nothing */

	struct connection *connections;
	uint32_t count;
};

static uint64_t now_ms(const struct loop *loop)
{
	return (clock_ns() - loop->opened_ns) / MILLISECOND;
}

/* The socket pairs, for one loop after the other. Exits if there are not enough descriptors. */
static struct connection *make_connections(uint32_t count)
{
	struct connection *connections = aligned_alloc(64, count * sizeof(*connections));

	if (!connections)
		fail("no memory for %u connections", count);
	for (uint32_t i = 0; i < count; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
			fail("connection %u of %u: %s", i + 1, count, strerror(errno));
		connections[i] = (struct connection){.fd = ends[0], .far_end = ends[1]};
	}
	return connections;
}

static void free_connections(struct connection *connections, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		close(connections[i].fd);
		close(connections[i].far_end);
	}
	free(connections);
}

static void arm(struct loop *loop, struct connection *connection)
{
	loop->timers->arm(loop->structure, connection->timer, loop->now + loop->timeout_ms);
	connection->armed = true;
	loop->armed_count++;
}

/* It begins with all timeouts running. */
static void open_loop(struct loop *loop, const struct variant *variant)
{
	loop->timers = variant->timers;
	loop->structure = loop->timers->open(loop->timers, loop->count);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->opened_ns = clock_ns();
	if (!loop->structure || loop->epoll < 0)
		fail("%s cannot be opened for %u connections", variant->name, loop->count);
	for (uint32_t i = 0; i < loop->count; i++) {
		struct connection *connection = &loop->connections[i];
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};

		memset(connection->timer, 0, sizeof(connection->timer));
		connection->last = 0;
		arm(loop, connection);
		if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, connection->fd, &event) != 0)
			fail("connection %u: %s", i + 1, strerror(errno));
	}
}

static void close_loop(struct loop *loop)
{
	loop->timers->close(loop->structure);
	close(loop->epoll);
}

/* Never too short, since `now` is rounded down: the loop does not wake just before the time, only to wait again. */
static int wait_ms(const struct loop *loop)
{
	uint64_t next = loop->timers->next(loop->structure);

	if (next == PEER_NEVER)
		return -1;
	next = next > loop->now ? next - loop->now : 0;
	return next < LONGEST_WAIT_MS ? (int)next : LONGEST_WAIT_MS;
}

static void expire(struct loop *loop)
{
	struct connection *connection;

	loop->timers->advance(loop->structure, loop->now);
	while ((connection = loop->timers->pop(loop->structure)) != NULL) { /* its first member */
		if (!connection->armed)
			loop->wrong = "a timeout ended that was not running";
		else if (now_ms(loop) < connection->last + loop->timeout_ms)
			loop->wrong = "a timeout was early";
		connection->armed = false;
		loop->armed_count--;
	}
}

static void receive(struct loop *loop, struct connection *connection)
{
	char buffer[16 * MESSAGE];
	ssize_t bytes = read(connection->fd, buffer, sizeof(buffer));

	if (bytes <= 0)
		return;
	loop->received += (uint64_t)bytes / MESSAGE;
	connection->last = loop->now;
	if (connection->armed)
		loop->timers->refresh(loop->structure, connection->timer,
		                      loop->now + loop->timeout_ms);
	else
		arm(loop, connection);
}

/* Until all messages have been received, or all timeouts have ended. */
static void run_loop(struct loop *loop, bool until_expired)
{
	struct epoll_event events[EVENTS];

	while (!loop->wrong &&
	       (until_expired ? loop->armed_count > 0 : loop->received < loop->wanted)) {
		int count = epoll_wait(loop->epoll, events, EVENTS, wait_ms(loop));

		loop->now = now_ms(loop);
		expire(loop);
		for (int i = 0; i < count; i++)
			receive(loop, events[i].data.ptr);
	}
}

static void send_batch(struct loop *loop, uint32_t count, struct random *random)
{
	static const char message[MESSAGE];

	for (uint32_t sent = 0; sent < count; sent++) {
		uint32_t i = random_below32(random, loop->count);

		if (write(loop->connections[i].far_end, message, MESSAGE) != MESSAGE)
			fail("a message could not be sent: %s", strerror(errno));
	}
	loop->wanted += count;
}

/* Each timeout ends once after the last message, and not early. */
static void verify(const struct variant *variant)
{
	struct loop loop = {.timeout_ms = VERIFIED_TIMEOUT_MS, .count = VERIFIED_CONNECTIONS};
	struct random random = {.state = SEED};

	loop.connections = make_connections(loop.count);
	open_loop(&loop, variant);
	alarm(PATIENCE_S); /* ends the program if a timeout never comes */
	for (uint32_t batch = 0; batch < VERIFIED_BATCHES; batch++) {
		send_batch(&loop, 1 + random_below32(&random, 4), &random);
		run_loop(&loop, false);
		sleep_for(MILLISECOND);
	}
	run_loop(&loop, true);
	alarm(0);
	close_loop(&loop);
	free_connections(loop.connections, loop.count);
	if (loop.wrong)
		fail("%s failed its verification (seed %" PRIu64 "): %s; nothing was measured",
		     variant->name, SEED, loop.wrong);
	printf("verified  %s\n", variant->name);
}

/* CPU time of the loop in ns a message, for so many messages to random connections. */
static double message_cost(const struct variant *variant, struct connection *connections,
                           uint32_t count, uint64_t messages)
{
	struct loop loop = {.timeout_ms = TIMEOUT_MS, .connections = connections, .count = count};
	struct random random = {.state = SEED};
	uint64_t batches = messages / BATCH, spent = 0;

	open_loop(&loop, variant);
	for (uint64_t batch = 0; batch < batches; batch++) {
		send_batch(&loop, BATCH, &random);
		uint64_t before = read_clock(CLOCK_THREAD_CPUTIME_ID);
		run_loop(&loop, false);
		spent += read_clock(CLOCK_THREAD_CPUTIME_ID) - before;
	}
	close_loop(&loop);
	return (double)spent / (double)(batches * BATCH);
}

struct settings {
	struct common common;
	struct numbers sizes;
};

static void measure(const struct settings *settings, uint32_t n)
{
	uint64_t messages = settings->common.quick ? MESSAGES_QUICK : MESSAGES;
	struct connection *connections = make_connections(n);
	char text[GROUPED];

	for (uint32_t repetition = 0; repetition < settings->common.repetitions; repetition++) {
		for (size_t i = 0; i < VARIANTS; i++) {
			const struct report_key key = {.workload = "message",
			                               .peer = variants[i].name,
			                               .unit = "cpu-ns",
			                               .n = n};

			progress_show("%u connections, %u of %u, %s", n, repetition + 1,
			              settings->common.repetitions, variants[i].name);
			report_add(&key, message_cost(&variants[i], connections, n, messages));
			progress_done(1);
		}
	}
	free_connections(connections, n);
	report_table("%s idle connections", grouped(n, text));
}

/* Each takes two descriptors. */
static uint32_t most_connections(void)
{
	size_t descriptors = raise_limit(RLIMIT_NOFILE);
	size_t most = descriptors > SPARE_DESCRIPTORS ? (descriptors - SPARE_DESCRIPTORS) / 2 : 0;

	return most < MAX_CONNECTIONS ? (uint32_t)most : MAX_CONNECTIONS;
}

static void help(void)
{
	puts("usage: pawl-bench-connections [options]\n"
	     "\n"
	     "Idle connections whose timeouts are refreshed at each message, in an epoll loop: "
	     "CPU.\n"
	     "\n"
	     "  --quick           a few seconds: fewer messages, 3 repetitions\n"
	     "  --n N[,N...]      how many connections; default 1000, and 10000 or as many as the "
	     "limit\n"
	     "                    of descriptors allows\n"
	     "  --reps R          repetitions; default 5\n"
	     "  --csv FILE        write all figures to this file\n"
	     "  --verify          only verify the loops: each timeout ends once, and not early\n"
	     "  --help            this\n"
	     "\n"
	     "loops:");
	for (size_t i = 0; i < VARIANTS; i++)
		printf("  %-16s %s\n", variants[i].name, variants[i].about);
}

static void default_sizes(struct numbers *sizes)
{
	uint32_t most = most_connections();

	sizes->value[0] = most < 1000 ? most : 1000;
	sizes->value[1] = most < 10000 ? most : 10000;
	sizes->count = most > 1000 ? 2 : 1;
}

int main(int argc, char **argv)
{
	struct settings settings = {0};
	const struct argument known[] = {
	        {.name = "--quick", .flag = &settings.common.quick},
	        {.name = "--n", .numbers = &settings.sizes, .least = 1, .most = most_connections()},
	        {.name = "--reps",
	         .number = &settings.common.repetitions,
	         .least = 1,
	         .most = MAX_REPETITIONS},
	        {.name = "--csv", .text = &settings.common.csv},
	        {.name = "--verify", .flag = &settings.common.only_verify},
	        {.name = "--help", .help = help},
	};

	arguments_parse(known, sizeof(known) / sizeof(known[0]), argc, argv);
	if (!settings.sizes.count)
		default_sizes(&settings.sizes);
	settings.common.repetitions =
	        repetitions_or(&settings.common, REPETITIONS, REPETITIONS_QUICK);
	machine_prepare();
	machine_describe();
	for (size_t i = 0; i < VARIANTS; i++)
		if (!variants[i].timers->null)
			verify(&variants[i]);
	if (settings.common.only_verify)
		return 0;
	report_open(settings.common.csv, "connections");
	progress_begin((double)(settings.sizes.count * settings.common.repetitions * VARIANTS));
	for (size_t i = 0; i < settings.sizes.count; i++)
		measure(&settings, settings.sizes.value[i]);
	report_close();
	return 0;
}
