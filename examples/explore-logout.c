/* SPDX-License-Identifier: MIT */
/*
 * A race that a stress test rarely hits, found by exploring the schedules.
 *
 * A session ends when its user logs out, or after half an hour of silence, whichever comes first. Both remove the
 * session from the table under a lock, and whichever finds it there frees it. That looks right. Built with
 * -DCANCEL=pawl_service_cancel it is wrong, and the explorer says so, with the schedule:
 *
 *	a worker of the service                 a thread that serves the user
 *	-----------------------                 -----------------------------
 *	calls end_by_silence(session)
 *	                                        removes the session from the table
 *	                                        cancel: PAWL_SERVICE_RUNNING, and goes on
 *	                                        frees the session
 *	reads session->number: freed memory
 *
 * The explorer reports the race even in an execution where the read came first: nothing orders the two.
 *
 * pawl_service_cancel_wait is right: it returns when end_by_silence has. How to build it: docs/guide/testing.md.
 */
#include <explore.h>
#include <pawl/pawl.h>
#include <pthread.h>
#include <stdlib.h>

#ifndef CANCEL
#define CANCEL pawl_service_cancel_wait
#endif

#define SESSIONS  4
#define HALF_HOUR (30 * PAWL_MINUTE)

struct session {
	struct pawl_task silence; /* first: a task is its session */
	unsigned number;
};

static struct pawl_service *service;
static struct session *table[SESSIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The thread that gets it frees it. */
static struct session *take_out(unsigned number)
{
	struct session *session;

	pthread_mutex_lock(&lock);
	session = table[number];
	table[number] = NULL;
	pthread_mutex_unlock(&lock);
	return session;
}

static void end_by_silence(struct pawl_task *task)
{
	struct session *session = (struct session *)task;

	free(take_out(session->number));
}

static void log_in(unsigned number)
{
	struct session *session = malloc(sizeof(*session));

	session->number = number;
	table[number] = session;
	pawl_task_init(&session->silence, end_by_silence);
	pawl_service_arm(service, &session->silence, HALF_HOUR);
}

static void *log_out(void *unused)
{
	struct session *session = take_out(0);

	if (session) {
		CANCEL(service, &session->silence);
		free(session);
	}
	return unused;
}

static void log_out_against_silence(void)
{
	const struct pawl_service_options options = {.shards = 1};
	pthread_t thread;

	EXPLORE_EXPECT_EQ(pawl_service_open(&service, &options), 0);
	log_in(0);
	pthread_create(&thread, NULL, log_out, NULL);
	pthread_join(thread, NULL);
	pawl_service_close(service, NULL);
	EXPLORE_EXPECT(!table[0]);
}

int main(int argc, char **argv)
{
	static const struct explore_scenario scenarios[] = {
	        {.name = "log out against silence", .run = log_out_against_silence},
	};

	return explore_main(argc, argv, scenarios, 1);
}
