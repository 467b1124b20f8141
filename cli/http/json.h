/* SPDX-License-Identifier: MIT */
/* A JSON string from bytes that need not be text: each byte becomes a character, U+0000 to U+00FF. The result is
 * ASCII. */
#ifndef PAWL_CLI_HTTP_JSON_H
#define PAWL_CLI_HTTP_JSON_H

#include <event2/buffer.h>
#include <stddef.h>

void json_string(struct evbuffer *to, const char *bytes, size_t size);

#endif
