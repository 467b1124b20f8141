/* SPDX-License-Identifier: MIT */
/*
 * The page and its requests over HTTP.
 *
 *     GET  /, /main.js, …     the files of page/
 *     POST /api               lines as in requests.h; {"write":…, "server":…, "database":…, "replies":[one a line]}
 *
 * Who may ask. Every request: its Host is ours, so that a name that an attacker points at 127.0.0.1 (DNS rebinding) is
 * of no use. POST: its Origin, if there is one, is ours; it has the header X-Pawl-Board, which a page from elsewhere cannot
 * send without asking first, and it is told no; and the token, if there is one. All lines of a POST are read before the
 * first is run: a wrong one, or one that writes where writing is not allowed, and none is.
 *
 *     400  a line that is not understood     401  no token, or a wrong one     403  not from here, or read-only
 *     503  {"away": why}: the server does not answer
 */
#ifndef PAWL_CLI_BOARD_HTTP_H
#define PAWL_CLI_BOARD_HTTP_H

#include <stdbool.h>

#include "address.h"
#include "server.h"

struct board {
	struct listen_address listen;
	const char *token; /* NULL: none is asked for */
	bool token_made;   /* here, at random: nobody knows it yet */
	const char *
	        origin; /* NULL, or as which browsers know it behind a proxy: https://board.example.org */
	bool write;
	int database;
	char server_text[ADDRESS_TEXT + 16];
	struct server *server;
};

/* Serve until SIGINT or SIGTERM; `ready` is called once it listens, with the port. Returns the exit code. */
int http_serve(struct board *board, void (*ready)(const struct board *board));

#endif
