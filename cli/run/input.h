/* SPDX-License-Identifier: MIT */
/* Reads lines from a file descriptor. */
#ifndef PAWL_CLI_INPUT_H
#define PAWL_CLI_INPUT_H

#include "line.h"

#define INPUT_LINE_MAX 65536 /* bytes, without the end of the line */

struct input {
	int fd;
	const char *name; /* for messages */
	bool ended;
	uint64_t number; /* of the last line, from 1 */

	bool skipping; /* in a line that is too long */
	size_t from, to;
	char buffer[2 * INPUT_LINE_MAX];
};

/* `path` NULL: standard input. 0 or -errno. */
int input_open(struct input *input, const char *path);
void input_close(struct input *input);

/*
 * Read once, into the free part of the buffer. Call it only after input_next returned INPUT_NONE. It may block, unless
 * poll() says that there is input. Returns 0, also at the end, or -errno.
 */
int input_read(struct input *input);

/*
 * Put the beginning of a text where input_read puts what it reads, under the same condition. Returns the number of
 * bytes, at least 1 unless the text is empty.
 */
size_t input_give(struct input *input, const char *text);

enum input_result { INPUT_NONE, INPUT_LINE, INPUT_TOO_LONG };

/*
 * The next complete line, valid until the next input_read. LF or CRLF, which end it, are not part of it. The last line
 * needs no LF; a carriage return at its end is also removed.
 */
enum input_result input_next(struct input *input, struct span *line);

#endif
