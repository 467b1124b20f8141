/* SPDX-License-Identifier: MIT */
/* The lines that wait for their time, and the table of those that have a name. */
#ifndef PAWL_CLI_ENTRIES_H
#define PAWL_CLI_ENTRIES_H

#include <pawl/wheel.h>

#include "line.h"

/* What the last command of a periodic line is doing. */
enum entry_command {
	COMMAND_NONE,
	COMMAND_RUNS,
	COMMAND_OUTLIVES_LINE, /* it runs, and its line was cancelled: who reaps it frees the entry */
};

struct entry {
	struct pawl_timer timer; /* first, so that a timer is its entry */
	struct entry *next_named;
	uint64_t ns;     /* LINE_EVERY: the period; LINE_AT, LINE_CALENDAR: the moment since 1970 */
	uint64_t number; /* of its line */
	uint32_t text_length;
	uint16_t name_length;
	uint8_t kind;
	uint8_t command; /* of one that repeats: an enum entry_command */
	char bytes[];    /* LINE_CALENDAR: a timetable; the name, the text, a newline and a zero */
};

/* Yours, to be freed with free(); NULL: no memory. */
struct entry *entry_new(const struct line *line, uint64_t number);
const char *entry_text(const struct entry *entry); /* zero-terminated, with the newline before it */

bool entry_repeats(const struct entry *entry); /* it stays when it has fired */
bool entry_has_moment(
        const struct entry *entry); /* it waits for a moment of the clock on the wall */

/* Of a LINE_CALENDAR. */
struct timetable entry_timetable(const struct entry *entry);

struct names {
	struct entry **buckets;
	size_t size, count;
};

/* Zeroes are an empty table. */
bool names_add(struct names *names, struct entry *entry); /* false: no memory */
struct entry *names_find(const struct names *names, struct span name);
void names_remove(struct names *names, struct entry *entry); /* one without a name is not in it */
void names_close(struct names *names);

#endif
