/* SPDX-License-Identifier: MIT */
/* The files of page/, which embed.cmake puts into the command. */
#ifndef PAWL_CLI_BOARD_PAGE_H
#define PAWL_CLI_BOARD_PAGE_H

#include <stddef.h>

struct page_file {
	const char *path; /* in the address: "/main.js" */
	const char *type;
	const unsigned char *bytes;
	size_t size;
};

extern const struct page_file page_files[];
extern const size_t page_file_count;

#endif
