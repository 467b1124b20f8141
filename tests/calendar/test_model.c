/* SPDX-License-Identifier: MIT */
/*
 * test_model [--runs N] [--seed N]
 *
 * Random zones and random rules against a naive model: it lets time pass, second by second or minute by minute, reads
 * the zone's clocks each time, and asks libc for the date. A run that fails prints its seed, and --seed with --runs 1
 * repeats it.
 */
#define _DEFAULT_SOURCE
#include <time.h>

#include "../../src/base/random.h"
#include "../support/test.h"
#include "images.h"

#define CHANGES 400
#define TIMES   20000

/* A zone as the list of all its changes, including those of its last line. */
struct model_zone {
	struct change changes[CHANGES];
	int count;
	int32_t before;
};

struct model_rule {
	bool seconds[60], minutes[60], hours[24], days[32], months[13], weekdays[7];
	bool days_star, weekdays_star, wildcard;
	char text[2048];
};

struct run {
	struct random random;
	uint64_t seed;
	int unit; /* all times, offsets and changes are multiples of it: 1 or 60 */
	struct model_zone model;
	struct model_rule rule;
	char footer[512];
	struct pawl_zone zone;
	int64_t start, end;    /* what is looked at */
	int64_t fires[TIMES];  /* by the model */
	int64_t locals[TIMES]; /* what clocks show at start, start + unit, ... */
	int fire_count;
	bool failed;
};

static int below(struct run *run, int bound)
{
	return (int)random_below(&run->random, (uint64_t)bound);
}

static bool one_in(struct run *run, int n)
{
	return below(run, n) == 0;
}

static void fail(struct run *run, const char *what, int64_t at, int64_t actual, int64_t expected)
{
	if (!run->failed)
		fprintf(stderr,
		        "seed %" PRIu64 ": %s at %" PRId64 " is %" PRId64 ", expected %" PRId64
		        "; rule '%s', last line '%s', window %" PRId64 " to %" PRId64 "\n",
		        run->seed, what, at, actual, expected, run->rule.text, run->footer,
		        run->start, run->end);
	run->failed = true;
}

static struct tm date_of(int64_t local)
{
	time_t time = (time_t)local;
	struct tm tm;

	gmtime_r(&time, &tm);
	return tm;
}

static int64_t day_of(int year, int month, int day)
{
	struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};

	return timegm(&tm);
}

static int32_t offset_at(const struct model_zone *model, int64_t time)
{
	int32_t offset = model->before;

	for (int i = 0; i < model->count && model->changes[i].at <= time; i++)
		offset = model->changes[i].offset;
	return offset;
}

/* Mostly whole hours, as in the real world; sometimes anything. */
static int32_t random_offset(struct run *run)
{
	if (one_in(run, 8))
		return (below(run, 183599 / run->unit) - 89999 / run->unit) * run->unit;
	return (below(run, 27) - 12) * 3600 + (one_in(run, 4) ? 1800 : 0);
}

static void add_change(struct model_zone *model, int64_t at, int32_t offset)
{
	int i = model->count++;

	for (; i > 0 && model->changes[i - 1].at > at; i--)
		model->changes[i] = model->changes[i - 1];
	model->changes[i] = (struct change){at, offset};
}

/* The midnight of the week-th weekday of the month, found day by day. */
static int64_t weekday_in_month(int year, int month, int week, int weekday)
{
	int64_t found = 0;

	for (int day = 1, seen = 0; day <= 31 && seen < week; day++) {
		int64_t time = day_of(year, month, day);
		struct tm tm = date_of(time);

		if (tm.tm_mon == month - 1 && tm.tm_wday == weekday) {
			found = time;
			seen++;
		}
	}
	return found;
}

/* The first of the two changes of a year is in the months 2 to 5, the second in 8 to 11. */
static void random_change(struct run *run, struct model_zone *yearly, int first_month,
                          int32_t before, int32_t after, char text[64])
{
	int month = first_month + below(run, 4), week = 1 + below(run, 5), weekday = below(run, 7);
	int day = 1 + below(run, 28), second = (below(run, 7 * 24) - 72) * 3600,
	    form = below(run, 3);
	int julian = (int)((day_of(2001, month, day) - day_of(2001, 1, 1)) / 86400) + 1;

	if (form == 0)
		snprintf(text, 64, "M%d.%d.%d/%d", month, week, weekday, second / 3600);
	else
		snprintf(text, 64, "%s%d/%d", form == 1 ? "J" : "", julian, second / 3600);
	for (int year = 2000; year < 2060; year++) {
		int64_t midnight = form == 0   ? weekday_in_month(year, month, week, weekday)
		                   : form == 1 ? day_of(year, month, day)
		                               : day_of(year, 1, 1) + julian * INT64_C(86400);

		add_change(yearly, midnight + second - before, after);
	}
}

static void offset_text(char text[64], int32_t offset)
{
	int west = offset > 0 ? offset : -offset;

	snprintf(text, 64, "%s%d:%02d:%02d", offset > 0 ? "-" : "", west / 3600, west / 60 % 60,
	         west % 60);
}

/* The changes of the last line, for all times. */
static struct model_zone random_last_line(struct run *run)
{
	int32_t standard = random_offset(run), summer = random_offset(run);
	char standard_text[64], summer_text[64], changes[2][64];
	struct model_zone yearly = {0};

	/* It has room for less than 25 hours. */
	standard = standard > 86400 || standard < -86400 ? 3600 : standard;
	summer = summer > 86400 || summer < -86400 ? 7200 : summer;
	offset_text(standard_text, standard);
	offset_text(summer_text, summer);
	yearly.before = standard;
	snprintf(run->footer, sizeof(run->footer), "XXX%s", standard_text);
	if (one_in(run, 2))
		return yearly;
	random_change(run, &yearly, 2, standard, summer, changes[0]);
	random_change(run, &yearly, 8, summer, standard, changes[1]);
	snprintf(run->footer, sizeof(run->footer), "XXX%sYYY%s,%s,%s", standard_text, summer_text,
	         changes[0], changes[1]);
	return yearly;
}

/* Some changes in a table, from 2010 to 2020, often close to each other; then those of the last line. */
static void random_zone(struct run *run)
{
	struct model_zone yearly = random_last_line(run), *model = &run->model;
	int64_t at = day_of(2010, 1, 1);
	int in_table = below(run, 12);
	static struct image image;

	*model = (struct model_zone){.before = random_offset(run)};
	for (int i = 0; i < in_table; i++) {
		at += (1 + below(run, one_in(run, 3) ? 3 * 1440 : 300 * 1440)) * INT64_C(60);
		at += run->unit == 1 ? below(run, 60) : 0;
		add_change(model, at, random_offset(run));
	}
	image_make(&image, model->before, model->changes, (uint32_t)in_table, run->footer);
	if (pawl_zone_parse(&run->zone, image.data, image.size, NULL) != 0)
		fail(run, "the zone", 0, 0, 1);
	if (in_table == 0) {
		*model = yearly;
		return;
	}
	model->changes[model->count++] = (struct change){at, offset_at(&yearly, at)};
	for (int i = 0; i < yearly.count; i++)
		if (yearly.changes[i].at > at)
			add_change(model, yearly.changes[i].at, yearly.changes[i].offset);
}

/* A random set of the values from min to max as a list; true: it begins with a star. */
static bool random_field(struct run *run, bool *set, int min, int max, int density)
{
	char *text = run->rule.text + strlen(run->rule.text);
	size_t room = sizeof(run->rule.text) - strlen(run->rule.text);
	int step = 1 + below(run, max / 2);
	bool any = false;

	if (one_in(run, 2)) {
		step = one_in(run, 2) ? 1 : step;
		for (int value = min; value <= max; value += step)
			set[value] = true;
		snprintf(text, room, step == 1 ? "* " : "*/%d ", step);
		return true;
	}
	for (int value = min; value <= max; value++)
		if (one_in(run, density) || (value == max && !any)) {
			set[value] = true;
			text += snprintf(text, 8, "%s%d", any ? "," : "", value);
			any = true;
		}
	snprintf(text, 2, " ");
	return false;
}

static void random_rule(struct run *run)
{
	struct model_rule *rule = &run->rule;
	bool stars[3] = {false};

	*rule = (struct model_rule){0};
	rule->seconds[0] = run->unit == 60;
	if (run->unit == 1)
		stars[0] = random_field(run, rule->seconds, 0, 59, 20);
	stars[1] = random_field(run, rule->minutes, 0, 59, 1 + below(run, 40));
	stars[2] = random_field(run, rule->hours, 0, 23, 1 + below(run, 12));
	rule->days_star = random_field(run, rule->days, 1, 31, 1 + below(run, 4));
	random_field(run, rule->months, 1, 12, 1 + below(run, 2));
	rule->weekdays_star = random_field(run, rule->weekdays, 0, 6, 1 + below(run, 3));
	rule->wildcard = stars[0] || stars[1] || stars[2];
}

static bool matches(const struct model_rule *rule, int64_t local)
{
	struct tm tm = date_of(local);
	bool day = rule->days[tm.tm_mday], weekday = rule->weekdays[tm.tm_wday];

	if (!rule->seconds[tm.tm_sec] || !rule->minutes[tm.tm_min] || !rule->hours[tm.tm_hour] ||
	    !rule->months[tm.tm_mon + 1])
		return false;
	return rule->days_star || rule->weekdays_star ? day && weekday : day || weekday;
}

/* The latest local time that clocks showed in the 60 hours before. */
static int64_t shown_before(const struct run *run, int64_t time)
{
	int64_t latest = INT64_MIN;

	for (int64_t t = time - 60 * 3600; t < time; t += run->unit) {
		int64_t local = t + offset_at(&run->model, t);

		latest = local > latest ? local : latest;
	}
	return latest;
}

/* Time passes. */
static void let_the_model_fire(struct run *run)
{
	int64_t latest = shown_before(run, run->start);

	run->fire_count = 0;
	for (int64_t t = run->start; t < run->end; t += run->unit) {
		int64_t local = t + offset_at(&run->model, t);
		bool fires = run->rule.wildcard && matches(&run->rule, local);

		run->locals[(t - run->start) / run->unit] = local;
		if (!run->rule.wildcard)
			for (int64_t l = latest + run->unit; l <= local && !fires; l += run->unit)
				fires = matches(&run->rule, l);
		latest = local > latest ? local : latest;
		if (fires)
			run->fires[run->fire_count++] = t;
	}
}

enum { FORWARDS = 1, BACKWARDS = -1 };

static void compare_fire(struct run *run, const struct pawl_calendar_rule *rule, int direction,
                         int64_t from, int64_t expected)
{
	int64_t fire = direction == FORWARDS ? pawl_calendar_next(rule, &run->zone, from)
	                                     : pawl_calendar_prev(rule, &run->zone, from);
	bool beyond = expected < run->start || expected >= run->end;

	if (beyond ? fire >= run->start && fire < run->end : fire != expected)
		fail(run, direction == FORWARDS ? "next" : "prev", from, fire, expected);
}

/* From fire to fire, and once from between; at last there is none left. */
static void compare_all(struct run *run, const struct pawl_calendar_rule *rule, int direction)
{
	int64_t from = direction == FORWARDS ? run->start - 1 : run->end;

	for (int i = 0; i < run->fire_count; i++) {
		int64_t fire = run->fires[direction == FORWARDS ? i : run->fire_count - 1 - i];
		int64_t left = direction * (fire - from);

		compare_fire(run, rule, direction, from, fire);
		if (left > 1) {
			from += direction *
			        (1 + (int64_t)random_below(&run->random, (uint64_t)(left - 1)));
			compare_fire(run, rule, direction, from, fire);
		}
		from = fire;
	}
	compare_fire(run, rule, direction, from, direction == FORWARDS ? run->end : run->start - 1);
}

static void compare_fires(struct run *run)
{
	struct pawl_calendar_rule rule;

	if (pawl_calendar_parse(&rule, run->rule.text, NULL) != 0) {
		fail(run, "the rule", 0, 0, 1);
		return;
	}
	compare_all(run, &rule, FORWARDS);
	compare_all(run, &rule, BACKWARDS);
}

static void compare_clocks(struct run *run)
{
	int64_t latest = shown_before(run, run->start);

	for (int64_t t = run->start; t < run->end; t += run->unit) {
		int64_t local = run->locals[(t - run->start) / run->unit];

		if (t + pawl_zone_offset(&run->zone, t) != local)
			fail(run, "the local time", t, t + pawl_zone_offset(&run->zone, t), local);
		for (int64_t l = latest + run->unit; l <= local; l += run->unit)
			if (pawl_zone_time(&run->zone, l) != t)
				fail(run, "the time of a local time", l,
				     pawl_zone_time(&run->zone, l), t);
		latest = local > latest ? local : latest;
	}
}

/* Mostly around a change, where errors are likely. */
static void random_window(struct run *run)
{
	int64_t length = run->unit == 60 ? 6 * 86400 : 5 * 3600, middle;

	if (run->model.count > 0 && !one_in(run, 8))
		middle = run->model.changes[below(run, run->model.count)].at;
	else
		middle = day_of(2012 + below(run, 30), 1 + below(run, 12), 1 + below(run, 28));
	run->start = (middle - below(run, (int)length)) / 60 * 60;
	run->end = run->start + length;
}

static bool run_passes(struct run *run, uint64_t seed)
{
	*run = (struct run){.random = {seed}, .seed = seed};
	run->unit = one_in(run, 8) ? 1 : 60;
	random_zone(run);
	random_rule(run);
	for (int i = 0; i < 3 && !run->failed; i++) {
		random_window(run);
		let_the_model_fire(run);
		compare_fires(run);
		compare_clocks(run);
	}
	return !run->failed;
}

int main(int argc, char **argv)
{
	uint64_t runs = test_number(argc, argv, "--runs", "PAWL_RUNS", 300);
	uint64_t seed = test_number(argc, argv, "--seed", "PAWL_SEED", 1), fires = 0, fixed = 0;
	static struct run run;

	test_usage(argc, argv, "[--seed N] [--runs N]");
	printf("seeds %" PRIu64 " to %" PRIu64 "\n", seed, seed + runs - 1);
	for (uint64_t i = 0; i < runs; i++) {
		if (!run_passes(&run, seed + i))
			test_failed();
		fires += (uint64_t)run.fire_count;
		fixed += run.fire_count > 0 && !run.rule.wildcard;
	}
	printf("%" PRIu64 " fires in the last windows; %" PRIu64
	       " runs with fixed times that fired\n",
	       fires, fixed);
	EXPECT(runs < 100 || (fires > 0 && fixed > 0));
	return test_failures ? 1 : 0;
}
