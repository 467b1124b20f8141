/* SPDX-License-Identifier: MIT */
/* What a caller asks of a wheel: the due timers one by one, and when to advance next. */
#include "compiler.h"
#include "slots.h"

/* The first chain that may hold due timers, from pop_chain on. There must be one. */
static uint32_t next_due_chain(const struct pawl_wheel *wheel)
{
	uint32_t twice = wheel->due_chains | wheel->due_chains << MAX_CHAINS;
	uint32_t ahead = (uint32_t)lowest_bit(twice >> wheel->pop_chain);

	return (wheel->pop_chain + ahead) % MAX_CHAINS;
}

static inline struct pawl_timer *first_due(struct pawl_wheel *wheel)
{
	while (wheel->due_chains) {
		uint32_t chain = next_due_chain(wheel);

		if (!list_empty(&wheel->due[chain])) {
			wheel->pop_chain = (chain + 1) & wheel->chain_mask;
			return wheel->due[chain].next;
		}
		wheel->due_chains &= ~(UINT32_C(1) << chain);
	}
	return NULL;
}

/*
 * The next pop unlinks the first timer of pop_chain, which is in the cache since its predecessor was unlinked. It
 * writes to the timer behind that one, which may be cold: so prefetch it now.
 */
struct pawl_timer *pawl_wheel_pop(struct pawl_wheel *wheel)
{
	struct pawl_timer *timer = first_due(wheel);

	if (!timer)
		return NULL;
	unlink_timer(wheel, timer);
	PREFETCH(wheel->due[wheel->pop_chain].next->next);
	return timer;
}

/* Forget slots that cancelling emptied, one by one: they are no reason to wake up. */
static NEVER_INLINE void forget_empty(struct pawl_wheel *wheel)
{
	do {
		forget_first(wheel, wheel->first);
		wheel->first = first_of_levels(wheel);
	} while (wheel->first->opens != NO_TICK && first_slot_empty(wheel, wheel->first));
	if (!wheel->stopped) /* otherwise the stopped advance has to go on */
		wake_at(wheel, time_of_opening(wheel, wheel->first));
}

static inline uint64_t next_opening(struct pawl_wheel *wheel)
{
	if (wheel->first->opens == NO_TICK)
		return PAWL_NEVER;
	if (first_slot_empty(wheel, wheel->first))
		forget_empty(wheel);
	if (wheel->stopped && wheel->first->opens != NO_TICK)
		return wheel->time;
	return time_of_opening(wheel, wheel->first);
}

uint64_t pawl_wheel_next_opening(struct pawl_wheel *wheel)
{
	return next_opening(wheel);
}

uint64_t pawl_wheel_next(struct pawl_wheel *wheel)
{
	if (first_due(wheel))
		return pawl_wheel_now(wheel) <= LAST ? pawl_wheel_now(wheel) : LAST;
	return next_opening(wheel);
}

size_t pawl_wheel_count(const struct pawl_wheel *wheel)
{
	return (size_t)(wheel->armed - wheel->gone);
}
