/* SPDX-License-Identifier: MIT */
/* Commands that run for lines, a bounded number at once. */
#ifndef PAWL_CLI_CHILDREN_H
#define PAWL_CLI_CHILDREN_H

#include <sys/types.h>

#include "entries.h"

struct child {
	pid_t pid; /* 0: free */
	uint64_t number;
	struct entry *entry; /* of a periodic line; else NULL */
};

struct children {
	const char *command;
	struct child *list;
	unsigned size, running;
	char **environment; /* ours, and a last place for the text */
	size_t places;
};

/* 0 or -errno; `command` is borrowed. */
int children_open(struct children *children, const char *command, unsigned size);
void children_close(struct children *children);

/*
 * Run `sh -c COMMAND` with the entry's text on its standard input and in $PAWL_TEXT. There must be a free
 * place. The entry is kept only if it is periodic. 0 or -errno.
 */
int children_start(struct children *children, struct entry *entry);

/* One that has ended, and its status as of waitpid; false: none. */
bool children_reap(struct children *children, struct child *child, int *status);

void children_terminate(struct children *children);

#endif
