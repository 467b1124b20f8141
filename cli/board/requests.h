/* SPDX-License-Identifier: MIT */
/*
 * The requests that the page may make to the server: a fixed list of commands with holes in them.
 *
 *     a line of the page      len jobs%3A%7B0%7D 1794787020000 1794787079999
 *     a row of the table      len       PAWL.LEN $ STATE waiting FROM $ TO $
 *     what the server gets    PAWL.LEN jobs:{0} STATE waiting FROM 1794787020000 TO 1794787079999
 *
 * A word of the line fills a hole and nothing else, whatever bytes it consists of, so a page cannot send any other
 * command, nor to another option of these.
 */
#ifndef PAWL_CLI_BOARD_REQUESTS_H
#define PAWL_CLI_BOARD_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>

enum { REQUEST_WORDS = 12 };

struct request_kind {
	const char *name;
	/* Words with one blank between them. $ is a hole; $= is the word before it once more. */
	const char *command;
	bool write;
	size_t longest; /* bytes that the page gets of a text in the reply; the rest is cut off */
};

struct request {
	const struct request_kind *kind;
	int argc;
	const char *argv[REQUEST_WORDS]; /* they point into the line and into the table */
	size_t sizes[REQUEST_WORDS];
};

/*
 * Read a line of `size` bytes, whose words are decoded in place. Returns NULL, or what is wrong with it; `wrong` is for
 * that text.
 */
const char *request_read(struct request *request, char *line, size_t size, char *wrong,
                         size_t wrong_size);

#endif
