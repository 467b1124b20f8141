/* SPDX-License-Identifier: MIT */
/* pawl next: when a cron expression fires. */
#define _POSIX_C_SOURCE 200809L
#include <pawl/calendar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../commands.h"
#include "../run/zones.h"
#include "../text/arguments.h"
#include "../text/timestamp.h"
#include "../wait/wait.h"

static const char help[] =
        "usage: pawl next [OPTION...] RULE\n"
        "\n"
        "Prints the next times at which RULE fires: a cron expression in one argument,\n"
        "such as '30 2 * * MON-FRI', or one of its words, such as @daily.\n"
        "\n"
        "  --zone ZONE        of the rule: Europe/Berlin, UTC or local, the machine's own\n"
        "                     (default local)\n"
        "  -n, --count N      so many times, 1 to 1000 (default 5)\n"
        "  --from TIME        from this time on, as 2026-12-01T09:00Z, or without Z as\n"
        "                     clocks of the zone show it (default: now)\n"
        "  --help             this text\n";

struct arguments {
	const char *zone, *from;
	uint64_t count;
};

static bool parse_rule(const char *text, struct pawl_calendar_rule *rule)
{
	struct pawl_calendar_error error;

	if (pawl_calendar_parse(rule, text, &error) == 0)
		return true;
	complain("next: RULE is '%s': %s", text, error.text);
	return false;
}

/* The first whole second that is not before the time of --from, or the present. */
static bool find_start(const char *from, const struct pawl_zone *zone, int64_t *start)
{
	struct timestamp stamp = {.ns = clock_ns(CLOCK_REALTIME), .zoned = true};
	const char *wrong = from ? timestamp_parse(from, strlen(from), &stamp) : NULL;

	if (wrong) {
		complain("--from is '%s': %s; expected " TIMESTAMP_EXPECTED, from, wrong);
		return false;
	}
	*start = (int64_t)(stamp.ns / PAWL_SECOND + (stamp.ns % PAWL_SECOND > 0));
	if (!stamp.zoned)
		*start = pawl_zone_time(zone, *start);
	return true;
}

/* ISO 8601 and the day of the week. Only offsets of long ago have seconds. */
static void print_time(int64_t at, int32_t offset)
{
	time_t local = (time_t)(at + offset);
	int distance = abs(offset);
	char date[40], day[8];
	struct tm tm;

	gmtime_r(&local, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	strftime(day, sizeof(day), "%a", &tm);
	printf("%s%c%02d:%02d", date, offset < 0 ? '-' : '+', distance / 3600, distance / 60 % 60);
	if (distance % 60)
		printf(":%02d", distance % 60);
	printf(" %s\n", day);
}

/* Returns how many there are: fewer than `count` if the year 9999 ends before. */
static uint64_t print_times(const struct pawl_calendar_rule *rule, const struct pawl_zone *zone,
                            int64_t start, uint64_t count)
{
	int64_t at = start - 1;

	for (uint64_t i = 0; i < count; i++) {
		at = pawl_calendar_next(rule, zone, at);
		if (at == PAWL_CALENDAR_NEVER)
			return i;
		print_time(at, pawl_zone_offset(zone, at));
	}
	return count;
}

static int next_in(const struct pawl_zone *zone, const struct arguments *a, const char *text)
{
	struct pawl_calendar_rule rule;
	int64_t start;

	if (!parse_rule(text, &rule) || !find_start(a->from, zone, &start))
		return EXIT_USAGE;
	if (print_times(&rule, zone, start, a->count) > 0)
		return finish_output(EXIT_FINE);
	complain("next: RULE is '%s': it never fires", text);
	return EXIT_FAULT;
}

static int next(const struct arguments *a, const char *text)
{
	struct pawl_calendar_error error;
	struct zones zones = {0};
	const struct pawl_zone *zone =
	        zones_find(&zones, (struct span){a->zone, strlen(a->zone)}, &error);
	int code = EXIT_USAGE;

	if (zone)
		code = next_in(zone, a, text);
	else
		complain("next: --zone is '%s': %s", a->zone, error.text);
	zones_close(&zones);
	return code;
}

int command_next(int argc, char **argv)
{
	struct arguments a = {.zone = "local", .count = 5};
	const struct setting settings[] = {
	        {"zone", .text = &a.zone},
	        {"count", .letter = 'n', .number = &a.count, .least = 1, .most = 1000},
	        {"from", .text = &a.from},
	        {0},
	};
	int code = parse_options(argc, argv, settings, help);

	if (code >= 0)
		return code;
	if (argc - optind == 1)
		return next(&a, argv[optind]);
	if (optind == argc)
		complain("next: there is no RULE; expected one, as in 'pawl next \"30 2 * * *\"'");
	else
		complain("next: '%s' is one RULE too many; expected one, in quotation marks, as in "
		         "'pawl next \"30 2 * * *\"'",
		         argv[optind + 1]);
	return EXIT_USAGE;
}
