/* SPDX-License-Identifier: MIT */
/* The time zones that lines name, each loaded once, and the times of the calendar in them. */
#ifndef PAWL_CLI_ZONES_H
#define PAWL_CLI_ZONES_H

#include <pawl/calendar.h>

#include "line.h"

struct loaded_zone;

struct zones {
	struct loaded_zone *first;
	const struct pawl_zone *fallback; /* of lines that name none; NULL: such lines are bad */
};

/* Find a zone, or load it. It stays until zones_close. NULL: *error says why. A zeroed struct zones is empty. */
const struct pawl_zone *zones_find(struct zones *zones, struct span name,
                                   struct pawl_calendar_error *error);
void zones_close(struct zones *zones);

/* The first time after `after`, both in ns since 1970. PAWL_NEVER: none, or none before 2554. */
uint64_t timetable_next(const struct timetable *timetable, uint64_t after);

#endif
