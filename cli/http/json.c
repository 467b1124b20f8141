/* SPDX-License-Identifier: MIT */
#include "json.h"

void json_string(struct evbuffer *to, const char *bytes, size_t size)
{
	size_t plain = 0; /* the bytes from here to i are written as they are */

	evbuffer_add(to, "\"", 1);
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		if (byte >= ' ' && byte < 127 && byte != '"' && byte != '\\')
			continue;
		evbuffer_add(to, bytes + plain, i - plain);
		evbuffer_add_printf(to, "\\u%04x", byte);
		plain = i + 1;
	}
	evbuffer_add(to, bytes + plain, size - plain);
	evbuffer_add(to, "\"", 1);
}
