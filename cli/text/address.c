/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SERVER_PORT = 6379, DATABASES = 65535 };

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

long percent_decode(char *text, size_t size)
{
	size_t to = 0;

	for (size_t from = 0; from < size; from++, to++) {
		if (text[from] != '%') {
			text[to] = text[from];
			continue;
		}
		if (from + 2 >= size || hex(text[from + 1]) < 0 || hex(text[from + 2]) < 0)
			return -1;
		text[to] = (char)(hex(text[from + 1]) * 16 + hex(text[from + 2]));
		from += 2;
	}
	return (long)to;
}

/* A piece of the text, not ended by a zero byte. */
struct piece {
	const char *text;
	size_t size;
};

static bool is(struct piece piece, const char *text)
{
	return piece.size == strlen(text) && memcmp(piece.text, text, piece.size) == 0;
}

/* Split `rest` at the first `end`: *before is what comes before it, *rest what comes after it. False: there is no `end`. */
static bool cut_at(struct piece *rest, const char *end, struct piece *before)
{
	size_t width = strlen(end);

	for (size_t at = 0; at + width <= rest->size; at++)
		if (memcmp(rest->text + at, end, width) == 0) {
			*before = (struct piece){rest->text, at};
			*rest = (struct piece){rest->text + at + width, rest->size - at - width};
			return true;
		}
	return false;
}

static bool keep(struct piece piece, char *to, size_t room)
{
	if (piece.size >= room || memchr(piece.text, '\0', piece.size))
		return false;
	memcpy(to, piece.text, piece.size);
	to[piece.size] = '\0';
	return true;
}

static bool number(struct piece piece, int max, int *value)
{
	int found = 0;

	if (piece.size == 0 || piece.size > 5)
		return false;
	for (size_t i = 0; i < piece.size; i++) {
		if (piece.text[i] < '0' || piece.text[i] > '9')
			return false;
		found = found * 10 + (piece.text[i] - '0');
	}
	*value = found;
	return found <= max;
}

static bool say(char *wrong, size_t size, const char *what, struct piece piece,
                const char *expected)
{
	int shown = piece.size < 80 ? (int)piece.size : 80;

	snprintf(wrong, size, "the %s is '%.*s'%s; expected %s", what, shown, piece.text,
	         piece.size > 80 ? " and so on" : "", expected);
	return false;
}

/* HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. Without a port, *port keeps its value. */
static bool host_and_port(struct piece rest, int min_port, char *host, int *port, char *wrong,
                          size_t size)
{
	struct piece name = rest, all = rest;

	if (rest.size > 0 && rest.text[0] == '[') {
		rest.text++, rest.size--;
		if (!cut_at(&rest, "]", &name))
			return say(wrong, size, "address", all, "[IPV6]:PORT");
		if (rest.size > 0 && rest.text[0] != ':')
			return say(wrong, size, "address", all, "[IPV6]:PORT");
		if (rest.size > 0)
			rest.text++, rest.size--;
		else
			rest.text = NULL;
	} else if (!cut_at(&rest, ":", &name)) {
		rest.text = NULL;
	}
	if (rest.text && (!number(rest, UINT16_MAX, port) || *port < min_port))
		return say(wrong, size, "port", rest,
		           min_port ? "a number from 1 to 65535" : "a number from 0 to 65535");
	if (name.size == 0 || !keep(name, host, ADDRESS_TEXT))
		return say(wrong, size, "host", name, "a name or an address of 1 to 255 bytes");
	return true;
}

static bool read_secret(struct piece piece, char *to)
{
	long size;

	if (!keep(piece, to, ADDRESS_TEXT))
		return false;
	size = percent_decode(to, piece.size);
	if (size < 0 || memchr(to, '\0', (size_t)size))
		return false;
	to[size] = '\0';
	return true;
}

/* [USER][:PASSWORD] before the last @. */
static bool read_login(struct piece *rest, struct server_address *address)
{
	struct piece login = {rest->text, 0}, user = {rest->text, 0}, part;

	while (cut_at(rest, "@", &part))
		login.size = (size_t)(part.text + part.size - login.text);
	if (login.size == 0)
		return true;
	if (!cut_at(&login, ":", &user))
		return read_secret(login, address->user);
	return read_secret(user, address->user) && read_secret(login, address->password);
}

static bool parse_url(struct piece scheme, struct piece rest, struct server_address *address,
                      char *wrong, size_t size)
{
	struct piece all = rest, location = rest;

	if (!is(scheme, "redis") && !is(scheme, "rediss") && !is(scheme, "valkey") &&
	    !is(scheme, "valkeys"))
		return say(wrong, size, "scheme", scheme, "redis, rediss, valkey or valkeys");
	address->tls = is(scheme, "rediss") || is(scheme, "valkeys");
	if (!read_login(&rest, address)) {
		snprintf(wrong, size,
		         "the user or the password is not right; expected at most 255 bytes each, "
		         "with %%25 for %% and so on");
		return false;
	}
	all = rest;
	if (cut_at(&rest, "/", &location)) {
		if (rest.size > 0 && !number(rest, DATABASES, &address->database))
			return say(wrong, size, "database", rest, "a number from 0 to 65535");
	} else {
		location = all;
	}
	return host_and_port(location, 1, address->host, &address->port, wrong, size);
}

bool server_address_parse(const char *text, struct server_address *address, char *wrong,
                          size_t size)
{
	struct piece rest = {text, strlen(text)}, scheme;

	*address = (struct server_address){.port = SERVER_PORT};
	if (text[0] == '/') {
		if (keep(rest, address->path, sizeof(address->path)))
			return true;
		return say(wrong, size, "path", rest, "at most 107 bytes");
	}
	if (cut_at(&rest, "://", &scheme))
		return parse_url(scheme, rest, address, wrong, size);
	return host_and_port(rest, 1, address->host, &address->port, wrong, size);
}

static bool is_loopback(const char *host, bool *numeric)
{
	struct in6_addr six;
	struct in_addr four;

	*numeric = true;
	if (strcmp(host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &six) == 1)
		return IN6_IS_ADDR_LOOPBACK(&six);
	*numeric = false;
	return false;
}

bool listen_address_parse(const char *text, struct listen_address *address, char *wrong,
                          size_t size)
{
	struct piece all = {text, strlen(text)};
	bool numeric;

	*address = (struct listen_address){.port = -1};
	if (!host_and_port(all, 0, address->host, &address->port, wrong, size))
		return false;
	if (address->port < 0)
		return say(wrong, size, "address", all, "ADDRESS:PORT");
	address->loopback = is_loopback(address->host, &numeric);
	if (!numeric)
		return say(wrong, size, "host",
		           (struct piece){address->host, strlen(address->host)},
		           "an IPv4 or IPv6 address, or localhost");
	return true;
}

bool is_loopback_address(const char *text)
{
	char host[ADDRESS_TEXT], wrong[ADDRESS_TEXT + 100];
	bool numeric;
	int port;

	return host_and_port((struct piece){text, strlen(text)}, 0, host, &port, wrong,
	                     sizeof(wrong)) &&
	       is_loopback(host, &numeric);
}

void host_port_text(const char *host, int port, char *text, size_t size)
{
	snprintf(text, size, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, port);
}

void server_address_text(const struct server_address *address, char *text, size_t size)
{
	if (address->path[0])
		snprintf(text, size, "%s", address->path);
	else
		host_port_text(address->host, address->port, text, size);
}
