/* SPDX-License-Identifier: MIT */
/*
 * pawl/inspect.h: a live view of a service.
 *
 * A service that is inspected serves what goes on in it on a Unix socket: how many tasks are pending and when they fall due,
 * which functions they have, how often each ran and how long that took, the latest runs, how late they are, and the keys of
 * its purgatories with most waiting. `pawl top SOCKET` draws that in a terminal.
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
 * Who may look: the user that the process runs as, and root; the socket's mode is 0600. A viewer can change nothing.
 *
 * What it costs: a thread that sleeps until somebody asks. While a viewer is connected, each run is noted by its worker,
 * and a snapshot takes each shard's lock for some 256 tasks at a time. It looks at some thousand tasks, however many are
 * pending: where they are more than 2,048, a snapshot is an estimate, and says so.
 *
 * The protocol: for each line that a viewer writes, whatever it says, it gets one JSON object on a line. What is in it is in
 * pawl_inspect(3).
 */
#ifndef PAWL_INSPECT_H
#define PAWL_INSPECT_H

#include <pawl/service.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Serve the live view of the service on a Unix socket at `path`, until stop, close, or a call with NULL in place of the path,
 * which always returns 0. The file is removed then. At most 8 viewers at a time.
 *
 * 0              it is served.
 * -EBUSY         the service is inspected already, at this path or another one.
 * -EADDRINUSE    another process, or another service of this one, serves at the path. (The socket of a process that is gone
 *                is replaced.)
 * -EEXIST        there is a file at the path that is no socket. It is never removed.
 * -ENAMETOOLONG  the path is longer than a Unix socket's may be: 107 bytes on Linux, 103 on other systems.
 * -ESHUTDOWN     the service was stopped.
 * -ENOTSUP       the system has no Unix sockets for this: Windows.
 * -ENOMEM, -EAGAIN   no memory, or no more threads. Others, such as -EACCES and -ENOENT: what the system says about the path.
 * After an error nothing has changed, and nothing is left behind.
 */
PAWL_API int pawl_service_inspect(struct pawl_service *service, const char *path);

#ifdef __cplusplus
}
#endif

#endif
