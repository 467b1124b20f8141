/* SPDX-License-Identifier: MIT */
/*
 * Replies of the server as JSON. Keys, ids and payloads are bytes, and need not be text: so each byte becomes a character,
 * U+0000 to U+00FF, and the page makes text of it. What is sent is ASCII.
 */
#ifndef PAWL_CLI_BOARD_JSON_H
#define PAWL_CLI_BOARD_JSON_H

#include <event2/buffer.h>
#include <hiredis/hiredis.h>

void json_string(struct evbuffer *to, const char *bytes, size_t size);

/*
 * Strings as strings, integers as numbers, nil as null, lists as lists, an error as {"error": text}. A string of more than
 * `longest` bytes is cut: {"cut": its first bytes, "size": of all}.
 */
void json_reply(struct evbuffer *to, const redisReply *reply, size_t longest);

#endif
