/* SPDX-License-Identifier: MIT */
/*
 * pawl-bench-store: delayed tasks in files, beside SQLite and LMDB where they are installed.
 *
 * Each measurement is a process of its own, on a fresh directory: its CPU time is that of all its threads, its memory
 * is not that of another peer, and it can be killed.
 */
#define _GNU_SOURCE
#include "../../src/base/random.h"
#include "../support/arguments.h"
#include "../support/machine.h"
#include "../support/report.h"
#include "peer.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t DAY = UINT64_C(86400) * SECOND;
static const uint64_t BEGINNING = UINT64_C(1767700000) * SECOND; /* in 2026 */

enum {
	REPETITIONS = 3,
	REPETITIONS_QUICK = 1,
	TASKS = 1000000,
	TASKS_QUICK = 20000,
	MANY = 10000000, /* for pawl alone */
	MANY_QUICK = 100000,
	SYNCED = 20000, /* by a hundred */
	SYNCED_QUICK = 1000,
	SINGLE = 200, /* one by one */
	SINGLE_QUICK = 20,
	BESIDE = 500000, /* to see several checkpoints */
	BESIDE_QUICK = 2000,
	BATCH = 1000,
	BATCH_SYNCED = 100,
	VERIFIED = 5000,
};

static const struct store_peer *const peers[] = {
        &store_peer_pawl,
#ifdef PAWL_BENCH_SQLITE
        &store_peer_sqlite,
#endif
#ifdef PAWL_BENCH_LMDB
        &store_peer_lmdb,
#endif
};

enum { PEERS = sizeof(peers) / sizeof(peers[0]) };

struct settings {
	struct common common;
	const char *directory;
};

/* What a process measures. */
enum what {
	PUT_CPU,
	PUT_WALL,
	PUT_BYTES,
	DISK,
	PENDING_MEMORY,
	OPEN_WALL,
	OPEN_CPU,
	OPEN_MEMORY,
	TAKE_CPU,
	TAKE_WALL,
	TAKE_MEMORY,
	SYNCED_CPU,
	SYNCED_WALL,
	SINGLE_WALL,
	SINGLE_CPU,
	MEDIAN_PUT,
	LONGEST_BESIDE,
	LONGEST_ALONE,
	WHATS
};

static const struct {
	const char *label, *unit;
} names[WHATS] = {
        [PUT_CPU] = {"put 1000 a commit no sync: CPU", "us"},
        [PUT_WALL] = {"put 1000 a commit no sync: wall", "us"},
        [PUT_BYTES] = {"bytes written a put", "bytes"},
        [DISK] = {"bytes on disk a pending task", "bytes"},
        [PENDING_MEMORY] = {"memory all pending", "MB"},
        [OPEN_WALL] = {"open after kill -9: wall", "ms"},
        [OPEN_CPU] = {"open after kill -9: CPU", "ms"},
        [OPEN_MEMORY] = {"memory after it", "MB"},
        [TAKE_CPU] = {"take + ack 1000 a commit no sync: CPU", "us"},
        [TAKE_WALL] = {"take + ack 1000 a commit no sync: wall", "us"},
        [TAKE_MEMORY] = {"memory while taking at most", "MB"},
        [SYNCED_CPU] = {"put 100 a commit sync: CPU", "us"},
        [SYNCED_WALL] = {"put 100 a commit sync: wall", "us"},
        [SINGLE_WALL] = {"put one by one sync: wall", "us"},
        [SINGLE_CPU] = {"put one by one sync: CPU", "us"},
        [MEDIAN_PUT] = {"commit of 100 with sync: median", "ms"},
        [LONGEST_BESIDE] = {"commit of 100 with sync: longest beside a checkpoint", "ms"},
        [LONGEST_ALONE] = {"commit of 100 with sync: longest at other times", "ms"},
};

/* Shared with the processes. 0: not measured. */
static double (*results)[WHATS];
static double *commits; /* ms, in run_beside */
static char directory[256];

/* The i-th of n tasks that are due evenly over a day, put in random order: a permutation, as n has no factor 7919. */
static struct job job_of(uint64_t i, uint64_t n)
{
	uint64_t place = i * 7919 % n;
	struct job job = {.due = BEGINNING + SECOND + place * (DAY / n), .number = i};
	struct random random = {i};

	memcpy(job.payload, &job.number, sizeof(job.number));
	for (size_t at = sizeof(job.number); at < PAYLOAD; at += 8) {
		uint64_t bits = random_next(&random);

		memcpy(job.payload + at, &bits, sizeof(bits));
	}
	return job;
}

struct meter {
	uint64_t wall, cpu, written;
};

static uint64_t cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* A number of a file in /proc/self, after this word. */
static uint64_t proc_number(const char *path, const char *word)
{
	FILE *file = fopen(path, "r");
	char line[256];
	uint64_t number = 0;

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, word, strlen(word)) == 0)
			number = strtoull(line + strlen(word), NULL, 10);
	if (file)
		fclose(file);
	return number;
}

static double memory_mb(void)
{
	return (double)proc_number("/proc/self/status", "RssAnon:") / 1024;
}

static struct meter meter_read(void)
{
	return (struct meter){clock_ns(), cpu_ns(), proc_number("/proc/self/io", "wchar:")};
}

static struct meter meter_since(struct meter before)
{
	struct meter now = meter_read();

	return (struct meter){now.wall - before.wall, now.cpu - before.cpu,
	                      now.written - before.written};
}

static uint64_t disk_used;

static int add_size(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)path;
	(void)type;
	(void)walk;
	disk_used += (uint64_t)status->st_blocks * 512;
	return 0;
}

static double disk_bytes(void)
{
	disk_used = 0;
	nftw(directory, add_size, 16, FTW_PHYS);
	return (double)disk_used;
}

static void put_all(const struct store_peer *peer, void *store, uint64_t n, size_t batch)
{
	static struct job jobs[MOST_JOBS];

	for (uint64_t i = 0; i < n; i += batch) {
		size_t count = n - i < batch ? (size_t)(n - i) : batch;

		for (size_t j = 0; j < count; j++)
			jobs[j] = job_of(i + j, n);
		peer->put(store, jobs, count);
	}
}

/* What it costs to make the jobs, which is not the peer's. */
static uint64_t making_cost(uint64_t n)
{
	uint64_t begin = cpu_ns();

	for (uint64_t i = 0; i < n; i++) {
		struct job job = job_of(i, n);

		keep(job.due + job.payload[PAYLOAD - 1]);
	}
	return cpu_ns() - begin;
}

static double less(uint64_t a, uint64_t b)
{
	return a > b ? (double)(a - b) : 0;
}

/* All are put, and the process ends without a close. */
static void run_puts(const struct store_peer *peer, double *result, uint64_t n)
{
	uint64_t making = making_cost(n);
	void *store = peer->open(directory, false, BEGINNING);
	struct meter begin = meter_read(), cost;

	put_all(peer, store, n, BATCH);
	cost = meter_since(begin);
	result[PUT_CPU] = less(cost.cpu, making) / 1e3 / (double)n;
	result[PUT_WALL] = less(cost.wall, making) / 1e3 / (double)n;
	result[PUT_BYTES] = (double)cost.written / (double)n;
	result[PENDING_MEMORY] = memory_mb();
	result[DISK] = disk_bytes() / (double)n;
	kill(getpid(), SIGKILL);
}

static void take_all(const struct store_peer *peer, void *store, uint64_t n, double *most)
{
	static struct job jobs[MOST_JOBS];

	for (uint64_t i = 0; i < n; i += BATCH) {
		size_t count = n - i < BATCH ? (size_t)(n - i) : BATCH;
		uint64_t last = BEGINNING + SECOND + (i + count - 1) * (DAY / n);

		peer->take(store, last + MILLISECOND, jobs, count);
		peer->ack(store, jobs, count);
		if (most && i / BATCH % 16 == 0) {
			double now = memory_mb();

			*most = now > *most ? now : *most;
		}
	}
}

/* The store of run_puts is opened, and all are taken. */
static void run_takes(const struct store_peer *peer, double *result, uint64_t n)
{
	struct meter begin = meter_read(), cost;
	void *store = peer->open(directory, false, BEGINNING);

	cost = meter_since(begin);
	result[OPEN_WALL] = (double)cost.wall / 1e6;
	result[OPEN_CPU] = (double)cost.cpu / 1e6;
	result[OPEN_MEMORY] = memory_mb();
	begin = meter_read();
	take_all(peer, store, n, &result[TAKE_MEMORY]);
	cost = meter_since(begin);
	result[TAKE_CPU] = (double)cost.cpu / 1e3 / (double)n;
	result[TAKE_WALL] = (double)cost.wall / 1e3 / (double)n;
	peer->close(store);
}

static void run_synced(const struct store_peer *peer, double *result, uint64_t n)
{
	uint64_t making = making_cost(n);
	void *store = peer->open(directory, true, BEGINNING);
	struct meter begin = meter_read(), cost;

	put_all(peer, store, n, BATCH_SYNCED);
	cost = meter_since(begin);
	result[SYNCED_CPU] = less(cost.cpu, making) / 1e3 / (double)n;
	result[SYNCED_WALL] = (double)cost.wall / 1e3 / (double)n;
	peer->close(store);
}

static void run_single(const struct store_peer *peer, double *result, uint64_t n)
{
	void *store = peer->open(directory, true, BEGINNING);
	struct meter begin = meter_read(), cost;

	put_all(peer, store, n, 1);
	cost = meter_since(begin);
	result[SINGLE_WALL] = (double)cost.wall / 1e3 / (double)n;
	result[SINGLE_CPU] = (double)cost.cpu / 1e3 / (double)n;
	peer->close(store);
}

/* pawl's logs. While a checkpoint is made there are two; each checkpoint begins one with the next number. */
struct logs {
	unsigned count;
	unsigned long last;
};

static struct logs logs_now(void)
{
	DIR *stream = opendir(directory);
	struct dirent *entry;
	struct logs logs = {0, 0};

	while (stream && (entry = readdir(stream)) != NULL) {
		unsigned long number;

		if (strncmp(entry->d_name, "log.", 4) != 0)
			continue;
		number = strtoul(entry->d_name + 4, NULL, 10);
		logs.count++;
		logs.last = number > logs.last ? number : logs.last;
	}
	if (stream)
		closedir(stream);
	return logs;
}

/* Also if the whole checkpoint fell between the two. */
static bool checkpoint_between(struct logs before, struct logs after)
{
	return before.count > 1 || after.count > 1 || before.last != after.last;
}

static void run_beside(const struct store_peer *peer, double *result, uint64_t n)
{
	static struct job jobs[BATCH_SYNCED];
	void *store = peer->open(directory, true, BEGINNING);
	size_t count = 0;

	for (uint64_t i = 0; i < n; i += BATCH_SYNCED) {
		struct logs before = logs_now();
		uint64_t begin;
		double *longest;

		for (size_t j = 0; j < BATCH_SYNCED; j++)
			jobs[j] = job_of(i + j, n);
		begin = clock_ns();
		peer->put(store, jobs, BATCH_SYNCED);
		commits[count] = (double)(clock_ns() - begin) / 1e6;
		longest = checkpoint_between(before, logs_now()) ? &result[LONGEST_BESIDE]
		                                                 : &result[LONGEST_ALONE];
		*longest = commits[count] > *longest ? commits[count] : *longest;
		count++;
	}
	result[MEDIAN_PUT] = median(commits, count);
	peer->close(store);
}

/* Each task is taken once, in order, not early; those that were acknowledged do not come back. */
static void run_verify(const struct store_peer *peer, double *result, uint64_t n)
{
	static struct job jobs[MOST_JOBS];
	void *store = peer->open(directory, false, BEGINNING);

	put_all(peer, store, n, 77);
	for (uint64_t i = 0; i < n; i += 100) {
		uint64_t now = BEGINNING + SECOND + (i + 99) * (DAY / n) + MILLISECOND;

		if (i == n / 2) {
			peer->close(store);
			store = peer->open(directory, true, now);
		}
		peer->take(store, now, jobs, 100);
		for (uint64_t j = 0; j < 100; j++) {
			struct job job = job_of(jobs[j].number, n);

			if (jobs[j].due != job.due || jobs[j].due > now ||
			    jobs[j].due < BEGINNING + SECOND + i * (DAY / n) ||
			    memcmp(jobs[j].payload, job.payload, PAYLOAD) != 0)
				fail("%s gave out a wrong task, or too early, or again",
				     peer->name);
		}
		peer->ack(store, jobs, 100);
	}
	peer->close(store);
	result[0] = 1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static void make_directory(const struct settings *settings)
{
	snprintf(directory, sizeof(directory), "%.200s/pawl-bench.XXXXXX", settings->directory);
	if (!mkdtemp(directory))
		fail("%s: %s", directory, strerror(errno));
}

static void remove_directory(void)
{
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

typedef void run_fn(const struct store_peer *peer, double *result, uint64_t n);

/* In a process of its own. */
static void run(run_fn *function, const struct store_peer *peer, double *result, uint64_t n)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (pid == 0) {
		function(peer, result, n);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid ||
	    (function == run_puts ? !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL
	                          : status != 0)) {
		remove_directory();
		fail("%s failed", peer->name);
	}
}

static void add_results(const struct store_peer *peer, uint64_t n)
{
	for (int what = 0; what < WHATS; what++) {
		const struct report_key key = {.workload = names[what].label,
		                               .peer = peer->name,
		                               .unit = names[what].unit,
		                               .n = n};

		if ((*results)[what] > 0)
			report_add(&key, (*results)[what]);
	}
}

static void measure_bulk(const struct settings *settings, const struct store_peer *peer, uint64_t n)
{
	make_directory(settings);
	run(run_puts, peer, *results, n);
	sync(); /* the next one is not to wait for this one's pages */
	run(run_takes, peer, *results, n);
	remove_directory();
}

/* On a fresh directory. */
static void measure_one(const struct settings *settings, run_fn *function,
                        const struct store_peer *peer, uint64_t n)
{
	make_directory(settings);
	run(function, peer, *results, n);
	remove_directory();
}

static void begin_sample(const struct settings *settings, const struct store_peer *peer, uint64_t n,
                         uint32_t repetition)
{
	memset(*results, 0, sizeof(*results));
	progress_show("%s, %" PRIu64 " tasks, %u of %u", peer->name, n, repetition + 1,
	              settings->common.repetitions);
	sync();
}

static void end_sample(const struct store_peer *peer, uint64_t n)
{
	add_results(peer, n);
	progress_done(1);
}

static void print_figures(uint64_t n)
{
	char text[GROUPED];

	report_table("%s tasks with payloads of %d bytes, due over 24 h, put in random order; us "
	             "a task",
	             grouped(n, text), PAYLOAD);
}

/* pawl alone, also beside checkpoints. */
static void measure_many(const struct settings *settings)
{
	bool quick = settings->common.quick;
	uint64_t n = quick ? MANY_QUICK : MANY;

	for (uint32_t repetition = 0; repetition < settings->common.repetitions; repetition++) {
		begin_sample(settings, peers[0], n, repetition);
		measure_bulk(settings, peers[0], n);
		sync();
		measure_one(settings, run_beside, peers[0], quick ? BESIDE_QUICK : BESIDE);
		end_sample(peers[0], n);
	}
	print_figures(n);
}

/* The first repetition of all, then the second of all, so that other work on the machine affects all alike. */
static void measure_peers(const struct settings *settings)
{
	bool quick = settings->common.quick;
	uint64_t n = quick ? TASKS_QUICK : TASKS;

	for (size_t i = 0; i < settings->common.repetitions * PEERS; i++) {
		const struct store_peer *peer = peers[i % PEERS];

		begin_sample(settings, peer, n, (uint32_t)(i / PEERS));
		measure_bulk(settings, peer, n);
		measure_one(settings, run_synced, peer, quick ? SYNCED_QUICK : SYNCED);
		measure_one(settings, run_single, peer, quick ? SINGLE_QUICK : SINGLE);
		end_sample(peer, n);
	}
	print_figures(n);
}

static void verify(const struct settings *settings)
{
	printf("verified ");
	for (size_t i = 0; i < PEERS; i++) {
		make_directory(settings);
		run(run_verify, peers[i], *results, VERIFIED);
		remove_directory();
		printf(" %s", peers[i]->name);
	}
	printf("\n");
}

static void help(void)
{
	puts("usage: pawl-bench-store [options]\n"
	     "\n"
	     "Delayed tasks in files: pawl's store beside others, with the same favours.\n"
	     "\n"
	     "  --quick           a few seconds: fewer tasks, one repetition\n"
	     "  --reps R          repetitions; default 3, with --quick 1\n"
	     "  --directory DIR   where the files are made; default TMPDIR or /tmp\n"
	     "  --csv FILE        write all figures to this file\n"
	     "  --verify          only verify the peers: each task is taken once, and not early\n"
	     "  --help            this\n"
	     "\n"
	     "peers:");
	for (size_t i = 0; i < PEERS; i++)
		printf("  %-10s %s\n", peers[i]->name, peers[i]->about);
}

static void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("no memory");
	return memory;
}

int main(int argc, char **argv)
{
	struct settings settings = {.directory = getenv("TMPDIR")};
	const struct argument known[] = {
	        {.name = "--quick", .flag = &settings.common.quick},
	        {.name = "--reps",
	         .number = &settings.common.repetitions,
	         .least = 1,
	         .most = MAX_REPETITIONS},
	        {.name = "--directory", .text = &settings.directory},
	        {.name = "--csv", .text = &settings.common.csv},
	        {.name = "--verify", .flag = &settings.common.only_verify},
	        {.name = "--help", .help = help},
	};

	arguments_parse(known, sizeof(known) / sizeof(known[0]), argc, argv);
	settings.common.repetitions =
	        repetitions_or(&settings.common, REPETITIONS, REPETITIONS_QUICK);
	if (!settings.directory)
		settings.directory = "/tmp";
	results = shared_memory(sizeof(*results));
	commits = shared_memory(BESIDE / BATCH_SYNCED * sizeof(*commits));
	machine_describe();
	verify(&settings);
	if (settings.common.only_verify)
		return 0;
	report_open(settings.common.csv, "store");
	progress_begin((PEERS + 1) * settings.common.repetitions);
	measure_many(&settings);
	measure_peers(&settings);
	report_close();
	return 0;
}
