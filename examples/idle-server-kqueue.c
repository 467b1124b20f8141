/* SPDX-License-Identifier: MIT */
/*
 * An echo server that closes connections that are silent for too long: a kqueue, and a wheel behind one timer of it.
 * It is meant to be read and copied alone, so it shares no header with its like for epoll.
 *
 *	idle-server-kqueue [PORT [IDLE_MS]]      on 127.0.0.1; 0 is a free port; ends on SIGTERM or SIGINT
 */
#define _GNU_SOURCE /* for Linux, where the tests are; a BSD hides nothing */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pawl/kqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <sys/event.h>
#include <sys/socket.h>

#define EVENTS 64

struct connection {
	struct pawl_timer idle; /* first: a timer is its connection */
	int fd;
};

struct server {
	struct pawl_kqueue *timers;
	uint64_t idle_ns;
	int kqueue, listener;
};

static void add(struct server *server, int what, short filter, void *data)
{
	struct kevent event;

	EV_SET(&event, (uintptr_t)what, filter, EV_ADD, 0, 0, data);
	kevent(server->kqueue, &event, 1, NULL, 0, NULL);
}

static void hang_up(struct server *server, struct connection *c)
{
	pawl_kqueue_cancel(server->timers, &c->idle);
	close(c->fd);
	free(c);
}

static void on_idle(struct pawl_timer *timer, void *arg)
{
	printf("idle\n");
	hang_up(arg, (struct connection *)timer);
}

static void welcome(struct server *server)
{
	int fd = accept(server->listener, NULL, NULL);
	struct connection *c = fd < 0 ? NULL : calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return;
	}
	c->fd = fd;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	add(server, fd, EVFILT_READ, c);
	pawl_kqueue_arm(server->timers, &c->idle, server->idle_ns);
}

static void echo(struct server *server, struct connection *c)
{
	char buffer[4096];
	ssize_t size = read(c->fd, buffer, sizeof(buffer));

	if (size <= 0 || write(c->fd, buffer, (size_t)size) != size)
		hang_up(server, c);
	else
		pawl_kqueue_touch(server->timers, &c->idle, server->idle_ns);
}

/* Timers come after sockets: an expiry may free a connection that a later event of this round points to. */
static bool serve(struct server *server)
{
	struct kevent events[EVENTS];
	int count = kevent(server->kqueue, NULL, 0, events, EVENTS, NULL);
	bool time = false, stop = false;

	for (int i = 0; i < count; i++)
		if (events[i].filter == EVFILT_SIGNAL)
			stop = true;
		else if (events[i].udata == server->timers)
			time = true;
		else if (events[i].udata == &server->listener)
			welcome(server);
		else
			echo(server, events[i].udata);
	if (time)
		pawl_kqueue_turn(server->timers);
	return !stop;
}

static int listen_on(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, SOMAXCONN) != 0) {
		perror("idle-server-kqueue: cannot listen");
		exit(1);
	}
	getsockname(fd, (struct sockaddr *)&address, &size);
	printf("listening on %d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

/* A kqueue sees an ignored signal, too. Without SIGPIPE, a write to a closed connection is only an error. */
static void add_signals(struct server *server)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	add(server, SIGINT, EVFILT_SIGNAL, NULL);
	add(server, SIGTERM, EVFILT_SIGNAL, NULL);
}

static void on_dropped(struct pawl_timer *timer, void *arg)
{
	hang_up(arg, (struct connection *)timer);
}

int main(int argc, char **argv)
{
	struct server server = {.idle_ns =
	                                (argc > 2 ? strtoull(argv[2], NULL, 10) : 30000) * PAWL_MS};
	int error;

	server.kqueue = kqueue();
	error = pawl_kqueue_open(&server.timers, server.kqueue, on_idle, &server, NULL);
	if (error) {
		fprintf(stderr, "idle-server-kqueue: %s\n", strerror(-error));
		return 1;
	}
	add_signals(&server);
	server.listener = listen_on(argc > 1 ? atoi(argv[1]) : 0);
	add(&server, server.listener, EVFILT_READ, &server.listener);
	while (serve(&server))
		;
	pawl_kqueue_close(server.timers, on_dropped);
	close(server.listener);
	close(server.kqueue);
	return 0;
}
