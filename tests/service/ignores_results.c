/* SPDX-License-Identifier: MIT */
/*
 * A program that ignores every result which must not be ignored: a handle or an error, without which the next call has
 * nothing to work on, or a timer or an operation that would be lost. The test service.must-use compiles it, and expects
 * a warning for each line.
 */
#include <pawl/pawl.h>
#ifdef HAS_KQUEUE
#include <pawl/kqueue.h>
#endif
#ifdef HAS_LIBEVENT
#include <pawl/libevent.h>
#endif
#ifdef HAS_LIBUV
#include <pawl/libuv.h>
#endif

struct pawl_loop *loop;

void ignore_results(struct pawl_wheel *wheel, struct pawl_op *op)
{
	struct pawl_purgatory *purgatory = NULL;
	struct pawl_service *service = NULL;
	struct pawl_calendar_rule rule;
	struct pawl_store_attachment *attachment;
	struct pawl_store *store = NULL;
	struct pawl_zone zone;

	pawl_wheel_init(NULL, 0, NULL);
	pawl_wheel_pop(wheel);
	pawl_service_open(&service, NULL);
	pawl_purgatory_open(&purgatory, service, NULL);
	pawl_purgatory_try_or_watch(purgatory, op, NULL, 0, 0);
	pawl_zone_load(&zone, "UTC", NULL);
	pawl_zone_parse(&zone, "", 0, NULL);
	pawl_calendar_parse(&rule, "", NULL);
	pawl_calendar_daily(&rule, "", NULL);
	pawl_loop_open(&loop, NULL, NULL, NULL);
	pawl_epoll_open(&loop, NULL);
	pawl_store_open(&store, "", NULL);
	pawl_store_take(store, "", 0, 0, NULL, 0);
	pawl_store_attach(&attachment, store, service, "", 0, 0, NULL, NULL);
#ifdef HAS_KQUEUE
	pawl_kqueue_open(&loop, 0, NULL);
#endif
#ifdef HAS_LIBEVENT
	pawl_libevent_open(&loop, NULL, NULL);
#endif
#ifdef HAS_LIBUV
	pawl_libuv_open(&loop, NULL, NULL);
#endif
}
