/* SPDX-License-Identifier: MIT */
/*
 * A zone is a sequence of stretches of time, each with one offset:
 *
 *	before | offset[0]   | offset[1]   | ... | summer | standard | summer ...
 *	       at[0]         at[1]               yearly_from
 *
 * Before yearly_from they are in the table; from then on the two changes of each year define them.
 */
#ifndef PAWL_CALENDAR_ZONE_H
#define PAWL_CALENDAR_ZONE_H

#include <pawl/calendar.h>

#define OFFSET_MIN (-89999) /* -24:59:59: RFC 9636, 3.2 */
#define OFFSET_MAX 93599    /* 25:59:59 */

/* Beyond all times of the calendar; adding an offset does not overflow. */
#define EVER (INT64_C(1) << 60)

/* From `start` to before `end`. Two stretches in a row may have the same offset. */
struct stretch {
	int64_t start, end;
	int32_t offset;
};

/* How a struct pawl_zone_change gives the day of a yearly change. */
enum change_form { BY_MONTH, BY_JULIAN_DAY, BY_DAY };

/* The stretch that contains `time`, which is within a year of the years 1 to 9999. */
struct stretch pawl__zone_stretch(const struct pawl_zone *zone, int64_t time);

#endif
