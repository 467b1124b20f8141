/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include <stdio.h>
#include <string.h>

#include "../text/address.h"

enum { READS = false, WRITES = true, SHORT = 512, LONG = 1 << 18, LONGEST = 1 << 20 };

static const struct request_kind kinds[] = {
        {"time", "TIME", READS, SHORT},
        {"server", "INFO server", READS, LONG},
        {"metrics", "INFO pawl", READS, LONGEST},
        {"queues", "SCAN $ COUNT 1000 TYPE pawlqueue", READS, LONG},
        {"info", "PAWL.INFO $", READS, SHORT},
        {"len", "PAWL.LEN $ STATE waiting FROM $ TO $", READS, SHORT},
        /* HEAD is as long as the text that is shown, so a payload of 500 MB is not read for its first line. */
        {"tasks", "PAWL.RANGE $ $ $ COUNT $ STATE $ HEAD 512", READS, SHORT},
        {"task", "PAWL.GET $ $ HEAD 262144", READS, LONG},
        {"pause", "PAWL.PAUSE $", WRITES, SHORT},
        {"resume", "PAWL.RESUME $", WRITES, SHORT},
        {"cancel", "PAWL.CANCEL $ $", WRITES, SHORT},
        {"cancel-leased", "PAWL.CANCEL $ $ FORCE", WRITES, SHORT},
        /*
         * The id twice: as the only one, an id that reads ALL would mean all. DELAY is sent: without it, an id that
         * reads DELAY would be the option.
         */
        {"requeue", "PAWL.DEAD $ REQUEUE $ $= DELAY 0", WRITES, SHORT},
        {"requeue-all", "PAWL.DEAD $ REQUEUE ALL", WRITES, SHORT},
};

/* The next word, up to a blank. *rest is NULL after the last one. */
static const char *next_word(const char **rest, size_t *left, size_t *size)
{
	const char *word = *rest;
	const char *blank = word ? memchr(word, ' ', *left) : NULL;

	if (!word)
		return NULL;
	*size = blank ? (size_t)(blank - word) : *left;
	*rest = blank ? blank + 1 : NULL;
	*left = blank ? *left - *size - 1 : 0;
	return word;
}

static bool same(const char *word, size_t size, const char *text)
{
	return size == strlen(text) && memcmp(word, text, size) == 0;
}

static const struct request_kind *find_kind(const char *word, size_t size)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (same(word, size, kinds[i].name))
			return &kinds[i];
	return NULL;
}

static bool add(struct request *request, const char *word, size_t size)
{
	request->argv[request->argc] = word;
	request->sizes[request->argc++] = size;
	return true;
}

static bool fill(struct request *request, char *line, const char **rest, size_t *left)
{
	size_t size;
	const char *word = next_word(rest, left, &size);
	char *text = word ? line + (word - line) : NULL;
	long decoded = text ? percent_decode(text, size) : -1;

	return decoded >= 0 && add(request, text, (size_t)decoded);
}

const char *request_read(struct request *request, char *line, size_t size, char *wrong,
                         size_t wrong_size)
{
	const char *rest = line, *command, *word;
	size_t left = size, command_left, word_size;

	word = next_word(&rest, &left, &word_size);
	request->kind = find_kind(word, word_size);
	request->argc = 0;
	if (!request->kind) {
		snprintf(wrong, wrong_size, "there is no request '%.*s'",
		         (int)(word_size < 40 ? word_size : 40), word);
		return wrong;
	}
	command = request->kind->command;
	command_left = strlen(command);
	while ((word = next_word(&command, &command_left, &word_size)) != NULL) {
		int last = request->argc - 1;

		if (same(word, word_size, "$=")
		            ? add(request, request->argv[last], request->sizes[last])
		    : same(word, word_size, "$") ? fill(request, line, &rest, &left)
		                                 : add(request, word, word_size))
			continue;
		rest = line; /* not NULL, so the end of this function says what is wrong */
		break;
	}
	if (!rest)
		return NULL;
	snprintf(wrong, wrong_size,
	         "the request '%s' is for %s: a word is missing, too many, or badly encoded",
	         request->kind->name, request->kind->command);
	return wrong;
}
