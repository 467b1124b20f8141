/* SPDX-License-Identifier: MIT */
/*
 * peer.h: the functions of a structure that is measured, a peer. docs/benchmarks.md says how to add one.
 *
 * A peer is a file with one table, or several tables if it has variants. Its functions pass each call on to the library
 * and do nothing else.
 *
 * Time is a number that the harness counts up, from 0 at open. A timer is the first `timer_size` bytes of an object
 * that belongs to the harness. It is aligned to a cache line and all zeroes before it is first armed.
 *
 * A peer that reads the clock itself cannot be told the time. It has no advance, pop and next, but a pass, and for it a
 * unit of time is a millisecond. Arm, cancel and refresh are measured without a pass, so its time stands still. The
 * verification uses passes.
 *
 * All peers are called the same way: the harness calls through the table, and the adapter calls the library. No call is
 * inlined in one peer and not in another.
 */
#ifndef PAWL_BENCH_PEER_H
#define PAWL_BENCH_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_NEVER UINT64_MAX

/* A function of a structure that is in its adapter's file: called there as a library's is. */
#define OUT_OF_LINE static __attribute__((noinline))

enum { MAX_PEERS = 32 };

typedef void peer_fired_fn(void *timer, void *arg);

struct peer {
	const char *name;  /* of its row, and for --peers: short, no blanks */
	const char *about; /* one line for --help */
	size_t timer_size;

	/*
	 * It moves timers as time passes. If not, a step of churn costs the same in the first thousand ticks as in the
	 * last, and fewer steps are measured.
	 */
	bool cascades;

	/* A variant: measured only if --peers names it. */
	bool on_request;

	/* If not 0: with more timers than this, it is measured in arm, cancel, memory and pass only. */
	uint32_t most_in_time;

	/* It does nothing, to measure what the harness costs. It is not verified unless --peers names it. */
	bool null;

	/*
	 * Its timers are in the kernel. Their memory cannot be measured here, and a call takes a microsecond, so fewer
	 * calls are measured.
	 */
	bool in_kernel;

	/* It keeps freed memory for later timers, so malloc's count does not say what they need: it is not measured. */
	bool keeps_memory;

	/* If not 0: it is measured in objects of this many bytes only. */
	size_t object_size;

	/* If not 0: all timers get this delay and `deadline` is ignored; only refresh is measured. */
	uint64_t common_delay;

	/* The clock that it reads, if it has a `pass`. NULL: clock_ns. */
	uint64_t (*clock)(void);

	/* By that clock its timers may be early by this much, because it rounds times down. */
	uint64_t resolution_ns;

	/* For its `open`, if one file has several peers. */
	const void *variant;

	/*
	 * With more timers than this it is not measured: it cannot hold more on this machine, or gets too slow. NULL:
	 * any number.
	 */
	size_t (*limit)(void);

	/* An empty structure at time 0 with room for `capacity` timers; NULL if there is no memory. */
	void *(*open)(const struct peer *peer, size_t capacity);

	/* As open, and `ahead` may be called: open slots ahead, in at most `max_moves` moves. NULL: it cannot. */
	void *(*open_ahead)(const struct peer *peer, size_t capacity);
	size_t (*ahead)(void *self, size_t max_moves);

	/* Free it. Timers may still be armed; they are not used again before they are zeroed. */
	void (*close)(void *self);

	/* Arm a timer that is idle. The deadline is after the time last advanced to. */
	void (*arm)(void *self, void *timer, uint64_t deadline);

	/* Remove a timer that is armed, or due and not yet popped. */
	void (*cancel)(void *self, void *timer);

	/* Give a timer that is armed, or due and not yet popped, another deadline, by the library's fastest call. */
	void (*refresh)(void *self, void *timer, uint64_t deadline);

	/*
	 * Set the time: all timers with a deadline up to `now` become due. Returns false if none became due: then, if
	 * all due timers were popped before, pop need not be called. A library that calls back puts the timers into a
	 * list in its callback. NULL, with pop and next, if the peer cannot be told the time; the workloads that need
	 * them are left out.
	 */
	bool (*advance)(void *self, uint64_t now);

	/* As advance, in at most `max_moves` moves; false if there is more to do. NULL: it has no bound. */
	bool (*advance_bounded)(void *self, uint64_t now, size_t max_moves);

	/* A due timer, which is idle from now on; NULL if there is none. */
	void *(*pop)(void *self);

	/* The time at which to advance next: not before now, not after the first deadline. PEER_NEVER if empty. */
	uint64_t (*next)(void *self);

	/*
	 * One pass of the library's own loop, by the real clock and without waiting. It calls `fired` for each timer
	 * that is due; the timer is idle by then. NULL for a peer that is told the time.
	 */
	void (*pass)(void *self, peer_fired_fn *fired, void *arg);

	/*
	 * Call fn(arg) as the library calls a user's function, from within its loop: there it may not need to read the
	 * clock. NULL: it makes no difference.
	 */
	void (*within)(void *self, void (*fn)(void *arg), void *arg);

	/* Entries in the structure, those of cancelled timers included. NULL: as many as are armed. */
	size_t (*entries)(void *self);
};

/* All peers, in the order of the tables' rows; and the plain wheel, with which the others are compared. */
extern const struct peer *const peers[];
extern const size_t peer_count;
extern const struct peer peer_plain;

#endif
