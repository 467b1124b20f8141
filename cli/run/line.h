/* SPDX-License-Identifier: MIT */
/*
 * A line of `pawl run`:
 *
 *	250ms TEXT                      after a delay
 *	in 5m TEXT                      the same
 *	18:00 TEXT                      when clocks show that time next, here or as 18:00[Europe/Berlin]
 *	tomorrow 09:00 TEXT             at that time of the next day
 *	@2026-12-01T09:00:00Z TEXT      at a time
 *	@2026-12-01T10:00[Europe/Berlin] TEXT      at a local time
 *	every 10s TEXT                  repeatedly
 *	daily[Europe/Berlin] 02:30 TEXT            every day at a local time
 *	cron[Europe/Berlin] 30 2 * * MON TEXT      by a cron expression of five fields, or one of its words
 *	=NAME 250ms TEXT                any of these with a name: a later line of that name replaces it
 *	!NAME                           cancels the line of that name
 *
 * Blank lines and lines that begin with # are ignored. With --replay a line begins with its own timestamp, and the
 * whole line is its text.
 */
#ifndef PAWL_CLI_LINE_H
#define PAWL_CLI_LINE_H

#include <pawl/calendar.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_NAME_MAX 255

struct zones;

enum line_kind {
	LINE_NOTHING,
	LINE_AFTER,
	LINE_AT,
	LINE_EVERY,
	LINE_CALENDAR,
	LINE_CANCEL,
	LINE_TODAY, /* at the next time of the timetable: line_resolve() turns it into a LINE_AT */
	LINE_TOMORROW /* the same, of the next day */
};

/* A part of a line, borrowed from it. */
struct span {
	const char *text;
	size_t length;
};

/* When a LINE_CALENDAR fires. The zone is borrowed from a struct zones. */
struct timetable {
	struct pawl_calendar_rule rule;
	const struct pawl_zone *zone;
};

struct line {
	enum line_kind kind;
	uint64_t ns; /* the delay, the time since 1970, or the period */
	struct span name, text;
	struct span source; /* the whole line from its first word on; `text` is its end */
	struct timetable timetable;
};

/* An error in a line: `wrong` says what is wrong with `value`; `expected`, or NULL, says what is allowed. */
struct line_error {
	const char *what, *wrong, *expected;
	struct span value;
	struct pawl_calendar_error calendar; /* `wrong` may point into it */
};

/* A zone that the line names is looked up in `zones`, or added. false: *error says why. */
bool line_parse(struct span source, struct zones *zones, struct line *line,
                struct line_error *error);
bool line_parse_stamped(struct span source, struct line *line, struct line_error *error);

/* Set the time of a line for which it depends on the present, `wall`: ns since 1970. */
void line_resolve(struct line *line, uint64_t wall);

#endif
