/* SPDX-License-Identifier: MIT */
/*
 * An RPC client with retries and hedging. A call sends its request to a replica. If there is no answer after 50 ms, it
 * sends a second request to another replica, the hedge: the first answer wins. If all its requests fail, it tries again
 * after a backoff. The backoff doubles each time and has jitter, so that many clients do not come back together.
 * Whatever happens, the call ends after a second.
 *
 * All of that is three tasks in the struct of the call. The network and the clock are made up: nothing sleeps, and the
 * output is always the same. In a real client send_request() is another one, and options.clock is not set.
 */
#include <pawl/service.h>
#include <pthread.h>
#include <stdio.h>

#define HEDGE    (50 * PAWL_MS)
#define BACKOFF  (100 * PAWL_MS)
#define DEADLINE PAWL_SECOND
#define TRIES    4

/* Tasks run on a thread of the service, answers come on another one: the lock is for all fields but the tasks. */
struct call {
	const char *name;
	struct pawl_task hedge, retry, deadline;
	pthread_mutex_t lock;
	unsigned tries, waiting; /* waiting: requests of this try that have not failed */
	bool over;
};

static struct pawl_service *service;

static void send_request(struct call *call);
static void report(const struct call *call, const char *what);

/* Begin to handle an event of the call. false: the call is over, and the event comes too late. */
static bool enter(struct call *call)
{
	bool over;

	pthread_mutex_lock(&call->lock);
	over = call->over;
	if (over)
		pthread_mutex_unlock(&call->lock);
	return !over;
}

static void leave(struct call *call)
{
	pthread_mutex_unlock(&call->lock);
}

/* pawl_service_cancel() never waits, so it may be called under the lock. A task that runs already finds `over`. */
static void finish(struct call *call, const char *how)
{
	report(call, how);
	call->over = true;
	pawl_service_cancel(service, &call->hedge);
	pawl_service_cancel(service, &call->retry);
	pawl_service_cancel(service, &call->deadline);
}

static void try_again(struct call *call)
{
	call->tries++;
	call->waiting = 1;
	report(call, "request");
	send_request(call);
	pawl_service_arm(service, &call->hedge, HEDGE);
}

/* Half of the backoff is fixed, half is random. A fixed seed gives the same output each time. */
static uint64_t backoff(unsigned tries)
{
	static uint32_t random = 4711;
	uint64_t half = (BACKOFF << (tries - 1)) / 2;

	random = random * 1664525 + 1013904223;
	return half + half * (random >> 16) / 65536;
}

static void on_hedge(struct pawl_task *task)
{
	struct call *call = PAWL_CONTAINER_OF(task, struct call, hedge);

	if (!enter(call))
		return;
	if (call->waiting > 0) { /* 0: the first request has failed just now */
		call->waiting++;
		report(call, "no answer yet: a second request");
		send_request(call);
	}
	leave(call);
}

static void on_retry(struct pawl_task *task)
{
	struct call *call = PAWL_CONTAINER_OF(task, struct call, retry);

	if (!enter(call))
		return;
	try_again(call);
	leave(call);
}

static void on_deadline(struct pawl_task *task)
{
	struct call *call = PAWL_CONTAINER_OF(task, struct call, deadline);

	if (!enter(call))
		return;
	finish(call, "gave up at the deadline");
	leave(call);
}

static void on_answer(struct call *call, bool good)
{
	if (!enter(call))
		return;
	if (good) {
		finish(call, "answered");
	} else if (--call->waiting == 0) { /* otherwise the other request may still succeed */
		pawl_service_cancel(service, &call->hedge);
		report(call, "failed");
		if (call->tries == TRIES)
			finish(call, "gave up after the last try");
		else
			pawl_service_arm(service, &call->retry, backoff(call->tries));
	}
	leave(call);
}

static void call_start(struct call *call)
{
	pawl_task_init(&call->hedge, on_hedge);
	pawl_task_init(&call->retry, on_retry);
	pawl_task_init(&call->deadline, on_deadline);
	pthread_mutex_init(&call->lock, NULL);
	pthread_mutex_lock(&call->lock);
	pawl_service_arm(service, &call->deadline, DEADLINE);
	try_again(call);
	pthread_mutex_unlock(&call->lock);
}

/* The three tasks arm each other, so they end together. After this the memory of the call is yours. */
static void call_end(struct call *call)
{
	struct pawl_task *tasks[] = {&call->hedge, &call->retry, &call->deadline};

	pawl_service_cancel_wait_all(service, tasks, 3);
	pthread_mutex_destroy(&call->lock);
}

/* ---- the network, made up: each request is answered after a time, well or badly ---- */

static const struct {
	unsigned after_ms;
	bool good;
} answers[] = {
        {20, true},                                           /* simple */
        {400, true},  {30, true},                             /* slow: the hedge wins */
        {70, false},  {40, false},  {10, false}, {20, true},  /* flaky: two tries fail */
        {10, false},  {10, false},  {10, false}, {10, false}, /* broken */
        {5000, true}, {5000, true},                           /* silent */
};
#define REQUESTS (sizeof(answers) / sizeof(answers[0]))

struct request {
	struct call *call;
	bool good;
	struct pawl_task answer;
};

static struct request requests[REQUESTS];
static unsigned sent;
static uint64_t began;

static void deliver(struct pawl_task *task)
{
	struct request *request = PAWL_CONTAINER_OF(task, struct request, answer);

	on_answer(request->call, request->good);
}

static void send_request(struct call *call)
{
	struct request *request = &requests[sent];

	request->call = call;
	request->good = answers[sent].good;
	pawl_task_init(&request->answer, deliver);
	pawl_service_arm(service, &request->answer, answers[sent++].after_ms * PAWL_MS);
}

static void report(const struct call *call, const char *what)
{
	uint64_t ms = (pawl_service_now(service) - began) / PAWL_MS;

	printf("%s, %u ms: %s\n", call->name, (unsigned)ms, what);
}

int main(void)
{
	static const char *const names[] = {"simple", "slow", "flaky", "broken", "silent"};
	struct pawl_clock_manual clock;
	struct pawl_service_options options = {.clock = &clock.clock};

	pawl_clock_manual_init(&clock);
	if (pawl_service_open(&service, &options) != 0)
		return 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct call call = {.name = names[i]};

		began = pawl_service_now(service);
		call_start(&call);
		pawl_clock_manual_run(&clock, service, 10 * PAWL_SECOND);
		call_end(&call);
	}
	pawl_service_close(service, NULL);
	return 0;
}
