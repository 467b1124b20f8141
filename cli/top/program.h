/* SPDX-License-Identifier: MIT */
/* The program that is looked at: the connection to it, its snapshots, and the names of its functions. */
#ifndef PAWL_CLI_TOP_PROGRAM_H
#define PAWL_CLI_TOP_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>

#include "link.h"
#include "snapshot.h"
#include "symbols.h"

struct program {
	const char *path; /* of the socket */
	struct link link;
	struct symbols *symbols; /* NULL until the first snapshot */
};

/* As link_open(). */
bool program_connect(struct program *program, unsigned seconds);
void program_disconnect(struct program *program);

/* The caller's to free. NULL: program->link.wrong says why. */
struct snapshot *program_ask(struct program *program);

/*
 * The last answer with one member more, {"pawl":...,"names":{"0x1234":"expire"}}, and a newline, in valid UTF-8. `snapshot`
 * was read from it.
 */
void program_write_json(const struct program *program, const struct snapshot *snapshot, FILE *to);

#endif
