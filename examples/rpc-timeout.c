/* SPDX-License-Identifier: MIT */
/* Calls to another machine: each ends with its reply or after a second, whichever comes first. */
#include "broker.h"
#include <stdio.h>

struct call {
	struct pawl_op op; /* first: an operation is its call */
	unsigned id;       /* no other call ever has it */
	const char *reply; /* once pawl_op_complete has completed it */
};

static struct broker broker;
static struct call *table[8]; /* by id, to find the call of a reply; it has a reference to each */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A thread that removes a call from the table gets the table's reference. NULL: another thread was first. */
static struct call *swap(unsigned id, struct call *call)
{
	pthread_mutex_lock(&lock);
	struct call *before = table[id];
	table[id] = call;
	pthread_mutex_unlock(&lock);
	return before;
}

static bool never(struct pawl_op *op)
{
	return !op; /* only pawl_op_complete or the deadline completes it */
}

static const char *outcome(const struct call *call)
{
	if (pawl_op_expired(&call->op))
		return "timed out";
	return pawl_op_completed(&call->op) ? call->reply : "given up";
}

static void end(struct pawl_op *op)
{
	struct call *call = (struct call *)op;
	if (swap(call->id, NULL))
		pawl_op_unref(op); /* the table's; otherwise a reply has it */
	printf("call %u: %s\n", call->id, outcome(call));
}

static const struct pawl_op_type type = {never, end, .on_drop = end, .release = broker_free};

static void call(unsigned id)
{
	struct call *call = broker_alloc(sizeof(*call));
	struct pawl_key key = pawl_purgatory_key(broker.purgatory, &id, sizeof(id));
	call->id = id;
	pawl_op_init(&call->op, &type);
	pawl_op_ref(&call->op); /* the table's, taken while the call is ours alone... */
	pawl_op_ref(&call->op); /* ...and ours: it may have timed out before it is sent */
	swap(id, call);
	if (pawl_purgatory_try_or_watch(broker.purgatory, &call->op, &key, 1, PAWL_SECOND) < 0) {
		broker_free(&swap(id, NULL)->op); /* not sent, so no reply has it */
		return;
	}
	printf("call %u: sent\n", call->id);
	pawl_op_unref(&call->op);
}

static void reply(unsigned id, const char *text)
{
	struct call *call = swap(id, NULL);
	if (!call)
		return; /* too late */
	call->reply = text;
	pawl_op_complete(&call->op); /* false: the deadline was first */
	pawl_op_unref(&call->op);
}

int main(void)
{
	broker_open(&broker);
	call(1);
	call(2);
	reply(1, "pong");
	broker_advance(&broker, PAWL_SECOND);
	reply(2, "pong");
	call(3);
	broker_close(&broker);
}
