/* SPDX-License-Identifier: MIT */
/* Standard output with a buffer, which notices when nobody reads any more. */
#ifndef PAWL_CLI_OUTPUT_H
#define PAWL_CLI_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

struct output {
	int error; /* 0; -EPIPE: nobody reads; -EINTR: it hung, and was interrupted; else why it failed */
	size_t used;
	char buffer[65536];
};

/* Nothing is written after an error. */
void output_put(struct output *output, const char *text, size_t length);
void output_flush(struct output *output);

/* What poll tells of standard output when asked for no event, as an error: -EPIPE: nobody reads. Else 0. */
int output_trouble(short revents);

/* Lines that were put but not written. */
uint64_t output_left(const struct output *output);

#endif
