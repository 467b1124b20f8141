/* SPDX-License-Identifier: MIT */
/* The lines that wait for their time, and the table of those that have a name. */
#ifndef PAWL_CLI_ENTRIES_H
#define PAWL_CLI_ENTRIES_H

#include <pawl/wheel.h>

#include "line.h"

/* The state of the last command of a periodic line. */
enum entry_command {
	COMMAND_NONE,
	COMMAND_RUNS,
	COMMAND_OUTLIVES_LINE, /* its line was removed: pipe_reap() frees the entry */
};

struct entry {
	struct pawl_timer timer; /* first: a cast turns it into its entry */
	struct entry *next_named;
	uint64_t ns;     /* LINE_EVERY: the period; LINE_AT, LINE_CALENDAR: since 1970 */
	uint64_t number; /* of its line */
	uint32_t text_length;
	uint16_t name_length;
	uint8_t kind;
	uint8_t command; /* an enum entry_command, if the entry repeats */
	char bytes[];    /* LINE_CALENDAR: a timetable; the name, the text, a newline and a zero */
};

/* Yours, to be freed with free(); NULL: no memory. */
struct entry *entry_new(const struct line *line, uint64_t number);
const char *entry_text(const struct entry *entry); /* ends with a newline and a zero */

bool entry_repeats(const struct entry *entry);        /* it stays after it has fired */
bool entry_waits_for_wall(const struct entry *entry); /* its time is of the wall clock */

/* For a LINE_CALENDAR. */
struct timetable entry_timetable(const struct entry *entry);

struct names {
	struct entry **buckets;
	size_t size, count;
};

/* A zeroed table is empty. */
bool names_add(struct names *names, struct entry *entry); /* false: no memory */
struct entry *names_find(const struct names *names, struct span name);
void names_remove(struct names *names,
                  struct entry *entry); /* an entry without a name is ignored */
void names_close(struct names *names);

#endif
