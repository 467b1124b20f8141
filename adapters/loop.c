/* SPDX-License-Identifier: MIT */
/* Timers with their own functions, for all adapters. pass.h has periodic timers. */
#include <pawl/loop.h>

void pawl_loop_timer_init(struct pawl_loop_timer *timer, pawl_loop_fn *run)
{
	*timer = (struct pawl_loop_timer)PAWL_LOOP_TIMER_INIT(run);
}

void pawl_loop_due(struct pawl_timer *timer, void *arg)
{
	struct pawl_loop_timer *own = PAWL_CONTAINER_OF(timer, struct pawl_loop_timer, timer);

	own->run(own, arg);
}
