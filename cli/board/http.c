/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../text/arguments.h"
#include "json.h"
#include "page.h"
#include "requests.h"

enum { BODY_MAX = 1 << 20, HEADERS_MAX = 1 << 14, LINES_MAX = 4096, REPLY_MAX = 1 << 24 };

static const char *header(struct evhttp_request *http, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(http), name);
}

static void answer(struct evhttp_request *http, int code, const char *type, struct evbuffer *body)
{
	static const char *const headers[][2] = {
	        {"Cache-Control", "no-store"},
	        {"Content-Security-Policy",
	         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
	         "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
	         "require-trusted-types-for 'script'"},
	        {"Cross-Origin-Opener-Policy", "same-origin"},
	        {"Cross-Origin-Resource-Policy", "same-origin"},
	        {"Referrer-Policy", "no-referrer"},
	        {"X-Content-Type-Options", "nosniff"},
	};
	struct evkeyvalq *out = evhttp_request_get_output_headers(http);

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		evhttp_add_header(out, headers[i][0], headers[i][1]);
	evhttp_add_header(out, "Content-Type", type);
	evhttp_send_reply(http, code, NULL, body);
}

static void refuse(struct evhttp_request *http, int code, const char *why)
{
	struct evbuffer *body = evbuffer_new();

	if (body) {
		evbuffer_add_printf(body, "{\"wrong\":");
		json_string(body, why, strlen(why));
		evbuffer_add_printf(body, "}\n");
	}
	answer(http, code, "application/json", body);
	if (body)
		evbuffer_free(body);
}

/* "https://board.example.org" without what stands before the host. */
static const char *without_scheme(const char *origin)
{
	const char *host = strstr(origin, "://");

	return host ? host + 3 : origin;
}

/*
 * On loopback only the names of loopback. On other addresses the names that lead there are not known; there a token is
 * asked for, which a page of another name has not got.
 */
static bool host_is_ours(const struct board *board, const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "::1"};
	char text[ADDRESS_TEXT + 16];

	if (!host)
		return false;
	if (!board->listen.loopback ||
	    (board->origin && strcasecmp(host, without_scheme(board->origin)) == 0))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		host_port_text(names[i], board->listen.port, text, sizeof(text));
		if (strcasecmp(host, text) == 0)
			return true;
	}
	host_port_text(board->listen.host, board->listen.port, text, sizeof(text));
	return strcasecmp(host, text) == 0;
}

/* A browser sends it with every POST, and no page can choose it. */
static bool origin_is_ours(const struct board *board, const char *origin, const char *host)
{
	if (!origin || (board->origin && strcasecmp(origin, board->origin) == 0))
		return true;
	return strncasecmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0;
}

/* In a time that does not tell how much of it was right. */
static bool token_is_ours(const struct board *board, const char *authorization)
{
	size_t size = board->token ? strlen(board->token) : 0;
	unsigned char differ = 0;

	if (!board->token)
		return true;
	if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0 ||
	    strlen(authorization + 7) != size)
		return false;
	for (size_t i = 0; i < size; i++)
		differ |= (unsigned char)(authorization[7 + i] ^ board->token[i]);
	return differ == 0;
}

static void serve_file(struct evhttp_request *http, const struct page_file *file)
{
	struct evbuffer *body = evbuffer_new();

	if (body)
		evbuffer_add_reference(body, file->bytes, file->size, NULL, NULL);
	answer(http, HTTP_OK, file->type, body);
	if (body)
		evbuffer_free(body);
}

struct batch {
	struct request *requests;
	size_t count;
	int code; /* of the refusal */
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

/* All are sent, and then all replies are read: one round trip. */
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

static void begin_anew(struct evbuffer *body, const struct board *board)
{
	evbuffer_drain(body, evbuffer_get_length(body));
	begin_answer(body, board);
}

/*
 * A server closes connections that were idle for long, and those from before a restart are closed too. So what only reads is
 * asked once more on a fresh one; what writes may have been done already.
 */
static bool try_batch(const struct batch *batch, struct board *board, struct evbuffer *body)
{
	begin_anew(body, board);
	if (server_ready(board->server) && run_batch(batch, board->server, body))
		return true;
	begin_anew(body, board);
	return server_closed(board->server) && only_reads(batch) && server_ready(board->server) &&
	       run_batch(batch, board->server, body);
}

static void answer_batch(struct evhttp_request *http, const struct batch *batch,
                         struct board *board, struct evbuffer *body)
{
	int code = HTTP_OK;

	if (!try_batch(batch, board, body)) {
		const char *why = server_wrong(board->server);

		begin_anew(body, board);
		evbuffer_add_printf(body, ",\"away\":");
		json_string(body, why, strlen(why));
		evbuffer_add_printf(body, "}\n");
		code = HTTP_SERVUNAVAIL;
	}
	answer(http, code, "application/json", body);
}

static void serve_api(struct evhttp_request *http, struct board *board)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(http), *body = evbuffer_new();
	struct batch batch = {.requests = calloc(LINES_MAX, sizeof(*batch.requests))};
	size_t size = evbuffer_get_length(in);
	char *text = size > 0 ? (char *)evbuffer_pullup(in, -1) : NULL;

	if (!body || !batch.requests || (size > 0 && !text))
		refuse(http, HTTP_INTERNAL, "out of memory");
	else if (!read_batch(&batch, board, text, size))
		refuse(http, batch.code, batch.wrong);
	else
		answer_batch(http, &batch, board, body);
	free(batch.requests);
	if (body)
		evbuffer_free(body);
}

static void handle_api(struct evhttp_request *http, struct board *board)
{
	if (evhttp_request_get_command(http) != EVHTTP_REQ_POST)
		refuse(http, HTTP_BADMETHOD, "/api takes POST");
	else if (!origin_is_ours(board, header(http, "Origin"), header(http, "Host")))
		refuse(http, 403, "the Origin is not this page's; see --origin in pawl(1)");
	else if (!header(http, "X-Pawl-Board"))
		refuse(http, 403, "the header X-Pawl-Board is missing");
	else if (!token_is_ours(board, header(http, "Authorization")))
		refuse(http, 401, "the token is missing or wrong");
	else
		serve_api(http, board);
}

static void handle(struct evhttp_request *http, void *arg)
{
	struct board *board = arg;
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(http));

	if (!host_is_ours(board, header(http, "Host"))) {
		refuse(http, 403, "the Host is not this page's; see --origin in pawl(1)");
		return;
	}
	if (strcmp(path, "/api") == 0) {
		handle_api(http, board);
		return;
	}
	for (size_t i = 0; i < page_file_count; i++)
		if (strcmp(path, page_files[i].path) == 0 &&
		    evhttp_request_get_command(http) != EVHTTP_REQ_POST) {
			serve_file(http, &page_files[i]);
			return;
		}
	refuse(http, HTTP_NOTFOUND, "there is no such file");
}

static void end(evutil_socket_t number, short what, void *base)
{
	(void)number;
	(void)what;
	event_base_loopbreak(base);
}

static int bound_port(struct evhttp_bound_socket *bound)
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);

	getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &size);
	return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
	                                           : ((struct sockaddr_in *)&address)->sin_port);
}

static bool listen_on(struct evhttp *http, struct board *board)
{
	struct listen_address *listen = &board->listen;
	struct evhttp_bound_socket *bound =
	        evhttp_bind_socket_with_handle(http, listen->host, (uint16_t)listen->port);

	if (!bound) {
		complain("board: cannot listen on %s, port %d: %s", listen->host, listen->port,
		         strerror(errno));
		return false;
	}
	listen->port = bound_port(bound);
	return true;
}

static void keep_quiet(int severity, const char *message)
{
	(void)severity;
	(void)message;
}

int http_serve(struct board *board, void (*ready)(const struct board *board))
{
	struct event_base *base = event_base_new();
	struct evhttp *http = base ? evhttp_new(base) : NULL;
	struct event *interrupt = base ? evsignal_new(base, SIGINT, end, base) : NULL;
	struct event *terminate = base ? evsignal_new(base, SIGTERM, end, base) : NULL;
	int code = EXIT_FAULT;

	signal(SIGPIPE, SIG_IGN);
	event_set_log_callback(keep_quiet); /* of requests that are broken off */
	if (!http || !interrupt || !terminate) {
		complain("board: out of memory");
	} else {
		evhttp_set_max_body_size(http, BODY_MAX);
		evhttp_set_max_headers_size(http, HEADERS_MAX);
		evhttp_set_timeout(http, 60);
		evhttp_set_allowed_methods(http,
		                           EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST);
		evhttp_set_gencb(http, handle, board);
		if (event_add(interrupt, NULL) == 0 && event_add(terminate, NULL) == 0 &&
		    listen_on(http, board)) {
			ready(board);
			event_base_dispatch(base);
			code = EXIT_FINE;
		}
	}
	if (http)
		evhttp_free(http);
	if (interrupt)
		event_free(interrupt);
	if (terminate)
		event_free(terminate);
	if (base)
		event_base_free(base);
	return code;
}
