/* SPDX-License-Identifier: MIT */
/* Days as numbers, 0 for 1970-01-01, and as dates of the Gregorian calendar, extended to all years. */
#ifndef PAWL_CALENDAR_DATE_H
#define PAWL_CALENDAR_DATE_H

#include <stdbool.h>
#include <stdint.h>

#define DAY_SECONDS    86400
#define DAYS_400_YEARS 146097 /* after which dates and weekdays repeat */

/* The first second of the year 1 and the last one of the year 9999, local or not. */
#define TIME_FIRST INT64_C(-62135596800)
#define TIME_LAST  INT64_C(253402300799)

struct date {
	int64_t year;
	int month, day; /* from 1 */
};

/* Rounded down; / rounds towards 0. */
static inline int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static inline bool date_is_leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static inline int date_month_days(int64_t year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return days[month - 1] + (month == 2 && date_is_leap(year));
}

/* 1 January of the year. */
static inline int64_t date_year_day(int64_t year)
{
	int64_t before = year - 1;

	return 365 * before + floor_div(before, 4) - floor_div(before, 100) +
	       floor_div(before, 400) - 719162;
}

/* The first of the month. */
static inline int64_t date_month_day(int64_t year, int month)
{
	int64_t day = date_year_day(year);

	for (int m = 1; m < month; m++)
		day += date_month_days(year, m);
	return day;
}

/* 400 years are 146097 days, so the estimate is off by at most a year. */
static inline int64_t date_year_of(int64_t day)
{
	int64_t year = 1970 + floor_div(day * 400, DAYS_400_YEARS);

	while (date_year_day(year) > day)
		year--;
	while (date_year_day(year + 1) <= day)
		year++;
	return year;
}

static inline struct date date_of(int64_t day)
{
	struct date date = {.year = date_year_of(day), .month = 1};
	int64_t rest = day - date_year_day(date.year);

	while (rest >= date_month_days(date.year, date.month))
		rest -= date_month_days(date.year, date.month++);
	date.day = (int)rest + 1;
	return date;
}

/* 0 for Sunday. 1970-01-01 was a Thursday. */
static inline int date_weekday(int64_t day)
{
	return (int)(day + 4 - 7 * floor_div(day + 4, 7));
}

#endif
