/* SPDX-License-Identifier: MIT */
/* The least that must hold. If it does not, fix this before you look at the other tests. */
#include "../support/test.h"

#include <pawl/purgatory.h>

#define SECOND UINT64_C(1000000000)

struct waiting {
	struct pawl_op op;
	bool ready;
	int completed, expired, dropped, cancelled, released;
};

static struct waiting *waiting_of(struct pawl_op *op)
{
	return (struct waiting *)op; /* its first member */
}

static bool is_ready(struct pawl_op *op)
{
	return waiting_of(op)->ready;
}

static void complete(struct pawl_op *op)
{
	waiting_of(op)->completed++;
}

static void expire(struct pawl_op *op)
{
	waiting_of(op)->expired++;
}

static void drop(struct pawl_op *op)
{
	waiting_of(op)->dropped++;
}

static void cancel(struct pawl_op *op)
{
	waiting_of(op)->cancelled++;
}

static void release(struct pawl_op *op)
{
	waiting_of(op)->released++;
}

static const struct pawl_op_type type = {is_ready, complete, expire, drop, release};

static struct pawl_clock_manual manual;
static struct pawl_service *service;
static struct pawl_purgatory *purgatory;

static void open_all(void)
{
	struct pawl_service_options options = {.clock = &manual.clock,
	                                       .workers = PAWL_SERVICE_MANUAL};

	pawl_clock_manual_init(&manual);
	EXPECT_EQ(pawl_service_open(&service, &options), 0);
	EXPECT_EQ(pawl_purgatory_open(&purgatory, service, NULL), 0);
}

static void close_all(void)
{
	pawl_purgatory_close(purgatory);
	pawl_service_close(service, NULL);
}

static struct pawl_key key(const char *text)
{
	return pawl_purgatory_key(purgatory, text, strlen(text));
}

static int watch(struct waiting *waiting, const char *first, const char *second)
{
	struct pawl_key keys[] = {key(first), key(second)};

	*waiting = (struct waiting){.ready = waiting->ready};
	pawl_op_init(&waiting->op, &type);
	return pawl_purgatory_try_or_watch(purgatory, &waiting->op, keys, 2, SECOND);
}

static void expect_counts(size_t watched, size_t delayed)
{
	EXPECT_EQ(pawl_purgatory_watched(purgatory), watched);
	EXPECT_EQ(pawl_purgatory_delayed(purgatory), delayed);
	EXPECT_EQ(pawl_service_pending(service), 0); /* deadlines are not in the service's counts */
}

static void an_operation_takes_no_more_than_192_bytes(void)
{
	EXPECT(sizeof(struct pawl_op) <= 192);
}

static void what_is_ready_completes_at_once(void)
{
	struct waiting a = {.ready = true};

	open_all();
	EXPECT_EQ(watch(&a, "one", "two"), 1);
	EXPECT_EQ(a.completed, 1);
	EXPECT_EQ(a.released, 1);
	expect_counts(0, 0);
	close_all();
}

static void a_check_completes_what_has_become_ready(void)
{
	struct waiting a = {.ready = false}, b = {.ready = false};

	open_all();
	EXPECT_EQ(pawl_purgatory_check(purgatory, key("one")), 0);
	EXPECT_EQ(watch(&a, "one", "two"), 0);
	EXPECT_EQ(watch(&b, "two", "two"), 0);
	expect_counts(3, 2);
	a.ready = true;
	EXPECT_EQ(pawl_purgatory_check(purgatory, key("two")), 1);
	EXPECT_EQ(a.completed, 1);
	EXPECT_EQ(a.released, 1);
	expect_counts(1, 1);
	EXPECT_EQ(pawl_purgatory_check(purgatory, key("one")), 0);
	pawl_op_ref(&b.op);
	EXPECT(pawl_op_complete(&b.op));
	EXPECT(!pawl_op_complete(&b.op));
	EXPECT_EQ(b.released, 0);
	pawl_op_unref(&b.op);
	EXPECT_EQ(b.released, 1);
	expect_counts(0, 0);
	close_all();
}

static void a_deadline_completes_and_then_expires(void)
{
	struct waiting a = {.ready = false};

	open_all();
	EXPECT_EQ(watch(&a, "one", "two"), 0);
	pawl_clock_manual_advance(&manual, SECOND);
	EXPECT_EQ(pawl_service_poll(service, 0), 1);
	EXPECT_EQ(a.completed, 1);
	EXPECT_EQ(a.expired, 1);
	EXPECT_EQ(a.released, 1);
	expect_counts(0, 0);
	close_all();
}

static void what_is_cancelled_or_dropped_is_not_completed(void)
{
	struct waiting a = {.ready = false}, b = {.ready = false};

	open_all();
	EXPECT_EQ(watch(&a, "one", "two"), 0);
	EXPECT_EQ(watch(&b, "two", "three"), 0);
	EXPECT_EQ(pawl_purgatory_cancel_key(purgatory, key("one"), cancel), 1);
	EXPECT_EQ(a.cancelled, 1);
	EXPECT_EQ(a.released, 1);
	expect_counts(2, 1);
	pawl_purgatory_stop(purgatory);
	EXPECT_EQ(b.dropped, 1);
	EXPECT_EQ(b.released, 1);
	EXPECT_EQ(a.completed + b.completed, 0);
	expect_counts(0, 0);
	close_all();
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(an_operation_takes_no_more_than_192_bytes),
	        TEST(what_is_ready_completes_at_once),
	        TEST(a_check_completes_what_has_become_ready),
	        TEST(a_deadline_completes_and_then_expires),
	        TEST(what_is_cancelled_or_dropped_is_not_completed),
	};

	return RUN_TESTS(tests);
}
