/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "server.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "../text/arguments.h"
#include "tls.h"

enum { CONNECT_SECONDS = 2, REPLY_SECONDS = 5, PAUSE_MS = 300 };

struct server {
	struct server_address address;
	struct tls *tls;       /* NULL: without */
	redisContext *context; /* NULL: not connected */
	uint64_t again_at;     /* no attempt before that time, in ms */
	bool closed;           /* the last connection, by the server */
	char wrong[256];
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

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

/* The connection is of no use any more. */
static bool lost(struct server *server, const char *why)
{
	snprintf(server->wrong, sizeof(server->wrong), "%s", why);
	if (server->context)
		redisFree(server->context);
	server->context = NULL;
	return false;
}

static bool not_connected(struct server *server, const char *why)
{
	server->again_at = now_ms() + PAUSE_MS;
	server->closed = false;
	return lost(server, why);
}

static const char *context_error(const redisContext *context)
{
	return !context             ? "out of memory"
	       : context->errstr[0] ? context->errstr
	                            : "connection lost";
}

bool server_send(struct server *server, int argc, const char **argv, const size_t *sizes)
{
	if (!server->context)
		return false;
	return redisAppendCommandArgv(server->context, argc, argv, sizes) == REDIS_OK ||
	       lost(server, context_error(server->context));
}

redisReply *server_reply(struct server *server)
{
	void *reply = NULL;

	if (!server->context)
		return NULL;
	errno = 0;
	if (redisGetReply(server->context, &reply) == REDIS_OK)
		return reply;
	/* EAGAIN: the server does not answer. */
	server->closed =
	        server->context->err == REDIS_ERR_EOF ||
	        (server->context->err == REDIS_ERR_IO && (errno == EPIPE || errno == ECONNRESET));
	lost(server, errno == EAGAIN ? "it does not answer" : context_error(server->context));
	return NULL;
}

/* A command that must succeed before anything else is asked. */
static bool greet(struct server *server, int argc, const char **argv)
{
	size_t sizes[4] = {0};
	redisReply *reply;
	char why[200];
	bool fine;

	for (int i = 0; i < argc; i++)
		sizes[i] = strlen(argv[i]);
	if (!server_send(server, argc, argv, sizes) || !(reply = server_reply(server)))
		return not_connected(server, server->wrong);
	fine = reply->type != REDIS_REPLY_ERROR;
	if (!fine)
		snprintf(why, sizeof(why), "%s: %s", argv[0], reply->str);
	freeReplyObject(reply);
	return fine || not_connected(server, why);
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

bool server_ready(struct server *server)
{
	struct timeval reply = {.tv_sec = REPLY_SECONDS};

	if (server->context)
		return true;
	if (now_ms() < server->again_at)
		return false;
	server->context = dial(&server->address);
	if (!server->context || server->context->err)
		return not_connected(server, context_error(server->context));
	redisSetTimeout(server->context, reply); /* which bounds the handshake too */
	if (server->tls && !tls_begin(server->tls, server->context))
		return not_connected(server, context_error(server->context));
	return introduce(server);
}
