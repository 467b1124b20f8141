/* SPDX-License-Identifier: MIT */
/*
 * The mistakes that the checked build reports, and its messages. docs/guide/when-it-goes-wrong.md lists them, and
 * tests/checked makes each.
 *
 * Each armed timer has a record: its wheel and its deadline. So a timer that is not armed but has links is garbage or a
 * copy; an armed one whose deadline or links differ was overwritten; one with a record is not idle, whatever its memory
 * says. Memory that was freed and not written to since looks right: that is for AddressSanitizer to find.
 *
 * A user's wheel is discarded without a call. Its timers keep their records. They do not count when the wheel's
 * memory becomes a wheel again, which gives it a new generation; nor when a timer that was zeroed comes to another
 * wheel.
 */
#define _GNU_SOURCE
#include "../wheel/layout.h"
#include "table.h"

#include <pawl/purgatory.h>
#include <stdio.h>

#ifdef PAWL_CHECKED
static _Thread_local const char *current_call;

static const char *this_call(void)
{
	return current_call ? current_call : "a thread of pawl";
}

const char *pawl__call_enter(const char *call)
{
	const char *outer = current_call;

	current_call = call;
	return outer;
}

void pawl__call_leave(const char *const *outer)
{
	current_call = *outer;
}

/* The words for a thing that is armed on the wheel of an owner. */
struct words {
	enum checked_kind owner;
	const char *noun, *state, *place, *open, *end, *keep, *init;
};

static const struct words words_of[] = {
        {A_SERVICE, "task", "pending", "service", "pawl_service_open",
         "pawl_service_cancel_wait it first",
         "call pawl_service_cancel_wait before a task's memory is freed, moved or reused",
         "initialise it by pawl_task_init or PAWL_TASK_INIT"},
        {A_PURGATORY, "operation", "waiting", "purgatory", "pawl_purgatory_open",
         "wait for its release first",
         "an operation's memory is yours again when its release is called",
         "initialise it by pawl_op_init or PAWL_OP_INIT"},
        {A_LOOP, "timer", "armed", "loop", "its open", "pawl_loop_cancel it first",
         "call pawl_loop_cancel before a timer's memory is freed, moved or reused",
         "zero it before its first use, and when its loop was closed"},
        /* Its timers are its own: only `place` and `open` are said. */
        {A_STORE, "task", "pending", "store", "pawl_store_open", "", "", ""},
        {A_WHEEL, "timer", "armed", "wheel", "pawl_wheel_init", "pawl_wheel_cancel it there first",
         "call pawl_wheel_cancel before a timer's memory is freed, moved or reused",
         "zero it (PAWL_TIMER_INIT) before its first use, and when its wheel is gone"},
};

/* The words for the wheel's timers; *object is the wheel's owner, or the wheel itself. */
static const struct words *words_for(const struct pawl_wheel *wheel, struct record *object)
{
	const struct words *words = words_of;
	const void *owner = NULL;

	if (pawl__table_get(A_WHEEL, wheel, object))
		owner = object->owner;
	while (words->owner != A_WHEEL && !(owner && pawl__table_get(words->owner, owner, object)))
		words++;
	return words;
}

/* `in service "jobs"`, `on wheel 0x55d0c8a0` */
static const char *name_of(const struct words *words, const struct record *object, char text[64])
{
	if (words->owner == A_SERVICE)
		snprintf(text, 64, "in service \"%s\"", object->name);
	else
		snprintf(text, 64, "%s %s %p", words->owner == A_WHEEL ? "on" : "in", words->place,
		         object->address);
	return text;
}

void pawl__object_note(enum checked_kind kind, const void *object, const char *name)
{
	pawl__table_put(&(struct record){.kind = kind, .address = object, .name = name});
}

void pawl__object_forget(enum checked_kind kind, const void *object)
{
	pawl__table_remove(kind, object);
}

const char *pawl__object_enter(enum checked_kind kind, const void *object, const char *call)
{
	const struct words *words = words_of;
	struct record record;

	while (words->owner != kind)
		words++;
	if (!pawl__table_get(kind, object, &record))
		pawl__mistake(call, "%s %p is not open: it was closed, or %s failed", words->place,
		              object, words->open);
	return pawl__call_enter(call);
}

/* Each wheel has another generation, so that timers of a wheel that was here before do not count. */
void pawl__wheel_note(const struct pawl_wheel *wheel)
{
	static uint64_t generations;
	struct record record = {.kind = A_WHEEL, .address = wheel};

	record.number = __atomic_add_fetch(&generations, 1, __ATOMIC_SEQ_CST);
	pawl__table_put(&record);
}

void pawl__wheel_own(const struct pawl_wheel *wheel, const void *owner)
{
	struct record record;

	if (!pawl__table_get(A_WHEEL, wheel, &record))
		return;
	record.owner = owner;
	pawl__table_put(&record);
}

/* In an owner's wheel the call is the owner's. */
struct wheel_use pawl__wheel_enter(const struct pawl_wheel *wheel, const char *call)
{
	struct wheel_use use = {wheel, current_call};
	struct record record;

	if (!pawl__table_enter(wheel, call, &record)) {
		if (!record.address)
			pawl__mistake(call,
			              "%p is not a wheel: check the result of "
			              "pawl_wheel_init, and do not copy or move a wheel",
			              (const void *)wheel);
		pawl__mistake(call,
		              "wheel %p is in use by another thread, in %s: one thread at a "
		              "time uses a wheel: guard it by a lock, or use a service",
		              (const void *)wheel, record.name);
	}
	if (!current_call || (!record.owner && !record.depth))
		current_call = call;
	return use;
}

void pawl__wheel_leave(const struct wheel_use *use)
{
	current_call = use->outer_call;
	pawl__table_leave(use->wheel);
}

/* Whether the timer is armed, and where: by its record, not by its memory. */
static bool find_armed(const struct pawl_timer *timer, struct record *armed)
{
	struct record wheel;

	return pawl__table_get(A_TIMER, timer, armed) &&
	       pawl__table_get(A_WHEEL, armed->owner, &wheel) && wheel.number == armed->generation;
}

static bool is_on(const struct pawl_wheel *wheel, const struct pawl_timer *timer)
{
	struct record armed;

	return is_head(wheel, timer) || (find_armed(timer, &armed) && armed.owner == wheel);
}

static bool intact(const struct pawl_timer *timer, const struct record *armed)
{
	return timer->deadline == armed->number && is_on(armed->owner, timer->next) &&
	       is_on(armed->owner, timer->prev);
}

static _Noreturn void say_overwritten(const struct pawl_timer *timer, const struct record *armed)
{
	struct record object;
	const struct words *words = words_for(armed->owner, &object);
	char name[64];

	pawl__mistake(this_call(), "%s %p was overwritten while it was %s %s: %s", words->noun,
	              (const void *)timer, words->state, name_of(words, &object, name),
	              words->keep);
}

static _Noreturn void say_armed(const struct pawl_timer *timer, const struct record *armed,
                                const char *call)
{
	struct record object;
	const struct words *words = words_for(armed->owner, &object);
	char name[64];

	pawl__mistake(call, "%s %p is %s %s: %s", words->noun, (const void *)timer, words->state,
	              name_of(words, &object, name), words->end);
}

static _Noreturn void say_not_initialised(const struct pawl_wheel *wheel,
                                          const struct pawl_timer *timer)
{
	struct record object;
	const struct words *words = words_for(wheel, &object);

	if (is_on(wheel, timer->next) && is_on(wheel, timer->prev))
		pawl__mistake(this_call(),
		              "%s %p is a copy of one that was %s: do not copy or move "
		              "one while it is %s",
		              words->noun, (const void *)timer, words->state, words->state);
	pawl__mistake(this_call(), "%s %p was not initialised: %s", words->noun,
	              (const void *)timer, words->init);
}

void pawl__timer_note_armed(const struct pawl_wheel *wheel, const struct pawl_timer *timer,
                            uint64_t deadline)
{
	struct record record = {.kind = A_TIMER, .address = timer, .owner = wheel}, of_wheel;

	record.number = deadline <= LAST ? deadline : LAST;
	if (pawl__table_get(A_WHEEL, wheel, &of_wheel))
		record.generation = of_wheel.number;
	pawl__table_put(&record);
}

void pawl__timer_note_idle(const struct pawl_timer *timer)
{
	pawl__table_remove(A_TIMER, timer);
}

void pawl__timer_expect_sound(const struct pawl_timer *timer, const struct pawl_timer *head)
{
	struct record armed;

	if (timer == head)
		return;
	if (!find_armed(timer, &armed))
		pawl__mistake(this_call(),
		              "%p is in a list of the wheel, but is not armed: memory "
		              "was overwritten, or two threads used the wheel at once",
		              (const void *)timer);
	if (!intact(timer, &armed))
		say_overwritten(timer, &armed);
}

/* The neighbours are looked at first: if one was overwritten, it is named. */
static void expect_linked(const struct pawl_wheel *wheel, const struct pawl_timer *timer,
                          const struct record *armed)
{
	if (!intact(timer, armed))
		say_overwritten(timer, armed);
	if (!is_head(wheel, timer->next))
		pawl__timer_expect_sound(timer->next, NULL);
	if (!is_head(wheel, timer->prev))
		pawl__timer_expect_sound(timer->prev, NULL);
	if (timer->next->prev != timer || timer->prev->next != timer)
		say_overwritten(timer, armed);
}

/*
 * The timer is armed elsewhere. If the wheel is the user's and the timer was written to since, that wheel was
 * discarded, and the timer counts as idle.
 */
static void expect_discarded(const struct pawl_timer *timer, const struct record *armed)
{
	struct record wheel;

	if (!pawl__table_get(A_WHEEL, armed->owner, &wheel))
		return;
	if (wheel.owner || (timer->next && timer->deadline == armed->number))
		say_armed(timer, armed, this_call());
}

void pawl__expect_given(const void *pointer, const char *noun)
{
	if (!pointer)
		pawl__mistake(this_call(), "the %s is NULL: give it one", noun);
}

void pawl__timer_expect_own(const struct pawl_wheel *wheel, const struct pawl_timer *timer)
{
	struct record armed;

	pawl__expect_given(timer, "timer");
	if (find_armed(timer, &armed)) {
		if (armed.owner == wheel) {
			expect_linked(wheel, timer, &armed);
			return;
		}
		expect_discarded(timer, &armed);
	}
	if (timer->next)
		say_not_initialised(wheel, timer);
}

void pawl__timer_expect_idle(const struct pawl_wheel *wheel, const struct pawl_timer *timer)
{
	struct record armed;

	pawl__expect_given(timer, "timer");
	if (!find_armed(timer, &armed))
		return;
	if (armed.owner != wheel)
		expect_discarded(timer, &armed);
	else if (intact(timer, &armed))
		pawl__mistake(this_call(),
		              "timer %p is armed on this wheel: arm it by "
		              "pawl_wheel_arm_at, or cancel it first",
		              (const void *)timer);
	else
		say_overwritten(timer, &armed);
}

void pawl__loop_refuse(const struct pawl_loop *loop)
{
	pawl__mistake(this_call(),
	              "loop %p is closed, and will be released when its pass ends: arm nothing "
	              "after pawl_loop_close",
	              (const void *)loop);
}

/* A difference of two times that is below 0 becomes a delay of 292 to 584 years. */
void pawl__delay_expect(uint64_t delay_ns, const char *name)
{
	if (delay_ns > INT64_MAX && delay_ns != PAWL_NEVER)
		pawl__mistake(this_call(),
		              "%s %llu is the negative number -%llu: a delay is "
		              "at most 2^63-1 ns, or PAWL_NEVER",
		              name, (unsigned long long)delay_ns,
		              (unsigned long long)(0 - delay_ns));
}

/* On a user's wheel, this is memory that was an armed timer when its wheel was discarded. */
void pawl__task_expect_idle(const struct pawl_timer *timer, const char *call)
{
	struct record armed, wheel;

	if (find_armed(timer, &armed) && pawl__table_get(A_WHEEL, armed.owner, &wheel) &&
	    wheel.owner)
		say_armed(timer, &armed, call);
}

/*
 * Read without the lock of the task's home, while another thread may arm or cancel it. An arming is noted before the
 * links are written, and its end after they are cleared. So links without a record, seen twice, are garbage.
 */
void pawl__task_expect_known(const struct pawl_timer *timer)
{
	struct record armed;

	for (int i = 0; i < 2; i++)
		if (find_armed(timer, &armed) ||
		    !__atomic_load_n((struct pawl_timer *const *)&timer->next, __ATOMIC_SEQ_CST))
			return;
	pawl__mistake(this_call(), "task %p was not initialised: %s", (const void *)timer,
	              words_of[0].init);
}

void pawl__watches_note(const struct pawl_op_watches *watches, const struct pawl_op *op,
                        const void *purgatory)
{
	pawl__table_put(&(struct record){
	        .kind = A_WATCHES, .address = watches, .owner = purgatory, .part_of = op});
}

/* The part for further keys is allocated: it stays as it is when the operation is overwritten. */
static bool op_intact(const struct pawl_op_watches *watches, const struct pawl_op *op)
{
	return watches->op == op && op->watches.op == op;
}

/* A cursor of a walk has no record. */
void pawl__watches_expect_sound(const struct pawl_op_watches *watches)
{
	struct record record;

	if (pawl__table_get(A_WATCHES, watches, &record) && !op_intact(watches, record.part_of))
		pawl__mistake(this_call(),
		              "operation %p was overwritten while it was waiting in "
		              "purgatory %p: %s",
		              record.part_of, record.owner, words_of[1].keep);
}

void pawl__op_expect_idle(const struct pawl_op *op, const char *call)
{
	struct record record;

	if (pawl__table_get(A_WATCHES, &op->watches, &record))
		pawl__mistake(call, "operation %p is waiting in purgatory %p: %s", (const void *)op,
		              record.owner, words_of[1].end);
}

void pawl__op_expect_won(const struct pawl_op *op, const char *call)
{
	struct record record;

	if (pawl__table_get(A_WATCHES, &op->watches, &record))
		pawl__mistake(call,
		              "operation %p is waiting in purgatory %p, which has its only "
		              "reference: call pawl_op_unref once for each pawl_op_ref",
		              (const void *)op, record.owner);
}
#endif
