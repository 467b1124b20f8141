/* SPDX-License-Identifier: MIT */
/*
 * What the live view knows of a worker's runs: the latest ones, and of each function how often it ran and how long that
 * took. A worker writes its journal while a viewer is attached, and only then: worker->journal is NULL else. One
 * thread writes, another one reads at the same time, and nobody waits.
 *
 * The latest runs are a ring. Run number n is in place n % RING, and `written` is how many there were. A reader copies
 * places and looks at `written` again: what was overwritten meanwhile it throws away.
 *
 *	worker, run n                           reader
 *	-------------                           ------
 *	                                        read  written
 *	write place n % RING, by release        copy  places, by acquire
 *	write written = n + 1                   read  written: w. Run i is whole if i + RING > w
 *
 * A copy that has a word of run n has seen `written` = n, too, since that was written before; so run n - RING, whose place
 * that was, is thrown away.
 */
#ifndef PAWL_SERVICE_JOURNAL_H
#define PAWL_SERVICE_JOURNAL_H

#include "histogram.h"
#include "lock.h"

enum { RING = 64, TALLIES = 64, PROBES = 8 };

/*
 * To note a run takes some nanoseconds, which is much where thousands of short ones follow each other. So in a batch, after the
 * FIRST runs, one of SHARE stands for those before it, too: all are counted, but some for another function than theirs. A run
 * that took long is always noted, and for itself alone.
 */
enum { FIRST = 8, SHARE = 32, LONG_NS = 10000 };

struct run_note {
	pawl_task_fn *run;
	shared_uint64 deadline_ns, start_ns, took_ns;
};

/* Of all runs of a function. Each word is a statistic of its own. */
struct tally {
	pawl_task_fn *run; /* NULL: not in use */
	shared_uint64 count, total_ns, longest_ns;
};

struct journal {
	shared_uint64 written;
	uint64_t skipped; /* runs for which the next one stands; the worker's own */
	struct run_note ring[RING];
	struct tally tallies[TALLIES],
	        others; /* others: of functions for which there was no room */
};

/* The tally of the function; a new one if it is its first run. */
static inline struct tally *journal_tally(struct journal *journal, pawl_task_fn *run)
{
	unsigned first = (unsigned)((uintptr_t)run * UINT64_C(0x9E3779B97F4A7C15) >> 58);

	for (unsigned i = 0; i < PROBES; i++) {
		struct tally *tally = &journal->tallies[(first + i) % TALLIES];

		if (tally->run == run)
			return tally;
		if (!tally->run) {
			__atomic_store_n(&tally->run, run, __ATOMIC_RELAXED);
			return tally;
		}
	}
	return &journal->others;
}

/* Whether this run, with so many before it in its batch, is left to a later one. */
static inline bool journal_skips(struct journal *journal, uint64_t took_ns, size_t before)
{
	if (before < FIRST || took_ns >= LONG_NS || journal->skipped == SHARE - 1)
		return false;
	journal->skipped++;
	return true;
}

static inline void journal_note(struct journal *journal, pawl_task_fn *run, uint64_t deadline_ns,
                                uint64_t start_ns, uint64_t took_ns)
{
	struct run_note *note = &journal->ring[journal->written % RING];
	struct tally *tally = journal_tally(journal, run);
	uint64_t runs = took_ns < LONG_NS ? journal->skipped + 1 : 1;

	journal->skipped -= runs - 1;
	__atomic_store_n(&note->run, run, __ATOMIC_RELEASE);
	__atomic_store_n(&note->deadline_ns, deadline_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&note->start_ns, start_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&note->took_ns, took_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&journal->written, journal->written + 1, __ATOMIC_RELEASE);
	histogram_add(&tally->count, runs);
	histogram_add(&tally->total_ns, runs * took_ns);
	if (took_ns > tally->longest_ns)
		__atomic_store_n(&tally->longest_ns, took_ns, __ATOMIC_RELAXED);
}

/* For the reader: run number n, or false if it has been overwritten. */
static inline bool journal_read(const struct journal *journal, uint64_t number,
                                struct run_note *note)
{
	const struct run_note *place = &journal->ring[number % RING];

	note->run = __atomic_load_n(&place->run, __ATOMIC_ACQUIRE);
	note->deadline_ns = __atomic_load_n(&place->deadline_ns, __ATOMIC_ACQUIRE);
	note->start_ns = __atomic_load_n(&place->start_ns, __ATOMIC_ACQUIRE);
	note->took_ns = __atomic_load_n(&place->took_ns, __ATOMIC_ACQUIRE);
	return number + RING > __atomic_load_n(&journal->written, __ATOMIC_ACQUIRE);
}

#endif
