/* SPDX-License-Identifier: MIT */
/* Addresses as people write them: of a Redis or Valkey server, and of a page. */
#ifndef PAWL_CLI_ADDRESS_H
#define PAWL_CLI_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

enum { ADDRESS_TEXT = 256 };

/* The Redis or Valkey server. Texts are empty where nothing was given. */
struct server_address {
	char path[108]; /* of a unix socket; then there is no host */
	char host[ADDRESS_TEXT];
	int port;
	char user[ADDRESS_TEXT];
	char password[ADDRESS_TEXT];
	int database;
	bool tls;
};

/* Where the page is served: a numeric address or localhost. */
struct listen_address {
	char host[ADDRESS_TEXT];
	int port; /* 0: any that is free */
	bool loopback;
};

/*
 * HOST[:PORT], [IPV6]:PORT, a path that begins with '/', or redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE], and the same
 * with valkey:, rediss: and valkeys:; the last two mean TLS. Percent-encoding is undone in user and password.
 * Returns false, and `wrong` says why; it never repeats a password.
 */
bool server_address_parse(const char *text, struct server_address *address, char *wrong,
                          size_t size);

/* HOST:PORT, [IPV6]:PORT. As above. */
bool listen_address_parse(const char *text, struct listen_address *address, char *wrong,
                          size_t size);

/* Whether HOST or HOST:PORT, with an IPv6 address in brackets, is a loopback address. */
bool is_loopback_address(const char *text);

/* To show: "host:port", "[::1]:port" or the path, without user and password. */
void server_address_text(const struct server_address *address, char *text, size_t size);
void host_port_text(const char *host, int port, char *text, size_t size);

/* Undo percent-encoding in place. Returns the size that is left, or -1 if a % is not followed by two hexadecimal digits. */
long percent_decode(char *text, size_t size);

#endif
