/* SPDX-License-Identifier: MIT */
/*
 * Tasks in a table of SQLite, where the rows that they belong to are: an order and its reminder are one transaction. A
 * service sleeps until the first task is due, so nothing polls, and times are milliseconds.
 *
 * A take moves the time of a task to the end of its lease. So a worker that dies needs no further column: its task is
 * due again by then. The number of tries is also the fence: the ack of a worker that was too slow deletes nothing.
 */
#define _POSIX_C_SOURCE 200809L
#include <pawl/service.h>
#include <pthread.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define LEASE_MS 60000

static sqlite3 *database;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* one transaction at a time */
static struct pawl_service *service;
static struct pawl_task first_is_due;
static sem_t done;

static _Noreturn void fail(void)
{
	fprintf(stderr, "sqlite-store: %s\n", sqlite3_errmsg(database));
	exit(1);
}

/* A statement, with numbers for its parameters ?1 and ?2 if it has them. */
static sqlite3_stmt *prepare(const char *sql, sqlite3_int64 a, sqlite3_int64 b)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
		fail();
	sqlite3_bind_int64(statement, 1, a);
	sqlite3_bind_int64(statement, 2, b);
	return statement;
}

static bool step(sqlite3_stmt *statement)
{
	int got = sqlite3_step(statement);

	if (got != SQLITE_ROW && got != SQLITE_DONE)
		fail();
	return got == SQLITE_ROW;
}

static void change(const char *sql, sqlite3_int64 a, sqlite3_int64 b)
{
	sqlite3_stmt *statement = prepare(sql, a, b);

	step(statement);
	sqlite3_finalize(statement);
}

static sqlite3_int64 now_ms(void)
{
	struct timespec now = pawl_service_wall(service);

	return (sqlite3_int64)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Under the mutex: let the service sleep until the first task is due. It follows the wall clock. */
static void arm_for_first(void)
{
	sqlite3_stmt *first = prepare("SELECT due FROM tasks ORDER BY due LIMIT 1", 0, 0);

	if (step(first)) {
		sqlite3_int64 due = sqlite3_column_int64(first, 0);
		struct timespec at = {(time_t)(due / 1000), (long)(due % 1000 * 1000000)};

		pawl_service_arm_at_time(service, &first_is_due, at);
	}
	sqlite3_finalize(first);
}

/* Lease the first due task, if there is one. */
static bool take(sqlite3_int64 *id, sqlite3_int64 *tries, sqlite3_int64 *order)
{
	static const char sql[] = "UPDATE tasks SET due = ?1, tries = tries + 1 WHERE id ="
	                          " (SELECT id FROM tasks WHERE due <= ?2 ORDER BY due LIMIT 1)"
	                          " RETURNING id, tries, of_order";
	sqlite3_stmt *taken = prepare(sql, now_ms() + LEASE_MS, now_ms());
	bool found = step(taken);

	*id = sqlite3_column_int64(taken, 0);
	*tries = sqlite3_column_int64(taken, 1);
	*order = sqlite3_column_int64(taken, 2);
	sqlite3_finalize(taken);
	return found;
}

/* Runs on the worker. The work itself is done without the mutex. */
static void run_due(struct pawl_task *task)
{
	sqlite3_int64 id, tries, order;

	(void)task;
	pthread_mutex_lock(&mutex);
	while (take(&id, &tries, &order)) {
		pthread_mutex_unlock(&mutex);
		printf("order %lld is not paid\n", (long long)order);
		pthread_mutex_lock(&mutex);
		change("DELETE FROM tasks WHERE id = ?1 AND tries = ?2", id, tries);
		sem_post(&done);
	}
	arm_for_first();
	pthread_mutex_unlock(&mutex);
}

/* The order and its reminder: both, or neither. */
static void place_order(sqlite3_int64 order, sqlite3_int64 remind_ms)
{
	pthread_mutex_lock(&mutex);
	change("BEGIN IMMEDIATE", 0, 0);
	change("INSERT INTO orders (id) VALUES (?1)", order, 0);
	change("INSERT INTO tasks (of_order, due) VALUES (?1, ?2)", order, remind_ms);
	change("COMMIT", 0, 0);
	arm_for_first();
	pthread_mutex_unlock(&mutex);
}

int main(void)
{
	static const char schema[] =
	        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
	        "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY);"
	        "CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY AUTOINCREMENT,"
	        " due INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0, of_order INTEGER);"
	        "CREATE INDEX IF NOT EXISTS tasks_by_due ON tasks (due)";

	if (sqlite3_open("orders.db", &database) != SQLITE_OK ||
	    sqlite3_exec(database, schema, NULL, NULL, NULL) != SQLITE_OK)
		fail();
	sem_init(&done, 0, 0);
	pawl_task_init(&first_is_due, run_due);
	if (pawl_service_open(&service, &(struct pawl_service_options){.workers = 1}) != 0)
		return 1;
	place_order(1, now_ms() + 100);
	place_order(2, now_ms() + 300);
	sem_wait(&done);
	sem_wait(&done);
	pawl_service_close(service, NULL);
	sqlite3_close(database);
	return 0;
}
