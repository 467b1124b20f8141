/* SPDX-License-Identifier: MIT */
#include "reply.h"

#include "../http/json.h"

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

void json_reply(struct evbuffer *to, const redisReply *reply, size_t longest)
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
