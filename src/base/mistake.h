/* SPDX-License-Identifier: MIT */
/*
 * User mistakes are reported by a message, which names the function, the address and the remedy. Then the program
 * aborts.
 *
 * Release builds answer the few mistakes that they meet anyway. The checked build (PAWL_CHECKED) answers those of
 * docs/guide/when-it-goes-wrong.md. The functions below are its questions and notes; src/checked has them. In every
 * other build the macros are empty, so this header needs no libc.
 *
 *	CHECKED(call)        make this call in the checked build
 *	CHECKED_DELAY(ns)    this parameter, a delay, is not a negative number
 *	IN_WHEEL(wheel)      first in a public function: the function's name is that of the mistakes made in it, the
 *	IN_SERVICE(service)  object must exist, and one thread at a time is in a wheel
 *	IN_PURGATORY(purgatory)
 *	IN_LOOP(loop)
 *	IN_STORE(store)
 *	IN_CALL()            the same in a function without such an object
 */
#ifndef PAWL_BASE_MISTAKE_H
#define PAWL_BASE_MISTAKE_H

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
_Noreturn void
pawl__mistake(const char *call, const char *format, ...); /* speak.c */

#ifdef PAWL_CHECKED
#include <pawl/wheel.h>

#define CHECKED(call)           (call)
#define CHECKED_DELAY(delay_ns) pawl__delay_expect(delay_ns, #delay_ns)
#define IN_WHEEL(wheel)                                                            \
	struct wheel_use use __attribute__((cleanup(pawl__wheel_leave), unused)) = \
	        pawl__wheel_enter(wheel, __func__)
#define IN_OBJECT(kind, object)                                                     \
	const char *outer_call __attribute__((cleanup(pawl__call_leave), unused)) = \
	        pawl__object_enter(kind, object, __func__)
#define IN_SERVICE(service)     IN_OBJECT(A_SERVICE, service)
#define IN_PURGATORY(purgatory) IN_OBJECT(A_PURGATORY, purgatory)
#define IN_LOOP(loop)           IN_OBJECT(A_LOOP, loop)
#define IN_STORE(store)         IN_OBJECT(A_STORE, store)
#define IN_CALL()                                                                   \
	const char *outer_call __attribute__((cleanup(pawl__call_leave), unused)) = \
	        pawl__call_enter(__func__)

struct pawl_loop;
struct pawl_op_watches;
struct pawl_op;

/* The public call that the thread is in. One of a wheel with an owner does not count: it is the owner's. */
const char *pawl__call_enter(const char *call); /* returns the outer one */
void pawl__call_leave(const char *const *outer);

/* The table of all that exists. A name is borrowed until forget; or NULL. */
enum checked_kind { A_TIMER, A_WHEEL, A_SERVICE, A_PURGATORY, A_LOOP, A_STORE, A_WATCHES };
void pawl__object_note(enum checked_kind kind, const void *object, const char *name);
void pawl__object_forget(enum checked_kind kind, const void *object);
const char *pawl__object_enter(enum checked_kind kind, const void *object, const char *call);

/* Wheels. The owner is a service, a purgatory or a loop; without one the wheel is the user's. */
struct wheel_use {
	const struct pawl_wheel *wheel;
	const char *outer_call;
};
void pawl__wheel_note(const struct pawl_wheel *wheel);
void pawl__wheel_own(const struct pawl_wheel *wheel, const void *owner);
struct wheel_use pawl__wheel_enter(const struct pawl_wheel *wheel, const char *call);
void pawl__wheel_leave(const struct wheel_use *use);

/* Timers. The note of an arming comes before the links are written, that of its end after they are cleared. */
void pawl__timer_note_armed(const struct pawl_wheel *wheel, const struct pawl_timer *timer,
                            uint64_t deadline);
void pawl__timer_note_idle(const struct pawl_timer *timer);
/* For arm, touch and cancel: it is idle, or armed on this wheel, and was not overwritten. */
void pawl__timer_expect_own(const struct pawl_wheel *wheel, const struct pawl_timer *timer);
/* For arm_idle. */
void pawl__timer_expect_idle(const struct pawl_wheel *wheel, const struct pawl_timer *timer);
/* Where the wheel comes to it: it is as the wheel has left it; or it is the head of the list. */
void pawl__timer_expect_sound(const struct pawl_timer *timer, const struct pawl_timer *head);

/* A pointer of a call that allows no NULL; `noun` says to what. */
void pawl__expect_given(const void *pointer, const char *noun);
_Noreturn void pawl__loop_refuse(const struct pawl_loop *loop); /* it is closed */
/* `name` is that of the parameter. */
void pawl__delay_expect(uint64_t delay_ns, const char *name);
/* The task of this timer: not pending, for init; not garbage that looks pending, for arm. */
void pawl__task_expect_idle(const struct pawl_timer *timer, const char *call);
void pawl__task_expect_known(const struct pawl_timer *timer);

/* Operations, by the parts of them that are linked: `watches` is a part of `op`, or allocated for it. */
void pawl__watches_note(const struct pawl_op_watches *watches, const struct pawl_op *op,
                        const void *purgatory);
void pawl__watches_expect_sound(const struct pawl_op_watches *watches);
void pawl__op_expect_idle(const struct pawl_op *op, const char *call);
/* For unref by a user whose reference would be the last one: the purgatory has one while the operation waits. */
void pawl__op_expect_won(const struct pawl_op *op, const char *call);

#else
#define CHECKED(call)           ((void)0)
#define CHECKED_DELAY(delay_ns) ((void)0)
#define IN_WHEEL(wheel)         ((void)0)
#define IN_SERVICE(service)     ((void)0)
#define IN_PURGATORY(purgatory) ((void)0)
#define IN_LOOP(loop)           ((void)0)
#define IN_STORE(store)         ((void)0)
#define IN_CALL()               ((void)0)
#endif

#endif
