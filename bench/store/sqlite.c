/* SPDX-License-Identifier: MIT */
/* A table by (due, id) in SQLite: WAL, as large as pawl's log before it is checkpointed; prepared statements, 64 MB of
 * cache, one process that keeps the lock. */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "peer.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct own {
	sqlite3 *database;
	sqlite3_stmt *put, *take, *ack, *begin, *commit;
	uint64_t due, number; /* the last that was taken: those up to it are leased */
};

static void check(struct own *own, int result)
{
	if (result != SQLITE_OK && result != SQLITE_DONE)
		fail("sqlite: %s", sqlite3_errmsg(own->database));
}

static sqlite3_stmt *prepare(struct own *own, const char *text)
{
	sqlite3_stmt *statement;

	check(own, sqlite3_prepare_v3(own->database, text, -1, SQLITE_PREPARE_PERSISTENT,
	                              &statement, NULL));
	return statement;
}

static void run(struct own *own, sqlite3_stmt *statement)
{
	check(own, sqlite3_step(statement));
	check(own, sqlite3_reset(statement));
}

static void *sqlite_open(const char *directory, bool sync, uint64_t now)
{
	struct own *own = calloc(1, sizeof(*own));
	char path[256];

	(void)now;
	if (!own)
		fail("no memory");
	snprintf(path, sizeof(path), "%s/database", directory);
	check(own, sqlite3_open(path, &own->database));
	check(own,
	      sqlite3_exec(own->database,
	                   "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;"
	                   "PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=8192;"
	                   "CREATE TABLE IF NOT EXISTS task (due INTEGER, id INTEGER, payload BLOB,"
	                   "PRIMARY KEY (due, id)) WITHOUT ROWID;",
	                   NULL, NULL, NULL));
	check(own, sqlite3_exec(own->database,
	                        sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF", NULL,
	                        NULL, NULL));
	own->put = prepare(own, "INSERT INTO task VALUES (?, ?, ?)");
	own->take = prepare(own, "SELECT due, id, payload FROM task WHERE (due, id) > (?, ?) AND "
	                         "due <= ? ORDER BY due, id LIMIT ?");
	own->ack = prepare(own, "DELETE FROM task WHERE due = ? AND id = ?");
	own->begin = prepare(own, "BEGIN IMMEDIATE");
	own->commit = prepare(own, "COMMIT");
	return own;
}

static void sqlite_close(void *store)
{
	struct own *own = store;

	sqlite3_finalize(own->put);
	sqlite3_finalize(own->take);
	sqlite3_finalize(own->ack);
	sqlite3_finalize(own->begin);
	sqlite3_finalize(own->commit);
	sqlite3_close(own->database);
	free(own);
}

static void sqlite_put(void *store, const struct job *jobs, size_t count)
{
	struct own *own = store;

	run(own, own->begin);
	for (size_t i = 0; i < count; i++) {
		sqlite3_bind_int64(own->put, 1, (sqlite3_int64)jobs[i].due);
		sqlite3_bind_int64(own->put, 2, (sqlite3_int64)jobs[i].number);
		sqlite3_bind_blob(own->put, 3, jobs[i].payload, PAYLOAD, SQLITE_STATIC);
		run(own, own->put);
	}
	run(own, own->commit);
}

static void sqlite_take(void *store, uint64_t now, struct job *jobs, size_t count)
{
	struct own *own = store;
	size_t have = 0;

	sqlite3_bind_int64(own->take, 1, (sqlite3_int64)own->due);
	sqlite3_bind_int64(own->take, 2, (sqlite3_int64)own->number);
	sqlite3_bind_int64(own->take, 3, (sqlite3_int64)now);
	sqlite3_bind_int64(own->take, 4, (sqlite3_int64)count);
	while (have < count && sqlite3_step(own->take) == SQLITE_ROW) {
		jobs[have].due = (uint64_t)sqlite3_column_int64(own->take, 0);
		jobs[have].number = (uint64_t)sqlite3_column_int64(own->take, 1);
		memcpy(jobs[have++].payload, sqlite3_column_blob(own->take, 2), PAYLOAD);
	}
	check(own, sqlite3_reset(own->take));
	if (have < count)
		fail("sqlite: %zu tasks are due instead of %zu", have, count);
	own->due = jobs[count - 1].due;
	own->number = jobs[count - 1].number;
}

static void sqlite_ack(void *store, const struct job *jobs, size_t count)
{
	struct own *own = store;

	run(own, own->begin);
	for (size_t i = 0; i < count; i++) {
		sqlite3_bind_int64(own->ack, 1, (sqlite3_int64)jobs[i].due);
		sqlite3_bind_int64(own->ack, 2, (sqlite3_int64)jobs[i].number);
		run(own, own->ack);
	}
	run(own, own->commit);
}

const struct store_peer store_peer_sqlite = {
        "sqlite",    "a table by (due, id) in SQLite, with WAL",
        sqlite_open, sqlite_close,
        sqlite_put,  sqlite_take,
        sqlite_ack,
};
