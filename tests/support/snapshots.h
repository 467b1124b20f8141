/* SPDX-License-Identifier: MIT */
/* The pending tasks in a snapshot. */
#ifndef PAWL_TESTS_SNAPSHOTS_H
#define PAWL_TESTS_SNAPSHOTS_H

#include "services.h"
#include "viewer.h"

enum { CELLS_DUE = 12 };

/* The bounds as pawl_inspect(3) has them, written down once more. */
static const uint64_t due_within[CELLS_DUE - 1] = {
        0,           MS,           10 * MS, 100 * MS, SECOND,    10 * SECOND,
        60 * SECOND, 600 * SECOND, HOUR,    6 * HOUR, 24 * HOUR,
};

static inline void name_of(pawl_task_fn *function, char name[32])
{
	snprintf(name, 32, "\"0x%" PRIxPTR "\"", (uintptr_t)function);
}

/* The object of the function in "functions"; NULL: it has none. */
static inline const char *function_in(const struct viewer *viewer, pawl_task_fn *function)
{
	const char *found, *end = strstr(viewer->text, "\"latest\":");
	char name[32];

	name_of(function, name);
	found = strstr(member(viewer->text, "functions"), name);
	return found && found < end ? found : NULL;
}

/* A number that the snapshot has of the function; 0: it has none. */
static inline uint64_t number_of(const struct viewer *viewer, pawl_task_fn *function,
                                 const char *name)
{
	const char *found = function_in(viewer, function);

	return found ? number_in(found, name) : 0;
}

static inline uint64_t pending_of(const struct viewer *viewer, pawl_task_fn *function)
{
	return number_of(viewer, function, "pending");
}

static inline void due_of(const struct viewer *viewer, uint64_t due[CELLS_DUE])
{
	const char *at = member(viewer->text, "due") + 1;

	for (unsigned i = 0; i < CELLS_DUE; i++) {
		at = strchr(at, ',') + 1;
		due[i] = strtoull(at, NULL, 10);
		at = strchr(at, ']') + 2;
	}
}

static inline uint64_t sum_due(const struct viewer *viewer)
{
	uint64_t due[CELLS_DUE], sum = 0;

	due_of(viewer, due);
	for (unsigned i = 0; i < CELLS_DUE; i++)
		sum += due[i];
	return sum;
}

static inline uint64_t sum_functions(const struct viewer *viewer)
{
	const char *at = member(viewer->text, "functions"), *end = strstr(at, "\"latest\":");
	uint64_t sum = 0;

	while ((at = strstr(at, "\"pending\":")) != NULL && at < end)
		sum += number_in(at++, "pending");
	return sum;
}

static inline unsigned cell_of(uint64_t delay)
{
	unsigned cell = 0;

	while (cell < CELLS_DUE - 1 && delay > due_within[cell])
		cell++;
	return cell;
}

#endif
