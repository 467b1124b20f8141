/* SPDX-License-Identifier: MIT */
/* The offset of a zone at a time, and the time at which its clocks show a local time. */
#include "zone.h"

#include "../base/assert.h"
#include "date.h"

#define YEAR (366 * DAY_SECONDS)

void pawl_zone_utc(struct pawl_zone *zone)
{
	*zone = (struct pawl_zone){.yearly_from = -EVER};
}

/* How many changes there are up to `time`. */
static uint32_t changes_until(const struct pawl_zone *zone, int64_t time)
{
	uint32_t low = 0, high = zone->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (zone->at[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct stretch stretch_in_table(const struct pawl_zone *zone, int64_t time)
{
	uint32_t changes = changes_until(zone, time);

	return (struct stretch){
	        .start = changes > 0 ? zone->at[changes - 1] : -EVER,
	        .end = changes < zone->count ? zone->at[changes] : zone->yearly_from,
	        .offset = changes > 0 ? zone->offset[changes - 1] : zone->before,
	};
}

/* The day of the week-th such weekday of the month. 5 means the last one. */
static int64_t weekday_in_month(const struct pawl_zone_change *change, int64_t year)
{
	int64_t first = date_month_day(year, change->month);
	int ahead = (change->weekday - date_weekday(first) + 7) % 7 + 7 * (change->week - 1);

	return first + (ahead < date_month_days(year, change->month) ? ahead : ahead - 7);
}

static int64_t change_day(const struct pawl_zone_change *change, int64_t year)
{
	switch (change->form) {
	case BY_MONTH:
		return weekday_in_month(change, year);
	case BY_JULIAN_DAY: /* 1 to 365; 29 February is not counted */
		return date_year_day(year) + change->day - 1 +
		       (date_is_leap(year) && change->day >= 60);
	default: /* 0 to 365; 29 February is counted */
		return date_year_day(year) + change->day;
	}
}

/* The time of the yearly change, where `offset` is the offset before it. */
static int64_t change_time(const struct pawl_zone_change *change, int64_t year, int32_t offset)
{
	return change_day(change, year) * DAY_SECONDS + change->second - offset;
}

/* Narrow the stretch around `time` by a change: the last one up to `time` begins it, the first one after ends it. */
static void narrow(struct stretch *stretch, int64_t time, int64_t change, int32_t offset)
{
	if (change > time) {
		stretch->end = change < stretch->end ? change : stretch->end;
	} else if (change >= stretch->start) {
		stretch->start = change;
		stretch->offset = offset;
	}
}

/*
 * The time of a yearly change is from -167 to 167 hours, so it may be in the year before or after. Two years in each
 * direction are enough to find a change on either side. If summer ends when the next one begins, the next one counts:
 * TZif says "summer all year" like this.
 */
static struct stretch stretch_by_year(const struct pawl_zone *zone, int64_t time)
{
	struct stretch stretch = {.start = -EVER, .end = EVER, .offset = zone->standard};
	int64_t year;

	if (zone->changes_yearly) {
		year = date_year_of(floor_div(time, DAY_SECONDS));
		for (int64_t y = year - 2; y <= year + 2; y++) {
			narrow(&stretch, time, change_time(&zone->yearly[0], y, zone->standard),
			       zone->summer);
			narrow(&stretch, time, change_time(&zone->yearly[1], y, zone->summer),
			       zone->standard);
		}
	}
	if (stretch.start < zone->yearly_from)
		stretch.start = zone->yearly_from;
	return stretch;
}

struct stretch pawl__zone_stretch(const struct pawl_zone *zone, int64_t time)
{
	struct stretch stretch = time < zone->yearly_from ? stretch_in_table(zone, time)
	                                                  : stretch_by_year(zone, time);

	ASSERT(time >= TIME_FIRST - YEAR && time <= TIME_LAST + YEAR);
	ASSERT(stretch.start <= time && time < stretch.end);
	ASSERT(stretch.offset >= OFFSET_MIN && stretch.offset <= OFFSET_MAX);
	return stretch;
}

static int64_t within_years(int64_t time)
{
	return time < TIME_FIRST ? TIME_FIRST : time > TIME_LAST ? TIME_LAST : time;
}

int32_t pawl_zone_offset(const struct pawl_zone *zone, int64_t time)
{
	return pawl__zone_stretch(zone, within_years(time)).offset;
}

/* No offset is more than OFFSET_MAX, so no clock shows `wanted` before this first stretch. */
int64_t pawl_zone_time(const struct pawl_zone *zone, int64_t local)
{
	int64_t wanted = within_years(local);
	struct stretch stretch = pawl__zone_stretch(zone, wanted - OFFSET_MAX);

	while (stretch.end - 1 + stretch.offset < wanted)
		stretch = pawl__zone_stretch(zone, stretch.end);
	return wanted - stretch.offset > stretch.start ? wanted - stretch.offset : stretch.start;
}
