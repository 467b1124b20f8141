/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "tls.h"

#include <errno.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../text/arguments.h"
#include "../wait/wait.h"
#include "server.h"

struct tls {
	SSL_CTX *context;
	const char *host;
	char wrong[256];
};

static const char *reason(void)
{
	const char *text = ERR_reason_error_string(ERR_peek_last_error());

	return text ? text : "unknown error";
}

/* For a missing file, OpenSSL's message does not help. */
static bool readable(const char *option, const char *file)
{
	if (!file || access(file, R_OK) == 0)
		return true;
	complain("board: %s '%s' cannot be read: %s", option, file, strerror(errno));
	return false;
}

static bool load_ca(struct tls *tls, const char *file)
{
	if (!readable("--tls-ca", file))
		return false;
	if (file ? SSL_CTX_load_verify_locations(tls->context, file, NULL)
	         : SSL_CTX_set_default_verify_paths(tls->context))
		return true;
	complain("board: --tls-ca '%s' cannot be used: %s", file ? file : "(the system's)",
	         reason());
	return false;
}

static bool load_own(struct tls *tls, const struct server_tls_files *files)
{
	if (!readable("--tls-cert", files->certificate) || !readable("--tls-key", files->key))
		return false;
	if (files->certificate &&
	    SSL_CTX_use_certificate_chain_file(tls->context, files->certificate) != 1)
		complain("board: --tls-cert '%s' cannot be used: %s", files->certificate, reason());
	else if (files->key &&
	         SSL_CTX_use_PrivateKey_file(tls->context, files->key, SSL_FILETYPE_PEM) != 1)
		complain("board: --tls-key '%s' cannot be used: %s", files->key, reason());
	else
		return true;
	return false;
}

struct tls *tls_new(const char *host, const struct server_tls_files *files)
{
	struct tls *tls = calloc(1, sizeof(*tls));

	if (tls)
		tls->context = SSL_CTX_new(TLS_client_method());
	if (!tls || !tls->context) {
		complain("board: out of memory");
		tls_free(tls);
		return NULL;
	}
	tls->host = host;
	SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION);
	SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
	if (load_ca(tls, files->ca) && load_own(tls, files))
		return tls;
	tls_free(tls);
	return NULL;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->context);
	free(tls);
}

/* hiredis checks the signature of the certificate, but not the name in it. */
static bool expect_host(SSL *ssl, const char *host)
{
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host))
		return true;
	return SSL_set1_host(ssl, host) && SSL_set_tlsext_host_name(ssl, host);
}

const char *tls_wrong(const struct tls *tls)
{
	return tls->wrong;
}

static bool fail(struct tls *tls, const char *why)
{
	snprintf(tls->wrong, sizeof(tls->wrong), "TLS: %s", why);
	return false;
}

static bool shake_hands(struct tls *tls, SSL *ssl, int fd, uint64_t end_ms)
{
	for (;;) {
		int done, error;

		ERR_clear_error();
		errno = 0;
		done = SSL_do_handshake(ssl);
		if (done == 1)
			return true;
		error = SSL_get_error(ssl, done);
		if (error == SSL_ERROR_SYSCALL)
			return fail(tls, errno ? strerror(errno) : "connection lost");
		if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
			return fail(tls, reason());
		if (!wait_for(fd, error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, end_ms))
			return fail(tls, "the handshake takes too long");
	}
}

/* hiredis begins the handshake, and then the connection owns the SSL object. */
bool tls_begin(struct tls *tls, redisContext *context, uint64_t end_ms)
{
	SSL *ssl = SSL_new(tls->context);

	if (ssl && expect_host(ssl, tls->host) && redisInitiateSSL(context, ssl) == REDIS_OK)
		return shake_hands(tls, ssl, context->fd, end_ms);
	fail(tls, context->err ? context->errstr : reason());
	SSL_free(ssl);
	return false;
}
