/* SPDX-License-Identifier: MIT */
/*
 * Signals through a descriptor. Handlers count, and write a byte to a pipe. No signal is blocked, so that a write that
 * hangs is also interrupted.
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
