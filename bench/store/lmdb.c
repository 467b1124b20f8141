/* SPDX-License-Identifier: MIT */
/* A B+tree by (due, id) in LMDB. */
#define _GNU_SOURCE
#include "../support/machine.h"
#include "peer.h"

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

struct own {
	MDB_env *environment;
	MDB_dbi database;
	unsigned char last[16]; /* the key that was taken last: those up to it are leased */
};

static void check(int result)
{
	if (result != 0)
		fail("lmdb: %s", mdb_strerror(result));
}

/* Big-endian, so that bytes compare as numbers. */
static void make_key(unsigned char key[16], const struct job *job)
{
	for (int i = 0; i < 8; i++) {
		key[i] = (unsigned char)(job->due >> (56 - 8 * i));
		key[8 + i] = (unsigned char)(job->number >> (56 - 8 * i));
	}
}

static void read_key(const unsigned char *key, struct job *job)
{
	job->due = job->number = 0;
	for (int i = 0; i < 8; i++) {
		job->due = job->due << 8 | key[i];
		job->number = job->number << 8 | key[8 + i];
	}
}

static void *lmdb_open(const char *directory, bool sync, uint64_t now)
{
	struct own *own = calloc(1, sizeof(*own));
	MDB_txn *transaction;

	(void)now;
	if (!own)
		fail("no memory");
	check(mdb_env_create(&own->environment));
	check(mdb_env_set_mapsize(own->environment, (size_t)8 << 30));
	check(mdb_env_open(own->environment, directory, sync ? 0 : MDB_NOSYNC, 0600));
	check(mdb_txn_begin(own->environment, NULL, 0, &transaction));
	check(mdb_dbi_open(transaction, NULL, 0, &own->database));
	check(mdb_txn_commit(transaction));
	return own;
}

static void lmdb_close(void *store)
{
	struct own *own = store;

	mdb_env_close(own->environment);
	free(own);
}

static void lmdb_put(void *store, const struct job *jobs, size_t count)
{
	struct own *own = store;
	MDB_txn *transaction;
	unsigned char bytes[16];

	check(mdb_txn_begin(own->environment, NULL, 0, &transaction));
	for (size_t i = 0; i < count; i++) {
		MDB_val key = {sizeof(bytes), bytes};
		MDB_val value = {PAYLOAD, (void *)(uintptr_t)jobs[i].payload};

		make_key(bytes, &jobs[i]);
		check(mdb_put(transaction, own->database, &key, &value, 0));
	}
	check(mdb_txn_commit(transaction));
}

static void lmdb_take(void *store, uint64_t now, struct job *jobs, size_t count)
{
	struct own *own = store;
	MDB_txn *transaction;
	MDB_cursor *cursor;
	MDB_val key = {sizeof(own->last), own->last}, value;
	size_t have = 0;
	int result;

	check(mdb_txn_begin(own->environment, NULL, MDB_RDONLY, &transaction));
	check(mdb_cursor_open(transaction, own->database, &cursor));
	result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
	if (result == 0 && memcmp(key.mv_data, own->last, sizeof(own->last)) == 0)
		result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
	for (; result == 0 && have < count;
	     result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
		read_key(key.mv_data, &jobs[have]);
		if (jobs[have].due > now)
			break;
		memcpy(own->last, key.mv_data, sizeof(own->last));
		memcpy(jobs[have++].payload, value.mv_data, PAYLOAD);
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(transaction);
	if (have < count)
		fail("lmdb: %zu tasks are due instead of %zu", have, count);
}

static void lmdb_ack(void *store, const struct job *jobs, size_t count)
{
	struct own *own = store;
	MDB_txn *transaction;
	unsigned char bytes[16];

	check(mdb_txn_begin(own->environment, NULL, 0, &transaction));
	for (size_t i = 0; i < count; i++) {
		MDB_val key = {sizeof(bytes), bytes};

		make_key(bytes, &jobs[i]);
		check(mdb_del(transaction, own->database, &key, NULL));
	}
	check(mdb_txn_commit(transaction));
}

const struct store_peer store_peer_lmdb = {
        "lmdb",   "a B+tree by (due, id) in LMDB", lmdb_open, lmdb_close, lmdb_put, lmdb_take,
        lmdb_ack,
};
