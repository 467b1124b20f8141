/* SPDX-License-Identifier: MIT */
/* The types and inlined calls of system.h on POSIX systems, Linux among them. */
#ifndef PAWL_SYSTEM_POSIX_H
#define PAWL_SYSTEM_POSIX_H

#ifndef _WIN32
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define PAWL_ON_POSIX 1
#if defined(__linux__) && !defined(PAWL_POSIX)
#define PAWL_ON_LINUX 1
#endif

#if defined(__APPLE__)
#define MONOTONIC CLOCK_UPTIME_RAW /* macOS's CLOCK_MONOTONIC goes on while the machine sleeps */
#define BOOTTIME  CLOCK_MONOTONIC
#else
#define MONOTONIC CLOCK_MONOTONIC
#if defined(CLOCK_BOOTTIME)
#define BOOTTIME CLOCK_BOOTTIME
#else
#define BOOTTIME CLOCK_MONOTONIC
#endif
#endif

#define WALL CLOCK_REALTIME

struct mutex {
	pthread_mutex_t pthread;
};

struct condition {
	pthread_cond_t pthread;
};

struct system_thread {
	pthread_t pthread;
	void (*run)(void *arg);
	void *arg;
	const char *name;
};

struct sleeper {
	struct mutex mutex;
	struct condition woken; /* waits by MONOTONIC, if the system can */
	bool wake;              /* a wake that no sleep has seen yet */
	int event;              /* Linux: an eventfd to be written by a wake, or -1 */
};

static inline void mutex_init(struct mutex *mutex)
{
	pthread_mutex_init(&mutex->pthread, NULL);
}

static inline void mutex_destroy(struct mutex *mutex)
{
	pthread_mutex_destroy(&mutex->pthread);
}

static inline void mutex_lock(struct mutex *mutex)
{
	pthread_mutex_lock(&mutex->pthread);
}

static inline void mutex_unlock(struct mutex *mutex)
{
	pthread_mutex_unlock(&mutex->pthread);
}

static inline void condition_init(struct condition *condition)
{
	pthread_cond_init(&condition->pthread, NULL);
}

static inline void condition_destroy(struct condition *condition)
{
	pthread_cond_destroy(&condition->pthread);
}

static inline void condition_wait(struct condition *condition, struct mutex *mutex)
{
	pthread_cond_wait(&condition->pthread, &mutex->pthread);
}

static inline void condition_signal(struct condition *condition)
{
	pthread_cond_signal(&condition->pthread);
}

static inline void condition_broadcast(struct condition *condition)
{
	pthread_cond_broadcast(&condition->pthread);
}

static inline uint64_t system_now(int clock)
{
	struct timespec now;

	clock_gettime((clockid_t)clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline void yield_cpu(void)
{
	sched_yield();
}

static inline void nap(uint32_t ns) /* less than a second */
{
	const struct timespec length = {0, (long)ns};

	nanosleep(&length, NULL);
}

/* A time for the system's calls. A time_t of 32 bits saturates: 68 years after the start is as good as never. */
static inline struct timespec timespec_of(uint64_t ns)
{
	uint64_t seconds = ns / UINT64_C(1000000000);

	if (sizeof(time_t) < sizeof(seconds) && seconds > INT32_MAX)
		return (struct timespec){INT32_MAX, 0};
	return (struct timespec){(time_t)seconds, (long)(ns % UINT64_C(1000000000))};
}

#endif
#endif
