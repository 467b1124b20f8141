/* SPDX-License-Identifier: MIT */
/* The questions to a wheel: the due timers one by one, and when to advance next. */
#include "compiler.h"
#include "next.h"
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
	IN_WHEEL(wheel);
	struct pawl_timer *timer = first_due(wheel);

	if (!timer)
		return NULL;
	CHECKED(pawl__timer_expect_sound(timer, NULL));
	CHECKED(pawl__timer_expect_own(wheel, timer));
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

uint64_t pawl__wheel_next_opening(struct pawl_wheel *wheel)
{
	return next_opening(wheel);
}

uint64_t pawl__wheel_next_visit(struct pawl_wheel *wheel)
{
	if (has_room_ahead(wheel) && pawl_wheel_count(wheel) >= WHEEL_MANY)
		return pawl__wheel_next_ahead(wheel);
	return next_opening(wheel);
}

bool pawl__wheel_any_due(const struct pawl_wheel *wheel)
{
	for (uint64_t chains = wheel->due_chains; chains; chains &= chains - 1)
		if (!list_empty(&wheel->due[lowest_bit(chains)]))
			return true;
	return false;
}

/* Now as a time to advance to: at most the end of time, because PAWL_NEVER means that there is no timer. */
static uint64_t present(const struct pawl_wheel *wheel)
{
	return pawl_wheel_now(wheel) <= LAST ? pawl_wheel_now(wheel) : LAST;
}

uint64_t pawl_wheel_next(struct pawl_wheel *wheel)
{
	IN_WHEEL(wheel);
	return pawl__wheel_any_due(wheel) ? present(wheel) : pawl__wheel_next_visit(wheel);
}

/*
 * The earliest timer. A slot that opens at the time of the best timer found so far, or later, holds no better one. So a
 * level's slots are looked into in the order in which they open, only until then.
 */

/* The earliest deadline in a list that holds timers. Two misses at a time: one from each end, until they meet. */
static uint64_t earliest_in_list(const struct pawl_timer *head)
{
	const struct pawl_timer *first = head->next, *last = head->prev;
	uint64_t earliest = first->deadline;

	for (;;) {
		CHECKED(pawl__timer_expect_sound(first, head));
		CHECKED(pawl__timer_expect_sound(last, head));
		earliest = first->deadline < earliest ? first->deadline : earliest;
		earliest = last->deadline < earliest ? last->deadline : earliest;
		if (first == last || first->next == last)
			return earliest;
		first = first->next;
		last = last->prev;
	}
}

/* When the earliest timer of a slot is due; PAWL_NEVER if the slot was emptied. */
static uint64_t earliest_in_slot(const struct pawl_wheel *wheel, const struct level *level,
                                 uint64_t slot, uint64_t opens)
{
	uint64_t earliest = PAWL_NEVER;

	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++) {
		const struct pawl_timer *head = slot_head(wheel, level, slot, chain);
		uint64_t deadline;

		if (list_empty(head))
			continue;
		if (level == &wheel->level[0] && all_due(wheel, opens))
			return opens;
		deadline = earliest_in_list(head);
		earliest = deadline < earliest ? deadline : earliest;
	}
	if (earliest == PAWL_NEVER)
		return PAWL_NEVER;
	return time_of_tick(wheel, tick_of_deadline(wheel, earliest));
}

/* The earlier of `best` and the time at which the earliest timer of this level is due. */
static uint64_t earliest_in_level(const struct pawl_wheel *wheel, const struct level *level,
                                  uint64_t best)
{
	uint64_t tick = level->opens, first, slot, next;

	if (tick == NO_TICK)
		return best;
	slot = first = first_slot(wheel, level);
	while (time_of_tick(wheel, tick) < best) {
		uint64_t due = earliest_in_slot(wheel, level, slot, time_of_tick(wheel, tick));

		best = due < best ? due : best;
		next = next_slot(level, slot + 1 < wheel->slots ? slot + 1 : 0);
		if (next == first)
			break;
		tick += tick_of_cell(level, next - slot + (next < slot ? wheel->slots : 0));
		slot = next;
	}
	return best;
}

uint64_t pawl_wheel_earliest(const struct pawl_wheel *wheel)
{
	IN_WHEEL(wheel);
	uint64_t best = PAWL_NEVER;

	if (pawl__wheel_any_due(wheel))
		return present(wheel);
	for (unsigned i = 0; i < wheel->levels_used; i++)
		best = earliest_in_level(wheel, &wheel->level[i], best);
	return best;
}

size_t pawl_wheel_count(const struct pawl_wheel *wheel)
{
	return (size_t)(wheel->armed - wheel->gone);
}
