/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "serve.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../http/site.h"
#include "../text/arguments.h"
#include "../wait/wait.h"
#include "program.h"

/* No other request is answered while the program is asked, so the wait is shorter than in a terminal. */
enum { ANSWER_SECONDS = 2, FRESH_MS = 900 };

struct view {
	struct program program;
	bool connected;
	char *json; /* the last snapshot; NULL: none */
	size_t size;
	uint64_t taken_ms;
	uint64_t hung_ms; /* when the program last let the time for an answer pass; 0: never */
};

static void disconnect(void *arg)
{
	struct view *view = arg;

	if (view->connected)
		program_disconnect(&view->program);
	view->connected = false;
}

/* False: program.wrong says why. */
static bool keep_json(struct view *view, const struct snapshot *snapshot)
{
	struct program *program = &view->program;
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (to) {
		program_write_json(&view->program, snapshot, to);
		if (fclose(to) == 0) {
			free(view->json);
			view->json = text;
			view->size = size;
			view->taken_ms = clock_ms();
			return true;
		}
		free(text);
	}
	snprintf(program->wrong, sizeof(program->wrong), "no memory for a snapshot");
	return false;
}

static bool ask_once(struct view *view)
{
	struct snapshot *snapshot;
	bool kept;

	if (!view->connected) {
		view->connected = true; /* a failed connection must also be closed */
		if (!program_connect(&view->program, ANSWER_SECONDS))
			return false;
	}
	snapshot = program_ask(&view->program);
	kept = snapshot && keep_json(view, snapshot);
	free(snapshot);
	return kept;
}

static bool ask_noting_time(struct view *view)
{
	uint64_t began_ms = clock_ms();
	bool fine = ask_once(view);

	view->hung_ms = 0;
	if (!fine && clock_ms() - began_ms >= ANSWER_SECONDS * 1000)
		view->hung_ms = clock_ms();
	return fine;
}

/* If the program was started again, the old connection is closed. So a second try has a new one. */
static bool take_snapshot(struct view *view)
{
	bool was_connected = view->connected;

	if (ask_noting_time(view))
		return true;
	disconnect(view);
	if (was_connected && !view->hung_ms && ask_noting_time(view))
		return true;
	disconnect(view);
	return false;
}

/* Each page would wait for a program that hangs, one after the other, and so would the page's files. */
static bool hangs(const struct view *view)
{
	return view->hung_ms && clock_ms() - view->hung_ms < FRESH_MS;
}

static void answer_snapshot(struct evhttp_request *http, void *arg)
{
	struct view *view = arg;
	bool fresh = view->json && clock_ms() - view->taken_ms < FRESH_MS;
	struct evbuffer *body;
	char taken[32];

	if (!fresh && (hangs(view) || !take_snapshot(view))) {
		site_tell(http, HTTP_SERVUNAVAIL, "away", view->program.wrong);
		return;
	}
	body = evbuffer_new();
	if (!body || evbuffer_add(body, view->json, view->size) != 0) {
		site_refuse(http, HTTP_INTERNAL, "out of memory");
	} else {
		snprintf(taken, sizeof(taken), "%" PRIu64, view->taken_ms);
		evhttp_add_header(evhttp_request_get_output_headers(http), "X-Pawl-Taken", taken);
		site_answer(http, HTTP_OK, "application/json", body);
	}
	if (body)
		evbuffer_free(body);
}

static void show_address(const struct site *site)
{
	struct view *view = site->arg;
	char url[URL_TEXT];

	site_url(site, url);
	printf("pawl top: %s shows %s\n", url, view->program.path);
	fflush(stdout);
	if (!take_snapshot(view))
		complain("top: %s; the page waits for it", view->program.wrong);
	disconnect(view);
}

int serve_page(const char *path, const struct site_options *options)
{
	struct view view = {.program.path = path};
	struct site site = {.command = "top",
	                    .page = &top_page,
	                    .path = "/snapshot.json",
	                    .method = EVHTTP_REQ_GET,
	                    .answer = answer_snapshot,
	                    .idle = disconnect,
	                    .arg = &view};
	int code;

	if (!program_fits(&view.program)) {
		complain("top: %s", view.program.wrong);
		return EXIT_USAGE;
	}
	if (!site_prepare(&site, options, "127.0.0.1:8380", "PAWL_TOP_TOKEN"))
		return EXIT_USAGE;
	code = site_serve(&site, show_address);
	disconnect(&view);
	free(view.json);
	return code;
}
