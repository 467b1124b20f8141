/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "../text/arguments.h"
#include "../wait/wait.h"
#include "tls.h"

/* No other request is answered meanwhile, not even for a file of the page. */
enum { CONNECT_SECONDS = 2, ANSWER_SECONDS = 5, PAUSE_MS = 300 };

struct server {
	struct server_address address;
	struct tls *tls;       /* NULL: without */
	redisContext *context; /* NULL: not connected */
	uint64_t again_ms;     /* no attempt before that time */
	uint64_t end_ms;       /* of the time for this answer */
	bool closed;           /* the last connection, by the server */
	char wrong[256];
};

struct server *server_new(const struct server_address *address,
                          const struct server_tls_files *files)
{
	struct server *server = calloc(1, sizeof(*server));

	if (!server) {
		complain("board: out of memory");
		return NULL;
	}
	server->address = *address;
	if (address->tls && !(server->tls = tls_new(server->address.host, files))) {
		free(server);
		return NULL;
	}
	return server;
}

void server_free(struct server *server)
{
	if (server->context)
		redisFree(server->context);
	tls_free(server->tls);
	free(server);
}

const char *server_wrong(const struct server *server)
{
	return server->wrong;
}

bool server_closed(const struct server *server)
{
	return server->closed;
}

void server_begin(struct server *server)
{
	server->end_ms = clock_ms() + UINT64_C(1000) * ANSWER_SECONDS;
}

__attribute__((format(printf, 2, 3))) static bool fail(struct server *server, const char *format,
                                                       ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(server->wrong, sizeof(server->wrong), format, list);
	va_end(list);
	return false;
}

/* The connection can no longer be used. */
static void hang_up(struct server *server)
{
	if (server->context)
		redisFree(server->context);
	server->context = NULL;
}

/* And another one would hardly be better: no attempt for a while. */
static void pause_after(struct server *server)
{
	hang_up(server);
	server->again_ms = clock_ms() + PAUSE_MS;
	server->closed = false;
}

static bool fail_late(struct server *server)
{
	pause_after(server);
	return fail(server, "it does not answer");
}

/* `number` is errno as the failed call left it. */
static bool fail_lost(struct server *server, int number)
{
	const redisContext *context = server->context;

	server->closed =
	        context->err == REDIS_ERR_EOF ||
	        (context->err == REDIS_ERR_IO && (number == EPIPE || number == ECONNRESET));
	fail(server, "%s", context->errstr[0] ? context->errstr : "connection lost");
	hang_up(server);
	return false;
}

bool server_send(struct server *server, int argc, const char **argv, const size_t *sizes)
{
	if (!server->context)
		return false;
	return redisAppendCommandArgv(server->context, argc, argv, sizes) == REDIS_OK ||
	       fail_lost(server, 0);
}

static bool write_all(struct server *server)
{
	int done = 0;

	for (;;) {
		errno = 0;
		if (redisBufferWrite(server->context, &done) != REDIS_OK)
			return fail_lost(server, errno);
		if (done)
			return true;
		if (!wait_for(server->context->fd, POLLOUT, server->end_ms))
			return fail_late(server);
	}
}

static bool read_some(struct server *server)
{
	if (!wait_for(server->context->fd, POLLIN, server->end_ms))
		return fail_late(server);
	errno = 0;
	return redisBufferRead(server->context) == REDIS_OK || fail_lost(server, errno);
}

/* Not redisGetReply(): it waits anew for each piece, so a reply that comes byte by byte would never end. */
redisReply *server_reply(struct server *server)
{
	void *reply = NULL;

	if (!server->context || !write_all(server))
		return NULL;
	while (redisGetReplyFromReader(server->context, &reply) == REDIS_OK && !reply)
		if (!read_some(server))
			return NULL;
	if (!reply)
		fail_lost(server, 0);
	return reply;
}

/* A command that must succeed before anything else is asked. */
static bool greet(struct server *server, int argc, const char **argv)
{
	size_t sizes[4] = {0};
	redisReply *reply;
	bool fine;

	for (int i = 0; i < argc; i++)
		sizes[i] = strlen(argv[i]);
	if (!server_send(server, argc, argv, sizes) || !(reply = server_reply(server)))
		return false;
	fine = reply->type != REDIS_REPLY_ERROR || fail(server, "%s: %s", argv[0], reply->str);
	freeReplyObject(reply);
	return fine;
}

static bool introduce(struct server *server)
{
	const struct server_address *address = &server->address;
	char database[16];

	snprintf(database, sizeof(database), "%d", address->database);
	if (address->user[0] &&
	    !greet(server, 3, (const char *[]){"AUTH", address->user, address->password}))
		return false;
	if (!address->user[0] && address->password[0] &&
	    !greet(server, 2, (const char *[]){"AUTH", address->password}))
		return false;
	return address->database == 0 || greet(server, 2, (const char *[]){"SELECT", database});
}

static redisContext *dial(const struct server_address *address)
{
	struct timeval connect = {.tv_sec = CONNECT_SECONDS};

	return address->path[0] ? redisConnectUnixWithTimeout(address->path, connect)
	                        : redisConnectWithTimeout(address->host, address->port, connect);
}

/* From here on no call of hiredis waits: wait_for() does. */
static bool stop_blocking(redisContext *context)
{
	int flags = fcntl(context->fd, F_GETFL);

	context->flags &= ~REDIS_BLOCK;
	return flags >= 0 && fcntl(context->fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static bool connect_to(struct server *server)
{
	redisContext *context = server->context = dial(&server->address);

	if (!context)
		return fail(server, "out of memory");
	if (context->err)
		return fail(server, "%s", context->errstr);
	if (!stop_blocking(context))
		return fail(server, "%s", strerror(errno));
	return !server->tls || tls_begin(server->tls, context, server->end_ms) ||
	       fail(server, "%s", tls_wrong(server->tls));
}

bool server_ready(struct server *server)
{
	if (server->context)
		return true;
	if (clock_ms() < server->again_ms)
		return false;
	if (connect_to(server) && introduce(server))
		return true;
	pause_after(server);
	return false;
}
