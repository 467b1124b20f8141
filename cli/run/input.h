/* SPDX-License-Identifier: MIT */
/* Lines from a file descriptor, however they arrive. */
#ifndef PAWL_CLI_INPUT_H
#define PAWL_CLI_INPUT_H

#include "line.h"

#define INPUT_LINE_MAX 65536 /* bytes, without the end of the line */

struct input {
	int fd;
	const char *name; /* for messages */
	bool ended;
	uint64_t number; /* of the line last handed out, from 1 */

	bool skipping; /* in a line that is too long */
	size_t from, to;
	char buffer[2 * INPUT_LINE_MAX];
};

/* `path` NULL: standard input. 0 or -errno. */
int input_open(struct input *input, const char *path);
void input_close(struct input *input);

/*
 * Read once, into free space of the buffer: so call input_next until it has nothing, before. May block, where
 * poll does not say that there is something. 0, also at the end, or -errno.
 */
int input_read(struct input *input);

enum input_result { INPUT_NONE, INPUT_LINE, INPUT_TOO_LONG };

/*
 * The next whole line that has been read, valid until the next input_read. It ends with LF or CRLF, which are no part
 * of it; the last one needs neither, and loses a carriage return all the same.
 */
enum input_result input_next(struct input *input, struct span *line);

#endif
