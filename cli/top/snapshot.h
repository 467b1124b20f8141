/* SPDX-License-Identifier: MIT */
/* A snapshot of a service as pawl_inspect(3) has it, read from its JSON. Members that it does not know are ignored. */
#ifndef PAWL_CLI_TOP_SNAPSHOT_H
#define PAWL_CLI_TOP_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DUE_MAX = 32,
	FUNCTIONS_MAX = 512,
	LATEST_MAX = 32,
	CELLS_MAX = 4096,
	PURGATORIES_MAX = 8,
	KEYS_MAX = 16
};
enum { NAME_TEXT = 64, VERSION_TEXT = 32, HASH_TEXT = 32, OPERATION_TEXT = 256 };

struct cell {
	uint64_t end_ns, count;
};

struct cells {
	uint64_t count, max_ns;
	unsigned used;
	struct cell cell[CELLS_MAX];
};

struct due {
	uint64_t within_ns; /* UINT64_MAX: no bound */
	uint64_t count, margin;
};

/* Address 0 stands for all functions for which the service had no room. */
struct function {
	uint64_t address, pending, margin, runs, total_ns, longest_ns;
};

struct run {
	uint64_t address, worker, deadline_ns, start_ns, took_ns;
};

struct key {
	char hash[HASH_TEXT], operation[OPERATION_TEXT];
	uint64_t waiting;
};

struct purgatory {
	uint64_t watched, delayed, expired, completed_by_try, completed_by_check, completed_by_call;
	unsigned key_count;
	struct key keys[KEYS_MAX];
};

struct snapshot {
	char version[VERSION_TEXT], name[NAME_TEXT];
	uint64_t format, process, now_ns, tick_ns, workers, shards;
	uint64_t armed, ran, cancelled, dropped, pending, sampled, wakeups, empty_wakeups;
	unsigned due_count, function_count, latest_count, purgatory_count;
	struct due due[DUE_MAX];
	struct function functions[FUNCTIONS_MAX];
	struct run latest[LATEST_MAX];
	struct purgatory purgatories[PURGATORIES_MAX];
	struct cells lateness, run_time;
	uint64_t slowest_address, slowest_ns;
};

/* False: it is no JSON, or not of this format. The text ends with a zero. */
bool snapshot_read(struct snapshot *snapshot, const char *text);

/*
 * The duration that `percent` of the runs in `now` but not in `before` do not exceed, rounded up by less than 1/64; 0 if there
 * are none. `before` may be NULL.
 */
uint64_t cells_percentile(const struct cells *now, const struct cells *before, double percent);

/* Replace control characters, which could move a terminal's cursor, or worse, by blanks. For texts from the process. */
void blank_controls(char *text);

#endif
