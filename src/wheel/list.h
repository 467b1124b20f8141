/* SPDX-License-Identifier: MIT */
/*
 * Circular doubly linked lists of timers, closed by a head. A timer on no list has next == NULL.
 *
 * A slot's list is unused (prev == NULL) until a timer comes, and again when the slot is done with. So
 * whoever appends sees from the link that it needs anyway whether the slot is in use already. And
 * whoever prepends need not know: next is the head's own address, as in an empty list.
 */
#ifndef PAWL_WHEEL_LIST_H
#define PAWL_WHEEL_LIST_H

#include <pawl/wheel.h>

static inline void list_retire(struct pawl_timer *head)
{
	head->next = head;
	head->prev = NULL;
}

static inline bool list_unused(const struct pawl_timer *head)
{
	return !head->prev;
}

static inline void list_init(struct pawl_timer *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct pawl_timer *head)
{
	return list_unused(head) || head->prev == head;
}

/* Whether the list holds timers. If it does not, it is retired. */
static inline bool list_in_use(struct pawl_timer *head)
{
	if (list_unused(head))
		return false;
	if (head->prev != head)
		return true;
	list_retire(head);
	return false;
}

static inline void list_append(struct pawl_timer *head, struct pawl_timer *timer)
{
	struct pawl_timer *last = head->prev;

	timer->prev = last;
	last->next = timer;
	timer->next = head;
	head->prev = timer;
}

static inline void list_prepend(struct pawl_timer *head, struct pawl_timer *timer)
{
	struct pawl_timer *first = head->next;

	timer->next = first;
	first->prev = timer;
	timer->prev = head;
	head->next = timer;
}

static inline void list_remove(struct pawl_timer *timer)
{
	struct pawl_timer *next = timer->next, *prev = timer->prev;

	prev->next = next;
	next->prev = prev;
	timer->next = NULL;
}

/* Move all of a list that is not empty to the end of another, and retire it. */
static inline void list_append_all(struct pawl_timer *head, struct pawl_timer *from)
{
	struct pawl_timer *first = from->next, *last = from->prev, *before = head->prev;

	before->next = first;
	first->prev = before;
	last->next = head;
	head->prev = last;
	list_retire(from);
}

#endif
