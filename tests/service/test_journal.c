/* SPDX-License-Identifier: MIT */
/* A worker's journal: what one thread writes while another one reads. */
#define _GNU_SOURCE
#include <pthread.h>

#include "../../src/service/journal.h"
#include "../support/test.h"

static struct journal journal;

static pawl_task_fn *function(uint64_t number)
{
	return (pawl_task_fn *)(uintptr_t)(0x1000 + 16 * number);
}

static void note(uint64_t number)
{
	journal_note(&journal, function(number), number, 2 * number, 3 * number);
}

static void expect_whole(const struct run_note *read, uint64_t number)
{
	EXPECT_EQ((uintptr_t)read->run, (uintptr_t)function(number));
	EXPECT_EQ(read->deadline_ns, number);
	EXPECT_EQ(read->start_ns, 2 * number);
	EXPECT_EQ(read->took_ns, 3 * number);
}

static void the_last_runs_are_there_and_older_ones_are_not(void)
{
	struct run_note read;

	memset(&journal, 0, sizeof(journal));
	for (uint64_t n = 0; n < 1000; n++) {
		note(n);
		for (uint64_t old = n < 100 ? 0 : n - 100; old <= n; old++) {
			bool whole = journal_read(&journal, old, &read);

			EXPECT_EQ(whole, old + RING > n + 1);
			if (whole)
				expect_whole(&read, old);
		}
	}
}

/* Each function that has a tally has all of its runs; those without are together in one. */
static void every_run_is_counted_once_however_many_functions_there_are(void)
{
	for (unsigned functions = 1; functions < 4 * TALLIES; functions++) {
		uint64_t count = 0, total = 0;

		memset(&journal, 0, sizeof(journal));
		for (uint64_t n = 0; n < 5 * functions; n++)
			note(n % functions);
		for (unsigned i = 0; i < TALLIES; i++) {
			const struct tally *tally = &journal.tallies[i];

			EXPECT_EQ(tally->count, tally->run ? 5 : 0);
			EXPECT_EQ(tally->total_ns, 5 * tally->longest_ns);
			count += tally->count;
			total += tally->total_ns;
		}
		EXPECT_EQ(count + journal.others.count, 5 * functions);
		EXPECT_EQ(total + journal.others.total_ns,
		          UINT64_C(15) * functions * (functions - 1) / 2);
		if (functions == 1)
			EXPECT_EQ(journal.others.count, 0);
	}
}

/* In batches of every length: no run is lost, and long ones are counted for themselves. */
static void a_run_that_is_skipped_is_counted_with_a_later_one(void)
{
	for (unsigned batch = 1; batch < 100; batch++) {
		uint64_t count = 0, noted = 0, total = 0;

		memset(&journal, 0, sizeof(journal));
		for (unsigned i = 0; i < 10 * batch; i++) {
			uint64_t took = i % 50 ? 5 : LONG_NS;

			total += took;
			if (journal_skips(&journal, took, i % batch))
				continue;
			journal_note(&journal, function(took == LONG_NS), 0, 0, took);
			noted++;
		}
		for (unsigned i = 0; i < TALLIES; i++) {
			count += journal.tallies[i].count;
			if (journal.tallies[i].longest_ns == LONG_NS)
				EXPECT_EQ(journal.tallies[i].count, (10 * batch + 49) / 50);
			total -= journal.tallies[i].total_ns;
		}
		EXPECT(journal.skipped < SHARE);
		EXPECT_EQ(count + journal.skipped, 10 * batch);
		EXPECT_EQ(total, 5 * journal.skipped);
		if (batch <= FIRST)
			EXPECT_EQ(noted, count);
		else if (batch > 50)
			EXPECT(noted < count / 2);
	}
}

enum { RUNS = 200000 };

static void *write_many(void *arg)
{
	for (uint64_t n = 0; n < RUNS; n++)
		note(n);
	return arg;
}

/* A run that is read while the writer writes is whole, or is discarded. */
static void a_reader_never_sees_a_torn_record(void)
{
	pthread_t writer;
	uint64_t end;

	memset(&journal, 0, sizeof(journal));
	pthread_create(&writer, NULL, write_many, NULL);
	do {
		end = __atomic_load_n(&journal.written, __ATOMIC_ACQUIRE);
		for (uint64_t n = end > RING ? end - RING : 0; n < end; n++) {
			struct run_note read;

			if (journal_read(&journal, n, &read))
				expect_whole(&read, n);
		}
	} while (end < RUNS);
	pthread_join(writer, NULL);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(the_last_runs_are_there_and_older_ones_are_not),
	        TEST(every_run_is_counted_once_however_many_functions_there_are),
	        TEST(a_run_that_is_skipped_is_counted_with_a_later_one),
	        TEST(a_reader_never_sees_a_torn_record),
	};

	return RUN_TESTS(tests);
}
