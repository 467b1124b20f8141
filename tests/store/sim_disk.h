/* SPDX-License-Identifier: MIT */
/*
 * A disk in memory that notes each step, so that a test can build every state in which a crash may leave it.
 *
 * After a crash a file has what was written before its last sync, and any part of the rest, in pieces of 512 bytes. A
 * name that was made, renamed or removed since the last sync of the names may or may not be so. Each such piece or name
 * is a doubt. A crash state is a step, and an answer to each of its doubts.
 *
 * It can also fail: a step of the test's choice returns an error, and so may all that follow.
 */
#ifndef PAWL_TESTS_SIM_DISK_H
#define PAWL_TESTS_SIM_DISK_H

#include "../../src/system/disk.h"

#include <stdbool.h>

#define SIM_PIECE 512u
#define SIM_NAMES 4096

struct sim_file {
	unsigned char *data; /* its first bytes; the others, up to its size, are zeroes */
	size_t have, size;
	bool named;    /* it was in the directory when the disk was made */
	char name[32]; /* then */
};

enum sim_kind { SIM_WRITE, SIM_GROW, SIM_SYNC, SIM_NAME, SIM_RENAME, SIM_REMOVE, SIM_SYNC_NAMES };

struct sim_step {
	enum sim_kind kind;
	int file; /* which, of `files` */
	size_t offset, size;
	unsigned char *data;
	char from[32], to[32];
};

struct sim_disk {
	struct disk disk;       /* first: it is given to a store */
	struct sim_file *files; /* as they are now; the names are in `names` */
	struct sim_file *first; /* as they were when the disk was made */
	int file_count, first_count;
	struct sim_name {
		char name[32];
		int file;
	} names[SIM_NAMES];
	int name_count;
	struct sim_step *steps;
	size_t step_count, step_room;
	uint64_t space; /* bytes that may still be allocated or appended; UINT64_MAX: any number */

	/* Failures: the call of this number, counted from 0, of those that change or read something. */
	size_t calls, fail_at; /* fail_at SIZE_MAX: none */
	int fail_with;
	bool fail_on; /* also all calls after it */
	bool reads;   /* reads count as calls, too */

	/* NULL, or called before each sync: no store syncs under its mutex, so it may use the store. */
	void (*meanwhile)(void *arg);
	void *meanwhile_arg;
};

void sim_init(struct sim_disk *sim);
void sim_free(struct sim_disk *sim);

/* How many doubts a crash after the first `step` steps leaves. */
size_t sim_doubts(const struct sim_disk *sim, size_t step);

/* Make `to` the disk after that crash. answer(i, arg): what was in doubt as number i has happened. */
void sim_crash(const struct sim_disk *sim, size_t step, bool (*answer)(size_t doubt, void *arg),
               void *arg, struct sim_disk *to);

/* The bytes of a file, to flip; NULL: there is none. */
struct sim_file *sim_find(struct sim_disk *sim, const char *name);

#endif
