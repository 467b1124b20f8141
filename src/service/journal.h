/* SPDX-License-Identifier: MIT */
/*
 * A worker's runs, for the live view: the latest ones and, for each function, how often it ran and how long
 * that took. A worker writes its journal only while a viewer is connected; else worker->journal is NULL. One thread
 * writes, another one reads at the same time, and neither waits.
 *
 * The latest runs are a ring. Run number n is in entry n % RING, and `written` is the number of runs so far. A reader
 * copies entries and then reads `written` again: it discards the runs that may have been overwritten meanwhile.
 *
 *	worker, run n                           reader
 *	-------------                           ------
 *	                                        read  written
 *	write entry n % RING, by release        copy  entries, by acquire
 *	write written = n + 1                   read  written: w. Run i is whole if i + RING > w
 *
 * `written` = n was written before run n. So a reader that has copied a word of run n reads at least n afterwards, and
 * discards run n - RING, which was in that entry before.
 */
#ifndef PAWL_SERVICE_JOURNAL_H
#define PAWL_SERVICE_JOURNAL_H

#include "../base/histogram.h"
#include "../base/lock.h"

enum { RING = 64, TALLIES = 64, PROBES = 8 };

/*
 * Noting a run takes a few nanoseconds, which is too much if thousands of short runs follow each other. So in a batch,
 * after the FIRST runs, one run in SHARE is noted and also stands for the ones before it. All runs are counted, but
 * some for another function than their own. A long run is always noted, and only for itself.
 */
enum { FIRST = 8, SHARE = 32, LONG_NS = 10000 };

struct run_note {
	pawl_task_fn *run;
	shared_uint64 deadline_ns, start_ns, took_ns;
};

/* All runs of a function. Each word is a statistic by itself. */
struct tally {
	pawl_task_fn *run; /* NULL: not in use */
	shared_uint64 count, total_ns, longest_ns;
};

struct journal {
	shared_uint64 written;
	uint64_t skipped; /* runs for which the next noted one stands; only the worker uses it */
	struct run_note ring[RING];
	struct tally tallies[TALLIES],
	        others; /* others: of functions for which there was no room */
};

/* Where to look for a function in a table of `size` entries, a power of two: Fibonacci hashing. */
static inline unsigned function_hash(pawl_task_fn *run, unsigned size)
{
	return (unsigned)((uintptr_t)run * UINT64_C(0x9E3779B97F4A7C15) / (UINT64_MAX / size + 1));
}

/* The tally of the function; a new one if it is its first run. */
static inline struct tally *journal_tally(struct journal *journal, pawl_task_fn *run)
{
	unsigned first = function_hash(run, TALLIES);

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

/* Whether to skip this run: a later one stands for it. `before`: how many runs of the batch came before. */
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
	const struct run_note *entry = &journal->ring[number % RING];

	note->run = __atomic_load_n(&entry->run, __ATOMIC_ACQUIRE);
	note->deadline_ns = __atomic_load_n(&entry->deadline_ns, __ATOMIC_ACQUIRE);
	note->start_ns = __atomic_load_n(&entry->start_ns, __ATOMIC_ACQUIRE);
	note->took_ns = __atomic_load_n(&entry->took_ns, __ATOMIC_ACQUIRE);
	return number + RING > __atomic_load_n(&journal->written, __ATOMIC_ACQUIRE);
}

#endif
