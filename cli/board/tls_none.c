/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "../text/arguments.h"
#include "tls.h"

struct tls *tls_new(const char *host, const struct server_tls_files *files)
{
	(void)host;
	(void)files;
	complain("board: this pawl was built without TLS, since hiredis_ssl (hiredis 1.0 or later) "
	         "or OpenSSL was not "
	         "there; use redis:// through a tunnel, as stunnel or ssh -L");
	return NULL;
}

void tls_free(struct tls *tls)
{
	(void)tls;
}

bool tls_begin(struct tls *tls, redisContext *context, uint64_t end_ms)
{
	(void)tls;
	(void)context;
	(void)end_ms;
	return false;
}

const char *tls_wrong(const struct tls *tls)
{
	(void)tls;
	return "";
}
