/* SPDX-License-Identifier: MIT */
/*
 * pawl top --page: a page that shows the program, and its snapshots.
 *
 *     GET /snapshot.json     the last snapshot as pawl top --json has it. X-Pawl-Taken: when it was taken, in ms of this
 *                            command's clock
 *     503                    {"away": why}: the program does not answer
 *
 * A page asks once a second, and a snapshot answers all requests for about a second. So the program is asked once a
 * second, however many pages there are. When the last page stops asking, the connection is closed: then it costs the
 * program nothing.
 */
#ifndef PAWL_CLI_TOP_SERVE_H
#define PAWL_CLI_TOP_SERVE_H

#include "../http/page.h"

/* Serve until SIGINT or SIGTERM. Returns the exit code. */
int serve_page(const char *path, const struct site_options *options);

#endif
