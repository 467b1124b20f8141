/* SPDX-License-Identifier: MIT */
/*
 * A line of `pawl run`:
 *
 *	250ms TEXT                      after a delay
 *	@2026-12-01T09:00:00Z TEXT      at a moment
 *	@2026-12-01T10:00[Europe/Berlin] TEXT      at a local time
 *	every 10s TEXT                  again and again
 *	daily[Europe/Berlin] 02:30 TEXT            every day at a local time
 *	cron[Europe/Berlin] 30 2 * * MON TEXT      by a cron expression of five fields, or one of its words
 *	=NAME 250ms TEXT                any of these with a name: a later one of that name replaces it
 *	!NAME                           cancels what has that name
 *
 * Blank lines, and those that begin with #, say nothing. With --replay a line begins with its own timestamp,
 * and the whole line is its text.
 */
#ifndef PAWL_CLI_LINE_H
#define PAWL_CLI_LINE_H

#include <pawl/calendar.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_NAME_MAX 255

struct zones;

enum line_kind { LINE_NOTHING, LINE_AFTER, LINE_AT, LINE_EVERY, LINE_CALENDAR, LINE_CANCEL };

/* A part of the line, borrowed from it. */
struct span {
	const char *text;
	size_t length;
};

/* When a LINE_CALENDAR fires. The zone is borrowed from the zones that it was found in. */
struct timetable {
	struct pawl_calendar_rule rule;
	const struct pawl_zone *zone;
};

struct line {
	enum line_kind kind;
	uint64_t ns; /* the delay, the moment since 1970, or the period */
	struct span name, text;
	struct timetable timetable;
};

/* Why a line is none: `value` is `wrong`; `expected`, if it is not NULL, is what it should be. */
struct line_error {
	const char *what, *wrong, *expected;
	struct span value;
	struct pawl_calendar_error calendar; /* what `wrong` may point to */
};

/* Zones that the line names are found in `zones`, or added. */
bool line_parse(struct span source, struct zones *zones, struct line *line,
                struct line_error *error);
bool line_parse_stamped(struct span source, struct line *line, struct line_error *error);

#endif
