/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON into memory that grows. It adds the commas. If there is no memory, the rest is left out and `failed` is
 * set.
 */
#ifndef PAWL_BASE_JSON_H
#define PAWL_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"
#include "utf8.h"

struct json {
	char *text; /* malloc'ed */
	size_t size, room;
	bool failed;
};

/* Make room for `size` more bytes. false: there is no memory. */
static inline bool json_room(struct json *json, size_t size)
{
	size_t room = 2 * (json->size + size) + 4096;
	char *text;

	if (json->room - json->size >= size)
		return !json->failed;
	text = json->failed ? NULL : realloc(json->text, room);
	json->failed = !text;
	if (!text)
		return false;
	json->text = text;
	json->room = room;
	return true;
}

static inline void json_add(struct json *json, const char *bytes, size_t size)
{
	if (!json_room(json, size))
		return;
	memcpy(json->text + json->size, bytes, size);
	json->size += size;
}

static inline void json_byte(struct json *json, char byte)
{
	if (json_room(json, 1))
		json->text[json->size++] = byte;
}

/* The comma before a value or a name that is not the first. */
static inline void json_next(struct json *json)
{
	char last = json->size > 0 ? json->text[json->size - 1] : '[';

	if (last != '{' && last != '[' && last != ':')
		json_byte(json, ',');
}

/* '{', '[' */
static inline void json_open(struct json *json, char bracket)
{
	json_next(json);
	json_byte(json, bracket);
}

static inline void json_close(struct json *json, char bracket)
{
	json_byte(json, bracket);
}

/* The name of a member. It must not contain characters that need an escape. */
static inline void json_name(struct json *json, const char *name)
{
	json_next(json);
	json_byte(json, '"');
	json_add(json, name, strlen(name));
	json_add(json, "\":", 2);
}

static inline void json_number(struct json *json, uint64_t number)
{
	char digits[DECIMAL_TEXT];

	json_next(json);
	json_add(json, digits, (size_t)(decimal_write(digits, number) - digits));
}

static inline void json_null(struct json *json)
{
	json_next(json);
	json_add(json, "null", 4);
}

static inline void json_member(struct json *json, const char *name, uint64_t number)
{
	json_name(json, name);
	json_number(json, number);
}

/* The lowest `digits` hexadecimal digits, without quotes. */
static inline void json_hex(struct json *json, uint64_t number, unsigned digits)
{
	char text[16];

	json_add(json, text, (size_t)(hex_write(text, number, digits) - text));
}

/* Any bytes may be given: a byte that is not valid UTF-8 becomes U+FFFD. */
static inline void json_string(struct json *json, const char *bytes, size_t size)
{
	const unsigned char *text = (const unsigned char *)bytes;

	json_next(json);
	json_byte(json, '"');
	for (size_t i = 0, length; i < size; i += length ? length : 1) {
		length = utf8_length(text + i, size - i);
		if (length == 0) {
			json_add(json, "\\ufffd", 6);
		} else if (text[i] < 0x20 || text[i] == 0x7F) {
			json_add(json, "\\u", 2);
			json_hex(json, text[i], 4);
		} else {
			if (text[i] == '"' || text[i] == '\\')
				json_byte(json, '\\');
			json_add(json, bytes + i, length);
		}
	}
	json_byte(json, '"');
}

#endif
