/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "api.h"

#include <event2/buffer.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../http/site.h"
#include "requests.h"

enum { LINES_MAX = 4096, REPLY_MAX = 1 << 24 };

struct batch {
	struct request *requests;
	size_t count;
	int code; /* the status, if it is refused */
	char wrong[256];
};

static bool add_line(struct batch *batch, const struct board *board, char *line, size_t size)
{
	struct request *request = &batch->requests[batch->count++];
	char why[200];

	batch->code = HTTP_BADREQUEST;
	if (request_read(request, line, size, why, sizeof(why))) {
		snprintf(batch->wrong, sizeof(batch->wrong), "line %zu: %s", batch->count, why);
		return false;
	}
	if (request->kind->write && !board->write) {
		batch->code = 403;
		snprintf(batch->wrong, sizeof(batch->wrong),
		         "line %zu: '%s' writes, and this page only reads; start it with --write",
		         batch->count, request->kind->name);
		return false;
	}
	return true;
}

static bool read_batch(struct batch *batch, const struct board *board, char *text, size_t size)
{
	char *end = text + size;

	while (text < end) {
		char *newline = memchr(text, '\n', (size_t)(end - text));
		char *stop = newline ? newline : end;

		if (batch->count == LINES_MAX) {
			batch->code = 413;
			snprintf(batch->wrong, sizeof(batch->wrong), "more than %d lines",
			         LINES_MAX);
			return false;
		}
		if (!add_line(batch, board, text, (size_t)(stop - text)))
			return false;
		text = stop + 1;
	}
	return true;
}

static void begin_answer(struct evbuffer *body, const struct board *board)
{
	evbuffer_add_printf(body, "{\"write\":%s,\"database\":%d,\"server\":",
	                    board->write ? "true" : "false", board->database);
	json_string(body, board->server_text, strlen(board->server_text));
}

/* Keys, ids and payloads are bytes, as json_string() writes them; the page makes text of them. */
static void json_bytes(struct evbuffer *to, const char *bytes, size_t size, size_t longest)
{
	if (size <= longest) {
		json_string(to, bytes, size);
		return;
	}
	evbuffer_add_printf(to, "{\"cut\":");
	json_string(to, bytes, longest);
	evbuffer_add_printf(to, ",\"size\":%zu}", size);
}

static void json_reply(struct evbuffer *to, const redisReply *reply, size_t longest);

/* The server decides how deep a reply is nested; hiredis allows nine levels at most. */
static void json_list(struct evbuffer *to, const redisReply *reply, size_t longest)
{
	evbuffer_add(to, "[", 1);
	for (size_t i = 0; i < reply->elements; i++) {
		if (i > 0)
			evbuffer_add(to, ",", 1);
		json_reply(to, reply->element[i], longest);
	}
	evbuffer_add(to, "]", 1);
}

/*
 * Strings as strings, integers as numbers, nil as null, lists as lists, an error as {"error": text}. A string of more than
 * `longest` bytes is cut: {"cut": its first bytes, "size": of all}.
 */
static void json_reply(struct evbuffer *to, const redisReply *reply, size_t longest)
{
	switch (reply->type) {
	case REDIS_REPLY_INTEGER:
		evbuffer_add_printf(to, "%lld", reply->integer);
		break;
	case REDIS_REPLY_ARRAY:
		json_list(to, reply, longest);
		break;
	case REDIS_REPLY_STRING:
	case REDIS_REPLY_STATUS:
		json_bytes(to, reply->str, (size_t)reply->len, longest);
		break;
	case REDIS_REPLY_ERROR:
		evbuffer_add_printf(to, "{\"error\":");
		json_string(to, reply->str, (size_t)reply->len);
		evbuffer_add(to, "}", 1);
		break;
	default:
		evbuffer_add_printf(to, "null");
	}
}

/* Send all requests, then read all replies: one round trip. */
static bool run_batch(const struct batch *batch, struct server *server, struct evbuffer *body)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct request *request = &batch->requests[i];

		if (!server_send(server, request->argc, request->argv, request->sizes))
			return false;
	}
	evbuffer_add_printf(body, ",\"replies\":[");
	for (size_t i = 0; i < batch->count; i++) {
		redisReply *reply = server_reply(server);

		if (!reply)
			return false;
		evbuffer_add_printf(body, "%s", i > 0 ? "," : "");
		if (evbuffer_get_length(body) < REPLY_MAX)
			json_reply(body, reply, batch->requests[i].kind->longest);
		else
			evbuffer_add_printf(body, "{\"error\":\"too much was asked for at once\"}");
		freeReplyObject(reply);
	}
	evbuffer_add_printf(body, "]}\n");
	return true;
}

static bool only_reads(const struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->requests[i].kind->write)
			return false;
	return true;
}

static void restart_answer(struct evbuffer *body, const struct board *board)
{
	evbuffer_drain(body, evbuffer_get_length(body));
	begin_answer(body, board);
}

/*
 * A server closes connections that were idle for long, and a restart closes all. So a batch that only reads is sent once more
 * on a new connection. One that writes is not: it may have been done already.
 */
static bool try_batch(const struct batch *batch, struct board *board, struct evbuffer *body)
{
	restart_answer(body, board);
	server_begin(board->server);
	if (server_ready(board->server) && run_batch(batch, board->server, body))
		return true;
	restart_answer(body, board);
	return server_closed(board->server) && only_reads(batch) && server_ready(board->server) &&
	       run_batch(batch, board->server, body);
}

static void answer_batch(struct evhttp_request *http, const struct batch *batch,
                         struct board *board, struct evbuffer *body)
{
	int code = HTTP_OK;

	if (!try_batch(batch, board, body)) {
		const char *why = server_wrong(board->server);

		restart_answer(body, board);
		evbuffer_add_printf(body, ",\"away\":");
		json_string(body, why, strlen(why));
		evbuffer_add_printf(body, "}\n");
		code = HTTP_SERVUNAVAIL;
	}
	site_answer(http, code, "application/json", body);
}

void board_answer(struct evhttp_request *http, void *arg)
{
	struct board *board = arg;
	struct evbuffer *in = evhttp_request_get_input_buffer(http), *body = evbuffer_new();
	struct batch batch = {.requests = calloc(LINES_MAX, sizeof(*batch.requests))};
	size_t size = evbuffer_get_length(in);
	char *text = size > 0 ? (char *)evbuffer_pullup(in, -1) : NULL;

	if (!body || !batch.requests || (size > 0 && !text))
		site_refuse(http, HTTP_INTERNAL, "out of memory");
	else if (!read_batch(&batch, board, text, size))
		site_refuse(http, batch.code, batch.wrong);
	else
		answer_batch(http, &batch, board, body);
	free(batch.requests);
	if (body)
		evbuffer_free(body);
}
