/* SPDX-License-Identifier: MIT */
/*
 * connections.h: n idle connections, each with a timeout that every message refreshes.
 *
 * A connection is one end of a socket pair; the harness writes messages to the other end. A peer is a loop: it waits for
 * readable connections and timeouts, calls connection_read() for a message, and refreshes the timeout by the library's
 * own function. Its adapter is one file with one table, as in peers/peer.h. The harness does the reading and counting,
 * the same for all, so only the loop and its timers differ.
 */
#ifndef PAWL_BENCH_CONNECTIONS_H
#define PAWL_BENCH_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peer;

/* Shared by the harness and the loop. */
struct connections {
	uint32_t count;
	uint64_t timeout_ms;
	int *fds;    /* the ends to read from */
	bool *armed; /* whether the timeout of each is running; the two functions below maintain it */

	bool done; /* leave the loop */

	/* The harness's own. */
	int *far_ends;
	uint64_t received, wanted; /* messages */
	uint64_t *last_ns;         /* began_ns when each was last read from */
	uint32_t armed_count;      /* timeouts that are running */
	uint64_t began_ns;  /* when the loop was last run: a loop reads its clock once a pass */
	bool until_expired; /* done when all timeouts have ended */
	uint64_t (*clock)(void);
	uint64_t resolution_ns; /* of the loop, as in struct loop_peer */
	const char *wrong;      /* the first thing; NULL if there is none */
};

/* The connection is readable: read it. Its timeout must be refreshed, or armed if it is not running. */
void connection_read(struct connections *connections, uint32_t i);

/* Its timeout has come to an end. */
void connection_expired(struct connections *connections, uint32_t i);

struct loop_peer {
	const char *name;
	const char *about;
	uint64_t (*clock)(void); /* that it reads; NULL: clock_ns */
	uint64_t resolution_ns;  /* by that clock its timeouts may be early by this much */
	const struct peer
	        *timers; /* the timers of a loop of our own: a peer of the wheel's benchmark */
	bool untimed;    /* it has no timeouts and is not verified */
	bool common;     /* of libevent */

	/* A loop that has no connections yet; NULL if it fails. */
	void *(*open)(const struct loop_peer *peer, struct connections *connections);

	/* Wait for messages on connection i, and let its timeout run. False if it fails. */
	bool (*add)(void *self, uint32_t i);

	/* Run the loop until connections->done, which is false when it is called. */
	void (*run)(void *self);
	void (*close)(void *self);
};

/* Each timeout ends once after the last message, and not early. Says what went wrong on stderr. */
bool verify_loop(const struct loop_peer *peer, uint64_t seed);

/* The socket pairs, for one loop after the other. Exits if there are not enough descriptors. */
void connections_open(struct connections *connections, uint32_t count);
void connections_close(struct connections *connections);

/* CPU time of the loop in ns a message, for so many messages to random connections. */
double message_cost(const struct loop_peer *peer, struct connections *connections,
                    uint64_t messages, uint64_t seed);

/* How many connections there can be at most: each takes two descriptors. */
uint32_t most_connections(void);

#endif
