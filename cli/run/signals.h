/* SPDX-License-Identifier: MIT */
/*
 * Signals as something that poll can wait for. Handlers count, and write a byte to a pipe; nothing is blocked, so
 * that a write that hangs is interrupted too.
 */
#ifndef PAWL_CLI_SIGNALS_H
#define PAWL_CLI_SIGNALS_H

#include <stdbool.h>

/* From now on: SIGINT, SIGTERM, SIGUSR1 and SIGCHLD are counted, SIGPIPE is ignored. 0 or -errno. */
int signals_open(void);

int signals_fd(void); /* readable when a signal has come */

/* Empty the pipe: before the questions below. */
void signals_read(void);

int signals_interrupts(void); /* how often SIGINT or SIGTERM has come */
int signals_last(void);       /* which of them came last */
bool signals_asked(void);     /* whether SIGUSR1 has come since this was asked */

#endif
