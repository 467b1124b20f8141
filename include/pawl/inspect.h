/* SPDX-License-Identifier: MIT */
/*
 * pawl/inspect.h: a live view of a service.
 *
 * pawl_service_inspect makes a service publish snapshots of itself on a Unix socket. A snapshot says how many tasks
 * are pending and when they are due, which functions they call, how often each function ran and how long that took,
 * which tasks ran last and how late, and under which keys of its purgatories most operations wait. `pawl top SOCKET`
 * draws that in a terminal, and `pawl top --page SOCKET` in a browser.
 *
 *	#include <pawl/inspect.h>
 *	#include <stdio.h>
 *	#include <unistd.h>
 *
 *	int main(void)
 *	{
 *		struct pawl_service *service;
 *		char path[64];
 *
 *		if (pawl_service_open(&service, NULL) != 0)
 *			return 1;
 *		snprintf(path, sizeof(path), "/tmp/pawl-example-%d", (int)getpid());
 *		if (pawl_service_inspect(service, path) == 0)
 *			puts("to be looked at");                // pawl top /tmp/pawl-example-4711
 *		pawl_service_close(service, NULL);              // the socket is gone
 *	}
 *
 * Access: only the user that the process runs as, and root, may connect; the socket's mode is 0600. A viewer cannot
 * change anything.
 *
 * Cost: a thread that sleeps until a viewer asks. While a viewer is connected, each worker records its runs, but only
 * one in 32 of many short runs in a row. A snapshot holds a shard's lock for about 256 tasks at a time. It counts up to
 * 16,384 pending tasks. With more, it estimates from a random sample of that size, and says how far the estimate may be
 * off; the first such snapshot walks all tasks to draw the sample.
 *
 * The protocol: for each line that a viewer sends, whatever its content, it receives one JSON object on one line.
 * pawl_inspect(3) describes its members.
 */
#ifndef PAWL_INSPECT_H
#define PAWL_INSPECT_H

#include <pawl/service.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Serve the live view of the service on a Unix socket at `path`. It ends with stop, with close, or with a call in
 * which `path` is NULL, which always returns 0. Then the socket's file is removed. At most 8 viewers may be connected
 * at a time.
 *
 * 0              the socket is open.
 * -EBUSY         the service is inspected already, at this path or another one.
 * -EADDRINUSE    another process, or another service of this process, listens at the path. (The socket of a process
 *                that has ended is replaced.)
 * -EEXIST        there is a file at the path that is not a socket. Such a file is never removed.
 * -ENAMETOOLONG  the path is longer than a Unix socket's may be: 107 bytes on Linux, 103 on other systems.
 * -ECANCELED     the service was stopped.
 * -ENOTSUP       the system has no Unix sockets for this: Windows.
 * -ENOMEM, -EAGAIN   no memory, or no more threads.
 * Other errors, such as -EACCES and -ENOENT, are the system's about the path. After an error nothing has changed, and
 * nothing is left behind.
 */
PAWL_API int pawl_service_inspect(struct pawl_service *service, const char *path);

#ifdef __cplusplus
}
#endif

#endif
