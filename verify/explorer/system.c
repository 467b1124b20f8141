/* SPDX-License-Identifier: MIT */
/*
 * The explorer's own system for the program: threads, mutexes, condition variables, memory, time and random numbers.
 * The linker sends the calls here (--wrap, see link.txt). Each is a scheduling point.
 *
 * A mutex is a struct mutex in the memory of a pthread_mutex_t. A condition variable needs no memory: the threads know
 * what they wait for.
 *
 * Outside of executions the functions of memory do what they always do, and the others are not called.
 */
#include "explorer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

enum { UNLOCKED = 0, DESTROYED = MAX_THREADS + 1 };

struct mutex {
	uint32_t owner; /* a thread's number + 1, UNLOCKED or DESTROYED */
	uint16_t again; /* how often the owner has locked it beyond the first time */
	bool recursive;
	struct clock clock;
};

_Static_assert(sizeof(struct mutex) <= sizeof(pthread_mutex_t), "a mutex has room for ours");

/* For objects to which the program gave an address. */
static void writes(const void *memory, size_t size, uintptr_t pc)
{
	memory_access(memory, size, true, false, pc);
}

static struct mutex *mutex_of(pthread_mutex_t *mutex)
{
	return (struct mutex *)(void *)mutex;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void __real_free(void *memory);
long __real_sysconf(int name);
time_t __real_time(time_t *seconds);
_Noreturn void __real_exit(int status);
_Noreturn void __real__exit(int status);
_Noreturn void __real__Exit(int status);
_Noreturn void __real_quick_exit(int status);

/* The memory of the mutex must not have been freed. */
static struct mutex *use_mutex(pthread_mutex_t *given, enum step step, uintptr_t pc)
{
	struct mutex *mutex = mutex_of(given);

	if (!running())
		fail("a mutex is used");
	scheduling_point(step, given, pc);
	memory_access(given, sizeof(*mutex), false, true, pc);
	if (mutex->owner == DESTROYED)
		fail("a mutex is used that was destroyed");
	if (mutex->owner > DESTROYED)
		fail("a mutex is used that was not initialised");
	return mutex;
}

static bool have(const struct mutex *mutex)
{
	return mutex->owner == present()->number + 1;
}

static void take(struct mutex *mutex)
{
	struct thread *thread = present();

	if (have(mutex)) {
		mutex->again++;
		return;
	}
	while (mutex->owner != UNLOCKED)
		thread_wait(FOR_MUTEX, mutex, NEVER);
	mutex->owner = thread->number + 1;
	clock_join(&thread->clock, &mutex->clock);
}

static void give(struct mutex *mutex)
{
	struct thread *thread = present();

	if (!have(mutex))
		fail("a mutex is unlocked that this thread has not locked");
	if (mutex->again > 0) {
		mutex->again--;
		return;
	}
	mutex->owner = UNLOCKED;
	mutex->clock = thread->clock;
	thread->clock.at[thread->number]++;
	threads_wake(FOR_MUTEX, mutex);
}

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
	int type = PTHREAD_MUTEX_DEFAULT;

	if (attributes)
		pthread_mutexattr_gettype(attributes, &type);
	if (type == PTHREAD_MUTEX_ERRORCHECK)
		fail("mutexes that check for errors are not supported");
	writes(mutex, sizeof(*mutex), CALLER);
	memset(mutex, 0, sizeof(*mutex));
	mutex_of(mutex)->recursive = type == PTHREAD_MUTEX_RECURSIVE;
	return 0;
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *given)
{
	struct mutex *mutex = use_mutex(given, DESTROY, CALLER);

	if (mutex->owner != UNLOCKED)
		fail("a mutex is destroyed that thread %u has locked", mutex->owner - 1);
	mutex->owner = DESTROYED;
	return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *given)
{
	struct mutex *mutex = use_mutex(given, LOCK, CALLER);

	if (have(mutex) && !mutex->recursive)
		fail("a thread locks a mutex that it has locked");
	take(mutex);
	return 0;
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *given)
{
	struct mutex *mutex = use_mutex(given, TRYLOCK, CALLER);

	if (mutex->owner != UNLOCKED && !(have(mutex) && mutex->recursive)) {
		step_failed();
		return EBUSY;
	}
	take(mutex);
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *given)
{
	give(use_mutex(given, UNLOCK, CALLER));
	return 0;
}

int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
	(void)attributes;
	writes(condition, sizeof(*condition), CALLER);
	memset(condition, 0, sizeof(*condition));
	return 0;
}

static bool anybody_waits(const pthread_cond_t *condition)
{
	for (unsigned i = 0; i < explorer->thread_count; i++)
		if (explorer->threads[i].waits == FOR_CONDITION &&
		    explorer->threads[i].object == condition)
			return true;
	return false;
}

int __wrap_pthread_cond_destroy(pthread_cond_t *condition)
{
	memory_access(condition, sizeof(*condition), false, true, CALLER);
	if (anybody_waits(condition))
		fail("a condition variable is destroyed that a thread waits for");
	return 0;
}

/* It may also return for no reason, and does if the search wants it. */
static int wait(pthread_cond_t *condition, pthread_mutex_t *given, uint64_t deadline, uintptr_t pc)
{
	struct mutex *mutex = use_mutex(given, WAIT, pc);
	struct thread *thread = present();
	bool timed_out;

	step_object(condition);
	memory_access(condition, sizeof(*condition), false, true, pc);
	if (mutex->again > 0)
		fail("a thread waits with a mutex that it has locked more than once");
	give(mutex);
	thread->timed_out = false;
	if (search_choose(SPURIOUS, 2) == 0)
		thread_wait(FOR_CONDITION, condition, deadline);
	timed_out = thread->timed_out; /* before it waits for the mutex */
	take(use_mutex(given, WAKE, pc));
	return timed_out ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	return wait(condition, mutex, NEVER, CALLER);
}

/* A time beyond 64 bits is never. */
static uint64_t ns_of(const struct timespec *time)
{
	if (time->tv_sec < 0)
		return 0;
	if ((uint64_t)time->tv_sec >= NEVER / SECOND)
		return NEVER;
	return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *deadline)
{
	return wait(condition, mutex, ns_of(deadline), CALLER);
}

/* One of those that wait, and the search says which. */
static void wake_one(const pthread_cond_t *condition)
{
	struct explorer *e = explorer;
	unsigned waiting[MAX_THREADS], count = 0, chosen;

	for (unsigned i = 0; i < e->thread_count; i++)
		if (e->threads[i].waits == FOR_CONDITION && e->threads[i].object == condition)
			waiting[count++] = i;
	if (count == 0)
		return;
	chosen = waiting[search_choose(SIGNALLED, count)];
	e->threads[chosen].waits = RUNNABLE;
	e->threads[chosen].deadline = NEVER;
}

int __wrap_pthread_cond_signal(pthread_cond_t *condition)
{
	scheduling_point(SIGNAL, condition, CALLER);
	memory_access(condition, sizeof(*condition), false, true, CALLER);
	wake_one(condition);
	return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
	scheduling_point(BROADCAST, condition, CALLER);
	memory_access(condition, sizeof(*condition), false, true, CALLER);
	threads_wake(FOR_CONDITION, condition);
	return 0;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg)
{
	unsigned number;

	(void)attributes;
	scheduling_point(START, NULL, CALLER);
	if (search_choose(ALLOCATION, 2)) {
		step_failed();
		return EAGAIN;
	}
	number = thread_start(run, arg);
	if (number == NO_THREAD)
		fail("more than %d threads", MAX_THREADS);
	step_value(number, false);
	writes(thread, sizeof(*thread), CALLER);
	*thread = number + 1;
	present()->clock.at[present()->number]++;
	return 0;
}

int __wrap_pthread_join(pthread_t given, void **result)
{
	struct thread *thread = &explorer->threads[given - 1];

	scheduling_point(JOIN, NULL, CALLER);
	step_value(given - 1, false);
	if (given - 1 >= explorer->thread_count || thread->joined)
		fail("a thread is joined that cannot be");
	while (thread->waits != FINISHED)
		thread_wait(FOR_THREAD, thread, NEVER);
	thread->joined = true;
	explorer->unjoined--;
	clock_join(&present()->clock, &thread->clock);
	if (result) {
		writes(result, sizeof(*result), CALLER);
		*result = thread->result;
	}
	return 0;
}

pthread_t __wrap_pthread_self(void)
{
	return explorer->present + 1;
}

/* The events before `run` returned: a pthread_once_t has no room for them. */
static struct clock *once_clock(const pthread_once_t *once)
{
	struct explorer *e = explorer;
	unsigned i = 0;

	while (i < e->once_count && e->onces[i].address != once)
		i++;
	if (i == MAX_ONCES)
		fail("more than %d objects for pthread_once", MAX_ONCES);
	if (i == e->once_count)
		e->onces[e->once_count++] = (struct once){.address = once};
	return &e->onces[i].clock;
}

/* The steps of `run` are steps of their own; others wait until it has returned. */
int __wrap_pthread_once(pthread_once_t *once, void (*run)(void))
{
	enum { NOT_YET, RUNNING, DONE };

	scheduling_point(ONCE, once, CALLER);
	memory_access(once, sizeof(*once), false, true, CALLER);
	while (*once == RUNNING)
		thread_wait(FOR_ONCE, once, NEVER);
	if (*once == NOT_YET) {
		*once = RUNNING;
		run();
		*once = DONE;
		*once_clock(once) = present()->clock;
		present()->clock.at[present()->number]++;
		threads_wake(FOR_ONCE, once);
	}
	clock_join(&present()->clock, once_clock(once));
	return 0;
}

int __wrap_pthread_setname_np(pthread_t thread, const char *name)
{
	(void)thread;
	(void)name;
	return 0;
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	(void)how;
	(void)set;
	if (old)
		sigemptyset(old);
	return 0;
}

int __wrap_sched_yield(void)
{
	scheduling_point(YIELD, NULL, CALLER);
	return 0;
}

static void sleep_for(uint64_t duration, uintptr_t pc)
{
	scheduling_point(SLEEP, NULL, pc);
	step_value(duration, false);
	thread_wait(FOR_TIME, NULL, saturating_sum(explorer->now, duration));
}

int __wrap_nanosleep(const struct timespec *duration, struct timespec *rest)
{
	(void)rest;
	sleep_for(ns_of(duration), CALLER);
	return 0;
}

int __wrap_usleep(useconds_t duration)
{
	sleep_for(duration * UINT64_C(1000), CALLER);
	return 0;
}

unsigned __wrap_sleep(unsigned duration)
{
	sleep_for(duration * SECOND, CALLER);
	return 0;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
	(void)id;
	scheduling_point(READ_CLOCK, NULL, CALLER);
	step_value(explorer->now, false);
	writes(now, sizeof(*now), CALLER);
	now->tv_sec = (time_t)(explorer->now / SECOND);
	now->tv_nsec = (long)(explorer->now % SECOND);
	return 0;
}

/* One descriptor, which can be set and closed. To wait for it is refused: see poll and epoll_wait below. */
int __wrap_timerfd_create(int clock, int flags)
{
	(void)clock;
	(void)flags;
	return 1 << 20; /* a number that no descriptor has, for close */
}

int __wrap_timerfd_settime(int timer, int flags, const struct itimerspec *at,
                           struct itimerspec *old)
{
	(void)timer;
	(void)flags;
	(void)old;
	scheduling_point(SET_TIMER, NULL, CALLER);
	explorer->timer = (uint64_t)at->it_value.tv_sec * SECOND + (uint64_t)at->it_value.tv_nsec;
	step_value(explorer->timer, false);
	return 0;
}

uint64_t explore_timer(void)
{
	return explorer->timer;
}

time_t __wrap_time(time_t *seconds)
{
	time_t now;

	if (!running())
		return __real_time(seconds);
	scheduling_point(READ_CLOCK, NULL, CALLER);
	step_value(explorer->now, false);
	now = (time_t)(explorer->now / SECOND);
	if (seconds) {
		writes(seconds, sizeof(*seconds), CALLER);
		*seconds = now;
	}
	return now;
}

ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags)
{
	char *bytes = buffer;

	(void)flags;
	writes(buffer, size, CALLER);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)random_next(&explorer->random);
	return (ssize_t)size;
}

/* An execution is the same on every machine. */
long __wrap_sysconf(int name)
{
	return name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF ? 2
	                                                                    : __real_sysconf(name);
}

void *system_allocate(size_t size, size_t alignment, uintptr_t pc)
{
	void *memory;

	scheduling_point(ALLOCATE, NULL, pc);
	step_value(size, false);
	memory = search_choose(ALLOCATION, 2) ? NULL : memory_allocate(size, alignment, pc);
	step_object(memory);
	if (!memory) {
		step_failed();
		errno = ENOMEM;
	}
	return memory;
}

void *__wrap_malloc(size_t size)
{
	return running() ? system_allocate(size, 16, CALLER) : __real_malloc(size);
}

enum { ZEROES_NOTED = 1024 };

void *__wrap_calloc(size_t count, size_t size)
{
	void *memory;

	if (!running())
		return __real_calloc(count, size);
	if (size && count > SIZE_MAX / size)
		return NULL;
	memory = system_allocate(count * size, 16, CALLER);
	if (!memory)
		return NULL;
	/* Noted for the beginning alone: to note tens of kilobytes in each execution takes longer than all the rest of it. */
	writes(memory, count * size < ZEROES_NOTED ? count * size : ZEROES_NOTED, CALLER);
	return memset(memory, 0, count * size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	size_t before = 0, kept;
	void *moved;

	if (!running() || (memory && !memory_size(memory, &before)))
		return __real_realloc(memory, size);
	moved = system_allocate(size, 16, CALLER);
	if (moved && memory) {
		kept = before < size ? before : size;
		memory_access(memory, kept, false, false, CALLER);
		writes(moved, kept, CALLER);
		memcpy(moved, memory, kept);
		memory_free(memory, CALLER);
	}
	return moved;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return running() ? system_allocate(size, alignment < 16 ? 16 : alignment, CALLER)
	                 : __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
	void *allocated;

	if (!running())
		return __real_posix_memalign(memory, alignment, size);
	allocated = system_allocate(size, alignment < 16 ? 16 : alignment, CALLER);
	if (!allocated)
		return ENOMEM;
	writes(memory, sizeof(*memory), CALLER);
	*memory = allocated;
	return 0;
}

void __wrap_free(void *memory)
{
	if (!memory)
		return;
	if (running())
		scheduling_point(FREE, memory, CALLER);
	if (!running() || !memory_free(memory, CALLER))
		__real_free(memory);
}

void explore_point(void)
{
	scheduling_point(POINT, NULL, CALLER);
}

/* A scenario that ends the program would also end the search, without a report. */

#define EXIT(name)                                         \
	_Noreturn void __wrap_##name(int status)           \
	{                                                  \
		if (running()) {                           \
			present()->pc = CALLER;            \
			fail("the scenario calls " #name); \
		}                                          \
		__real_##name(status);                     \
	}

EXIT(exit)
EXIT(_exit)
EXIT(_Exit)
EXIT(quick_exit)

/*
 * Calls that the explorer does not support would block all threads, or none, or read the real time: they are refused.
 */

#define REFUSE(name, instead)                   \
	_Noreturn void __wrap_##name(void)      \
	{                                       \
		refuse(#name, instead, CALLER); \
	}

static _Noreturn void refuse(const char *name, const char *instead, uintptr_t pc)
{
	if (running())
		present()->pc = pc;
	report_begin();
	printf("%s is not supported, %s; %s\n", name, source_text(pc), instead);
	report_end();
}

#define USE_MUTEX    "use a mutex and a condition variable"
#define USE_PTHREADS "use the functions of pthread.h"
#define USE_JOIN     "use pthread_join"
#define USE_CLOCK    "use clock_gettime"
#define USE_RANDOM   "use getrandom, or rand_r"
#define LEAVE_OUT    "leave it out of the scenario"

REFUSE(call_once, USE_PTHREADS)
REFUSE(clock_nanosleep, "use nanosleep")
REFUSE(cnd_wait, USE_PTHREADS)
REFUSE(epoll_wait, LEAVE_OUT)
REFUSE(eventfd, LEAVE_OUT)
REFUSE(fork, LEAVE_OUT)
REFUSE(gettimeofday, USE_CLOCK)
REFUSE(mtx_lock, USE_PTHREADS)
REFUSE(poll, LEAVE_OUT)
REFUSE(ppoll, LEAVE_OUT)
REFUSE(pthread_barrier_wait, USE_MUTEX)
REFUSE(pthread_cancel, USE_JOIN)
REFUSE(pthread_clockjoin_np, USE_JOIN)
REFUSE(pthread_cond_clockwait, "use pthread_cond_timedwait")
REFUSE(pthread_detach, USE_JOIN)
REFUSE(pthread_exit, "return from the thread's function")
REFUSE(pthread_key_create, "use a _Thread_local variable")
REFUSE(pthread_mutex_clocklock, "use pthread_mutex_trylock")
REFUSE(pthread_mutex_timedlock, "use pthread_mutex_trylock")
REFUSE(pthread_rwlock_rdlock, USE_MUTEX)
REFUSE(pthread_rwlock_tryrdlock, USE_MUTEX)
REFUSE(pthread_rwlock_trywrlock, USE_MUTEX)
REFUSE(pthread_rwlock_unlock, USE_MUTEX)
REFUSE(pthread_rwlock_wrlock, USE_MUTEX)
REFUSE(pthread_spin_lock, USE_MUTEX)
REFUSE(pthread_spin_trylock, USE_MUTEX)
REFUSE(pthread_timedjoin_np, USE_JOIN)
REFUSE(pthread_tryjoin_np, USE_JOIN)
REFUSE(rand, USE_RANDOM)
REFUSE(random, USE_RANDOM)
REFUSE(select, LEAVE_OUT)
REFUSE(sem_clockwait, USE_MUTEX)
REFUSE(sem_post, USE_MUTEX)
REFUSE(sem_timedwait, USE_MUTEX)
REFUSE(sem_trywait, USE_MUTEX)
REFUSE(sem_wait, USE_MUTEX)
REFUSE(thrd_create, USE_PTHREADS)
