/* SPDX-License-Identifier: MIT */
/* The end of a change: a command has changed a queue, and has replicated that. The caller then calls takers_plan(). */
#ifndef PAWL_MODULE_COMMIT_H
#define PAWL_MODULE_COMMIT_H

#include "access.h"

/* Delete dead tasks beyond MAXDEAD, the oldest first and at most TRIM_MAX; then commit_replicated(). */
void commit(struct access *access, const char *event);
/*
 * Notify WATCH and keyspace notifications, as `event`; delete the key if the queue is empty. A command of the
 * replication stream calls this alone: the primary enforces MAXDEAD.
 */
void commit_replicated(struct access *access, const char *event);

#endif
