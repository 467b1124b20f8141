/* SPDX-License-Identifier: MIT */
#include "zones.h"

#include <pawl/wheel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LEN 255

struct loaded_zone {
	struct loaded_zone *next;
	struct pawl_zone zone;
	char name[NAME_LEN + 1];
};

/* "local" is the machine's own. */
static int load(struct pawl_zone *zone, const char *name, struct pawl_calendar_error *error)
{
	return pawl_zone_load(zone, strcmp(name, "local") == 0 ? NULL : name, error);
}

static const struct pawl_zone *fail(struct pawl_calendar_error *error, const char *text)
{
	snprintf(error->text, sizeof(error->text), "%s", text);
	return NULL;
}

static const struct pawl_zone *add(struct zones *zones, const char *name,
                                   struct pawl_calendar_error *error)
{
	struct loaded_zone *loaded = malloc(sizeof(*loaded));

	if (!loaded)
		return fail(error, "there is no memory for it");
	if (load(&loaded->zone, name, error) != 0) {
		free(loaded);
		return NULL;
	}
	strcpy(loaded->name, name);
	loaded->next = zones->first;
	zones->first = loaded;
	return &loaded->zone;
}

const struct pawl_zone *zones_find(struct zones *zones, struct span name,
                                   struct pawl_calendar_error *error)
{
	char text[NAME_LEN + 1];

	if (name.length > NAME_LEN)
		return fail(error, "it is too long; expected a name such as Europe/Berlin");
	memcpy(text, name.text, name.length);
	text[name.length] = '\0';
	for (struct loaded_zone *loaded = zones->first; loaded; loaded = loaded->next)
		if (strcmp(loaded->name, text) == 0)
			return &loaded->zone;
	return add(zones, text, error);
}

void zones_close(struct zones *zones)
{
	struct loaded_zone *loaded = zones->first, *next;

	for (; loaded; loaded = next) {
		next = loaded->next;
		free(loaded);
	}
	*zones = (struct zones){0};
}

uint64_t timetable_next(const struct timetable *timetable, uint64_t after)
{
	int64_t next = pawl_calendar_next(&timetable->rule, timetable->zone,
	                                  (int64_t)(after / PAWL_SECOND));

	return (uint64_t)next < UINT64_MAX / PAWL_SECOND ? (uint64_t)next * PAWL_SECOND
	                                                 : PAWL_NEVER;
}
