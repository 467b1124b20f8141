/* SPDX-License-Identifier: MIT */
/* The connection to a service that is inspected. */
#ifndef PAWL_CLI_TOP_LINK_H
#define PAWL_CLI_TOP_LINK_H

#include <stdbool.h>
#include <stddef.h>

struct link {
	int fd; /* -1: not connected */
	unsigned seconds;
	char *text; /* the last answer, with a zero in place of its newline */
	size_t size, room;
	char wrong[256];
};

/* Whether a socket can have this path. False: `wrong` says why. */
bool link_fits(struct link *link, const char *path);

/* Connect. No call waits for longer than `seconds`. False: `wrong` says why, with the path. */
bool link_open(struct link *link, const char *path, unsigned seconds);

/* Ask for a snapshot, and wait for it: it is in `text`. False: `wrong` says why. */
bool link_ask(struct link *link, const char *path);

void link_close(struct link *link);

#endif
