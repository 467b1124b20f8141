/* SPDX-License-Identifier: MIT */
/*
 * The answers to the requests of pawl board's page.
 *
 *     POST /api     lines as in requests.h; {"write":…, "server":…, "database":…, "replies":[one a line]}
 *
 * All lines are read before the first is run: if one is wrong, or writes where writing is not allowed, none is run.
 *
 *     400  a line that is not understood     403  a line that writes, and the page only reads
 *     413  too many lines                    503  {"away": why}: the server does not answer
 */
#ifndef PAWL_CLI_BOARD_API_H
#define PAWL_CLI_BOARD_API_H

#include <event2/http.h>
#include <stdbool.h>

#include "server.h"

struct board {
	bool write;
	int database;
	char server_text[ADDRESS_TEXT + 16];
	struct server *server;
};

void board_answer(struct evhttp_request *http, void *board);

#endif
