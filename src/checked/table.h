/* SPDX-License-Identifier: MIT */
/*
 * The checked build's table of what exists, by kind and address: see base/mistake.h. It lies apart from the public
 * structs, which are the same in every build. Any thread may use it, under any lock.
 */
#ifndef PAWL_CHECKED_TABLE_H
#define PAWL_CHECKED_TABLE_H

#include "../base/mistake.h"

#ifdef PAWL_CHECKED
struct record {
	enum checked_kind kind;
	const void *address;
	const void *
	        owner; /* of a timer: its wheel; of a wheel: see mistake.h; of watches: the purgatory */
	const char *name;    /* of a service, or NULL; of a wheel in use: the call */
	uint64_t number;     /* of a timer: its deadline; of a wheel: its generation */
	uint64_t generation; /* of a timer: that of its wheel */
	const void *part_of; /* of watches: the operation */
	const void *thread;  /* of a wheel in use: the thread that is in it... */
	unsigned depth;      /* ...and how many calls deep; 0: not in use */
};

bool pawl__table_get(enum checked_kind kind, const void *address, struct record *record);
void pawl__table_put(const struct record *record); /* replaces one of the same kind and address */
void pawl__table_remove(enum checked_kind kind, const void *address);

/* Count a thread into a wheel, or out of it. False, with the record as it was: it is not known, or another is in it. */
bool pawl__table_enter(const void *wheel, const char *call, struct record *record);
void pawl__table_leave(const void *wheel);
#endif

#endif
