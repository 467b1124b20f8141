/* SPDX-License-Identifier: MIT */
/*
 * The parts of the explorer. explore.h is what scenarios see; docs/design/schedules.md draws which part calls which.
 *
 *	report.c     what is printed when an execution fails
 *	sources.c    lines of the source and names of variables, for that
 *	main.c       arguments; one execution after the other
 *
 * All threads of an execution are fibers of one thread of the system. So only one runs at a time, until it comes to a
 * scheduling point. The explorer's own state is in *explorer, outside of the program's variables, which are reset to
 * their initial values before each execution.
 */
#ifndef PAWL_EXPLORER_H
#define PAWL_EXPLORER_H

#define _GNU_SOURCE /* this comes first in every file */

#include "explore.h"

#include <setjmp.h>
#include <string.h>

/* The program's calls go to strings.c, the explorer's own straight to libc. */
void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memset(void *to, int byte, size_t size);
int __real_memcmp(const void *a, const void *b, size_t size);
#undef memcpy
#undef memset
#undef memcmp
#define memcpy __real_memcpy
#define memset __real_memset
#define memcmp __real_memcmp

#include "../../src/base/saturate.h"
#include "../../src/base/random.h"

enum {
	MAX_THREADS = 8,
	MAX_CALLS = 64,    /* frames of a thread that are shown */
	MAX_STEPS = 20000, /* of an execution: more is a livelock */
	MAX_RUN = 1000,    /* steps of one thread while others could go on */
	PATIENCE = 2000,
	MAX_CHOICES = 65536,     /* of an execution */
	MAX_LOCATIONS = 16384,   /* atomic ones, of an execution */
	MAX_BLOCKS = 65536,      /* allocations of an execution */
	STACK_SIZE = 256 * 1024, /* of a thread... */
	GUARD = 64 * 1024,       /* ...of which the last so many bytes may not be used */
	ARENA_SIZE = 64 << 20,   /* for the allocations of an execution */
	MAX_ONCES = 16,          /* objects for pthread_once */
	HISTORY = 8,             /* stores to a location that may still be seen */
	NO_THREAD = MAX_THREADS, /* no thread */
	WORD = 8,                /* bytes that share a cell */
	ACCESSES = 16,           /* that a cell remembers */
	PAGE = 256,              /* bytes of which is known whether any were accessed */
};

#define NEVER UINT64_MAX

/* A vector clock: of each thread, the last step that happened before. */
struct clock {
	uint32_t at[MAX_THREADS];
};

static inline void clock_join(struct clock *clock, const struct clock *other)
{
	for (unsigned i = 0; i < MAX_THREADS; i++)
		if (other->at[i] > clock->at[i])
			clock->at[i] = other->at[i];
}

/* fiber.c */
struct fiber {
	sigjmp_buf context;
	char *stack; /* NULL: the thread of the system itself */
	bool begun;
	void *variables; /* its thread-local ones, while another fiber runs */
	int error;       /* its errno */
};

void fibers_init(void);
void fiber_renew(struct fiber *fiber); /* thread-local variables as at the beginning */
void fiber_switch(struct fiber *from, struct fiber *to, void (*body)(void));

/* scheduler.c */
enum reason {
	RUNNABLE,
	FOR_MUTEX,
	FOR_ONCE,
	FOR_CONDITION,
	FOR_THREAD,
	FOR_VALUE,
	FOR_TIME,
	FINISHED
};

struct thread {
	struct fiber fiber;
	unsigned number;
	enum reason waits;
	const void *object; /* that it waits for */
	uint64_t deadline;  /* of the wait; NEVER: none */
	bool timed_out;
	bool joined;
	bool yields; /* others go first */
	void *(*run)(void *);
	void *arg, *result;

	struct clock clock;  /* all that happened before its present step */
	struct clock read;   /* an acquire fence would add this to that */
	struct clock fenced; /* its clock at the last release fence */
	struct clock
	        after; /* stores up to here precede its last sequentially consistent fence... */
	struct clock after_sc; /* ...and of the sequentially consistent stores those up to here */

	/* The load that it repeats: a thread that spins waits for another value. */
	const void *spins_on;
	uint64_t spin_value;
	uintptr_t spin_pc;
	unsigned spins;

	uint64_t priority; /* in the search by priorities */

	uintptr_t calls[MAX_CALLS]; /* where the functions that it is in were called */
	unsigned depth;
	uintptr_t pc;  /* of its last step... */
	uint32_t step; /* ...and the number of that */
};

enum step {
	LOAD,
	STORE,
	EXCHANGE,
	FENCE,
	LOCK,
	TRYLOCK,
	UNLOCK,
	DESTROY,
	ONCE,
	WAIT,
	WAKE,
	SIGNAL,
	BROADCAST,
	START,
	JOIN,
	ALLOCATE,
	FREE,
	READ_CLOCK,
	SLEEP,
	YIELD,
	POINT,
	SET_TIMER,
	TIME_PASSES,
	STEPS
};

/* One step of a thread: for the report. */
struct trace {
	uint8_t thread, step;
	bool old;    /* a load of a value that is not the newest */
	bool failed; /* an allocation, a start, a trylock, a compare-and-set */
	uintptr_t pc;
	const void *address;
	uint64_t value;
};

void execution_run(void); /* the scenario once, from its beginning to its end */
void scheduling_point(enum step step, const void *address, uintptr_t pc);
/* The present thread's last step. */
void step_value(uint64_t value, bool old);
void step_object(const void *object);
void step_failed(void);
void thread_wait(enum reason reason, const void *object, uint64_t deadline);
void threads_wake(enum reason reason, const void *object);
unsigned thread_start(void *(*run)(void *), void *arg);

/* search.c: the decisions */
enum choice { OLD_VALUE, ALLOCATION, SIGNALLED, SPURIOUS, SPIN, CHOICES };
enum search { DEPTH_FIRST, PRIORITIES, RANDOM, REPLAY };

#define CLOCK NO_THREAD /* as a candidate: time passes */

void search_begin(enum search search, uint64_t seed, unsigned depth);
/* NULL, or what is wrong with the seed, until the next call. */
const char *search_replay(const char *seed);
void search_check_replayed(void); /* that all of the seed was used */
bool search_next(void);           /* depth first: false if all were seen */
void search_execution(void);      /* an execution begins */
unsigned search_choose(enum choice choice, unsigned options);
unsigned search_schedule(const unsigned *candidates, unsigned count, bool present_first);
void search_print_seed(void);
uint64_t search_priority(void); /* of a new thread */

/* The decisions of an execution, and how the next one decides. */
struct decision {
	uint16_t options, chosen;
};

struct decisions {
	enum search search;
	uint64_t seed;
	unsigned depth;    /* priorities: how many decisions a defect needs */
	uint32_t expected; /* priorities: decisions of an execution */
	struct random random;
	unsigned most_preemptions, most_old_values; /* depth first */
	unsigned preemptions, old_values, failures; /* that are left in this execution */
	unsigned switches;    /* at random: one of so many points has a switch */
	uint32_t changes[16]; /* priorities: the decisions at which the present thread's drops */
	uint64_t clock_priority;
	unsigned count; /* decisions made */
	unsigned known; /* depth first, replay: the first so many are given */
	struct decision list[MAX_CHOICES];
};

/* memory.c and atomics.c */
struct access {
	uint32_t pc, clock;
	uint8_t thread, mask; /* which of the word's bytes */
	bool write, atomic;
};

/* The history of eight bytes of memory. */
struct cell {
	uint32_t execution;       /* 0: nothing */
	uint16_t locations[WORD]; /* atomic ones that begin at each byte; 0: none */
	uint16_t count;           /* of accesses */
	struct access accesses[ACCESSES];
};

struct block {
	char *memory;
	size_t size;
	uintptr_t allocated_at, freed_at;
	unsigned freed_by;
};

struct store {
	uint64_t value;
	uint32_t clock; /* of its thread */
	uint8_t thread;
	bool sc;
	struct clock released;         /* a thread that acquires it learns this */
	uint32_t read_by[MAX_THREADS]; /* the clock of each thread's first load of it */
};

/* An atomic object. Memory has its newest value. */
struct location {
	const void *address;
	uint32_t size;
	uint32_t count; /* of stores; the last HISTORY are in the ring */
	struct store stores[HISTORY];
};

/* The events before pthread_once returns. */
struct once {
	const void *address;
	struct clock clock;
};

void memory_init(void);
void memory_begin(void); /* an execution */
void *memory_allocate(size_t size, size_t alignment, uintptr_t pc);
bool memory_free(void *memory, uintptr_t pc);       /* false: not from here */
bool memory_size(const void *memory, size_t *size); /* false: not from here */
struct cell *memory_cell(const void *address);      /* NULL: memory that is not watched */
void memory_access(const void *address, size_t size, bool write, bool atomic, uintptr_t pc);
void memory_check_leaks(void);

/* system.c */
void *system_allocate(size_t size, size_t alignment, uintptr_t pc); /* as malloc does */

/* report.c */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_begin(void);         /* the execution ends; then print why */
_Noreturn void report_end(void); /* the rest, and exit */
void report_hang(uintptr_t pc);  /* if there was really no step */
void report_init(void);
void report_schedule(void);

/* sources.c: outside of executions only */
void source_note(uintptr_t pc); /* to be looked up with others */
const char *source_text(uintptr_t pc);
const char *variable_of(const void *address, size_t *byte); /* NULL: none */
const char *object_name(const void *address);               /* until the next call */

struct explorer {
	const struct explore_scenario *scenario;
	const char *program;
	bool running; /* an execution is under way */
	bool failed;  /* one has */
	bool strong;  /* a load sees the newest store */
	uint32_t execution;
	uint64_t executions; /* of this scenario... */
	uint64_t forgotten;  /* ...and accesses in them for which a cell had no room */
	unsigned hang_seconds;
	bool hangs; /* at the last tick there was no step since the one before */
	uint32_t tick_execution, tick_steps; /* when the last hang_seconds were over */

	struct fiber outside; /* of executions */
	struct thread threads[MAX_THREADS];
	unsigned thread_count, present; /* the thread that runs */
	unsigned unjoined;              /* threads besides the first */
	unsigned run_length;            /* its steps since the last switch */
	unsigned patience; /* how often spinning threads may try again, if no other can go on */
	uint64_t now;
	uint64_t timer; /* as set by timerfd_settime; 0: off */
	uint32_t steps;
	struct trace traces[MAX_STEPS + 1];
	struct clock sc_fences, sc_stores; /* each thread's last one */

	struct random random; /* the bytes of getrandom */
	struct decisions decisions;

	char *data, *data_copy; /* the program's variables, and their first values */
	size_t data_size;

	char *arena;
	size_t arena_used;
	bool freeing;                        /* a block, which counts as writing to it */
	uint32_t touched[ARENA_SIZE / PAGE]; /* the last execution that has cells there */
	uint8_t *usable; /* of each word of the arena: how many bytes; or FREED */
	struct cell *arena_cells, *data_cells;
	char *stacks;
	struct block blocks[MAX_BLOCKS];
	size_t block_count, blocks_live;
	struct once onces[MAX_ONCES];
	unsigned once_count;
	struct location locations[MAX_LOCATIONS];
	unsigned location_count;
};

extern struct explorer *explorer;

static inline struct thread *present(void)
{
	return &explorer->threads[explorer->present];
}

/* An execution is under way. Before explore_main there is not even an explorer. */
static inline bool running(void)
{
	return explorer && explorer->running;
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

#endif
