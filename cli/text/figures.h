/* SPDX-License-Identifier: MIT */
/* Prints numbers and bars. */
#ifndef PAWL_CLI_FIGURES_H
#define PAWL_CLI_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NUMBER_TEXT 32

/* 1,234,567. The result points into `text`. */
const char *grouped(uint64_t number, char text[NUMBER_TEXT]);

/* The same, valid until the end of the block. */
#define GROUPED(number) grouped(number, (char[NUMBER_TEXT]){0})

/* The end of a word that is counted: "" or "s". */
#define PLURAL(number) ((number) == 1 ? "" : "s")

/* A bar of `eighths` of a character's width, in block characters; in ASCII rounded to whole characters. */
void print_bar(FILE *to, bool utf8, unsigned eighths);

#endif
