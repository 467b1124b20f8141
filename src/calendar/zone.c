/* SPDX-License-Identifier: MIT */
/* What clocks show, and when they show it. */
#include "zone.h"

#include "date.h"

void pawl_zone_utc(struct pawl_zone *zone)
{
	*zone = (struct pawl_zone){.yearly_from = -EVER};
}

/* How many changes have happened by then. */
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

/* The week-th such weekday of the month; the fifth is the last. */
static int64_t weekday_in_month(const struct pawl_zone_turn *turn, int64_t year)
{
	int64_t first = date_month_day(year, turn->month);
	int ahead = (turn->weekday - date_weekday(first) + 7) % 7 + 7 * (turn->week - 1);

	return first + (ahead < date_month_days(year, turn->month) ? ahead : ahead - 7);
}

static int64_t turn_day(const struct pawl_zone_turn *turn, int64_t year)
{
	switch (turn->form) {
	case TURN_MONTH:
		return weekday_in_month(turn, year);
	case TURN_JULIAN: /* 1 to 365, and 29 February is never counted */
		return date_year_day(year) + turn->day - 1 +
		       (date_is_leap(year) && turn->day >= 60);
	default: /* 0 to 365, and it is */
		return date_year_day(year) + turn->day;
	}
}

/* When clocks that are `offset` ahead show the turn's time of its day. */
static int64_t turn_time(const struct pawl_zone_turn *turn, int64_t year, int32_t offset)
{
	return turn_day(turn, year) * DAY_SECONDS + turn->second - offset;
}

/* Put in a turn: the latest one until then begins the stretch, the earliest one after it ends it. */
static void narrow(struct stretch *stretch, int64_t time, int64_t turn, int32_t offset)
{
	if (turn > time) {
		stretch->end = turn < stretch->end ? turn : stretch->end;
	} else if (turn >= stretch->start) {
		stretch->start = turn;
		stretch->offset = offset;
	}
}

/*
 * A turn's time of day is from -167 to 167 hours, so that it may fall into the year before or after: two years each way
 * are enough to have one on either side. Where summer ends at the moment at which the next one begins, the next one
 * counts: that is how TZif says "summer all year".
 */
static struct stretch stretch_by_year(const struct pawl_zone *zone, int64_t time)
{
	struct stretch stretch = {.start = -EVER, .end = EVER, .offset = zone->standard};
	int64_t year;

	if (zone->changes_yearly) {
		year = date_year_of(floor_div(time, DAY_SECONDS));
		for (int64_t y = year - 2; y <= year + 2; y++) {
			narrow(&stretch, time, turn_time(&zone->turns[0], y, zone->standard),
			       zone->summer);
			narrow(&stretch, time, turn_time(&zone->turns[1], y, zone->summer),
			       zone->standard);
		}
	}
	if (stretch.start < zone->yearly_from)
		stretch.start = zone->yearly_from;
	return stretch;
}

struct stretch pawl__zone_stretch(const struct pawl_zone *zone, int64_t time)
{
	return time < zone->yearly_from ? stretch_in_table(zone, time)
	                                : stretch_by_year(zone, time);
}

static int64_t within_years(int64_t time)
{
	return time < TIME_FIRST ? TIME_FIRST : time > TIME_LAST ? TIME_LAST : time;
}

int32_t pawl_zone_offset(const struct pawl_zone *zone, int64_t time)
{
	return pawl__zone_stretch(zone, within_years(time)).offset;
}

/* No clock is further ahead than OFFSET_MAX, so none shows it before. */
int64_t pawl_zone_time(const struct pawl_zone *zone, int64_t local)
{
	int64_t wanted = within_years(local);
	struct stretch stretch = pawl__zone_stretch(zone, wanted - OFFSET_MAX);

	while (stretch.end - 1 + stretch.offset < wanted)
		stretch = pawl__zone_stretch(zone, stretch.end);
	return wanted - stretch.offset > stretch.start ? wanted - stretch.offset : stretch.start;
}
