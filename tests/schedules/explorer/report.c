/* SPDX-License-Identifier: MIT */
/* What is printed when an execution has failed: why, the seed, where each thread is, and the schedule. */
#include "explorer.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_SHOWN = 400, MAX_PLACES = 4096, PLACE = 160 };

static const char *const step_names[STEPS] = {
        [LOAD] = "load",   [STORE] = "store",      [EXCHANGE] = "exchange",
        [FENCE] = "fence", [LOCK] = "lock",        [UNLOCK] = "unlock",
        [WAIT] = "wait",   [WAKE] = "lock again",  [SIGNAL] = "signal",
        [START] = "start", [JOIN] = "join",        [ALLOCATE] = "allocate",
        [FREE] = "free",   [READ_CLOCK] = "clock", [SLEEP] = "sleep",
        [YIELD] = "yield", [POINT] = "point",      [TIME_PASSES] = "time passes",
};

/* Where in the source: what addr2line says, asked once for all. */
struct place {
	uintptr_t pc;
	char text[PLACE];
};

struct places {
	unsigned count;
	struct place list[MAX_PLACES];
};

static struct places *places;

static struct place *place_of(uintptr_t pc)
{
	for (unsigned i = 0; i < places->count; i++)
		if (places->list[i].pc == pc)
			return &places->list[i];
	return NULL;
}

static void note_place(uintptr_t pc)
{
	if (pc && !place_of(pc) && places->count < MAX_PLACES) {
		struct place *place = &places->list[places->count++];

		place->pc = pc;
		snprintf(place->text, PLACE, "%#" PRIxPTR, pc);
	}
}

static unsigned first_shown(void)
{
	return explorer->steps > MAX_SHOWN ? explorer->steps - MAX_SHOWN : 0;
}

static void note_places(void)
{
	const struct explorer *e = explorer;

	for (unsigned i = first_shown(); i < e->steps; i++)
		note_place(e->traces[i].pc);
	for (unsigned i = 0; i < e->thread_count; i++) {
		note_place(e->threads[i].pc);
		for (unsigned j = 0; j < e->threads[i].depth && j < MAX_CALLS; j++)
			note_place(e->threads[i].calls[j]);
	}
}

/* "0x401234" begins an answer; the lines that follow are "function at file:line", the innermost first. */
static void read_answers(FILE *answers)
{
	struct place *place = NULL;
	char line[512];
	bool first = true;

	while (fgets(line, sizeof(line), answers)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0x", 2) == 0 && !strchr(line, ' ')) {
			place = place_of((uintptr_t)strtoull(line, NULL, 16) + 1);
			first = true;
		} else if (place && first) {
			char *file = strstr(line, " at ");
			char *slash = file ? strrchr(file, '/') : NULL;
			char *more = strstr(line, " (discriminator");

			if (more)
				*more = '\0';
			if (file) {
				*file = '\0';
				snprintf(place->text, PLACE, "%.60s (%.80s)",
				         slash ? slash + 1 : file + 4, line);
			}
			first = false;
		}
	}
}

/* A return address belongs to the instruction before it. */
static void look_up(void)
{
	size_t size = (size_t)places->count * 24 + 4200;
	char *command = malloc(size);
	size_t used =
	        (size_t)snprintf(command, size, "addr2line -a -f -i -p -e '%s'", explorer->program);
	FILE *answers;

	for (unsigned i = 0; i < places->count; i++)
		used += (size_t)snprintf(command + used, size - used, " %#" PRIxPTR,
		                         places->list[i].pc - 1);
	snprintf(command + used, size - used,
	         " 2>/dev/null | sed 's/^\\(0x[0-9a-f]*\\): /\\1\\n/'");
	answers = popen(command, "r");
	if (answers) {
		read_answers(answers);
		pclose(answers);
	}
	free(command);
}

static const char *text_of(uintptr_t pc)
{
	const struct place *place = place_of(pc);

	return place ? place->text : "the beginning";
}

static void print_step(unsigned number)
{
	const struct trace *trace = &explorer->traces[number];

	if (trace->step == TIME_PASSES) {
		printf("%6u  -- time passes, to %" PRIu64 " ns --\n", number, trace->value);
		return;
	}
	printf("%6u  %*s%u %-10s %-18" PRIx64 "%s %s\n", number, 2 * trace->thread, "",
	       trace->thread, step_names[trace->step], trace->value, trace->old ? " (old)" : "",
	       text_of(trace->pc));
}

/* Time runs downwards, a column a thread. */
void report_schedule(void)
{
	const struct explorer *e = explorer;

	if (!places) {
		places = calloc(1, sizeof(*places));
		note_places();
		look_up();
	}
	printf("The schedule:\n");
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
	        [RUNNABLE] = "can go on",
	        [FOR_MUTEX] = "waits for a mutex",
	        [FOR_CONDITION] = "waits for a condition variable",
	        [FOR_THREAD] = "waits for the end of thread",
	        [FOR_VALUE] = "spins until another value is stored",
	        [FOR_TIME] = "sleeps",
	        [FINISHED] = "has ended",
	};

	printf("thread %u %s", thread->number, names[thread->waits]);
	if (thread->waits == FOR_MUTEX)
		printf(" that thread %u has", *(const uint32_t *)thread->object - 1);
	if (thread->waits == FOR_THREAD)
		printf(" %u", ((const struct thread *)thread->object)->number);
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
		printf("    at %s\n", text_of(thread->pc));
		while (depth-- > 1)
			printf("    called at %s\n", text_of(thread->calls[depth]));
	}
}

static _Noreturn void report(void)
{
	explorer->running = false;
	printf("\nFAILED after %" PRIu64 " executions, thread %u at step %u.\n",
	       explorer->executions, explorer->present, explorer->steps);
	printf("Repeat it with: %s --scenario '%s' --seed ", explorer->program,
	       explorer->scenario->name);
	search_print_seed();
	printf("\n\n");
	places = calloc(1, sizeof(*places));
	note_places();
	look_up();
	print_threads();
	printf("\n");
	report_schedule();
	fflush(stdout);
	_exit(1);
}

/* A breakpoint for gdb: every failure comes by. */
void explore_stopped(void);
__attribute__((noinline)) void explore_stopped(void)
{
	__asm__ volatile("");
}

void fail(const char *format, ...)
{
	va_list args;

	explore_stopped();
	printf("\n%s: ", explorer->scenario ? explorer->scenario->name : "explorer");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	report();
}

void explore_failed(const char *file, int line, const char *message)
{
	present()->pc = CALLER;
	fail("%s:%d: %s", file, line, message);
}

void explore_expect_eq(uint64_t actual, uint64_t expected, const char *actual_text,
                       const char *expected_text, const char *file, int line)
{
	if (actual == expected)
		return;
	present()->pc = CALLER;
	fail("%s:%d: %s is %" PRIu64 ", expected %s = %" PRIu64, file, line, actual_text, actual,
	     expected_text, expected);
}

static void on_signal(int signal)
{
	if (explorer->running)
		fail("signal %d, %s", signal, strsignal(signal));
	_exit(1);
}

/* On a stack of its own: the fiber's may be what has overflowed. */
void report_init(void)
{
	const stack_t alternative = {.ss_sp = malloc(STACK_SIZE), .ss_size = STACK_SIZE};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	sigaltstack(&alternative, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGFPE, &action, NULL);
	sigaction(SIGILL, &action, NULL);
	sigaction(SIGABRT, &action, NULL);
}
