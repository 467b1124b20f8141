/* SPDX-License-Identifier: MIT */
/* The program that is looked at: the connection to it, its snapshots, and the names of its functions. */
#ifndef PAWL_CLI_TOP_PROGRAM_H
#define PAWL_CLI_TOP_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>

#include "snapshot.h"
#include "symbols.h"

struct program {
	const char *path; /* of the socket */
	int fd;           /* -1: not connected */
	unsigned seconds;
	char *text; /* the last answer, with a zero in place of its newline */
	size_t size, room;
	struct symbols *symbols; /* NULL until the first snapshot */
	char wrong[256];
};

/* Whether a socket can have its path. False: `wrong` says why. */
bool program_fits(struct program *program);

/* Connect. No call waits for longer than `seconds`. False: `wrong` says why, with the path. Also then, disconnect. */
bool program_connect(struct program *program, unsigned seconds);
void program_disconnect(struct program *program);

/* Ask for a snapshot, and wait for it. The caller's to free. NULL: `wrong` says why. */
struct snapshot *program_ask(struct program *program);

/*
 * The last answer with one member more, {"pawl":...,"names":{"0x1234":"expire"}}, and a newline, in valid UTF-8. `snapshot`
 * was read from it.
 */
void program_write_json(const struct program *program, const struct snapshot *snapshot, FILE *to);

#endif
