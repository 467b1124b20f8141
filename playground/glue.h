/* SPDX-License-Identifier: MIT */
/*
 * glue.h: the one wheel of the page, and all that the page may do to it.
 *
 * Timers are numbers below the capacity that init was given. Times are in milliseconds. An answer that is longer than a
 * number is left in memory, where the page may read it until the next call.
 */
#ifndef PAWL_PLAYGROUND_GLUE_H
#define PAWL_PLAYGROUND_GLUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __wasm__
#define PAGE_API(name) __attribute__((export_name(#name)))
#else
#define PAGE_API(name)
#endif

#define NO_TIMER UINT32_MAX

/* The state that the page reads: words of 32 bits. */
struct glue_place {
	uint32_t waits; /* 0: idle or due, and the rest says nothing */
	uint32_t level, slot, opens_low, opens_high;
};

struct glue_seen {
	uint32_t id, level, slot;
};

struct glue_moved {
	uint32_t id, due; /* due: it was popped */
	uint32_t from_level, from_slot, level, slot;
};

struct glue_numbers {
	uint32_t pending;
	uint32_t puts;     /* times that arm or touch put a timer into a slot or among the due */
	uint32_t moves;    /* as advance counts them */
	uint32_t openings; /* times at which advance had something to open... */
	uint32_t empty;    /* ...and moved nothing */
	uint32_t popped;
	uint32_t heap_count, heap_comparisons, heap_moves;
	uint32_t moves_ahead; /* as pawl_wheel_ahead() counts them; they are not among `moves` */
	uint32_t most_moves;  /* in one tick, while nothing was moved ahead... */
	uint32_t most_with_ahead; /* ...and since, with those made ahead */
};

/* Begin again. Returns false if the wheel refuses the options, or there is no memory; then only init may follow. */
PAGE_API(init)
bool glue_init(uint64_t tick, uint32_t wheel_size, uint32_t chains, uint32_t capacity, bool heap);

/* As in pawl/wheel.h. Each leaves its sentence in words(). */
PAGE_API(arm) bool glue_arm(uint32_t id, uint64_t deadline);
PAGE_API(touch) bool glue_touch(uint32_t id, uint64_t deadline);
PAGE_API(cancel) bool glue_cancel(uint32_t id);

/*
 * Arm `count` timers from `first` on, due 1 to `span` after now at random, most of them soon. A seed other than 0
 * starts a new series.
 */
PAGE_API(fill) void glue_fill(uint32_t first, uint32_t count, uint32_t span, uint32_t seed);

/* From now on make at most that many moves ahead in each tick, pawl_wheel_ahead(); 0: none. */
PAGE_API(ahead) void glue_ahead(uint32_t moves_a_tick);

/*
 * Advance to `to`, but not beyond the next opening, by at most max_moves moves. Returns the moves. If moves ahead are
 * on, it also stops at the next tick that has any, and these moves come on top.
 */
PAGE_API(step) uint32_t glue_step(uint64_t to, uint32_t max_moves);

/* Find out where the timers are after one or more steps, and note those that moved. */
PAGE_API(follow) void glue_follow(void);

/* The next due timer, which is noted among the moved; or NO_TIMER. */
PAGE_API(pop) uint32_t glue_pop(void);

/* Remove from the heap the timers that are due by the wheel's now. */
PAGE_API(heapExpire) uint32_t glue_heap_expire(uint32_t max);

PAGE_API(now) uint64_t glue_now(void);
PAGE_API(next) uint64_t glue_next(void);
PAGE_API(deadline) uint64_t glue_deadline(uint32_t id);
/* The levels that have been needed so far, a bit each. */
PAGE_API(levels) uint64_t glue_levels(void);
PAGE_API(place) const struct glue_place *glue_place(uint32_t id);
PAGE_API(numbers) const struct glue_numbers *glue_numbers(void);

/* NULL, or the name of the broken invariant. */
PAGE_API(check) const char *glue_check(void);

/* How many timers are in each slot: wheel_size numbers for each level. */
PAGE_API(counts) const uint32_t *glue_counts(void);

/* The first `max` timers as pawl_wheel_each() meets them. Returns how many; they are at seen(). */
PAGE_API(each) uint32_t glue_each(uint32_t max);
PAGE_API(seen) const struct glue_seen *glue_seen(void);

/* The first timers that moved or were popped since forgetMoved(), and how many these are. */
PAGE_API(movedCount) uint32_t glue_moved_count(void);
PAGE_API(moved) const struct glue_moved *glue_moved(void);
PAGE_API(forgetMoved) void glue_forget_moved(void);

/* The words of `pawl explain` for the moved timer with this index. Returns the length; they are at words(). */
PAGE_API(tell) uint32_t glue_tell(uint32_t index);
PAGE_API(words) const char *glue_words(void);

/* The first indexes in the heap's array written to since forgetTrace(), and how many these are: at most HEAP_TRACE. */
PAGE_API(trace) const uint32_t *glue_trace(void);
PAGE_API(traceCount) uint32_t glue_trace_count(void);
PAGE_API(forgetTrace) void glue_forget_trace(void);

#endif
