/* SPDX-License-Identifier: MIT */
/*
 * Time goes on: slots open, timers move down and become due.
 *
 * Order. Within a tick timers shall come out as they were armed, and Kafka's geometry allows it: what
 * waits on a coarser level for the same tick was armed before what waits on a finer one, since the
 * window only moves forward. So whatever moves down into a slot was armed before everything that is
 * there already. Hence
 *
 *  - slots open by time, and at the same time level 1 before 2 before 3, and level 0 last of all;
 *  - a slot above level 0 is emptied from its tail, each timer to the *front* of its new slot.
 *
 *	level 1, the slot that opens now:   A B C       all three for tick 7
 *	level 0, slot 7, before:            D E         armed later, when 7 was near
 *	  C moves:                          C D E
 *	  B moves:                          B C D E
 *	  A moves:                          A B C D E
 *
 * Even a timer whose tick is the present one goes to the front of level 0's present slot rather than
 * straight to the due ones: that slot opens last and takes all of them in order.
 *
 * Latency. A list of cold timers is walked one cache miss after the other. With several chains the
 * walk takes a timer from each in turn and asks for each one's follower in good time, so that as many
 * misses overlap as there are chains.
 */
#include "placing.h"
#include "reach.h"

static uint64_t lowest_bit(uint64_t word)
{
	return (uint64_t)__builtin_ctzll(word);
}

/* The next slot whose bit is set, going round from this one, whose own is not. Some bit must be set. */
static uint64_t next_slot(const struct level *level, uint64_t slot)
{
	uint64_t at = slot / BITS_PER_WORD;
	uint64_t rest_of_word = level->bits[at] & ~(bit_in_word(slot) - 1);
	uint64_t rest_of_words = level->words & ~(bit_in_word(at) * 2 - 1);

	if (rest_of_word)
		return at * BITS_PER_WORD + lowest_bit(rest_of_word);
	at = lowest_bit(rest_of_words ? rest_of_words : level->words);
	return at * BITS_PER_WORD + lowest_bit(level->bits[at]);
}

static uint64_t first_slot(const struct pawl_wheel *wheel, const struct level *level)
{
	return slot_of_cell(wheel, cell_of_tick(wheel, level, level->opens));
}

/* The lists of the first slot are retired. Every bit is of a cell in the window: the next one is ahead. */
static void pass_first(const struct pawl_wheel *wheel, struct level *level)
{
	uint64_t slot = first_slot(wheel, level), next;

	bit_clear(level, slot);
	if (level->words == 0) {
		level->opens = NO_TICK;
		return;
	}
	next = next_slot(level, slot);
	level->opens += tick_of_cell(level, next - slot + (next < slot ? wheel->wheel_size : 0));
}

/* The level's first slot is empty. */
static void forget_first(const struct pawl_wheel *wheel, struct level *level)
{
	uint64_t slot = first_slot(wheel, level);

	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
		list_retire(slot_head(wheel, level, slot, chain));
	pass_first(wheel, level);
}

static bool first_slot_empty(const struct pawl_wheel *wheel, const struct level *level)
{
	uint64_t slot = first_slot(wheel, level);

	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++)
		if (!list_empty(slot_head(wheel, level, slot, chain)))
			return false;
	return true;
}

/* The level whose first slot opens first; of several at the same tick 1, 2, 3, ... and 0 last. */
static struct level *first_of_levels(struct pawl_wheel *wheel)
{
	struct level *first = &wheel->level[0];

	for (struct level *level = &wheel->level[wheel->levels_used]; --level > &wheel->level[0];)
		if (level->opens <= first->opens)
			first = level;
	return first;
}

static uint64_t time_of_opening(const struct pawl_wheel *wheel, const struct level *level)
{
	return level->opens != NO_TICK ? time_of_tick(wheel, level->opens) : PAWL_NEVER;
}

/*
 * Whether the slot of level 0 that opens now can be made due without a look at each timer: no touch
 * has replaced a deadline as late as this slot's, so everything in it is due.
 */
static bool all_due(const struct pawl_wheel *wheel)
{
	return wheel->time >= wheel->tick && wheel->touched <= wheel->time - wheel->tick;
}

static void make_all_due(struct pawl_wheel *wheel, uint64_t slot)
{
	for (uint64_t chain = 0; chain <= wheel->chain_mask; chain++) {
		struct pawl_timer *head = slot_head(wheel, &wheel->level[0], slot, chain);

		if (list_empty(head))
			list_retire(head);
		else
			list_append_all(due_list(wheel, chain), head); /* which retires it */
	}
}

/* A timer that its slot lets out goes where it belongs by now. */
static inline __attribute__((always_inline)) void
move(struct pawl_wheel *wheel, struct pawl_timer *timer, uint64_t now, uint64_t chain, bool finest)
{
	uint64_t due = tick_of_deadline(wheel, timer->deadline);

	if (finest && due <= now)
		list_append(due_list(wheel, chain), timer);
	else
		list_prepend(list_for(wheel, due, now, chain * wheel->chain_stride), timer);
}

/*
 * A walk along one chain of a slot, which takes timers off at either end. The list itself is not kept
 * up with each step: what the walk did not reach is closed again at the end.
 */
struct walk {
	struct pawl_timer *head;
	struct pawl_timer *first, *last; /* not taken yet; both the head if there is none */
	unsigned chain;
};

static void walk_begin(struct walk *walk, struct pawl_timer *head, unsigned chain)
{
	*walk = (struct walk){head, head->next, head->prev, chain};
	__builtin_prefetch(walk->first, 1);
	__builtin_prefetch(walk->last, 1);
}

/* The timer at one end; the one after it at that end is asked for. NULL if none is left. */
static struct pawl_timer *walk_step(struct walk *walk, bool from_tail)
{
	struct pawl_timer *timer = from_tail ? walk->last : walk->first;

	if (timer == walk->head)
		return NULL;
	if (walk->first == walk->last)
		walk->first = walk->last = walk->head;
	else if (from_tail)
		walk->last = timer->prev;
	else
		walk->first = timer->next;
	__builtin_prefetch(from_tail ? walk->last : walk->first, 1);
	return timer;
}

static void walk_end(const struct walk *walk)
{
	walk->head->next = walk->first;
	walk->first->prev = walk->head;
	walk->head->prev = walk->last;
	walk->last->next = walk->head;
}

/*
 * Empty the level's first slot timer by timer, at most `max` of them. A single chain is walked in the
 * direction that order asks for: from its tail (see above), but on level 0 from its head, since these
 * timers go to the *end* of the due ones. Several chains are walked in step, and each from both ends; those
 * that are empty, as most are on a wheel with few timers, are left out.
 */
static inline __attribute__((always_inline)) size_t
move_each(struct pawl_wheel *wheel, struct level *level, size_t max, unsigned chains)
{
	const uint64_t now = level->opens, slot = first_slot(wheel, level);
	const bool finest = level == &wheel->level[0];
	struct walk walks[MAX_CHAINS];
	bool from_tail = !finest;
	size_t moves = 0, before;
	unsigned used = 0;

	for (unsigned chain = 0; chain < chains; chain++) {
		struct pawl_timer *head = slot_head(wheel, level, slot, chain);

		/* The slot is not empty, so neither is its single chain. */
		if (chains == 1 || !list_empty(head))
			walk_begin(&walks[used++], head, chain);
	}
	do {
		before = moves;
		for (unsigned i = 0; i < used && moves < max; i++) {
			struct pawl_timer *timer = walk_step(&walks[i], from_tail);

			if (!timer)
				continue;
			move(wheel, timer, now, walks[i].chain, finest);
			moves++;
		}
		if (chains > 1) /* the other end's miss has had a round to come in */
			from_tail = !from_tail;
	} while (moves > before);
	for (unsigned i = 0; i < used; i++)
		walk_end(&walks[i]);
	return moves;
}

/* Open the level's first slot, with at most `max` moves. If that was not enough, some timers stay. */
static size_t open_first(struct pawl_wheel *wheel, struct level *level, size_t max)
{
	size_t moves;

	if (level == &wheel->level[0] && all_due(wheel)) {
		make_all_due(wheel, first_slot(wheel, level));
		pass_first(wheel, level);
		return 1;
	}
	if (wheel->chain_mask == 0)
		moves = move_each(wheel, level, max, 1); /* the compiler drops the inner loop */
	else
		moves = move_each(wheel, level, max, wheel->chain_mask + 1);
	if (moves < max) /* else it may be empty, too; then the next look finds out */
		forget_first(wheel, level);
	return moves;
}

/* Advance where there may be something to open, or time would go back. */
static __attribute__((noinline)) size_t advance_and_open(struct pawl_wheel *wheel, uint64_t now,
                                                         size_t max_moves)
{
	struct level *level;
	uint64_t target;
	size_t moves = 0;

	if (now < wheel->time)
		return 0;
	target = now < LAST ? tick_of_time(wheel, now) : NO_TICK - 1;
	if (max_moves == 0)
		max_moves = SIZE_MAX;
	while ((level = first_of_levels(wheel))->opens <= target) {
		if (first_slot_empty(wheel, level)) {
			forget_first(wheel, level);
			continue;
		}
		set_time(wheel, time_of_tick(wheel, level->opens));
		if (moves == max_moves) {
			wheel->stopped = true;
			wheel->wake = wheel->time;
			return moves;
		}
		moves += open_first(wheel, level, max_moves - moves);
	}
	set_time(wheel, now);
	wheel->stopped = false;
	wake_at(wheel, time_of_opening(wheel, level));
	return moves;
}

/*
 * One compare for two questions: is `now` at or after the wheel's time, and before the next opening?
 * Time that goes back wraps to a distance beyond any opening. After a stop the next opening is no
 * distance away. (And half time is never passed here: reach.h.)
 */
size_t pawl_wheel_advance(struct pawl_wheel *wheel, uint64_t now, size_t max_moves)
{
	if (now - wheel->time >= wheel->wake - wheel->time)
		return advance_and_open(wheel, now, max_moves);
	wheel->time = now;
	return 0;
}

/* The first chain of due timers from the one whose turn it is. There must be one. */
static uint32_t due_chain_in_turn(const struct pawl_wheel *wheel)
{
	uint32_t twice = wheel->due_chains | wheel->due_chains << MAX_CHAINS;
	uint32_t ahead = (uint32_t)__builtin_ctz(twice >> wheel->due_turn);

	return (wheel->due_turn + ahead) % MAX_CHAINS;
}

static inline struct pawl_timer *first_due(struct pawl_wheel *wheel)
{
	while (wheel->due_chains) {
		uint32_t chain = due_chain_in_turn(wheel);

		if (!list_empty(&wheel->due[chain])) {
			wheel->due_turn = (chain + 1) & wheel->chain_mask;
			return wheel->due[chain].next;
		}
		wheel->due_chains &= ~(UINT32_C(1) << chain);
	}
	return NULL;
}

/*
 * The next pop will take the first timer of the chain whose turn it is, which is in the cache since its
 * predecessor went, and write to the one behind it, which may be cold: ask for that one now.
 */
struct pawl_timer *pawl_wheel_pop(struct pawl_wheel *wheel)
{
	struct pawl_timer *timer = first_due(wheel);

	if (!timer)
		return NULL;
	take_off(wheel, timer);
	__builtin_prefetch(wheel->due[wheel->due_turn].next->next, 1);
	return timer;
}

/* Slots that cancelling emptied are no reason to wake: they are forgotten here, one by one. */
uint64_t pawl_wheel_next_opening(struct pawl_wheel *wheel)
{
	struct level *level = first_of_levels(wheel);

	while (level->opens != NO_TICK && first_slot_empty(wheel, level)) {
		forget_first(wheel, level);
		level = first_of_levels(wheel);
	}
	if (wheel->stopped) /* wake stays: the advance that was stopped is to be gone on with */
		return level->opens != NO_TICK ? wheel->time : PAWL_NEVER;
	wake_at(wheel, time_of_opening(wheel, level));
	return time_of_opening(wheel, level);
}

uint64_t pawl_wheel_next(struct pawl_wheel *wheel)
{
	if (first_due(wheel))
		return pawl_wheel_now(wheel) <= LAST ? pawl_wheel_now(wheel) : LAST;
	return pawl_wheel_next_opening(wheel);
}
