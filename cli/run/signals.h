/* SPDX-License-Identifier: MIT */
/*
 * Signals through a descriptor. Handlers count, and write a byte to a pipe. SIGINT and SIGTERM also interrupt a write that
 * hangs. The others do not: stdio would lose the rest of a message to standard error.
 */
#ifndef PAWL_CLI_SIGNALS_H
#define PAWL_CLI_SIGNALS_H

#include <stdbool.h>

/* Start counting SIGINT, SIGTERM, SIGUSR1 and SIGCHLD, and ignore SIGPIPE. 0 or -errno. */
int signals_open(void);

int signals_fd(void); /* readable when a signal has come */

/* Empty the pipe. Call it before the functions below. */
void signals_read(void);

int signals_interrupts(void); /* how often SIGINT or SIGTERM has come */
int signals_last(void);       /* which of them came last */
bool signals_asked(void);     /* whether SIGUSR1 has come since the last call */

#endif
