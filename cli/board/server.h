/* SPDX-License-Identifier: MIT */
/*
 * One connection to the Redis or Valkey server, made when it is needed, and again after it was lost. Calls block, but all calls
 * for one answer together only for 5 seconds. After a failure there is no attempt for a short time, so that several pages do not
 * wait one after the other for a server that is away.
 */
#ifndef PAWL_CLI_BOARD_SERVER_H
#define PAWL_CLI_BOARD_SERVER_H

#include <hiredis/hiredis.h>
#include <stdbool.h>

#include "../text/address.h"

struct server_tls_files {
	const char *ca, *certificate, *key; /* NULL: not given */
};

struct server;

/* Connects to nothing yet. NULL, and stderr says why: memory, or TLS that cannot be used. */
struct server *server_new(const struct server_address *address,
                          const struct server_tls_files *files);
void server_free(struct server *server);

/* An answer begins: the time for all calls until the next one. */
void server_begin(struct server *server);

/* Connect, unless it is connected. False: the server is away, and server_wrong() says why. */
bool server_ready(struct server *server);

/* Send commands, and read their replies, in the same order. False or NULL: the connection is lost. */
bool server_send(struct server *server, int argc, const char **argv, const size_t *sizes);
redisReply *server_reply(struct server *server);

/* Whether the last connection was lost because the server had closed it, perhaps long ago. Then it is worth connecting at once. */
bool server_closed(const struct server *server);

const char *server_wrong(const struct server *server);

#endif
