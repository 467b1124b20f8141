/* SPDX-License-Identifier: MIT */
/*
 * All that differs between systems. Nothing else in the library includes a header of a system or asks which one it is.
 *
 *	posix.h    types and inlined calls       posix.c     the rest, for any POSIX system
 *	                                         linux.c     the parts of Linux beyond that
 *	                                         serve.c     a server on a Unix socket
 *	windows.h  types and inlined calls       windows.c   the rest
 *	                                         portable.c  the code that posix.c and windows.c share
 *
 * Each file is empty on the systems that it is not for, so a build compiles all of them. With PAWL_POSIX linux.c is
 * empty even on Linux, and posix.c and portable.c do its work: so they can be tested there (cmake -DPAWL_SYSTEM=posix).
 *
 * posix.h and windows.h define:
 *
 *	struct mutex, struct condition, struct system_thread, struct sleeper
 *	mutex_init, mutex_destroy, mutex_lock, mutex_unlock
 *	condition_init, condition_destroy, condition_wait, condition_signal, condition_broadcast
 *	MONOTONIC, BOOTTIME     clocks: pawl/clock.h says which of them stands still while the machine is suspended
 *	WALL                    the wall clock: since 1970, UTC
 *	system_now(clock)       nanoseconds
 *	yield_cpu()             let another thread have the CPU
 *	nap(ns)                 sleep for about this time, on some systems for longer
 */
#ifndef PAWL_SYSTEM_H
#define PAWL_SYSTEM_H

#include "posix.h"
#include "windows.h"

/*
 * A sleeper: one thread that sleeps until a time of a clock (UINT64_MAX: forever) or until a wake. A wake since the
 * last sleep ends the next one at once. A sleep may end for no reason. There is nothing to close.
 */
void pawl__system_sleeper_init(struct sleeper *sleeper);
void pawl__system_sleep(struct sleeper *sleeper, int clock, uint64_t until_ns);
void pawl__system_wake(struct sleeper *sleeper);

/* For portable.c, under the sleeper's mutex: wait for a wake, at most this long. It may return for no reason. */
void pawl__system_wait_for(struct sleeper *sleeper, int clock, uint64_t length_ns);

/*
 * A descriptor that becomes readable at a time of a clock (UINT64_MAX: never), until it is set again. Open returns the
 * descriptor or -errno: -ENOTSUP on all systems but Linux.
 */
int pawl__system_timer_open(int clock);
void pawl__system_timer_set(int timer, uint64_t at_ns);
void pawl__system_timer_close(int timer);

/* Let the calling thread sleep at most this much longer than asked, if the system has such a setting. */
void pawl__system_limit_slack(uint64_t slack_ns);

/*
 * Start a thread with all signals blocked: signals are for the program's own threads. The struct and the name must stay
 * valid until the thread is joined. The stack has room for thread-local variables beyond `stack_size`. 0 bytes mean the
 * system's default. Returns 0; or -EAGAIN, whatever the reason: the system starts no such thread.
 */
int pawl__system_thread_start(struct system_thread *thread, const char *name, size_t stack_size,
                              void (*run)(void *arg), void *arg);
void pawl__system_thread_join(struct system_thread *thread);

unsigned pawl__system_cpus(void); /* at least 1 */

/* Fill `bytes` with random bytes that cannot be predicted, at most 256. 0 or -errno. */
int pawl__system_random(void *bytes, size_t size);

/* Zeroed memory in cache lines of its own; the size is rounded up to whole LINEs. NULL: no memory. */
#define LINE 128u /* bytes: at this distance two things do not share a cache line */
void *pawl__system_lines(size_t size);
void *pawl__system_unset_lines(size_t size); /* not zeroed */
void pawl__system_free_lines(void *memory);  /* NULL is allowed */

#ifdef PAWL_CHECKED
void *
pawl__system_pages(size_t size); /* zeroed, not from malloc, kept until the end; NULL: no memory */
#endif

/* Read the first `size` bytes of a file: how many were read, or -errno. It does not wait for a pipe or a device. */
int64_t pawl__system_read_file(const char *path, void *data, size_t size);

unsigned pawl__system_process(void); /* the number of this process */

/*
 * A server on a Unix socket that only this user may connect to, with a thread of its own, and at most 8 clients at a
 * time. It answers each line of a client, whatever the line says. Close ends the thread and removes the file.
 *
 * 0              it serves; the socket of a process that ended was replaced
 * -EADDRINUSE    another server listens there
 * -EEXIST        the file is not a socket
 * -ENAMETOOLONG  the path is too long for a Unix socket
 * -ENOTSUP       the system has no such sockets
 * -errno         another error of the system
 */
struct local_server;
struct local_handler {
	const char *name;                             /* of the thread */
	char *(*answer)(void *arg, size_t *size);     /* malloc'ed; NULL: close the connection */
	void (*clients)(void *arg, unsigned clients); /* their number has changed */
	void *arg;
};
int pawl__system_serve_open(struct local_server **server, const char *path,
                            const struct local_handler *handler);
void pawl__system_serve_close(struct local_server *server);

#endif
