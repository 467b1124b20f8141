/* SPDX-License-Identifier: MIT */
/* Replies of the server as JSON. Keys, ids and payloads are bytes, as json_string() writes them; the page makes text of them. */
#ifndef PAWL_CLI_BOARD_REPLY_H
#define PAWL_CLI_BOARD_REPLY_H

#include <event2/buffer.h>
#include <hiredis/hiredis.h>

/*
 * Strings as strings, integers as numbers, nil as null, lists as lists, an error as {"error": text}. A string of more than
 * `longest` bytes is cut: {"cut": its first bytes, "size": of all}.
 */
void json_reply(struct evbuffer *to, const redisReply *reply, size_t longest);

#endif
