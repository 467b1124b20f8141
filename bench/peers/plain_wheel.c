/* SPDX-License-Identifier: MIT */
#include "plain_wheel.h"

#include <stdbool.h>

enum { SLOT_BITS = 6, SLOT_MASK = PLAIN_SLOTS - 1 };

/* The number, counted from time 0, of this level's slot that contains the time. */
static uint64_t slot_number(uint64_t time, unsigned level)
{
	return time >> (level * SLOT_BITS);
}

static uint64_t slot_bit(uint64_t number)
{
	return UINT64_C(1) << (number & SLOT_MASK);
}

static struct plain_node *slot_list(struct plain_wheel *wheel, unsigned level, uint64_t number)
{
	return &wheel->slots[level * PLAIN_SLOTS + (number & SLOT_MASK)];
}

static void list_init(struct plain_node *list)
{
	list->next = list->prev = list;
}

static bool list_empty(const struct plain_node *list)
{
	return list->next == list;
}

static void list_append(struct plain_node *list, struct plain_node *node)
{
	node->next = list;
	node->prev = list->prev;
	list->prev->next = node;
	list->prev = node;
}

void plain_wheel_init(struct plain_wheel *wheel)
{
	wheel->now = 0;
	wheel->count = 0;
	list_init(&wheel->due);
	for (unsigned level = 0; level < PLAIN_LEVELS; level++)
		wheel->occupied[level] = 0;
	for (unsigned slot = 0; slot < PLAIN_LEVELS * PLAIN_SLOTS; slot++)
		list_init(&wheel->slots[slot]);
}

static void place(struct plain_wheel *wheel, struct plain_timer *timer)
{
	uint64_t deadline = timer->deadline;
	unsigned level = 0;

	if (deadline <= wheel->now) {
		list_append(&wheel->due, &timer->node);
		return;
	}
	while (slot_number(deadline, level) - slot_number(wheel->now, level) >= PLAIN_SLOTS)
		level++;
	list_append(slot_list(wheel, level, slot_number(deadline, level)), &timer->node);
	wheel->occupied[level] |= slot_bit(slot_number(deadline, level));
}

/* A list that has become empty is a slot, and its bit must be cleared; or it is the due list. */
static void list_emptied(struct plain_wheel *wheel, const struct plain_node *list)
{
	if (list == &wheel->due)
		return;

	size_t slot = (size_t)(list - wheel->slots);
	wheel->occupied[slot / PLAIN_SLOTS] &= ~slot_bit(slot);
}

static void unlink_timer(struct plain_wheel *wheel, struct plain_timer *timer)
{
	struct plain_node *next = timer->node.next, *prev = timer->node.prev;

	next->prev = prev;
	prev->next = next;
	if (next == prev)
		list_emptied(wheel, next);
}

void plain_wheel_arm(struct plain_wheel *wheel, struct plain_timer *timer, uint64_t deadline)
{
	if (timer->node.next)
		unlink_timer(wheel, timer);
	else
		wheel->count++;
	timer->deadline = deadline;
	place(wheel, timer);
}

void plain_wheel_cancel(struct plain_wheel *wheel, struct plain_timer *timer)
{
	if (!timer->node.next)
		return;
	unlink_timer(wheel, timer);
	timer->node.next = NULL;
	wheel->count--;
}

/*
 * When the first occupied slot opens, if that is by `limit`; else UINT64_MAX. A level's slots open at multiples of their
 * width, and a slot of the level above opens only where this level begins a turn. If that is after the limit, or after
 * the time found so far, the levels above need not be looked at.
 */
static uint64_t first_opening(const struct plain_wheel *wheel, uint64_t limit)
{
	uint64_t first = UINT64_MAX;

	for (unsigned level = 0; level < PLAIN_LEVELS; level++) {
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
static void open_slot(struct plain_wheel *wheel, unsigned level, uint64_t number)
{
	struct plain_node *list = slot_list(wheel, level, number);
	struct plain_node *node = list->next;

	list_init(list);
	wheel->occupied[level] &= ~slot_bit(number);
	while (node != list) {
		struct plain_node *next = node->next;

		place(wheel, (struct plain_timer *)node);
		node = next;
	}
}

/* On every level, open the slot that begins now, if there is one. */
static void open_now(struct plain_wheel *wheel)
{
	for (unsigned level = 0; level < PLAIN_LEVELS; level++) {
		uint64_t number = slot_number(wheel->now, level);

		if (number << (level * SLOT_BITS) != wheel->now)
			break;
		if (wheel->occupied[level] & slot_bit(number))
			open_slot(wheel, level, number);
	}
}

bool plain_wheel_advance(struct plain_wheel *wheel, uint64_t now)
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

struct plain_timer *plain_wheel_pop(struct plain_wheel *wheel)
{
	struct plain_timer *timer = (struct plain_timer *)wheel->due.next;

	if (list_empty(&wheel->due))
		return NULL;
	plain_wheel_cancel(wheel, timer);
	return timer;
}

uint64_t plain_wheel_next(const struct plain_wheel *wheel)
{
	return list_empty(&wheel->due) ? first_opening(wheel, UINT64_MAX - 1) : wheel->now;
}
