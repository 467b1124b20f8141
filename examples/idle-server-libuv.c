/* SPDX-License-Identifier: MIT */
/*
 * An echo server that closes connections that are silent for too long: libuv, and a wheel behind one timer of it.
 *
 *	idle-server-libuv [PORT [IDLE_MS]]      on 127.0.0.1; 0 is a free port; ends on SIGTERM or SIGINT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pawl/libuv.h>
#include <stdio.h>
#include <stdlib.h>

struct server {
	uv_tcp_t listener;
	uv_signal_t signals[2];
	struct pawl_libuv *timers;
	uint64_t idle_ns;
};

struct connection {
	struct pawl_timer idle; /* first: a timer is its connection */
	uv_tcp_t tcp;
	struct server *server;
	char buffer[4096];
};

static void on_closed(uv_handle_t *tcp)
{
	free(tcp->data);
}

static void hang_up(struct connection *c)
{
	pawl_libuv_cancel(c->server->timers, &c->idle);
	if (!uv_is_closing((uv_handle_t *)&c->tcp))
		uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_idle(struct pawl_timer *timer, void *arg)
{
	(void)arg;
	printf("idle\n");
	hang_up((struct connection *)timer);
}

static void on_buffer(uv_handle_t *tcp, size_t wanted, uv_buf_t *buffer)
{
	struct connection *c = tcp->data;

	(void)wanted;
	*buffer = uv_buf_init(c->buffer, sizeof(c->buffer));
}

static void on_read(uv_stream_t *tcp, ssize_t size, const uv_buf_t *buffer)
{
	struct connection *c = tcp->data;
	uv_buf_t echo = uv_buf_init(buffer->base, size > 0 ? (unsigned)size : 0);

	if (size == 0)
		return;
	if (size < 0 || uv_try_write(tcp, &echo, 1) != (int)size)
		hang_up(c);
	else
		pawl_libuv_touch(c->server->timers, &c->idle, c->server->idle_ns);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct server *server = listener->data;
	struct connection *c = status == 0 ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return;
	c->server = server;
	c->tcp.data = c;
	uv_tcp_init(listener->loop, &c->tcp);
	if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0 ||
	    uv_read_start((uv_stream_t *)&c->tcp, on_buffer, on_read) != 0)
		hang_up(c);
	else
		pawl_libuv_arm(server->timers, &c->idle, server->idle_ns);
}

static void on_dropped(struct pawl_timer *timer, void *arg)
{
	(void)arg;
	hang_up((struct connection *)timer);
}

/* Everything is closed, so the loop has nothing left to do, and uv_run returns. */
static void on_signal(uv_signal_t *signal, int number)
{
	struct server *server = signal->data;

	(void)number;
	pawl_libuv_close(server->timers, on_dropped);
	uv_close((uv_handle_t *)&server->listener, NULL);
	uv_close((uv_handle_t *)&server->signals[0], NULL);
	uv_close((uv_handle_t *)&server->signals[1], NULL);
}

static void start_signals(struct server *server, uv_loop_t *loop)
{
	static const int numbers[2] = {SIGINT, SIGTERM};

	for (int i = 0; i < 2; i++) {
		server->signals[i].data = server;
		uv_signal_init(loop, &server->signals[i]);
		uv_signal_start(&server->signals[i], on_signal, numbers[i]);
	}
	signal(SIGPIPE, SIG_IGN);
}

static int listen_on(struct server *server, uv_loop_t *loop, int port)
{
	struct sockaddr_in address;
	int size = sizeof(address), error;

	uv_ip4_addr("127.0.0.1", port, &address);
	server->listener.data = server;
	uv_tcp_init(loop, &server->listener);
	error = uv_tcp_bind(&server->listener, (struct sockaddr *)&address, 0);
	if (!error)
		error = uv_listen((uv_stream_t *)&server->listener, SOMAXCONN, on_connection);
	if (error)
		return error;
	uv_tcp_getsockname(&server->listener, (struct sockaddr *)&address, &size);
	printf("listening on %d\n", ntohs(address.sin_port));
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	struct server server = {.idle_ns =
	                                (argc > 2 ? strtoull(argv[2], NULL, 10) : 30000) * PAWL_MS};
	int error = pawl_libuv_open(&server.timers, loop, on_idle, NULL, NULL);

	if (!error)
		error = listen_on(&server, loop, argc > 1 ? atoi(argv[1]) : 0);
	if (error) {
		fprintf(stderr, "idle-server-libuv: %s\n", uv_strerror(error));
		return 1;
	}
	start_signals(&server, loop);
	uv_run(loop, UV_RUN_DEFAULT);
	return uv_loop_close(loop) == 0 ? 0 : 1;
}
