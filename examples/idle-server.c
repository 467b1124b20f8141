/* SPDX-License-Identifier: MIT */
/*
 * An echo server that closes connections that are silent for too long. It is written once for any event loop: link it
 * with idle-server-epoll.c, -kqueue.c, -libuv.c or -libevent.c.
 *
 *	idle-server-epoll [PORT [IDLE_MS]]      on 127.0.0.1; 0 is a free port; ends on SIGTERM or SIGINT
 */
#define _GNU_SOURCE
#include "idle-server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct server {
	struct events *events;
	struct pawl_loop *timers;
	uint64_t idle_ns;
	int listener;
};

struct connection {
	struct pawl_loop_timer idle;
	struct server *server;
	struct watch *watch;
	int fd;
};

static int stop_pipe[2]; /* a signal's handler may write, but not much else */

static void hang_up(struct connection *c)
{
	pawl_loop_cancel(c->server->timers, &c->idle);
	if (c->watch)
		events_unwatch(c->watch);
	close(c->fd);
	free(c);
}

static void on_idle(struct pawl_loop_timer *timer, void *arg)
{
	(void)arg;
	printf("idle\n");
	hang_up(PAWL_CONTAINER_OF(timer, struct connection, idle));
}

static void on_dropped(struct pawl_loop_timer *timer, void *arg)
{
	(void)arg;
	hang_up(PAWL_CONTAINER_OF(timer, struct connection, idle));
}

static void on_readable(void *arg)
{
	struct connection *c = arg;
	char buffer[4096];
	ssize_t size = read(c->fd, buffer, sizeof(buffer));

	if (size <= 0 || write(c->fd, buffer, (size_t)size) != size)
		hang_up(c);
	else
		pawl_loop_touch(c->server->timers, &c->idle, c->server->idle_ns);
}

static void on_connection(void *arg)
{
	struct server *server = arg;
	int fd = accept(server->listener, NULL, NULL);
	struct connection *c = fd < 0 ? NULL : calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	c->fd = fd;
	c->server = server;
	c->watch = events_watch(server->events, fd, on_readable, c);
	if (c->watch)
		pawl_loop_arm(server->timers, &c->idle, server->idle_ns);
	else
		hang_up(c);
}

static void on_stop(void *arg)
{
	events_stop(arg);
}

static void on_signal(int number)
{
	(void)number;
	if (write(stop_pipe[1], "x", 1) != 1)
		_exit(1);
}

/* Without SIGPIPE, a write to a closed connection is only an error. */
static int open_signals(void)
{
	const struct sigaction stop = {.sa_handler = on_signal};

	if (pipe(stop_pipe) != 0)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	return stop_pipe[0];
}

static int listen_on(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, SOMAXCONN) != 0) {
		perror("idle-server: cannot listen");
		exit(1);
	}
	getsockname(fd, (struct sockaddr *)&address, &size);
	printf("listening on %d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

int main(int argc, char **argv)
{
	const struct pawl_loop_options options = {.due = on_idle};
	struct server server = {.idle_ns =
	                                (argc > 2 ? strtoull(argv[2], NULL, 10) : 30000) * PAWL_MS};
	struct watch *listening, *stopping;

	server.events = events_open(&server.timers, &options);
	if (!server.events) {
		fprintf(stderr, "idle-server: no event loop\n");
		return 1;
	}
	stopping = events_watch(server.events, open_signals(), on_stop, server.events);
	server.listener = listen_on(argc > 1 ? atoi(argv[1]) : 0);
	listening = events_watch(server.events, server.listener, on_connection, &server);
	if (!stopping || !listening)
		return 1;
	events_run(server.events);
	pawl_loop_close(server.timers, on_dropped);
	events_unwatch(stopping);
	events_unwatch(listening);
	events_close(server.events);
	return 0;
}
