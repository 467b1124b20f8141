/* SPDX-License-Identifier: MIT */
/*
 * An echo server that closes connections that are silent for too long: libevent, and a wheel behind one event of it.
 *
 *	idle-server-libevent [PORT [IDLE_MS]]   on 127.0.0.1; 0 is a free port; ends on SIGTERM or SIGINT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <pawl/libevent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct server {
	struct event_base *base;
	struct pawl_libevent *timers;
	uint64_t idle_ns;
};

struct connection {
	struct pawl_timer idle; /* first: a timer is its connection */
	struct bufferevent *socket;
	struct server *server;
};

static void hang_up(struct connection *c)
{
	pawl_libevent_cancel(c->server->timers, &c->idle);
	bufferevent_free(c->socket);
	free(c);
}

static void on_idle(struct pawl_timer *timer, void *arg)
{
	(void)arg;
	printf("idle\n");
	hang_up((struct connection *)timer);
}

static void on_read(struct bufferevent *socket, void *arg)
{
	struct connection *c = arg;

	bufferevent_write_buffer(socket, bufferevent_get_input(socket));
	pawl_libevent_touch(c->server->timers, &c->idle, c->server->idle_ns);
}

static void on_end(struct bufferevent *socket, short what, void *arg)
{
	(void)socket;
	(void)what;
	hang_up(arg);
}

static void on_connection(struct evconnlistener *listener, evutil_socket_t fd,
                          struct sockaddr *peer, int size, void *arg)
{
	struct server *server = arg;
	struct connection *c = calloc(1, sizeof(*c));

	(void)listener;
	(void)peer;
	(void)size;
	if (c)
		c->socket = bufferevent_socket_new(server->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c || !c->socket) {
		evutil_closesocket(fd);
		free(c);
		return;
	}
	c->server = server;
	bufferevent_setcb(c->socket, on_read, NULL, on_end, c);
	bufferevent_enable(c->socket, EV_READ | EV_WRITE);
	pawl_libevent_arm(server->timers, &c->idle, server->idle_ns);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	struct server *server = arg;

	(void)number;
	(void)what;
	event_base_loopbreak(server->base);
}

static void on_dropped(struct pawl_timer *timer, void *arg)
{
	(void)arg;
	hang_up((struct connection *)timer);
}

static struct evconnlistener *listen_on(struct server *server, int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	socklen_t size = sizeof(address);
	struct evconnlistener *listener;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = evconnlistener_new_bind(server->base, on_connection, server,
	                                   LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, -1,
	                                   (struct sockaddr *)&address, (int)size);
	if (!listener)
		return NULL;
	getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &size);
	printf("listening on %d\n", ntohs(address.sin_port));
	fflush(stdout);
	return listener;
}

static void run(struct server *server, struct evconnlistener *listener)
{
	struct event *interrupt = evsignal_new(server->base, SIGINT, on_signal, server);
	struct event *end = evsignal_new(server->base, SIGTERM, on_signal, server);

	signal(SIGPIPE, SIG_IGN);
	event_add(interrupt, NULL);
	event_add(end, NULL);
	event_base_dispatch(server->base);
	event_free(interrupt);
	event_free(end);
	evconnlistener_free(listener);
}

int main(int argc, char **argv)
{
	struct server server = {.idle_ns =
	                                (argc > 2 ? strtoull(argv[2], NULL, 10) : 30000) * PAWL_MS,
	                        .base = event_base_new()};
	int error = pawl_libevent_open(&server.timers, server.base, on_idle, NULL, NULL);
	struct evconnlistener *listener =
	        error ? NULL : listen_on(&server, argc > 1 ? atoi(argv[1]) : 0);

	if (!listener) {
		fprintf(stderr, "idle-server-libevent: %s\n", strerror(error ? -error : errno));
		return 1;
	}
	run(&server, listener);
	pawl_libevent_close(server.timers, on_dropped);
	event_base_free(server.base);
	return 0;
}
