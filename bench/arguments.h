/* SPDX-License-Identifier: MIT */
/* arguments.h: what the programs' command lines have in common. */
#ifndef PAWL_BENCH_ARGUMENTS_H
#define PAWL_BENCH_ARGUMENTS_H

#include <stdint.h>

/* Begin a message on stderr that ends with what is allowed instead. */
void refuse(const char *option, const char *value);

/* A whole number from 1 to `most`; exits with 2, having said so, if the text is not one. */
uint32_t parse_number(const char *option, const char *text, uint32_t most);

/* Exits with 2. */
_Noreturn void usage_error(const char *what, const char *argument, const char *allowed);

#endif
