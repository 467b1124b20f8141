/* SPDX-License-Identifier: MIT */
/*
 * Threads take turns here. A thread runs until its next step that others may notice; before that step the search
 * decides which thread runs next:
 *
 *	thread 0                thread 1                the search
 *	--------                --------                ----------
 *	lock                                            0 goes on
 *	store                                           1 goes on: a preemption
 *	                        lock: waits for it      only 0 can go on
 *	unlock                                          0 goes on
 *	...
 *
 * Plain accesses are not steps: where they do not race, no thread can notice when they happen, and where they do,
 * memory.c reports it.
 */
#include "explorer.h"

/* In this order: the present thread, unless it yields, the others, and the clock. */
static unsigned candidates(unsigned *found, bool *present_first)
{
	struct explorer *e = explorer;
	bool runnable = present()->waits == RUNNABLE, sleepers = false;
	unsigned count = 0;

	*present_first = runnable && !present()->yields;
	if (*present_first)
		found[count++] = e->present;
	for (unsigned i = 0; i < e->thread_count; i++) {
		if (i != e->present && e->threads[i].waits == RUNNABLE)
			found[count++] = i;
		sleepers |= e->threads[i].deadline != NEVER;
	}
	if (runnable && present()->yields)
		found[count++] = e->present;
	if (sleepers)
		found[count++] = CLOCK;
	return count;
}

/* Until the first deadline. All that wait for no later one are runnable then. */
static void pass_time(void)
{
	struct explorer *e = explorer;
	uint64_t first = NEVER;

	for (unsigned i = 0; i < e->thread_count; i++)
		if (e->threads[i].deadline < first)
			first = e->threads[i].deadline;
	if (first > e->now)
		e->now = first;
	for (unsigned i = 0; i < e->thread_count; i++)
		if (e->threads[i].deadline <= e->now) {
			e->threads[i].waits = RUNNABLE;
			e->threads[i].deadline = NEVER;
			e->threads[i].timed_out = true;
		}
	e->traces[e->steps++] =
	        (struct trace){.thread = NO_THREAD, .step = TIME_PASSES, .value = e->now};
}

static void thread_body(void);

static void continue_with(unsigned number)
{
	struct explorer *e = explorer;
	struct thread *from = present();

	if (number == e->present)
		return;
	e->present = number;
	e->run_length = 0;
	fiber_switch(&from->fiber, &e->threads[number].fiber, thread_body);
}

static void check_steps(void)
{
	if (explorer->steps >= MAX_STEPS)
		fail("livelock: %d steps, and no end", MAX_STEPS);
}

/*
 * A thread that loads one value several times is taken to spin, but it may be about to do something else. So let it try
 * again before the execution is called a deadlock.
 */
static void wake_spinning(void)
{
	for (unsigned i = 0; i < explorer->thread_count; i++)
		if (explorer->threads[i].waits == FOR_VALUE)
			explorer->threads[i].waits = RUNNABLE;
}

/* Which thread runs next? */
static void reschedule(void)
{
	unsigned found[MAX_THREADS + 1], count, chosen;
	bool present_first;

	for (;;) {
		check_steps();
		count = candidates(found, &present_first);
		if (count == 0) {
			if (explorer->patience-- == 0)
				fail("deadlock");
			wake_spinning();
			continue;
		}
		chosen = found[search_schedule(found, count, present_first)];
		if (chosen != CLOCK)
			break;
		pass_time();
	}
	continue_with(chosen);
}

void scheduling_point(enum step step, const void *address, uintptr_t pc)
{
	struct explorer *e = explorer;
	struct thread *thread;

	if (!running())
		return;
	thread = present();
	thread->pc = pc;
	thread->yields = step == YIELD || ++e->run_length > MAX_RUN;
	reschedule();
	thread->yields = false;
	thread->clock.at[thread->number]++;
	if (step != LOAD)
		thread->spins_on = NULL;
	thread->step = e->steps++;
	e->traces[thread->step] = (struct trace){.thread = (uint8_t)thread->number,
	                                         .step = (uint8_t)step,
	                                         .pc = pc,
	                                         .address = address};
}

void step_value(uint64_t value, bool old)
{
	struct trace *trace = &explorer->traces[present()->step];

	trace->value = value;
	trace->old = old;
}

void step_object(const void *object)
{
	explorer->traces[present()->step].address = object;
}

void step_failed(void)
{
	explorer->traces[present()->step].failed = true;
}

/* The present thread waits until it is woken, or until the deadline. */
void thread_wait(enum reason reason, const void *object, uint64_t deadline)
{
	struct thread *thread = present();

	thread->waits = reason;
	thread->object = object;
	thread->deadline = deadline;
	thread->timed_out = false;
	reschedule();
}

void threads_wake(enum reason reason, const void *object)
{
	struct explorer *e = explorer;

	for (unsigned i = 0; i < e->thread_count; i++) {
		struct thread *thread = &e->threads[i];

		if (thread->waits == reason && thread->object == object) {
			thread->waits = RUNNABLE;
			thread->deadline = NEVER;
		}
	}
}

/* NO_THREAD if there are too many. */
unsigned thread_start(void *(*run)(void *), void *arg)
{
	struct explorer *e = explorer;
	struct thread *thread = &e->threads[e->thread_count];
	struct fiber fiber = thread->fiber;
	unsigned number = e->thread_count;

	if (number == MAX_THREADS)
		return NO_THREAD;
	e->thread_count++;
	memset(thread, 0, sizeof(*thread));
	thread->fiber = fiber;
	thread->number = number;
	thread->run = run;
	thread->arg = arg;
	thread->deadline = NEVER;
	thread->priority = search_priority();
	if (number > 0) {
		thread->clock = present()->clock;
		e->unjoined++;
	}
	thread->clock.at[number]++;
	fiber_renew(&thread->fiber);
	return number;
}

static void end_execution(void)
{
	struct explorer *e = explorer;

	for (unsigned i = 1; i < e->thread_count; i++)
		if (!e->threads[i].joined)
			fail("the scenario ends, and thread %u was not joined", i);
	memory_check_leaks();
	e->running = false;
	fiber_switch(&e->threads[0].fiber, &e->outside, NULL);
}

/*
 * The bottom of each fiber. When its thread has ended the fiber stays here, and the next execution lets it go on.
 */
static void thread_body(void)
{
	for (;;) {
		struct thread *thread = present();

		thread->result = thread->run(thread->arg);
		thread->waits = FINISHED;
		threads_wake(FOR_THREAD, thread);
		if (thread->number == 0)
			end_execution();
		else
			reschedule();
	}
}

static void *run_scenario(void *unused)
{
	(void)unused;
	explorer->scenario->run();
	return NULL;
}

void execution_run(void)
{
	struct explorer *e = explorer;

	e->execution++;
	e->executions++;
	e->thread_count = e->unjoined = e->once_count = 0;
	e->present = 0;
	e->run_length = 0;
	e->steps = 0;
	e->patience = PATIENCE;
	e->now = UINT64_C(1000000000);
	e->timer = 0;
	e->random.state = 1;
	e->sc_fences = e->sc_stores = (struct clock){{0}};
	memcpy(e->data, e->data_copy, e->data_size);
	memory_begin();
	search_execution();
	thread_start(run_scenario, NULL);
	e->running = true;
	fiber_switch(&e->outside, &e->threads[0].fiber, thread_body);
}
