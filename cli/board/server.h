/* SPDX-License-Identifier: MIT */
/*
 * One connection to the Redis or Valkey server, made when it is needed, and again after it was lost. Calls block for as long
 * as the timeouts allow. After a failure there is no attempt for a short time, so that several pages do not wait for a server
 * that is away one after the other.
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

/* Connect, unless it is connected. False: the server is away, and server_wrong() says why. */
bool server_ready(struct server *server);

/* Send a command; replies come in the same order. Either returns false, or NULL, when the connection is lost. */
bool server_send(struct server *server, int argc, const char **argv, const size_t *sizes);
redisReply *server_reply(struct server *server);

/* Whether the server has closed the connection that is lost, perhaps long ago. Then it is worth while to connect at once. */
bool server_closed(const struct server *server);

const char *server_wrong(const struct server *server);

#endif
