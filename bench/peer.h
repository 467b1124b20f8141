/* SPDX-License-Identifier: MIT */
/*
 * peer.h: what a structure must offer to be measured.
 *
 * A peer is one file with one table (or a few, where it has variants): small functions that pass the
 * call on to the library in question, and nothing else. Add the table to peers.c and the file to
 * CMakeLists.txt, and it is verified and measured with the rest.
 *
 * Time is a number that the harness counts up, from 0 at open. A timer is `timer_size` bytes of an
 * object of the harness's, aligned to a cache line and all zeroes before it is first armed.
 *
 * Every peer is reached the same way, table, adapter, library, each in a translation unit of its own,
 * so that no peer is inlined where another is called.
 */
#ifndef PAWL_BENCH_PEER_H
#define PAWL_BENCH_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_NEVER UINT64_MAX

struct peer {
	const char *name;  /* a column's title and what --peers takes: short, no blanks */
	const char *about; /* one line for --help */
	size_t timer_size;

	/*
	 * Whether timers are moved as time passes. If not, a step of churn costs the same in the
	 * first thousand ticks as in the last, and fewer of them are measured.
	 */
	bool cascades;

	/* Measured only when --peers names it: a variant, to be compared with its like. */
	bool on_request;

	/* For the peer's own open, where one file serves several peers. */
	const void *variant;

	/* An empty structure at time 0 that can take `capacity` timers; NULL if there is no memory. */
	void *(*open)(const struct peer *peer, size_t capacity);

	/* Free it. Timers may still be armed; they are not used again before they are zeroed. */
	void (*close)(void *self);

	/* Arm a timer that is idle. The deadline is after the time last advanced to. */
	void (*arm)(void *self, void *timer, uint64_t deadline);

	/* Take off a timer that is armed, or due and not yet popped. */
	void (*cancel)(void *self, void *timer);

	/* Give an armed timer another deadline, in the way that this peer does best. */
	void (*refresh)(void *self, void *timer, uint64_t deadline);

	/*
	 * Tell the time: collect all that is due by `now`. A peer that calls back collects in its
	 * callback. These three may be NULL where a peer cannot be told the time; the workloads
	 * that need them are then left out.
	 */
	void (*advance)(void *self, uint64_t now);

	/* The next of what advance collected, now idle; NULL if there is none. */
	void *(*pop)(void *self);

	/* When advance is next worth calling, not after the first deadline; PEER_NEVER if empty. */
	uint64_t (*next)(void *self);
};

/* All peers, in the order of the columns, and the one that the others are compared with. */
extern const struct peer *const peers[];
extern const size_t peer_count;
extern const struct peer peer_plain;

#endif
