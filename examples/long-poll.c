/* SPDX-License-Identifier: MIT */
/*
 * Long polling: consumers wait for a message on one or two named queues, each for a time of its own. If there is a
 * message, a consumer gets it at once. Otherwise its request waits in a purgatory, under the keys of its queues, until
 * a message comes or its time is up. Each request is answered exactly once, and each message goes to one consumer.
 *
 * The clock is a manual one: nothing sleeps, and the output is always the same. A server leaves options.clock out.
 */
#include <pawl/purgatory.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX 8

/* Its lock is the program's own: pawl does not know it. */
struct queue {
	const char *name;
	pthread_mutex_t lock;
	const char *messages[QUEUE_MAX];
	unsigned first, count;
};

/* A consumer's request, which is not answered yet. */
struct request {
	struct pawl_op op;
	const char *consumer;
	struct queue *queues[2];
	uint64_t until;
	bool answered;
};

static struct pawl_service *service;
static struct pawl_purgatory *purgatory;

static void answer(struct request *request, const char *text)
{
	printf("%2u s  %s: %s\n", (unsigned)(pawl_service_now(service) / PAWL_SECOND),
	       request->consumer, text);
	request->answered = true;
}

static bool queue_has(struct queue *queue)
{
	bool has;

	pthread_mutex_lock(&queue->lock);
	has = queue->count > 0;
	pthread_mutex_unlock(&queue->lock);
	return has;
}

static const char *queue_take(struct queue *queue)
{
	const char *message = NULL;

	pthread_mutex_lock(&queue->lock);
	if (queue->count > 0) {
		message = queue->messages[queue->first++ % QUEUE_MAX];
		queue->count--;
	}
	pthread_mutex_unlock(&queue->lock);
	return message;
}

static struct pawl_key queue_key(const struct queue *queue)
{
	return pawl_purgatory_key(purgatory, queue->name, strlen(queue->name));
}

/* ---- the functions of a request ---- */

/* Can it be answered? Only a question: the message stays where it is. */
static bool is_there_a_message(struct pawl_op *op)
{
	struct request *request = PAWL_CONTAINER_OF(op, struct request, op);

	return queue_has(request->queues[0]) || queue_has(request->queues[1]);
}

/* There was a message, or time is up. Another consumer may have taken the message: then the request waits again. */
static void on_complete(struct pawl_op *op)
{
	struct request *request = PAWL_CONTAINER_OF(op, struct request, op);
	const char *message = queue_take(request->queues[0]);

	if (!message)
		message = queue_take(request->queues[1]);
	if (message || pawl_op_expired(op))
		answer(request, message ? message : "no message");
}

static void on_drop(struct pawl_op *op)
{
	answer(PAWL_CONTAINER_OF(op, struct request, op), "the server ends");
}

static void wait_for_message(struct request *request);

/* The purgatory no longer uses the request. */
static void release(struct pawl_op *op)
{
	struct request *request = PAWL_CONTAINER_OF(op, struct request, op);

	if (request->answered)
		free(request);
	else
		wait_for_message(request);
}

static const struct pawl_op_type type = {is_there_a_message, on_complete, NULL, on_drop, release};

/* After 0 and 1 the request may be freed already. After an error it is still ours. */
static void wait_for_message(struct request *request)
{
	struct pawl_key keys[] = {queue_key(request->queues[0]), queue_key(request->queues[1])};
	uint64_t now = pawl_service_now(service);
	uint64_t left = request->until > now ? request->until - now : 0;

	pawl_op_init(&request->op, &type);
	if (pawl_purgatory_try_or_watch(purgatory, &request->op, keys, 2, left) < 0) {
		answer(request, "refused");
		free(request);
	}
}

/* ---- what the server calls ---- */

/* A consumer asks for a message of either queue; they may be the same. */
static void get(const char *consumer, struct queue *one, struct queue *other, uint64_t timeout)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		exit(1);
	request->consumer = consumer;
	request->queues[0] = one;
	request->queues[1] = other;
	request->until = pawl_service_now(service) + timeout;
	wait_for_message(request);
}

/* Change under the lock, unlock, and then check the key. */
static void put(struct queue *queue, const char *message)
{
	pthread_mutex_lock(&queue->lock);
	if (queue->count < QUEUE_MAX)
		queue->messages[(queue->first + queue->count++) % QUEUE_MAX] = message;
	pthread_mutex_unlock(&queue->lock);
	pawl_purgatory_check(purgatory, queue_key(queue));
}

int main(void)
{
	struct queue mail = {.name = "mail", .lock = PTHREAD_MUTEX_INITIALIZER};
	struct queue news = {.name = "news", .lock = PTHREAD_MUTEX_INITIALIZER};
	struct pawl_clock_manual clock;
	struct pawl_service_options options = {.clock = &clock.clock};

	pawl_clock_manual_init(&clock);
	if (pawl_service_open(&service, &options) != 0 ||
	    pawl_purgatory_open(&purgatory, service, NULL) != 0)
		return 1;
	put(&mail, "a letter");
	get("Ann", &mail, &news, 30 * PAWL_SECOND); /* at once */
	get("Ann", &mail, &news, 30 * PAWL_SECOND);
	pawl_clock_manual_run(&clock, service, 10 * PAWL_SECOND);
	put(&news, "rain in the north"); /* Ann has waited for it */
	get("a worker", &mail, &mail, 20 * PAWL_SECOND);
	get("a worker", &mail, &mail, 20 * PAWL_SECOND);
	pawl_clock_manual_run(&clock, service, 5 * PAWL_SECOND);
	put(&mail, "a parcel"); /* one of the two gets it, the other one waits on */
	pawl_clock_manual_run(&clock, service, 30 * PAWL_SECOND);
	get("Bob", &news, &news, PAWL_HOUR);
	pawl_purgatory_close(purgatory); /* Bob's request is dropped */
	pawl_service_close(service, NULL);
	return 0;
}
