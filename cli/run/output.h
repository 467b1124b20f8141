/* SPDX-License-Identifier: MIT */
/* Standard output with a buffer, which notices when its reader is gone. */
#ifndef PAWL_CLI_OUTPUT_H
#define PAWL_CLI_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

struct output {
	int error; /* 0; -EPIPE: the reader is gone; -EINTR: a write hung and was interrupted; else -errno */
	size_t used;
	char buffer[65536];
};

/* Nothing is written after an error. */
void output_put(struct output *output, const char *text, size_t length);
void output_flush(struct output *output);

/* The result of poll() without events on standard output, as an error. -EPIPE: the reader is gone. 0: no error. */
int output_trouble(short revents);

/* Lines that were put but not written. */
uint64_t output_left(const struct output *output);

#endif
