/* SPDX-License-Identifier: MIT */
/*
 * probe: answers questions about zones on standard output, for a test that compares them with another reader of tzdata.
 * A line each on standard input:
 *
 *	zone NAME               the zone of the lines that follow; answers nothing, or what is wrong
 *	offset TIME             how far its clocks are ahead of UTC then
 *	time LOCAL              when they first show that local time or a later one
 *	fires FROM TO RULE      all times after FROM and up to TO at which the rule fires
 */
#include <inttypes.h>
#include <pawl/calendar.h>
#include <stdio.h>
#include <string.h>

static void list_fires(const struct pawl_zone *zone, const char *arguments)
{
	struct pawl_calendar_error error;
	struct pawl_calendar_rule rule;
	int64_t from, to;
	int used = 0;

	if (sscanf(arguments, "%" SCNd64 " %" SCNd64 " %n", &from, &to, &used) != 2) {
		puts("fires what?");
		return;
	}
	if (pawl_calendar_parse(&rule, arguments + used, &error) != 0) {
		puts(error.text);
		return;
	}
	for (;;) {
		from = pawl_calendar_next(&rule, zone, from);
		if (from > to)
			break;
		printf("%" PRId64 " ", from);
		if (pawl_calendar_prev(&rule, zone, from + 1) != from)
			printf("is not the previous time ");
	}
	putchar('\n');
}

static void answer(struct pawl_zone *zone, const char *line)
{
	struct pawl_calendar_error error;
	int64_t time;

	if (strncmp(line, "zone ", 5) == 0) {
		if (pawl_zone_load(zone, line + 5, &error) != 0)
			printf("%s: %s\n", line + 5, error.text);
	} else if (sscanf(line, "offset %" SCNd64, &time) == 1) {
		printf("%" PRId32 "\n", pawl_zone_offset(zone, time));
	} else if (sscanf(line, "time %" SCNd64, &time) == 1) {
		printf("%" PRId64 "\n", pawl_zone_time(zone, time));
	} else if (strncmp(line, "fires ", 6) == 0) {
		list_fires(zone, line + 6);
	} else {
		puts("what?");
	}
}

int main(void)
{
	struct pawl_zone zone;
	char line[512];

	pawl_zone_utc(&zone);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		answer(&zone, line);
	}
	return 0;
}
