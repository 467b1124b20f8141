/* SPDX-License-Identifier: MIT */
/*
 * An echo server on epoll that closes connections which are silent for too long. However many connections it has, epoll
 * has one descriptor for all their timeouts.
 *
 *	idle-server [PORT [IDLE_MS]]      on 127.0.0.1; 0 is a free port; ends on SIGTERM or SIGINT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pawl/epoll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH 64 /* events in a round */

struct server {
	struct pawl_loop *timers;
	uint64_t idle_ns;
	int epoll, listener, signals;
	bool stop;
};

struct connection {
	struct pawl_loop_timer idle; /* a timer is part of the struct that it belongs to */
	int fd;
};

static void hang_up(struct server *server, struct connection *c)
{
	pawl_loop_cancel(server->timers, &c->idle);
	close(c->fd); /* that also takes it out of the epoll */
	free(c);
}

/* The connection's time is up. */
static void on_idle(struct pawl_loop_timer *timer, void *server)
{
	printf("idle\n");
	hang_up(server, PAWL_CONTAINER_OF(timer, struct connection, idle));
}

/* The server ends, and the connection is still open. */
static void on_dropped(struct pawl_loop_timer *timer, void *server)
{
	hang_up(server, PAWL_CONTAINER_OF(timer, struct connection, idle));
}

/* There was input: answer, and begin the idle time again. A client that does not read its answers is hung up on. */
static void on_input(struct server *server, struct connection *c)
{
	char buffer[4096];
	ssize_t size = read(c->fd, buffer, sizeof(buffer));

	if (size <= 0 || write(c->fd, buffer, (size_t)size) != size)
		hang_up(server, c);
	else
		pawl_loop_touch(server->timers, &c->idle, server->idle_ns);
}

/* Have epoll report input on the descriptor, with this pointer. */
static bool watch(struct server *server, int fd, void *pointer)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = pointer};

	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void on_connection(struct server *server)
{
	int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct connection *c = fd < 0 ? NULL : calloc(1, sizeof(*c)); /* its timer is idle */

	if (!c || !watch(server, fd, c)) {
		close(fd);
		free(c);
		return;
	}
	c->fd = fd;
	pawl_loop_arm(server->timers, &c->idle, server->idle_ns);
}

/* Timers come after sockets: an expiry may free a connection that a later event of this round points to. */
static void run(struct server *server)
{
	struct epoll_event ready[BATCH];

	while (!server->stop) {
		int count = epoll_wait(server->epoll, ready, BATCH, -1);
		bool timers_due = false;

		for (int i = 0; i < count; i++) {
			void *pointer = ready[i].data.ptr;

			if (pointer == &server->timers)
				timers_due = true;
			else if (pointer == &server->signals)
				server->stop = true;
			else if (pointer == &server->listener)
				on_connection(server);
			else
				on_input(server, pointer);
		}
		if (timers_due)
			pawl_loop_pass(server->timers);
	}
}

/* A descriptor from which SIGTERM and SIGINT are read. */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN); /* a write to a closed connection is then only an error */
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int open_listener(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, SOMAXCONN) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		return -1;
	printf("listening on %d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

int main(int argc, char **argv)
{
	unsigned long long idle_ms = argc > 2 ? strtoull(argv[2], NULL, 10) : 30000;
	struct server server = {.idle_ns = idle_ms * PAWL_MS};
	const struct pawl_loop_options options = {.due = on_idle, .arg = &server};

	server.epoll = epoll_create1(EPOLL_CLOEXEC);
	server.signals = open_signals();
	server.listener = open_listener(argc > 1 ? atoi(argv[1]) : 0);
	if (pawl_epoll_open(&server.timers, &options) != 0 ||
	    !watch(&server, pawl_epoll_fd(server.timers), &server.timers) ||
	    !watch(&server, server.signals, &server.signals) ||
	    !watch(&server, server.listener, &server.listener)) {
		perror("idle-server: cannot begin");
		return 1;
	}
	run(&server);
	pawl_loop_close(server.timers, on_dropped);
	close(server.listener);
	close(server.signals);
	close(server.epoll);
	return 0;
}
