/* SPDX-License-Identifier: MIT */
/* Printed when an execution has failed: why, the seed, where each thread is, and the schedule. */
#include "explorer.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_SHOWN = 400, OBJECT = 120 };

static const char *const step_names[STEPS] = {
        [LOAD] = "load",
        [STORE] = "store",
        [EXCHANGE] = "exchange",
        [FENCE] = "fence",
        [LOCK] = "lock",
        [TRYLOCK] = "trylock",
        [UNLOCK] = "unlock",
        [DESTROY] = "destroy",
        [ONCE] = "once",
        [WAIT] = "wait",
        [WAKE] = "lock again",
        [SIGNAL] = "signal",
        [BROADCAST] = "broadcast",
        [START] = "start",
        [JOIN] = "join",
        [ALLOCATE] = "allocate",
        [FREE] = "free",
        [READ_CLOCK] = "clock",
        [SLEEP] = "sleep",
        [YIELD] = "yield",
        [POINT] = "point",
        [SET_TIMER] = "timer",
        [TIME_PASSES] = "time passes",
};

static unsigned first_shown(void)
{
	return explorer->steps > MAX_SHOWN ? explorer->steps - MAX_SHOWN : 0;
}

/* All at once: to ask addr2line takes a while. */
static void note_sources(void)
{
	const struct explorer *e = explorer;

	for (unsigned i = first_shown(); i < e->steps; i++)
		source_note(e->traces[i].pc);
	for (unsigned i = 0; i < e->thread_count; i++) {
		source_note(e->threads[i].pc);
		for (unsigned j = 0; j < e->threads[i].depth && j < MAX_CALLS; j++)
			source_note(e->threads[i].calls[j]);
	}
}

/* The arguments of the step, and its result. */
static void describe(char *text, const struct trace *trace)
{
	static const char *const orders[] = {"relaxed", "consume", "acquire",
	                                     "release", "acq_rel", "seq_cst"};
	const char *fails = trace->failed ? " fails" : "";

	*text = '\0';
	switch ((enum step)trace->step) {
	case LOAD:
	case STORE:
	case EXCHANGE:
		snprintf(text, OBJECT, "%s = %#" PRIx64 "%s%s", object_name(trace->address),
		         trace->value, trace->old ? " (old)" : "", fails);
		break;
	case FENCE:
		snprintf(text, OBJECT, "%s", orders[trace->value % 6]);
		break;
	case START:
	case JOIN:
		snprintf(text, OBJECT, trace->failed ? "fails" : "thread %" PRIu64, trace->value);
		break;
	case ALLOCATE:
		snprintf(text, OBJECT, "%" PRIu64 " bytes: %s", trace->value,
		         trace->failed ? "fails" : object_name(trace->address));
		break;
	case READ_CLOCK:
	case SET_TIMER:
	case SLEEP:
		snprintf(text, OBJECT, "%" PRIu64 " ns", trace->value);
		break;
	default:
		if (trace->address)
			snprintf(text, OBJECT, "%s%s", object_name(trace->address), fails);
	}
}

static void print_step(unsigned number)
{
	const struct trace *trace = &explorer->traces[number];
	char text[OBJECT];

	if (trace->step == TIME_PASSES) {
		printf("%6u  -- time passes, to %" PRIu64 " ns --\n", number, trace->value);
		return;
	}
	describe(text, trace);
	printf("%6u  %*s%u %-10s %-*s %s\n", number, 2 * trace->thread, "", trace->thread,
	       step_names[trace->step], 38 - 2 * trace->thread, text, source_text(trace->pc));
}

/* Time runs downwards, a column a thread. */
void report_schedule(void)
{
	const struct explorer *e = explorer;

	note_sources();
	printf("The schedule:\n%-60s%s\n", "  step  thread, operation, object and value", "where");
	if (first_shown())
		printf("        %u steps before\n", first_shown());
	for (unsigned i = first_shown(); i < e->steps; i++) {
		if (i > first_shown() && e->traces[i].thread != e->traces[i - 1].thread)
			printf("\n");
		print_step(i);
	}
}

static void print_wait(const struct thread *thread)
{
	static const char *const names[] = {
	        [RUNNABLE] = "is runnable",
	        [FOR_MUTEX] = "waits for mutex",
	        [FOR_ONCE] = "waits for pthread_once of",
	        [FOR_CONDITION] = "waits for condition variable",
	        [FOR_THREAD] = "waits for the end of thread",
	        [FOR_VALUE] = "spins until another value is stored in",
	        [FOR_TIME] = "sleeps",
	        [FINISHED] = "has ended",
	};

	printf("thread %u %s", thread->number, names[thread->waits]);
	if (thread->waits == FOR_THREAD)
		printf(" %u", ((const struct thread *)thread->object)->number);
	else if (thread->waits != RUNNABLE && thread->waits != FINISHED && thread->object)
		printf(" %s", object_name(thread->object));
	if (thread->waits == FOR_MUTEX)
		printf(", which thread %u has locked", *(const uint32_t *)thread->object - 1);
	printf("\n");
}

static void print_threads(void)
{
	const struct explorer *e = explorer;

	for (unsigned i = 0; i < e->thread_count; i++) {
		const struct thread *thread = &e->threads[i];
		unsigned depth = thread->depth < MAX_CALLS ? thread->depth : MAX_CALLS;

		print_wait(thread);
		if (thread->waits == FINISHED)
			continue;
		if (thread->pc)
			printf("    at %s\n", source_text(thread->pc));
		else
			printf("    has not begun\n");
		while (depth-- > 1)
			printf("    called at %s\n", source_text(thread->calls[depth]));
	}
}

static void print_command(void)
{
	printf("Repeat it with: %s --scenario '%s' %s--seed ", explorer->program,
	       explorer->scenario->name, explorer->strong ? "--strong " : "");
	search_print_seed();
	printf("\n\n");
}

/* A breakpoint for gdb: every failure calls this. */
__attribute__((noinline)) void explore_stopped(void)
{
	__asm__ volatile("");
}

void report_begin(void)
{
	explore_stopped();
	if (!running()) {
		printf("explorer, outside of an execution: ");
		return;
	}
	explorer->running = false;
	explorer->failed = true;
	note_sources();
	printf("\n%s: ", explorer->scenario->name);
}

void report_end(void)
{
	if (explorer && explorer->failed) {
		printf("FAILED after %" PRIu64 " execution%s, thread %u at step %u.\n",
		       explorer->executions, explorer->executions == 1 ? "" : "s",
		       explorer->present, explorer->steps);
		print_command();
		print_threads();
		printf("\n");
		report_schedule();
	}
	fflush(stdout);
	_exit(1);
}

void fail(const char *format, ...)
{
	va_list args;

	report_begin();
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	report_end();
}

void explore_failed(const char *file, int line, const char *message)
{
	if (running())
		present()->pc = CALLER;
	fail("%s:%d: %s", file, line, message);
}

static void print_value(struct explore_value value)
{
	if (value.is_signed)
		printf("%" PRId64, (int64_t)value.bits);
	else
		printf("%" PRIu64, value.bits);
}

void explore_expect_eq(struct explore_value actual, struct explore_value expected,
                       const char *actual_text, const char *expected_text, const char *file,
                       int line)
{
	if (actual.bits == expected.bits)
		return;
	if (running())
		present()->pc = CALLER;
	report_begin();
	printf("%s:%d: %s is ", file, line, actual_text);
	print_value(actual);
	printf(", expected %s = ", expected_text);
	print_value(expected);
	printf("\n");
	report_end();
}

/* Where the signal came, if that is in the program and not in libc. */
static void note_pc(const void *context)
{
#ifdef REG_RIP
	extern const char __executable_start[], etext[];
	uintptr_t pc = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	if (pc >= (uintptr_t)__executable_start && pc < (uintptr_t)etext)
		present()->pc = pc + 1;
#else
	(void)context;
#endif
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	size_t stack = (size_t)((char *)info->si_addr - explorer->stacks);

	if (!explorer->running)
		_exit(1);
	note_pc(context);
	if (signal == SIGSEGV && stack < MAX_THREADS * STACK_SIZE && stack % STACK_SIZE < GUARD)
		fail("thread %u takes more than %d bytes of stack", explorer->present,
		     STACK_SIZE - GUARD);
	fail("signal %d, %s", signal, strsignal(signal));
}

/* The user has interrupted a search: print where it is, without the schedule. */
static void on_interrupt(int signal, siginfo_t *info, void *context)
{
	(void)info;
	if (explorer->running) {
		note_pc(context);
		report_begin();
		printf("interrupted in execution %" PRIu64 ", step %u\n", explorer->executions,
		       explorer->steps);
		print_command();
		print_threads();
		fflush(stdout);
	}
	_exit(128 + signal);
}

static bool no_step(void)
{
	const struct explorer *e = explorer;

	return e->running && e->tick_execution == e->execution && e->tick_steps == e->steps;
}

void report_hang(uintptr_t pc)
{
	if (!no_step())
		return;
	if (pc)
		present()->pc = pc;
	fail("no step for %u s: a loop without an atomic operation or a lock?",
	     explorer->hang_seconds);
}

/*
 * It counts the processor's time: on a busy machine, or in a debugger, none passes. A thread without a step is reported
 * at its next access to memory, which knows where it is; or at the next tick, if it has none.
 */
static void on_tick(int signal, siginfo_t *info, void *context)
{
	struct explorer *e = explorer;

	(void)signal;
	(void)info;
	if (e->hangs && no_step()) {
		note_pc(context);
		report_hang(0);
	}
	e->hangs = no_step();
	e->tick_execution = e->execution;
	e->tick_steps = e->steps;
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler,
	                           .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESTART},
	                 before;

	sigaction(signal, NULL, &before);
	if (before.sa_handler != SIG_IGN)
		sigaction(signal, &action, NULL);
}

/* On a stack of its own: the fiber's may be what has overflowed. */
void report_init(void)
{
	const stack_t alternative = {.ss_sp = malloc(STACK_SIZE), .ss_size = STACK_SIZE};
	const struct timeval tick = {explorer->hang_seconds, 0};

	sigaltstack(&alternative, NULL);
	handle(SIGSEGV, on_signal);
	handle(SIGBUS, on_signal);
	handle(SIGFPE, on_signal);
	handle(SIGILL, on_signal);
	handle(SIGABRT, on_signal);
	handle(SIGINT, on_interrupt);
	handle(SIGPROF, on_tick);
	setitimer(ITIMER_PROF, &(struct itimerval){tick, tick}, NULL);
}
