/* SPDX-License-Identifier: MIT */
/* TLS to the server, where it was built with hiredis_ssl and OpenSSL. The name in the certificate is checked. */
#ifndef PAWL_CLI_BOARD_TLS_H
#define PAWL_CLI_BOARD_TLS_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

struct tls;
struct server_tls_files;

/* NULL, and stderr says why. `host` is borrowed. */
struct tls *tls_new(const char *host, const struct server_tls_files *files);
void tls_free(struct tls *tls);

/* On a fresh connection that does not block, until `end_ms` of clock_ms(). False: tls_wrong() says why. */
bool tls_begin(struct tls *tls, redisContext *context, uint64_t end_ms);
const char *tls_wrong(const struct tls *tls);

#endif
