/* SPDX-License-Identifier: MIT */
/* system.h on POSIX systems: first the parts that Linux shares, then those that linux.c does differently. */
#define _GNU_SOURCE
#include "system.h"

#ifdef PAWL_ON_POSIX
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#ifdef PAWL_CHECKED
#include <sys/mman.h>
#endif
#include <unistd.h>
#if defined(__FreeBSD__) || defined(__OpenBSD__)
#include <pthread_np.h>
#endif
#if defined(__APPLE__) || defined(__sun)
#include <sys/random.h>
#endif
#if defined(__GLIBC__)
#include <link.h>
#endif

/*
 * How a condition variable waits by MONOTONIC: on macOS for a length of time, elsewhere by its clock, which is chosen
 * when it is made. PAWL_NO_SETCLOCK: the system has neither.
 */
#if defined(__APPLE__)
#define WAITS_FOR_A_LENGTH 1
#elif !defined(PAWL_NO_SETCLOCK)
#define WAITS_BY_MONOTONIC 1
#endif

void pawl__system_sleeper_init(struct sleeper *sleeper)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
#ifdef WAITS_BY_MONOTONIC
	pthread_condattr_setclock(&attributes, MONOTONIC);
#endif
	mutex_init(&sleeper->mutex);
	pthread_cond_init(&sleeper->woken.pthread, &attributes);
	pthread_condattr_destroy(&attributes);
	sleeper->wake = false;
	sleeper->event = -1;
}

/* On macOS a thread can only name itself. */
static void name_self(const char *name)
{
#if defined(__APPLE__)
	pthread_setname_np(name);
#elif defined(__FreeBSD__) || defined(__OpenBSD__)
	pthread_set_name_np(pthread_self(), name);
#elif defined(__linux__) || defined(__sun)
	pthread_setname_np(pthread_self(), name);
#elif defined(__NetBSD__)
	pthread_setname_np(pthread_self(), "%s", (void *)name);
#else
	(void)name;
#endif
}

static void *begin(void *arg)
{
	struct system_thread *thread = arg;

	name_self(thread->name);
	thread->run(thread->arg);
	return NULL;
}

#if defined(__GLIBC__)
static int add_thread_local(struct dl_phdr_info *object, size_t unused, void *sum)
{
	const ElfW(Phdr) *segment = object->dlpi_phdr, *end = segment + object->dlpi_phnum;

	(void)unused;
	for (; segment < end; segment++)
		if (segment->p_type == PT_TLS)
			*(size_t *)sum += segment->p_memsz + segment->p_align;
	return 0;
}
#endif

/* Bytes of a thread's stack that the program's thread-local variables take: with glibc all of them, else none. */
static size_t thread_local_size(void)
{
	size_t sum = 0;

#if defined(__GLIBC__)
	dl_iterate_phdr(add_thread_local, &sum);
#endif
	return sum;
}

/* 0, or an errno if the system allows no stack of this size. Some systems want whole pages. */
static int set_stack(pthread_attr_t *attributes, size_t stack_size)
{
	const size_t page = 65536; /* the largest of any system */

	if (!stack_size)
		return 0;
#ifdef PTHREAD_STACK_MIN /* 128 KiB on some CPUs */
	if (stack_size < (size_t)PTHREAD_STACK_MIN)
		stack_size = (size_t)PTHREAD_STACK_MIN;
#endif
	stack_size += thread_local_size();
	return pthread_attr_setstacksize(attributes, (stack_size + page - 1) / page * page);
}

int pawl__system_thread_start(struct system_thread *thread, const char *name, size_t stack_size,
                              void (*run)(void *arg), void *arg)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int error;

	thread->run = run;
	thread->arg = arg;
	thread->name = name;
	pthread_attr_init(&attributes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = set_stack(&attributes, stack_size);
	if (!error)
		error = pthread_create(&thread->pthread, &attributes, begin, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return error ? -EAGAIN : 0;
}

void pawl__system_thread_join(struct system_thread *thread)
{
	pthread_join(thread->pthread, NULL);
}

unsigned pawl__system_cpus(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1 ? 1 : (unsigned)cpus;
}

#ifdef PAWL_CHECKED
void *pawl__system_pages(size_t size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages != MAP_FAILED ? pages : NULL;
}
#endif

void *pawl__system_unset_lines(size_t size)
{
	size_t whole = (size + LINE - 1) / LINE * LINE;

	return aligned_alloc(LINE, whole);
}

void *pawl__system_lines(size_t size)
{
	void *memory = pawl__system_unset_lines(size);

	return memory ? memset(memory, 0, size) : NULL;
}

void pawl__system_free_lines(void *memory)
{
	free(memory);
}

unsigned pawl__system_process(void)
{
	return (unsigned)getpid();
}

int64_t pawl__system_read_file(const char *path, void *data, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t done = 0;
	ssize_t part = 1;
	int64_t result;

	if (fd < 0)
		return -errno;
	while (part != 0 && done < size) {
		part = read(fd, (char *)data + done, size - done);
		if (part < 0 && errno != EINTR)
			break;
		done += part > 0 ? (size_t)part : 0;
	}
	result = part < 0 ? -errno : (int64_t)done;
	close(fd);
	return result;
}

#ifndef PAWL_ON_LINUX

#define STEP    UINT64_C(1000000000) /* ns */
#define LONGEST (86400 * STEP)       /* a wait: so the end of a wait never overflows */

static void wait_by_condition(struct sleeper *sleeper, uint64_t length_ns)
{
#if defined(WAITS_FOR_A_LENGTH)
	const struct timespec length = timespec_of(length_ns);

	pthread_cond_timedwait_relative_np(&sleeper->woken.pthread, &sleeper->mutex.pthread,
	                                   &length);
#else
#if defined(WAITS_BY_MONOTONIC)
	const struct timespec end = timespec_of(system_now(MONOTONIC) + length_ns);
#else /* by the wall clock, which may be set: so only one step */
	const uint64_t step_ns = length_ns < STEP ? length_ns : STEP;
	const struct timespec end = timespec_of(system_now(CLOCK_REALTIME) + step_ns);
#endif

	pthread_cond_timedwait(&sleeper->woken.pthread, &sleeper->mutex.pthread, &end);
#endif
}

/* A wait stands still while the machine is suspended: so a clock that goes on is read after each step. */
void pawl__system_wait_for(struct sleeper *sleeper, int clock, uint64_t length_ns)
{
	const uint64_t most = clock == MONOTONIC ? LONGEST : STEP;

	wait_by_condition(sleeper, length_ns < most ? length_ns : most);
}

int pawl__system_random(void *bytes, size_t size)
{
#if defined(__NetBSD__) || defined(__OpenBSD__)
	arc4random_buf(bytes, size);
	return 0;
#else
	return getentropy(bytes, size) ? -errno : 0;
#endif
}
#endif
#endif
