/* SPDX-License-Identifier: MIT */
/*
 * connections.h: the user's view: n idle connections, each with a time-out that every message refreshes.
 *
 * A connection is one end of a socket pair; the harness writes messages to the other end. A peer is a
 * loop: it waits for readable connections and for time-outs, has the message read, and pushes the time-out
 * back by the library's own means. Its adapter is one file with one table, as in peer.h. Reading and
 * counting are the harness's and the same for all, so what differs is the loop and its timers.
 */
#ifndef PAWL_BENCH_CONNECTIONS_H
#define PAWL_BENCH_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peer;

/* What the harness and the loop have in common. */
struct connections {
	uint32_t count;
	uint64_t timeout_ms;
	int *fds;    /* the ends to read from */
	bool *armed; /* whether the time-out of each is running; both call-backs below keep it */

	bool done; /* what is waited for has happened: leave the loop */

	/* The harness's own. */
	int *far_ends;
	uint64_t received, wanted; /* messages */
	uint64_t *last_ns;         /* began_ns when each was last read from */
	uint32_t armed_count;      /* time-outs that are running */
	uint64_t began_ns;  /* when the loop was last let run: a loop reads its clock once a pass */
	bool until_expired; /* wait for the last of them */
	uint64_t resolution_ns; /* of the loop's clock */
	const char *wrong;      /* the first thing; NULL if there is none */
};

/* The connection is readable: read it. Its time-out must be refreshed, or armed if it is not running. */
void connection_read(struct connections *connections, uint32_t i);

/* Its time-out has come to an end. */
void connection_expired(struct connections *connections, uint32_t i);

struct loop_peer {
	const char *name;
	const char *about;
	uint64_t resolution_ns; /* by how much time-outs may be early, its clock being coarse */
	const struct peer
	        *timers; /* of a loop that takes them from a peer of the wheel's benchmark */
	bool untimed;    /* has no time-outs at all, and is not verified */
	bool common;     /* of libevent */

	/* A loop that has no connections yet; NULL if it fails. */
	void *(*open)(const struct loop_peer *peer, struct connections *connections);

	/* Wait for messages on connection i, and let its time-out run. False if it fails. */
	bool (*add)(void *self, uint32_t i);

	/* Run the loop until connections->done, which is false when it is called. */
	void (*run)(void *self);
	void (*close)(void *self);
};

extern const struct loop_peer *const loop_peers[];
extern const size_t loop_peer_count;

/* Each time-out ends once after the last message, and not early. Says what went wrong on stderr. */
bool verify_loop(const struct loop_peer *peer, uint64_t seed);

/* Socket pairs for loops to watch, one loop after the other. Exits if there are not enough descriptors. */
void connections_open(struct connections *connections, uint32_t count);
void connections_close(struct connections *connections);

/* CPU time of the loop in ns a message, with so many messages to connections at random. */
double message_cost(const struct loop_peer *peer, struct connections *connections,
                    uint64_t messages, uint64_t seed);

/* How many connections there can be at most: each takes two descriptors. */
uint32_t most_connections(void);

#endif
