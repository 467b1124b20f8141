/* SPDX-License-Identifier: MIT */
/*
 * What differs between systems, and all that does: nothing else in the library includes a header of a system or asks
 * which one it is.
 *
 *	posix.h    types and inlined calls       posix.c    the rest, for any POSIX system
 *	                                         linux.c    what Linux does better: sleeping, descriptors, random bytes, slack
 *	                                         serve.c    a server on a Unix socket
 *	windows.h  types and inlined calls       windows.c  the rest
 *
 * Each of these files is empty on the systems that it is not for, so a build compiles all of them. With PAWL_POSIX
 * linux.c is empty on Linux, too, and posix.c does its work: so it can be tested there (cmake -DPAWL_SYSTEM=posix).
 *
 * posix.h and windows.h define these, with what they mean below:
 *
 *	struct mutex, struct condition, struct system_thread, struct sleeper
 *	mutex_init, mutex_destroy, mutex_lock, mutex_unlock
 *	condition_init, condition_destroy, condition_wait, condition_signal, condition_broadcast
 *	MONOTONIC, BOOTTIME     clocks: which of them stands still while the machine is suspended is in pawl/clock.h
 *	WALL                    the wall clock, which people set: since 1970, UTC
 *	system_now(clock)       nanoseconds
 *	yield_cpu()             let another thread have the CPU
 *	nap(ns)                 sleep for about so long, on some systems for longer
 */
#ifndef PAWL_SYSTEM_H
#define PAWL_SYSTEM_H

#include "posix.h"
#include "windows.h"

/*
 * A sleeper: one thread that sleeps until a time of a clock (UINT64_MAX: for ever) or until a wake. A wake that came
 * before, since the last sleep, ends the sleep at once. A sleep may end for no reason. There is nothing to close.
 */
void pawl__system_sleeper_init(struct sleeper *sleeper);
void pawl__system_sleep(struct sleeper *sleeper, int clock, uint64_t until_ns);
void pawl__system_wake(struct sleeper *sleeper);

/*
 * A descriptor that is readable from a time of a clock on (UINT64_MAX: never), until it is set anew. The descriptor, or
 * -errno: -ENOTSUP where the system has no such thing, which is everywhere but on Linux.
 */
int pawl__system_timer_open(int clock);
void pawl__system_timer_set(int timer, uint64_t at_ns);
void pawl__system_timer_close(int timer);

/* Let the calling thread sleep at most so much longer than asked, where a system has that. */
void pawl__system_limit_slack(uint64_t slack_ns);

/*
 * Start a thread with all signals blocked: they are the program's own affair. The struct and the name stay in place until
 * the thread has been joined. A stack of 0 bytes is the system's default, but no less than LEAST_DEFAULT_STACK: with
 * musl it would be 128 KiB, and half of that is one struct pawl_stats. 0 or -errno.
 */
#define LEAST_DEFAULT_STACK ((size_t)1 << 20)
int pawl__system_thread_start(struct system_thread *thread, const char *name, size_t stack_size,
                              void (*run)(void *arg), void *arg);
void pawl__system_thread_join(struct system_thread *thread);

unsigned pawl__system_cpus(void); /* at least 1 */

/* Fill it with random bytes, at most 256, that nobody can guess. 0 or -errno. */
int pawl__system_random(void *bytes, size_t size);

/* Zeroes, apart by so many bytes from all else; the size is rounded up to that. NULL: no memory. */
#define LINE 128u /* apart by so many bytes, two things do not share a cache line */
void *pawl__system_lines(size_t size);
void pawl__system_free_lines(void *memory); /* NULL is allowed */

/* The first `size` bytes of a file, or all, if it has fewer: how many, or -errno. A pipe or a device is not waited for. */
int64_t pawl__system_read_file(const char *path, void *data, size_t size);

unsigned pawl__system_process(void); /* the number of this process */

/*
 * A server on a Unix socket that only this user may connect to, with a thread of its own, and at most 8 clients at a time.
 * Each line from a client, whatever it says, is answered. Close ends the thread and removes the file.
 *
 * 0, or -errno: -EADDRINUSE a process serves there, -EEXIST a file that is no socket is there, -ENAMETOOLONG, and what the
 * system says; -ENOTSUP where there are no such sockets. A socket whose process is gone is replaced.
 */
struct local_server;
struct local_handler {
	const char *name;                             /* of the thread */
	char *(*answer)(void *arg, size_t *size);     /* malloc'ed; NULL: close the connection */
	void (*clients)(void *arg, unsigned clients); /* there are so many now */
	void *arg;
};
int pawl__system_serve_open(struct local_server **server, const char *path,
                            const struct local_handler *handler);
void pawl__system_serve_close(struct local_server *server);

#endif
