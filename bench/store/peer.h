/* SPDX-License-Identifier: MIT */
/*
 * peer.h: stores of delayed tasks, all with the same favours: a log for writing, the key (due, id), leases in memory,
 * and as many changes in a commit as the caller gives. A peer that fails calls fail().
 */
#ifndef PAWL_BENCH_STORE_PEER_H
#define PAWL_BENCH_STORE_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAYLOAD = 64, MOST_JOBS = 1000 };

/* The payload begins with the number. */
struct job {
	uint64_t due; /* ns since 1970 */
	uint64_t number;
	unsigned char payload[PAYLOAD];
};

struct store_peer {
	const char *name, *about;
	/* Open or make the store in a directory. sync: each commit is on the disk when it returns. */
	void *(*open)(const char *directory, bool sync, uint64_t now);
	void (*close)(void *store);
	/* Put these in one commit. */
	void (*put)(void *store, const struct job *jobs, size_t count);
	/* Take the next `count` that are due at this time; there are as many, and none is taken twice. */
	void (*take)(void *store, uint64_t now, struct job *jobs, size_t count);
	/* End those of the last take, in one commit. */
	void (*ack)(void *store, const struct job *jobs, size_t count);
};

extern const struct store_peer store_peer_pawl, store_peer_sqlite, store_peer_lmdb;

#endif
