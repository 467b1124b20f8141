/* SPDX-License-Identifier: MIT */
/*
 * An echo server that closes connections that are silent for too long: epoll, and a wheel behind one descriptor.
 * It is meant to be read and copied alone, so it shares no header with its like for kqueue.
 *
 *	idle-server-epoll [PORT [IDLE_MS]]      on 127.0.0.1; 0 is a free port; ends on SIGTERM or SIGINT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pawl/epoll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 64

struct connection {
	struct pawl_timer idle; /* first: a timer is its connection */
	int fd;
};

struct server {
	struct pawl_epoll *timers;
	uint64_t idle_ns;
	int epoll, listener, signals;
};

static void add(struct server *server, int fd, void *data)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = data};

	epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void hang_up(struct server *server, struct connection *c)
{
	pawl_epoll_cancel(server->timers, &c->idle);
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
	int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct connection *c = fd < 0 ? NULL : calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return;
	}
	c->fd = fd;
	add(server, fd, c);
	pawl_epoll_arm(server->timers, &c->idle, server->idle_ns);
}

static void echo(struct server *server, struct connection *c)
{
	char buffer[4096];
	ssize_t size = read(c->fd, buffer, sizeof(buffer));

	if (size <= 0 || write(c->fd, buffer, (size_t)size) != size)
		hang_up(server, c);
	else
		pawl_epoll_touch(server->timers, &c->idle, server->idle_ns);
}

/* Timers come after sockets: an expiry may free a connection that a later event of this round points to. */
static bool serve(struct server *server)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(server->epoll, events, EVENTS, -1);
	bool time = false, stop = false;

	for (int i = 0; i < count; i++)
		if (events[i].data.ptr == &server->signals)
			stop = true;
		else if (events[i].data.ptr == &server->timers)
			time = true;
		else if (events[i].data.ptr == &server->listener)
			welcome(server);
		else
			echo(server, events[i].data.ptr);
	if (time)
		pawl_epoll_turn(server->timers);
	return !stop;
}

static int listen_on(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, SOMAXCONN) != 0) {
		perror("idle-server-epoll: cannot listen");
		exit(1);
	}
	getsockname(fd, (struct sockaddr *)&address, &size);
	printf("listening on %d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

/* Signals come through a descriptor. Without SIGPIPE, a write to a closed connection is only an error. */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void on_dropped(struct pawl_timer *timer, void *arg)
{
	hang_up(arg, (struct connection *)timer);
}

int main(int argc, char **argv)
{
	struct server server = {.idle_ns =
	                                (argc > 2 ? strtoull(argv[2], NULL, 10) : 30000) * PAWL_MS};
	int error = pawl_epoll_open(&server.timers, on_idle, &server, NULL);

	if (error) {
		fprintf(stderr, "idle-server-epoll: %s\n", strerror(-error));
		return 1;
	}
	server.epoll = epoll_create1(EPOLL_CLOEXEC);
	server.signals = open_signals();
	server.listener = listen_on(argc > 1 ? atoi(argv[1]) : 0);
	add(&server, pawl_epoll_fd(server.timers), &server.timers);
	add(&server, server.signals, &server.signals);
	add(&server, server.listener, &server.listener);
	while (serve(&server))
		;
	pawl_epoll_close(server.timers, on_dropped);
	close(server.listener);
	close(server.signals);
	close(server.epoll);
	return 0;
}
