/* SPDX-License-Identifier: MIT */
/*
 * The layout of a wheel in the caller's memory, and how a slot is found in it.
 *
 *	mem ->  struct pawl_wheel        clock, counters, the lists of due timers
 *	        struct level [levels]    a record a level
 *	        level 0                  \
 *	        level 1                   > a level's slots: not written until the level is needed
 *	        ...                      /
 *
 *	a level:  occupancy bits | chain 0: head of slot 0, 1, 2, ... | chain 1: head of slot 0, ...
 *
 * A slot is one list in each chain. The heads of one chain lie side by side, not those of one slot: arming fills one
 * chain for a while before it goes on to the next one, and for that while only 16 bytes a slot are in use. With 256
 * slots that is 4 KiB, which stay in the first-level cache however many chains there are.
 *
 * Two things are given up for speed:
 *
 *  - A timer does not know its slot. Cancelling writes to the timer and its two neighbours, and to nothing else that
 *    may be cold. So cancelling does not see that it emptied a slot. A slot's bit means "there may be timers": the
 *    first timer sets it, and the next advance or pawl_wheel_next() that finds the slot empty clears it.
 *  - A list head is a timer of which only the links exist: 16 bytes, so that heads are dense. It has the type of a
 *    timer so that links may point to either under C's aliasing rules.
 */
#ifndef PAWL_WHEEL_LAYOUT_H
#define PAWL_WHEEL_LAYOUT_H

#include <pawl/wheel.h>

#define LAST          (PAWL_NEVER - 1) /* the end of time: no deadline is later */
#define NO_TICK       UINT64_MAX       /* after the last tick, which is 2^64-2 */
#define HALF_TIME     (UINT64_C(1) << 63)
#define MAX_CHAINS    16u
#define CACHE_LINE    64u
#define BITS_PER_WORD 64u
#define HEAD_SIZE     offsetof(struct pawl_timer, deadline)

/* Slots in two words of bits: one word of `pairs` sums up 64 x 128 = 2 x 4096 slots, the most there are. */
#define BITS_PER_PAIR 128u

/*
 * How many timers are armed on one chain before arming goes on to the next one: a power of two. Large enough for the
 * heads in use to stay in the cache, small enough for the chains of a slot to be about equally long.
 */
#define FILL_LENGTH 32u

struct level {
	char *heads;    /* of chain 0 */
	uint64_t *bits; /* a bit for each slot that may hold timers... */
	uint64_t pairs; /* ...summed up: bit p is set if word 2p or 2p + 1 of `bits` is not zero */
	uint64_t opens; /* the tick at which the first slot with its bit set opens; or NO_TICK */
	uint64_t upto;  /* ticks before this one are accepted even beyond the window: ahead.c */
	uint64_t width; /* ticks in a cell: wheel_size to the power of this level's number */
	uint8_t shift;  /* its logarithm, for a wheel that counts in powers of two */
	bool ready;     /* the level's memory has been written */
};

struct pawl_wheel {
	uint64_t time;        /* timers are placed as seen from here: now, or if stopped, now + 1 */
	uint64_t wake;        /* before this time advance has nothing to open */
	uint64_t fast_span;   /* how far ahead of `time` arming takes its fast path: arm.c */
	uint64_t touched;     /* the largest deadline within `finest_span` that a touch replaced */
	uint64_t armed;       /* timers put on the wheel since init... */
	uint64_t gone;        /* ...and unlinked: two counters, so that each act is one store */
	uint64_t slot_mask;   /* slots - 1 */
	uint64_t slots;       /* in a level: wheel_size, or twice as many to move ahead */
	uint64_t wheel_size;  /* cells in a level's window */
	uint64_t tick;        /* time units in a tick */
	uint64_t finest_span; /* how far ahead level 0 can hold a timer: slots - 1 ticks, as time */
	uint64_t last_tick;   /* the last one that begins by the end of time */
	struct level *first;  /* the level whose first slot opens first */
	struct pawl_timer *cursor_list; /* the list that was last emptied in part, or NULL... */
	struct pawl_timer *cursor;      /* ...and how far it has been prefetched: advance.c */
	size_t fill_offset;             /* bytes to the heads of the chain that arming fills now */
	size_t chain_stride; /* bytes from a slot's head in one chain to its head in the next one */
	size_t level_stride; /* bytes from one level's slots to the next one's */
	uint32_t chain_mask; /* chains - 1 */
	uint32_t due_chains; /* a bit for each chain of `due` that may hold timers */
	uint32_t pop_chain;  /* the chain of `due` that the next pop tries first */
	uint8_t tick_shift;  /* the logarithm of the tick, if powers_of_two */
	bool powers_of_two;  /* tick and wheel_size both: shifts serve in place of divisions */
	bool stopped;        /* advance reached its bound before a slot that opens at `time` */
	uint8_t levels;      /* records in `level`: enough for all 64 bits */
	uint8_t levels_used; /* one more than the coarsest level that is ready */

	struct pawl_timer due[MAX_CHAINS]; /* list heads: the timers that are due and not popped */
	struct level level[];
};

/* A slot's list in the chain whose heads begin `offset` bytes after those of chain 0. */
static inline struct pawl_timer *head_at(const struct level *level, uint64_t slot, size_t offset)
{
	return (struct pawl_timer *)(void *)(level->heads + offset + (size_t)slot * HEAD_SIZE);
}

static inline struct pawl_timer *slot_head(const struct pawl_wheel *wheel,
                                           const struct level *level, uint64_t slot, uint64_t chain)
{
	return head_at(level, slot, (size_t)chain * wheel->chain_stride);
}

/* A head is in the wheel's own memory. */
static inline bool is_head(const struct pawl_wheel *wheel, const struct pawl_timer *timer)
{
	uintptr_t begin = (uintptr_t)wheel;
	uintptr_t end = (uintptr_t)wheel->level[0].bits + wheel->levels * wheel->level_stride;

	return (uintptr_t)timer >= begin && (uintptr_t)timer < end;
}

/* init.c: write a level's slots for the first time. */
void pawl__level_prepare(struct pawl_wheel *wheel, struct level *level);

/* arm.c: what `fast_span` is to be, by the levels that are ready. */
uint64_t pawl__fast_span(const struct pawl_wheel *wheel);

/*
 * advance.c: move the timers of a slot above level 0, at most `max` of them, as seen from tick `now`. Returns the
 * moves.
 */
size_t pawl__move_down(struct pawl_wheel *wheel, struct level *level, uint64_t slot, uint64_t now,
                       size_t max);

#endif
