/* SPDX-License-Identifier: MIT */
/*
 * A zone as stretches of time, in each of which the offset is one:
 *
 *	before | offset[0]   | offset[1]   | ... | summer | standard | summer ...
 *	       at[0]         at[1]               yearly_from
 *
 * Up to yearly_from they are in the table; from there on the two turns of each year make them.
 */
#ifndef PAWL_CALENDAR_ZONE_H
#define PAWL_CALENDAR_ZONE_H

#include <pawl/calendar.h>

#define OFFSET_MIN (-89999) /* -24:59:59: RFC 9636, 3.2 */
#define OFFSET_MAX 93599    /* 25:59:59 */

/* Beyond all times that anybody asks for; an offset more or less does not overflow. */
#define EVER (INT64_C(1) << 60)

/* From `start` up to, but not including, `end`. Two that follow each other may have the same offset. */
struct stretch {
	int64_t start, end;
	int32_t offset;
};

enum turn_form { TURN_MONTH, TURN_JULIAN, TURN_DAY };

/* The stretch that the time is in. The time is in the years -1 to 10001. */
struct stretch pawl__zone_stretch(const struct pawl_zone *zone, int64_t time);

#endif
