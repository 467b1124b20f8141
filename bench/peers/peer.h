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
 * A peer that has a clock of its own and cannot be told the time has no advance, pop and next, but a
 * turn. It takes a unit of time as a millisecond. Its clock stands still while it is measured, since no
 * turn of its loop is made then: that suffices for arm, cancel and refresh. By turns it is verified.
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

typedef void peer_fired_fn(void *timer, void *arg);

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

	/* If not 0, what happens as time passes is left out with more timers than this: it says nothing new. */
	uint32_t most_in_time;

	/* Does nothing: what is measured is the harness's own cost. It would fail a verification. */
	bool null;

	/*
	 * Keeps its timers in the kernel, so that its memory is not to be seen here; and a call takes a
	 * microsecond, so that fewer of them are enough.
	 */
	bool in_kernel;

	/* If not 0, it is measured in objects of this many bytes only. */
	size_t object_size;

	/* If not 0, all timers get this delay, whatever the deadline says; only refresh is measured. */
	uint64_t common_delay;

	/* By how much a clock of its own may be behind the real one, and timers early. */
	uint64_t resolution_ns;

	/* For the peer's own open, where one file serves several peers. */
	const void *variant;

	/* How many timers it can hold on this machine. NULL: as many as there is memory for. */
	size_t (*limit)(void);

	/* An empty structure at time 0 that can take `capacity` timers; NULL if there is no memory. */
	void *(*open)(const struct peer *peer, size_t capacity);

	/* The same with room to open ahead; and to do so, in at most so many moves. NULL: it cannot. */
	void *(*open_ahead)(const struct peer *peer, size_t capacity);
	size_t (*ahead)(void *self, size_t max_moves);

	/* Free it. Timers may still be armed; they are not used again before they are zeroed. */
	void (*close)(void *self);

	/* Arm a timer that is idle. The deadline is after the time last advanced to. */
	void (*arm)(void *self, void *timer, uint64_t deadline);

	/* Take off a timer that is armed, or due and not yet popped. */
	void (*cancel)(void *self, void *timer);

	/* Give an armed timer another deadline, in the way that this peer does best. */
	void (*refresh)(void *self, void *timer, uint64_t deadline);

	/*
	 * Tell the time: collect all that is due by `now`. False: nothing has become due by this call, so if
	 * all was popped before, pop need not be called. A peer that calls back collects in its callback. These three may be NULL where a peer cannot be told the time; the workloads
	 * that need them are then left out.
	 */
	bool (*advance)(void *self, uint64_t now);

	/* The same in at most so many moves; false if there is more to do. NULL: it has no bound. */
	bool (*advance_bounded)(void *self, uint64_t now, size_t max_moves);

	/* The next of what advance collected, now idle; NULL if there is none. */
	void *(*pop)(void *self);

	/* When advance is next worth calling, not after the first deadline; PEER_NEVER if empty. */
	uint64_t (*next)(void *self);

	/*
	 * One turn of the peer's own loop, by the real clock and without waiting, which calls `fired`
	 * for each timer that is due, now idle. NULL for a peer that is told the time.
	 */
	void (*turn)(void *self, peer_fired_fn *fired, void *arg);

	/*
	 * Call fn(arg) as the peer would call a user's function: from within its loop, where a library
	 * may save itself the reading of the clock. NULL: it makes no difference.
	 */
	void (*within)(void *self, void (*fn)(void *arg), void *arg);

	/* Entries in the structure, dead ones included. NULL: those that are armed, always. */
	size_t (*entries)(void *self);
};

/* All peers, in the order of the columns, and the one that the others are compared with. */
extern const struct peer *const peers[];
extern const size_t peer_count;
extern const struct peer peer_plain;

#endif
