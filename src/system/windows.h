/* SPDX-License-Identifier: MIT */
/* The types and inlined calls of system.h on Windows. */
#ifndef PAWL_SYSTEM_WINDOWS_H
#define PAWL_SYSTEM_WINDOWS_H

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <windows.h>

#define PAWL_ON_WINDOWS 1

enum { MONOTONIC, BOOTTIME, WALL };

struct mutex {
	SRWLOCK windows;
};

struct condition {
	CONDITION_VARIABLE windows;
};

struct system_thread {
	HANDLE windows;
	void (*run)(void *arg);
	void *arg;
	const char *name;
};

struct sleeper {
	struct mutex mutex;
	struct condition woken;
	bool wake; /* a wake that no sleep has seen yet */
};

static inline void mutex_init(struct mutex *mutex)
{
	InitializeSRWLock(&mutex->windows);
}

static inline void mutex_destroy(struct mutex *mutex)
{
	(void)mutex;
}

static inline void mutex_lock(struct mutex *mutex)
{
	AcquireSRWLockExclusive(&mutex->windows);
}

static inline void mutex_unlock(struct mutex *mutex)
{
	ReleaseSRWLockExclusive(&mutex->windows);
}

static inline void condition_init(struct condition *condition)
{
	InitializeConditionVariable(&condition->windows);
}

static inline void condition_destroy(struct condition *condition)
{
	(void)condition;
}

static inline void condition_wait(struct condition *condition, struct mutex *mutex)
{
	SleepConditionVariableSRW(&condition->windows, &mutex->windows, INFINITE, 0);
}

static inline void condition_signal(struct condition *condition)
{
	WakeConditionVariable(&condition->windows);
}

static inline void condition_broadcast(struct condition *condition)
{
	WakeAllConditionVariable(&condition->windows);
}

uint64_t pawl__system_windows_now(int clock);

static inline uint64_t system_now(int clock)
{
	return pawl__system_windows_now(clock);
}

static inline void yield_cpu(void)
{
	SwitchToThread();
}

static inline void nap(uint32_t ns) /* less than a second */
{
	Sleep(ns / 1000000 + 1);
}

#endif
#endif
