/* SPDX-License-Identifier: MIT */
/*
 * A simple hierarchical timing wheel. The other peers are compared with it.
 *
 * A level has 64 slots, so its occupancy is one word. A slot is a doubly linked list. Timers are placed by Kafka's
 * sliding window. Advancing goes from one occupied slot to the next, not from tick to tick. An opened slot is walked
 * from its head, and each timer is moved down or becomes due.
 */
#include "peer.h"

#include <stdlib.h>

enum {
	SLOT_BITS = 6,
	SLOTS = 64,
	SLOT_MASK = SLOTS - 1,
	LEVELS = 11
}; /* 11 levels of 6 bits cover all 64 */

struct node {
	struct node *next, *prev;
};

/* All zeroes is an idle timer. */
struct timer {
	struct node node;
	uint64_t deadline;
};

struct wheel {
	uint64_t now;
	uint64_t occupied[LEVELS]; /* bit s: slot s of this level is not empty */
	struct node due;
	struct node slots[LEVELS * SLOTS];
};

/* The number, counted from time 0, of this level's slot that contains the time. */
static uint64_t slot_number(uint64_t time, unsigned level)
{
	return time >> (level * SLOT_BITS);
}

static uint64_t slot_bit(uint64_t number)
{
	return UINT64_C(1) << (number & SLOT_MASK);
}

static struct node *slot_list(struct wheel *wheel, unsigned level, uint64_t number)
{
	return &wheel->slots[level * SLOTS + (number & SLOT_MASK)];
}

static void list_init(struct node *list)
{
	list->next = list->prev = list;
}

static bool list_empty(const struct node *list)
{
	return list->next == list;
}

static void list_append(struct node *list, struct node *node)
{
	node->next = list;
	node->prev = list->prev;
	list->prev->next = node;
	list->prev = node;
}

static void wheel_init(struct wheel *wheel)
{
	wheel->now = 0;
	list_init(&wheel->due);
	for (unsigned level = 0; level < LEVELS; level++)
		wheel->occupied[level] = 0;
	for (unsigned slot = 0; slot < LEVELS * SLOTS; slot++)
		list_init(&wheel->slots[slot]);
}

static void place(struct wheel *wheel, struct timer *timer)
{
	uint64_t deadline = timer->deadline;
	unsigned level = 0;

	if (deadline <= wheel->now) {
		list_append(&wheel->due, &timer->node);
		return;
	}
	while (slot_number(deadline, level) - slot_number(wheel->now, level) >= SLOTS)
		level++;
	list_append(slot_list(wheel, level, slot_number(deadline, level)), &timer->node);
	wheel->occupied[level] |= slot_bit(slot_number(deadline, level));
}

/* A list that has become empty is a slot, and its bit must be cleared; or it is the due list. */
static void list_emptied(struct wheel *wheel, const struct node *list)
{
	if (list == &wheel->due)
		return;

	size_t slot = (size_t)(list - wheel->slots);
	wheel->occupied[slot / SLOTS] &= ~slot_bit(slot);
}

static void unlink_timer(struct wheel *wheel, struct timer *timer)
{
	struct node *next = timer->node.next, *prev = timer->node.prev;

	next->prev = prev;
	prev->next = next;
	if (next == prev)
		list_emptied(wheel, next);
}

OUT_OF_LINE void wheel_arm(struct wheel *wheel, struct timer *timer, uint64_t deadline)
{
	if (timer->node.next)
		unlink_timer(wheel, timer);
	timer->deadline = deadline;
	place(wheel, timer);
}

OUT_OF_LINE void wheel_cancel(struct wheel *wheel, struct timer *timer)
{
	if (!timer->node.next)
		return;
	unlink_timer(wheel, timer);
	timer->node.next = NULL;
}

/*
 * When the first occupied slot opens, if that is by `limit`; else UINT64_MAX. A level's slots open at multiples of their
 * width, and a slot of the level above opens only where this level begins a turn. If that is after the limit, or after
 * the time found so far, the levels above need not be looked at.
 */
static uint64_t first_opening(const struct wheel *wheel, uint64_t limit)
{
	uint64_t first = UINT64_MAX;

	for (unsigned level = 0; level < LEVELS; level++) {
		uint64_t number = slot_number(wheel->now, level);
		uint64_t occupied = wheel->occupied[level];
		unsigned position = number & SLOT_MASK;

		if (slot_number(limit, level) <= number)
			break;
		if (!occupied)
			continue;
		occupied = occupied >> position | occupied << (-position & SLOT_MASK);
		number += (unsigned)__builtin_ctzll(occupied);
		uint64_t opens = number << (level * SLOT_BITS);
		if (opens <= limit)
			limit = first = opens;
	}
	return first;
}

/* Empty the slot first: its timers go elsewhere, and must not find each other there. */
static void open_slot(struct wheel *wheel, unsigned level, uint64_t number)
{
	struct node *list = slot_list(wheel, level, number);
	struct node *node = list->next;

	list_init(list);
	wheel->occupied[level] &= ~slot_bit(number);
	while (node != list) {
		struct node *next = node->next;

		place(wheel, (struct timer *)node);
		node = next;
	}
}

/* On every level, open the slot that begins now, if there is one. */
static void open_now(struct wheel *wheel)
{
	for (unsigned level = 0; level < LEVELS; level++) {
		uint64_t number = slot_number(wheel->now, level);

		if (number << (level * SLOT_BITS) != wheel->now)
			break;
		if (wheel->occupied[level] & slot_bit(number))
			open_slot(wheel, level, number);
	}
}

OUT_OF_LINE bool wheel_advance(struct wheel *wheel, uint64_t now)
{
	uint64_t opens;

	while ((opens = first_opening(wheel, now)) != UINT64_MAX) {
		wheel->now = opens;
		open_now(wheel);
	}
	if (now > wheel->now)
		wheel->now = now;
	return !list_empty(&wheel->due);
}

OUT_OF_LINE struct timer *wheel_pop(struct wheel *wheel)
{
	struct timer *timer = (struct timer *)wheel->due.next;

	if (list_empty(&wheel->due))
		return NULL;
	wheel_cancel(wheel, timer);
	return timer;
}

OUT_OF_LINE uint64_t wheel_next(const struct wheel *wheel)
{
	return list_empty(&wheel->due) ? first_opening(wheel, UINT64_MAX - 1) : wheel->now;
}

static void *open_wheel(const struct peer *peer, size_t capacity)
{
	struct wheel *wheel = malloc(sizeof(*wheel));

	(void)peer;
	(void)capacity;
	if (wheel)
		wheel_init(wheel);
	return wheel;
}

static void close_wheel(void *self)
{
	free(self);
}

static void arm(void *self, void *timer, uint64_t deadline)
{
	wheel_arm(self, timer, deadline);
}

static void cancel(void *self, void *timer)
{
	wheel_cancel(self, timer);
}

static bool advance(void *self, uint64_t now)
{
	return wheel_advance(self, now);
}

static void *pop(void *self)
{
	return wheel_pop(self);
}

static uint64_t next(void *self)
{
	return wheel_next(self);
}

/* Enough to see the noise: ten million, or also the larger objects, would take minutes. */
static size_t a_million(void)
{
	return 1000000;
}

#define PLAIN_PEER                                                                              \
	.timer_size = sizeof(struct timer), .cascades = true, .open = open_wheel,               \
	.close = close_wheel, .arm = arm, .cancel = cancel, .refresh = arm, .advance = advance, \
	.pop = pop, .next = next /* arm moves what is armed */

const struct peer peer_plain = {
        .name = "plain",
        .about = "a plain wheel of lists, 64 slots a level: what the others are compared with",
        PLAIN_PEER,
};

const struct peer peer_plain_again = {
        .name = "plain-again",
        .about = "the same once more: by how much it differs from plain is noise",
        .object_size = 64,
        .limit = a_million,
        PLAIN_PEER,
};
