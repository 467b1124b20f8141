/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "site.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "../text/arguments.h"

enum { BODY_MAX = 1 << 20, HEADERS_MAX = 1 << 14, CONNECTION_SECONDS = 60 };
enum { TOKEN_MIN = 16, TOKEN_RANDOM = 16 };

/* The host of "https://board.example.org". */
static const char *without_scheme(const char *origin)
{
	const char *host = strstr(origin, "://");

	return host ? host + 3 : origin;
}

static bool read_listen(struct site *site, const char *text)
{
	char wrong[ADDRESS_TEXT + 100];

	if (listen_address_parse(text, &site->listen, wrong, sizeof(wrong)))
		return true;
	complain("%s: --listen: %s", site->command, wrong);
	return false;
}

/* As a browser sends it: no path, not even a slash. */
static bool read_origin(struct site *site, const char *text)
{
	const char *host = strncmp(text, "http://", 7) == 0    ? text + 7
	                   : strncmp(text, "https://", 8) == 0 ? text + 8
	                                                       : "";

	if (*host == '\0' || strpbrk(host, "/?#@ ")) {
		complain("%s: --origin is '%s'; expected http://HOST or https://HOST, with a port "
		         "if "
		         "need be, and nothing behind it",
		         site->command, text);
		return false;
	}
	site->origin = text;
	return true;
}

/* The token is part of an address, so it has only characters that need no encoding there. */
static bool keep_token(struct site *site, const char *from, const char *text)
{
	size_t size = strlen(text);

	if (size < TOKEN_MIN || size > TOKEN_MAX ||
	    strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~") !=
	            size) {
		complain("%s: the token of %s has %zu bytes, or bytes that it must not have; "
		         "expected %d to %d letters, digits and -._~",
		         site->command, from, size, TOKEN_MIN, TOKEN_MAX);
		return false;
	}
	memcpy(site->token, text, size + 1);
	return true;
}

static bool read_token(struct site *site, const char *path)
{
	char line[TOKEN_MAX + 3] = "";
	FILE *file = fopen(path, "r");

	if (!file || (!fgets(line, sizeof(line), file) && ferror(file))) {
		complain("%s: --token-file '%s' cannot be read: %s", site->command, path,
		         strerror(errno));
		if (file)
			fclose(file);
		return false;
	}
	fclose(file);
	line[strcspn(line, "\r\n")] = '\0';
	return keep_token(site, path, line);
}

static bool make_token(struct site *site)
{
	unsigned char bytes[TOKEN_RANDOM];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
		complain("%s: no random bytes for a token: %s", site->command, strerror(errno));
		return false;
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(site->token + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

/* A proxy that other machines can reach is as open as a port that they can reach. */
static bool others_reach(const struct site *site)
{
	return !site->listen.loopback ||
	       (site->origin && !is_loopback_address(without_scheme(site->origin)));
}

bool site_prepare(struct site *site, const struct site_options *options, const char *listen,
                  const char *variable)
{
	const char *given = getenv(variable);
	char from[64];

	if (!read_listen(site, options->listen ? options->listen : listen) ||
	    (options->origin && !read_origin(site, options->origin)))
		return false;
	if (options->token_file)
		return read_token(site, options->token_file);
	if (given && *given) {
		snprintf(from, sizeof(from), "$%s", variable);
		return keep_token(site, from, given);
	}
	site->token_made = others_reach(site);
	return !site->token_made || make_token(site);
}

/* A page that listens on every address is known by the machine's name. */
void site_url(const struct site *site, char url[URL_TEXT])
{
	bool everywhere =
	        strcmp(site->listen.host, "0.0.0.0") == 0 || strcmp(site->listen.host, "::") == 0;
	char name[ADDRESS_TEXT] = "localhost", address[ADDRESS_TEXT + 16];

	if (everywhere)
		gethostname(name, sizeof(name) - 1);
	host_port_text(everywhere ? name : site->listen.host, site->listen.port, address,
	               sizeof(address));
	snprintf(url, URL_TEXT, "%s%s/%s%s", site->origin ? "" : "http://",
	         site->origin ? site->origin : address, site->token_made ? "#token=" : "",
	         site->token_made ? site->token : "");
}

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

static const char *header(struct evhttp_request *http, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(http), name);
}

void site_answer(struct evhttp_request *http, int code, const char *type, struct evbuffer *body)
{
	static const char *const headers[][2] = {
	        {"Cache-Control", "no-store"},
	        {"Content-Security-Policy",
	         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
	         "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
	         "require-trusted-types-for 'script'"},
	        {"Cross-Origin-Opener-Policy", "same-origin"},
	        {"Cross-Origin-Resource-Policy", "same-origin"},
	        {"Referrer-Policy", "no-referrer"},
	        {"X-Content-Type-Options", "nosniff"},
	};
	struct evkeyvalq *out = evhttp_request_get_output_headers(http);
	char length[32];

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		evhttp_add_header(out, headers[i][0], headers[i][1]);
	evhttp_add_header(out, "Content-Type", type);
	/* libevent would send the body, and a client takes it for the next answer. */
	if (evhttp_request_get_command(http) == EVHTTP_REQ_HEAD) {
		snprintf(length, sizeof(length), "%zu", body ? evbuffer_get_length(body) : 0);
		evhttp_add_header(out, "Content-Length", length);
		body = NULL;
	}
	evhttp_send_reply(http, code, NULL, body);
}

void site_tell(struct evhttp_request *http, int code, const char *name, const char *text)
{
	struct evbuffer *body = evbuffer_new();

	if (body) {
		evbuffer_add_printf(body, "{\"%s\":", name);
		json_string(body, text, strlen(text));
		evbuffer_add_printf(body, "}\n");
	}
	site_answer(http, code, "application/json", body);
	if (body)
		evbuffer_free(body);
}

void site_refuse(struct evhttp_request *http, int code, const char *why)
{
	site_tell(http, code, "wrong", why);
}

/* Whether they are the same. A browser leaves out the default port of the scheme, ":80" or ":443", which `own` may have. */
static bool same_host(const char *host, const char *own, const char *port)
{
	size_t size = strlen(own) - strlen(port);

	if (strcasecmp(host, own) == 0)
		return true;
	return strlen(own) > strlen(port) && strcmp(own + size, port) == 0 &&
	       strlen(host) == size && strncasecmp(host, own, size) == 0;
}

static const char *default_port(const char *origin)
{
	return strncmp(origin, "https:", 6) == 0 ? ":443" : ":80";
}

/* `listen` may be known by another name. */
static bool is_host(const char *host, const char *name, const struct listen_address *listen)
{
	char text[ADDRESS_TEXT + 16];

	host_port_text(name, listen->port, text, sizeof(text));
	return same_host(host, text, ":80");
}

/*
 * On loopback only the names of loopback. The names of other addresses are not known; there a token is asked for, which a
 * page of another name does not have.
 */
static bool host_is_ours(const struct site *site, const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "::1"};
	const struct listen_address *listen = &site->listen;

	if (!host)
		return false;
	if (!listen->loopback || (site->origin && same_host(host, without_scheme(site->origin),
	                                                    default_port(site->origin))))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_host(host, names[i], listen))
			return true;
	return is_host(host, listen->host, listen);
}

/* A browser sends an Origin with every POST and to every other origin, and no page can choose it. */
static bool origin_is_ours(const struct site *site, const char *origin, const char *host)
{
	if (!origin ||
	    (site->origin && same_host(origin, site->origin, default_port(site->origin))))
		return true;
	return strncasecmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0;
}

/* Newer browsers send Sec-Fetch-Site with every request, even without an Origin. "none": the user typed the address. */
static bool sender_is_ours(const char *fetch_site)
{
	return !fetch_site || strcmp(fetch_site, "same-origin") == 0 ||
	       strcmp(fetch_site, "none") == 0;
}

/* The comparison takes the same time however much of the token is right. */
static bool token_is_ours(const struct site *site, const char *authorization)
{
	size_t size = strlen(site->token);
	unsigned char differ = 0;

	if (size == 0)
		return true;
	if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0 ||
	    strlen(authorization + 7) != size)
		return false;
	for (size_t i = 0; i < size; i++)
		differ |= (unsigned char)(authorization[7 + i] ^ site->token[i]);
	return differ == 0;
}

static void serve_file(struct evhttp_request *http, const struct page_file *file)
{
	struct evbuffer *body = evbuffer_new();

	if (body)
		evbuffer_add_reference(body, file->bytes, file->size, NULL, NULL);
	site_answer(http, HTTP_OK, file->type, body);
	if (body)
		evbuffer_free(body);
}

static void handle_path(struct evhttp_request *http, struct site *site)
{
	const struct timeval idle = {.tv_sec = IDLE_SECONDS};
	char why[100];

	if (evhttp_request_get_command(http) != site->method) {
		snprintf(why, sizeof(why), "%s takes %s", site->path,
		         site->method == EVHTTP_REQ_POST ? "POST" : "GET");
		site_refuse(http, HTTP_BADMETHOD, why);
	} else if (!origin_is_ours(site, header(http, "Origin"), header(http, "Host")) ||
	           !sender_is_ours(header(http, "Sec-Fetch-Site"))) {
		site_refuse(http, 403, "the Origin is not this page's; see --origin in pawl(1)");
	} else if (site->header && !header(http, site->header)) {
		snprintf(why, sizeof(why), "the header %s is missing", site->header);
		site_refuse(http, 403, why);
	} else if (!token_is_ours(site, header(http, "Authorization"))) {
		site_refuse(http, 401, "the token is missing or wrong");
	} else {
		site->answer(http, site->arg);
		if (site->idle_timer)
			event_add(site->idle_timer, &idle);
	}
}

static void handle(struct evhttp_request *http, void *arg)
{
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(http));
	struct site *site = arg;

	if (!host_is_ours(site, header(http, "Host"))) {
		site_refuse(http, 403, "the Host is not this page's; see --origin in pawl(1)");
		return;
	}
	if (strcmp(path, site->path) == 0) {
		handle_path(http, site);
		return;
	}
	for (size_t i = 0; i < site->page->file_count; i++)
		if (strcmp(path, site->page->files[i].path) == 0 &&
		    evhttp_request_get_command(http) != EVHTTP_REQ_POST) {
			serve_file(http, &site->page->files[i]);
			return;
		}
	site_refuse(http, HTTP_NOTFOUND, "there is no such file");
}

static void call_idle(evutil_socket_t nothing, short what, void *arg)
{
	struct site *site = arg;

	(void)nothing;
	(void)what;
	site->idle(site->arg);
}

static void end(evutil_socket_t number, short what, void *base)
{
	(void)number;
	(void)what;
	event_base_loopbreak(base);
}

static int bound_port(struct evhttp_bound_socket *bound)
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);

	getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &size);
	return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
	                                           : ((struct sockaddr_in *)&address)->sin_port);
}

static void accept_again(evutil_socket_t nothing, short what, void *listener)
{
	(void)nothing;
	(void)what;
	evconnlistener_enable(listener);
}

/* Perhaps no descriptor is free. The connection stays in the queue, so without a pause libevent would try again at once. */
static void pause_accepting(struct evconnlistener *listener, void *nothing)
{
	const struct timeval pause = {.tv_usec = 100000};

	(void)nothing;
	if (event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, accept_again,
	                    listener, &pause) == 0)
		evconnlistener_disable(listener);
}

static bool listen_on(struct evhttp *http, struct site *site)
{
	struct listen_address *listen = &site->listen;
	struct evhttp_bound_socket *bound =
	        evhttp_bind_socket_with_handle(http, listen->host, (uint16_t)listen->port);

	if (!bound) {
		complain("%s: cannot listen on %s, port %d: %s", site->command, listen->host,
		         listen->port, strerror(errno));
		return false;
	}
	listen->port = bound_port(bound);
	evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), pause_accepting);
	return true;
}

static void keep_quiet(int severity, const char *message)
{
	(void)severity;
	(void)message;
}

/* False: no memory. */
static bool prepare(struct site *site, struct event_base *base, struct evhttp *http)
{
	evhttp_set_max_body_size(http, BODY_MAX);
	evhttp_set_max_headers_size(http, HEADERS_MAX);
	evhttp_set_timeout(http, CONNECTION_SECONDS);
	evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST);
	evhttp_set_gencb(http, handle, site);
	if (site->idle)
		site->idle_timer = evtimer_new(base, call_idle, site);
	return !site->idle || site->idle_timer;
}

int site_serve(struct site *site, void (*ready)(const struct site *site))
{
	struct event_base *base = event_base_new();
	struct evhttp *http = base ? evhttp_new(base) : NULL;
	struct event *interrupt = base ? evsignal_new(base, SIGINT, end, base) : NULL;
	struct event *terminate = base ? evsignal_new(base, SIGTERM, end, base) : NULL;
	int code = EXIT_FAULT;

	signal(SIGPIPE, SIG_IGN);
	event_set_log_callback(
	        keep_quiet); /* libevent would print a line for each request that is broken off */
	if (!http || !interrupt || !terminate || !prepare(site, base, http)) {
		complain("%s: out of memory", site->command);
	} else if (event_add(interrupt, NULL) == 0 && event_add(terminate, NULL) == 0 &&
	           listen_on(http, site)) {
		ready(site);
		event_base_dispatch(base);
		code = EXIT_FINE;
	}
	if (http)
		evhttp_free(http);
	if (interrupt)
		event_free(interrupt);
	if (terminate)
		event_free(terminate);
	if (site->idle_timer)
		event_free(site->idle_timer);
	if (base)
		event_base_free(base);
	return code;
}
