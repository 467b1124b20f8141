/* SPDX-License-Identifier: MIT */
/*
 * A page over HTTP, and one path at which the page asks for data.
 *
 *     GET  /, /main.js, …     the files of the page
 *     the site's path         what site->answer sends, for requests that may ask
 *
 * Which requests are answered. All: the Host is ours, so a name that an attacker points at 127.0.0.1 (DNS rebinding) is
 * of no use. For the path: the Origin and Sec-Fetch-Site, if the browser sent them, are those of this page; the request has
 * site->header, which a page of another site cannot send; and it has the token, if there is one.
 *
 *     401  no token, or a wrong one     403  not from this page     404  no such file     405  another method
 */
#ifndef PAWL_CLI_HTTP_SITE_H
#define PAWL_CLI_HTTP_SITE_H

#include <event2/http.h>
#include <stdbool.h>

#include "../text/address.h"
#include "page.h"

enum { TOKEN_MAX = 255, URL_TEXT = ADDRESS_TEXT + TOKEN_MAX + 32 };

struct site {
	const char *command; /* "board": each complaint begins with it */
	const struct page *page;
	const char *path;
	enum evhttp_cmd_type method;
	const char *header; /* NULL: none is asked for */
	void (*answer)(struct evhttp_request *http, void *arg);
	void (*idle)(
	        void *arg); /* NULL, or called when nothing was asked for at the path for IDLE_SECONDS */
	void *arg;

	/* Set by site_prepare(): */
	struct listen_address listen;
	const char *
	        origin; /* NULL, or the address of the page behind a proxy: https://board.example.org */
	char token[TOKEN_MAX + 1]; /* empty: none is asked for */
	bool token_made;           /* at random, so it is printed */
	struct event *idle_timer;
};

enum { IDLE_SECONDS = 3 };

/*
 * Read the options. A token is needed, and made if none is given, unless only this machine can reach the page. `variable` is
 * the environment's for a token. False: stderr says why.
 */
bool site_prepare(struct site *site, const struct site_options *options, const char *listen,
                  const char *variable);

/* Serve until SIGINT or SIGTERM; `ready` is called once it listens. Returns the exit code. */
int site_serve(struct site *site, void (*ready)(const struct site *site));

/* An address that a browser can open, with the token if it was made. */
void site_url(const struct site *site, char url[URL_TEXT]);

/* Write a JSON string of bytes that need not be text: each byte becomes a character, U+0000 to U+00FF. The result is ASCII. */
void json_string(struct evbuffer *to, const char *bytes, size_t size);

void site_answer(struct evhttp_request *http, int code, const char *type, struct evbuffer *body);

/* {name: text}; and {"wrong": why} */
void site_tell(struct evhttp_request *http, int code, const char *name, const char *text);
void site_refuse(struct evhttp_request *http, int code, const char *why);

#endif
