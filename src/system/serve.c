/* SPDX-License-Identifier: MIT */
/*
 * A server on a Unix socket, with one thread. It answers each line that a client writes, whatever the line says. A
 * client that does not read its answers delays no other: the server counts the answers that it owes, makes one at a
 * time, and reads nothing more from that client meanwhile.
 */
#define _GNU_SOURCE
#include "system.h"

#ifdef PAWL_ON_POSIX
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SOCK_CLOEXEC
#define SOCK_CLOEXEC  0
#define SOCK_NONBLOCK 0
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* the thread blocks all signals anyway */
#endif

enum { CLIENTS = 8, READ_SIZE = 512, LOCK_TRIES = 1000, DIRECTORY_SIZE = 4096 };

struct client {
	int fd;
	unsigned owed; /* answers: at most READ_SIZE */
	char *answer;  /* being sent, or NULL */
	size_t size, sent;
};

struct local_server {
	int listener, wake[2]; /* wake: a pipe; a byte in it ends the thread */
	struct sockaddr_un address;
	char *file;   /* the same path, absolute: the process may change its directory meanwhile */
	dev_t device; /* of the socket's file */
	ino_t inode;
	struct system_thread thread;
	struct client clients[CLIENTS];
	unsigned client_count;
	struct local_handler handler;
};

/* For systems that cannot set these flags when they open the descriptor. */
static int prepare_fd(int fd)
{
	if (fd < 0)
		return -errno;
	if (SOCK_CLOEXEC == 0 &&
	    (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

static int new_socket(void)
{
	return prepare_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

static int accept_client(int listener)
{
#if SOCK_CLOEXEC
	return prepare_fd(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
#else
	return prepare_fd(accept(listener, NULL, NULL));
#endif
}

/*
 * Two processes may open a server at one path at the same time. One of them must not mistake the other's socket, which
 * is bound and does not listen yet, for the socket of a process that ended. So each locks the directory until it
 * listens. It goes on without the lock if the directory cannot be read, or if another process keeps the lock for a
 * tenth of a second.
 */
static int lock_directory(const struct sockaddr_un *address)
{
	char directory[sizeof(address->sun_path)];
	char *slash;
	int fd;

	strcpy(directory, address->sun_path);
	slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = '\0'; /* the directory of "/name" is "/" */
	fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			break;
		nap(100000);
	}
	return fd;
}

/* A close alone would not unlock it if a child process, forked meanwhile, also has the descriptor. */
static void unlock_directory(int fd)
{
	if (fd < 0)
		return;
	flock(fd, LOCK_UN);
	close(fd);
}

/* The path exists. 0: it was the socket of a process that ended, and is removed; or -errno. */
static int remove_stale(const struct sockaddr_un *address)
{
	struct stat file;
	int fd, error;

	if (lstat(address->sun_path, &file) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(file.st_mode))
		return -EEXIST;
	fd = new_socket();
	if (fd < 0)
		return fd;
	error = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : errno;
	close(fd);
	if (error != ECONNREFUSED)
		return error == EACCES || error == EPERM ? -error : -EADDRINUSE;
	return unlink(address->sun_path) == 0 || errno == ENOENT ? 0 : -errno;
}

static int bind_path(int fd, const struct sockaddr_un *address)
{
	int error;

	if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	error = remove_stale(address);
	if (error)
		return error;
	return bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : -errno;
}

/*
 * No client can connect before listen(), and by then the mode is right. (On Linux the file has it from the start, since
 * bind copies it from the descriptor. Elsewhere fchmod fails, which does no harm.)
 */
static int listen_privately(struct local_server *server)
{
	const char *path = server->address.sun_path;
	struct stat file;
	int fd = new_socket(), error;

	if (fd < 0)
		return fd;
	fchmod(fd, S_IRUSR | S_IWUSR);
	error = bind_path(fd, &server->address);
	if (error) {
		close(fd);
		return error;
	}
	if (chmod(path, S_IRUSR | S_IWUSR) != 0 || lstat(path, &file) != 0 ||
	    listen(fd, CLIENTS) != 0) {
		error = -errno;
		unlink(path);
		close(fd);
		return error;
	}
	server->device = file.st_dev;
	server->inode = file.st_ino;
	server->listener = fd;
	return 0;
}

/* Remove the socket's file, unless another server has replaced it. */
static void remove_file(const struct local_server *server)
{
	struct stat file;

	if (lstat(server->file, &file) == 0 && file.st_dev == server->device &&
	    file.st_ino == server->inode)
		unlink(server->file);
}

/* If a child process, forked meanwhile, also has the descriptor, the client would not notice a close alone. */
static void disconnect(int fd)
{
	shutdown(fd, SHUT_RDWR);
	close(fd);
}

static void remove_client(struct local_server *server, struct client *client)
{
	disconnect(client->fd);
	free(client->answer);
	*client = server->clients[--server->client_count];
	server->handler.clients(server->handler.arg, server->client_count);
}

/* One client too many is disconnected at once, so that it does not wait forever. */
static void add_client(struct local_server *server)
{
	int fd = accept_client(server->listener);

	if (fd < 0) {
		nap(1000000); /* perhaps no descriptor is free: the client stays in the queue */
		return;
	}
	if (server->client_count == CLIENTS) {
		disconnect(fd);
		return;
	}
	server->clients[server->client_count++] = (struct client){.fd = fd};
	server->handler.clients(server->handler.arg, server->client_count);
}

static bool would_block(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* false: the client has disconnected. */
static bool read_lines(struct client *client)
{
	char bytes[READ_SIZE];
	ssize_t size = read(client->fd, bytes, sizeof(bytes));

	for (ssize_t i = 0; i < size; i++)
		client->owed += bytes[i] == '\n';
	return size > 0 || (size < 0 && would_block());
}

static bool send_answer(struct client *client)
{
	ssize_t sent = send(client->fd, client->answer + client->sent, client->size - client->sent,
	                    MSG_NOSIGNAL);

	if (sent < 0)
		return would_block();
	client->sent += (size_t)sent;
	if (client->sent == client->size) {
		free(client->answer);
		client->answer = NULL;
		client->owed--;
	}
	return true;
}

static bool make_answer(struct local_server *server, struct client *client)
{
	client->sent = 0;
	client->answer = server->handler.answer(server->handler.arg, &client->size);
	return client->answer;
}

static bool serve_client(struct local_server *server, struct client *client, short events)
{
	if (client->owed == 0)
		return !(events & (POLLIN | POLLHUP | POLLERR)) || read_lines(client);
	if (!(events & (POLLOUT | POLLHUP | POLLERR)))
		return true;
	if (!client->answer && !make_answer(server, client))
		return false;
	return send_answer(client);
}

static void serve(void *arg)
{
	struct local_server *server = arg;
	struct pollfd fds[2 + CLIENTS];

	for (;;) {
		unsigned count = server->client_count;

		fds[0] = (struct pollfd){server->wake[0], POLLIN, 0};
		fds[1] = (struct pollfd){server->listener, POLLIN, 0};
		for (unsigned i = 0; i < count; i++)
			fds[2 + i] = (struct pollfd){server->clients[i].fd,
			                             server->clients[i].owed ? POLLOUT : POLLIN, 0};
		if (poll(fds, 2 + count, -1) < 0)
			nap(1000000); /* perhaps the kernel has no memory now */
		else if (fds[0].revents)
			return;
		for (unsigned i = count; i-- > 0;) /* from the end: the last one fills a gap */
			if (fds[2 + i].revents &&
			    !serve_client(server, &server->clients[i], fds[2 + i].revents))
				remove_client(server, &server->clients[i]);
		if (fds[1].revents)
			add_client(server);
	}
}

static int start(struct local_server *server)
{
	int error, directory;

	if (pipe(server->wake) != 0)
		return -errno;
	fcntl(server->wake[0], F_SETFD, FD_CLOEXEC);
	fcntl(server->wake[1], F_SETFD, FD_CLOEXEC);
	directory = lock_directory(&server->address);
	error = listen_privately(server);
	unlock_directory(directory);
	if (!error)
		error = pawl__system_thread_start(&server->thread, server->handler.name, 0, serve,
		                                  server);
	if (!error)
		return 0;
	if (server->listener >= 0) {
		remove_file(server);
		close(server->listener);
	}
	close(server->wake[0]);
	close(server->wake[1]);
	return error;
}

/* The path from the root on, or as it is where the current directory has no name; NULL: no memory. */
static char *absolute(const char *path)
{
	char directory[DIRECTORY_SIZE] = "";
	size_t size;
	char *file;

	if (*path != '/' && !getcwd(directory, sizeof(directory)))
		directory[0] = '\0';
	size = strlen(directory);
	file = malloc(size + 1 + strlen(path) + 1);
	if (!file)
		return NULL;
	memcpy(file, directory, size);
	if (size > 0)
		file[size++] = '/';
	strcpy(file + size, path);
	return file;
}

static void free_server(struct local_server *server)
{
	free(server->file);
	free(server);
}

int pawl__system_serve_open(struct local_server **opened, const char *path,
                            const struct local_handler *handler)
{
	struct local_server *server;
	int error;

	if (*path == '\0')
		return -ENOENT;
	if (strlen(path) >= sizeof(server->address.sun_path))
		return -ENAMETOOLONG;
	server = calloc(1, sizeof(*server));
	if (!server)
		return -ENOMEM;
	server->handler = *handler;
	server->listener = -1;
	server->address.sun_family = AF_UNIX;
	strcpy(server->address.sun_path, path);
	server->file = absolute(path);
	error = server->file ? start(server) : -ENOMEM;
	if (error) {
		free_server(server);
		return error;
	}
	*opened = server;
	return 0;
}

/* Closing the pipe is not enough: a forked child may also have the descriptor. An empty pipe has room for a byte. */
static void end_thread(struct local_server *server)
{
	while (write(server->wake[1], "", 1) < 0 && errno == EINTR)
		;
	pawl__system_thread_join(&server->thread);
}

void pawl__system_serve_close(struct local_server *server)
{
	end_thread(server);
	close(server->wake[0]);
	close(server->wake[1]);
	remove_file(server);
	close(server->listener);
	while (server->client_count > 0)
		remove_client(server, &server->clients[0]);
	free_server(server);
}
#endif
