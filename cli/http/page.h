/* SPDX-License-Identifier: MIT */
/* A page: its files, which embed.cmake puts into the command, and the options of its site. */
#ifndef PAWL_CLI_HTTP_PAGE_H
#define PAWL_CLI_HTTP_PAGE_H

#include <stddef.h>

struct page_file {
	const char *path; /* in the address: "/main.js" */
	const char *type;
	const unsigned char *bytes;
	size_t size;
};

struct page {
	const struct page_file *files;
	size_t file_count;
};

/* As on the command line; NULL: not given. */
struct site_options {
	const char *listen, *token_file, *origin;
};

extern const struct page board_page, top_page;

#endif
