/* SPDX-License-Identifier: MIT */
/* The commands of lines, a bounded number at once. */
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
	char **environment; /* of this process, without PAWL_TEXT */
	size_t variables;   /* in `environment` */
};

/* 0 or -errno; `command` is borrowed. */
int children_open(struct children *children, const char *command, unsigned size);
void children_close(struct children *children);

/*
 * Run `sh -c COMMAND` with the entry's text on its standard input and in $PAWL_TEXT. Fewer than `size` may be running.
 * The entry is kept only if it is periodic. 0 or -errno.
 */
int children_start(struct children *children, struct entry *entry);

/* Get a command that has ended, and its status as from waitpid(). false: none has. */
bool children_reap(struct children *children, struct child *child, int *status);

void children_terminate(struct children *children);

#endif
