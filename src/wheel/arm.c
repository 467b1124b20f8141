/* SPDX-License-Identifier: MIT */
/* The calls for one timer: arm, touch, cancel. */
#include "compiler.h"
#include "slots.h"

/*
 * The fast span: how far ahead of `time` arming takes its fast path.
 *
 * Arming compares deadline - time - 1 with the fast span, once. That one unsigned compare must prove four things:
 *
 *  - The deadline is after `time`. For a deadline that is not, the difference wraps to 2^64 - 1 - time or more, which
 *    is beyond the span while time < 2^63 and fast_span < 2^63.
 *  - The deadline is not PAWL_NEVER, which has to become 2^64-2: time + fast_span <= 2^64 - 2.
 *  - Every level that level_for() may choose is ready: a deadline at most n-1 cells ahead is in a level's window.
 *  - Ticks are time units, and cells are shifts: otherwise the span is 0.
 *
 * So the span is 0 in the second half of time. `wake` makes advance leave its fast path at half time even if no slot
 * opens there, and set_time() in advance.c ends the span.
 */
uint64_t pawl__fast_span(const struct pawl_wheel *wheel)
{
	const struct level *level = wheel->level;
	uint64_t most = HALF_TIME - 1;

	if (!wheel->powers_of_two || wheel->tick != 1 || wheel->time >= HALF_TIME)
		return 0;
	while (level + 1 < wheel->level + wheel->levels && level[1].ready)
		level++;
	if (level->width > most / (wheel->wheel_size - 1))
		return most;
	return level->width * (wheel->wheel_size - 1);
}

/* Count an arming. After every FILL_LENGTH of them arming goes on to the next chain. */
static void count_arming(struct pawl_wheel *wheel)
{
	if (++wheel->armed % FILL_LENGTH)
		return;
	wheel->fill_offset += wheel->chain_stride;
	if (wheel->fill_offset > wheel->chain_mask * wheel->chain_stride)
		wheel->fill_offset = 0;
}

/* Begin a slot's unused list: its bit is set, and the wheel may open earlier. */
static void occupy(struct pawl_wheel *wheel, struct level *level, uint64_t cell,
                   struct pawl_timer *head)
{
	list_init(head);
	if (!mark(wheel, level, cell))
		return;
	wheel->first = first_of_levels(wheel);
	if (time_of_tick(wheel, level->opens) < wheel->wake)
		wheel->wake = time_of_tick(wheel, level->opens);
}

/* The list for a timer due at tick `due`, as seen from tick `now`, in the chain at this offset. */
static struct pawl_timer *list_for(struct pawl_wheel *wheel, uint64_t due, uint64_t now,
                                   size_t chain_offset)
{
	struct level *level = level_for(wheel, due, now);
	uint64_t cell = cell_of_tick(wheel, level, due);
	struct pawl_timer *head = head_at(level, slot_of_cell(wheel, cell), chain_offset);

	if (!level->ready)
		pawl__level_prepare(wheel, level);
	if (list_unused(head))
		occupy(wheel, level, cell, head);
	return head;
}

/*
 * Arming in general. A timer whose deadline is not after now is due. While an advance is stopped before a slot that
 * opens at `time`, pawl_wheel_now() is `time` - 1, and a timer for `time` itself goes to that slot.
 */
static NEVER_INLINE bool arm_in_general(struct pawl_wheel *wheel, struct pawl_timer *timer,
                                        uint64_t deadline)
{
	bool waits;

	timer->deadline = deadline <= LAST ? deadline : LAST;
	waits = timer->deadline > pawl_wheel_now(wheel);
	if (waits)
		list_append(list_for(wheel, tick_of_deadline(wheel, timer->deadline),
		                     tick_of_time(wheel, wheel->time), wheel->fill_offset),
		            timer);
	else
		list_append(due_list(wheel, wheel->fill_offset / wheel->chain_stride), timer);
	count_arming(wheel);
	return waits;
}

static NEVER_INLINE bool arm_in_new_slot(struct pawl_wheel *wheel, struct pawl_timer *timer,
                                         struct level *level, uint64_t cell,
                                         struct pawl_timer *head)
{
	occupy(wheel, level, cell, head);
	list_append(head, timer);
	count_arming(wheel);
	return true;
}

/*
 * Arm a timer that is on no list. The fast path is the usual case: the timer waits, its level is ready, the tick is 1
 * and the slots are a power of two. One compare with the fast span proves all of it: see above. The other cases are out
 * of line and tail calls, so that no registers are saved here.
 */
static ALWAYS_INLINE bool put_on(struct pawl_wheel *wheel, struct pawl_timer *timer,
                                 uint64_t deadline)
{
	struct pawl_timer *head;
	struct level *level;
	uint64_t cell;

	CHECKED(pawl__timer_note_armed(wheel, timer, deadline));
	if (deadline - wheel->time - 1 >= wheel->fast_span)
		return arm_in_general(wheel, timer, deadline);
	if (!wheel->powers_of_two)
		UNREACHABLE(); /* the span is 0 then; this tells the compiler that only shifts remain */
	timer->deadline = deadline;
	level = level_for(wheel, deadline, wheel->time);
	ASSERT(level->ready);
	cell = cell_of_tick(wheel, level, deadline);
	head = head_at(level, slot_of_cell(wheel, cell), wheel->fill_offset);
	if (list_unused(head))
		return arm_in_new_slot(wheel, timer, level, cell, head);
	list_append(head, timer);
	count_arming(wheel);
	return true;
}

bool pawl_wheel_arm_at(struct pawl_wheel *wheel, struct pawl_timer *timer, uint64_t deadline)
{
	IN_WHEEL(wheel);
	CHECKED(pawl__timer_expect_own(wheel, timer));
	if (timer->next)
		unlink_timer(wheel, timer);
	return put_on(wheel, timer, deadline);
}

/*
 * Nothing of the timer is read: with very many timers that load is half of the cost of arming. So no assertion can tell
 * here that the timer is armed: only the record of it can, which the checked build has.
 */
bool pawl_wheel_arm_idle_at(struct pawl_wheel *wheel, struct pawl_timer *timer, uint64_t deadline)
{
	IN_WHEEL(wheel);
	CHECKED(pawl__timer_expect_idle(wheel, timer));
	return put_on(wheel, timer, deadline);
}

/*
 * The timer stays in the slot of its old deadline, which opens first. Above level 0 an opening moves each timer by its
 * deadline anyway. A slot of level 0 is made due as a whole: so remember the largest deadline that was replaced, up to
 * which there may be a touched timer. A timer on level 0 has a deadline within `finest_span`; others need not be remembered.
 *
 * The deadline of a due timer is never after `time`. So a timer whose deadline is after it waits.
 */
bool pawl_wheel_touch_at(struct pawl_wheel *wheel, struct pawl_timer *timer, uint64_t deadline)
{
	IN_WHEEL(wheel);
	CHECKED(pawl__timer_expect_own(wheel, timer));
	uint64_t present = timer->deadline;

	if (!timer->next || present <= wheel->time || deadline < present)
		return pawl_wheel_arm_at(wheel, timer, deadline);
	CHECKED(pawl__timer_note_armed(wheel, timer, deadline));
	timer->deadline = deadline <= LAST ? deadline : LAST;
	if (present > wheel->touched && present - wheel->time <= wheel->finest_span)
		wheel->touched = present;
	return true;
}

bool pawl_wheel_cancel(struct pawl_wheel *wheel, struct pawl_timer *timer)
{
	IN_WHEEL(wheel);
	CHECKED(pawl__timer_expect_own(wheel, timer));
	if (!timer->next)
		return false;
	unlink_timer(wheel, timer);
	return true;
}

bool pawl_timer_armed(const struct pawl_timer *timer)
{
	return timer->next != NULL;
}

uint64_t pawl_timer_deadline(const struct pawl_timer *timer)
{
	return pawl_timer_armed(timer) ? timer->deadline : PAWL_NEVER;
}

uint64_t pawl_wheel_now(const struct pawl_wheel *wheel)
{
	return wheel->stopped ? wheel->time - 1 : wheel->time;
}
