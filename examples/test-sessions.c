/* SPDX-License-Identifier: MIT */
/*
 * Testing code that uses time: sessions that end after half an hour without a request, and tests in which hours
 * pass without a sleep. The tests are exact: a second before the half hour is over, the session is still open.
 */
#include <pawl/pawl.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the code to be tested: it takes a service, and so whatever clock that has ---- */

struct session {
	struct pawl_service *service;
	struct pawl_task idle;
	bool open;
};

static void end_session(struct pawl_task *task)
{
	struct session *s = PAWL_CONTAINER_OF(task, struct session, idle);

	s->open = false;
}

static void session_open(struct session *s, struct pawl_service *service)
{
	*s = (struct session){.service = service, .open = true};
	pawl_task_init(&s->idle, end_session);
	pawl_service_arm(service, &s->idle, 30 * PAWL_MINUTE);
}

static void session_request(struct session *s)
{
	pawl_service_touch(s->service, &s->idle, 30 * PAWL_MINUTE);
}

/* Until when it lasts without a further request; PAWL_NEVER: it is over. */
static uint64_t session_until(struct session *s)
{
	return pawl_service_deadline(s->service, &s->idle);
}

static void session_log_out(struct session *s)
{
	pawl_service_cancel_wait(s->service, &s->idle);
	s->open = false;
}

/* ---- the tests ---- */

static void expect(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "expected: %s\n", what);
	exit(1);
}

static void a_silent_session_ends_after_half_an_hour(struct pawl_clock_manual *clock,
                                                     struct pawl_service *service)
{
	struct session s;

	session_open(&s, service);
	pawl_clock_manual_run(clock, service, 30 * PAWL_MINUTE - PAWL_SECOND);
	expect(s.open, "open a second before");
	pawl_clock_manual_run(clock, service, PAWL_SECOND);
	expect(!s.open, "ended after half an hour");
}

static void a_request_starts_the_half_hour_again(struct pawl_clock_manual *clock,
                                                 struct pawl_service *service)
{
	struct session s;

	session_open(&s, service);
	for (int request = 0; request < 24; request++) {
		pawl_clock_manual_run(clock, service, 29 * PAWL_MINUTE);
		session_request(&s);
	}
	expect(session_until(&s) == pawl_service_now(service) + 30 * PAWL_MINUTE, "half an hour");
	expect(s.open, "open after half a day of requests");
	pawl_clock_manual_run(clock, service, 30 * PAWL_MINUTE);
	expect(!s.open, "ended half an hour after the last");
}

static void nothing_is_left_of_a_session_that_logged_out(struct pawl_clock_manual *clock,
                                                         struct pawl_service *service)
{
	struct session s;

	session_open(&s, service);
	session_log_out(&s);
	expect(session_until(&s) == PAWL_NEVER, "over");
	expect(pawl_service_pending(service) == 0, "nothing pending");
	pawl_clock_manual_run(clock, service, 60 * PAWL_MINUTE);
}

int main(void)
{
	struct pawl_clock_manual clock;
	struct pawl_service_options options = {.clock = &clock.clock};
	struct pawl_service *service;

	pawl_clock_manual_init(&clock);
	if (pawl_service_open(&service, &options) != 0)
		return 1;
	a_silent_session_ends_after_half_an_hour(&clock, service);
	a_request_starts_the_half_hour_again(&clock, service);
	nothing_is_left_of_a_session_that_logged_out(&clock, service);
	pawl_service_close(service, NULL);
	printf("half a day and two hours have passed\n");
	return 0;
}
