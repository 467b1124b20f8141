/* SPDX-License-Identifier: MIT */
/* pawl board: its options, and the token. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "../commands.h"
#include "../text/arguments.h"
#include "http.h"

enum { TOKEN_MIN = 16, TOKEN_MAX = 255, TOKEN_RANDOM = 16 };

static const char help[] =
        "usage: pawl board [OPTION...]\n"
        "\n"
        "Serves a page that shows the queues of the module pawl.so in a Redis or Valkey\n"
        "server: counts, what falls due in the next hour, lateness, dead letters, tasks.\n"
        "\n"
        "  --server ADDRESS   HOST:PORT, the path of a unix socket, or\n"
        "                     redis://[USER:PASSWORD@]HOST[:PORT][/DB], also rediss: for\n"
        "                     TLS and valkey:; default $PAWL_BOARD_SERVER, else\n"
        "                     127.0.0.1:6379\n"
        "  --listen ADDRESS   ADDRESS:PORT of the page, port 0 for any; default\n"
        "                     127.0.0.1:8379. Other than loopback needs a token\n"
        "  --write            the page may also pause, resume, requeue and cancel\n"
        "  --token-file FILE  its first line is the token; default $PAWL_BOARD_TOKEN,\n"
        "                     else one is made where it is needed, and printed\n"
        "  --origin URL       behind a proxy: as what browsers know the page; other than\n"
        "                     loopback needs a token\n"
        "  --tls-ca FILE      who signed the server's certificate; default the system's\n"
        "  --tls-cert FILE    a certificate of one's own, and\n"
        "  --tls-key FILE     its key\n"
        "  --help             this text\n"
        "\n"
        "The password of the server is taken from the address, else from $REDISCLI_AUTH.\n"
        "SIGINT or SIGTERM ends it.\n";

static const struct option long_options[] = {
        {"server", required_argument, NULL, 's'},   {"listen", required_argument, NULL, 'l'},
        {"write", no_argument, NULL, 'w'},          {"token-file", required_argument, NULL, 't'},
        {"origin", required_argument, NULL, 'o'},   {"tls-ca", required_argument, NULL, 'a'},
        {"tls-cert", required_argument, NULL, 'c'}, {"tls-key", required_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},           {0},
};

struct arguments {
	struct server_address server;
	bool server_given;
	struct listen_address listen;
	const char *token_file, *origin;
	bool origin_loopback;
	struct server_tls_files tls;
	bool write;
	char token[TOKEN_MAX + 1];
};

static bool take_server(struct arguments *arguments, const char *option, const char *text)
{
	char wrong[ADDRESS_TEXT + 100];

	arguments->server_given = true;
	if (server_address_parse(text, &arguments->server, wrong, sizeof(wrong)))
		return true;
	complain("board: %s: %s", option, wrong);
	return false;
}

static bool take_listen(struct arguments *arguments, const char *text)
{
	char wrong[ADDRESS_TEXT + 100];

	if (listen_address_parse(text, &arguments->listen, wrong, sizeof(wrong)))
		return true;
	complain("board: --listen: %s", wrong);
	return false;
}

/* As a browser sends it: no path, not even a slash. */
static bool take_origin(struct arguments *arguments, const char *text)
{
	const char *host = strncmp(text, "http://", 7) == 0    ? text + 7
	                   : strncmp(text, "https://", 8) == 0 ? text + 8
	                                                       : "";

	if (*host == '\0' || strpbrk(host, "/?#@ ")) {
		complain("board: --origin is '%s'; expected http://HOST or https://HOST, with a "
		         "port if "
		         "need be, and nothing behind it",
		         text);
		return false;
	}
	arguments->origin = text;
	arguments->origin_loopback = is_loopback_address(host);
	return true;
}

static bool take_option(void *to, int option)
{
	struct arguments *arguments = to;

	switch (option) {
	case 's':
		return take_server(arguments, "--server", optarg);
	case 'l':
		return take_listen(arguments, optarg);
	case 'w':
		arguments->write = true;
		return true;
	case 't':
		arguments->token_file = optarg;
		return true;
	case 'o':
		return take_origin(arguments, optarg);
	case 'a':
		arguments->tls.ca = optarg;
		return true;
	case 'c':
		arguments->tls.certificate = optarg;
		return true;
	case 'k':
		arguments->tls.key = optarg;
		return true;
	default:
		return false;
	}
}

/* It is part of an address, so it consists of what needs no encoding there. */
static bool keep_token(struct arguments *arguments, const char *from, const char *text)
{
	size_t size = strlen(text);

	if (size < TOKEN_MIN || size > TOKEN_MAX ||
	    strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~") !=
	            size) {
		complain("board: the token of %s has %zu bytes, or bytes that it must not have; "
		         "expected %d "
		         "to %d letters, digits and -._~",
		         from, size, TOKEN_MIN, TOKEN_MAX);
		return false;
	}
	memcpy(arguments->token, text, size + 1);
	return true;
}

static bool read_token(struct arguments *arguments, const char *path)
{
	char line[TOKEN_MAX + 3] = "";
	FILE *file = fopen(path, "r");

	if (!file || (!fgets(line, sizeof(line), file) && ferror(file))) {
		complain("board: --token-file '%s' cannot be read: %s", path, strerror(errno));
		if (file)
			fclose(file);
		return false;
	}
	fclose(file);
	line[strcspn(line, "\r\n")] = '\0';
	return keep_token(arguments, path, line);
}

static bool make_token(struct arguments *arguments)
{
	unsigned char bytes[TOKEN_RANDOM];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
		complain("board: no random bytes for a token: %s", strerror(errno));
		return false;
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(arguments->token + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

/*
 * None is needed on loopback, where a token is asked for only if one is given. A proxy that others reach is as good as a
 * port that they reach.
 */
static bool find_token(struct arguments *arguments, bool *made)
{
	const char *given = getenv("PAWL_BOARD_TOKEN");
	bool needed = !arguments->listen.loopback ||
	              (arguments->origin && !arguments->origin_loopback);

	if (arguments->token_file)
		return read_token(arguments, arguments->token_file);
	if (given && *given)
		return keep_token(arguments, "$PAWL_BOARD_TOKEN", given);
	*made = needed;
	return !needed || make_token(arguments);
}

static bool find_server(struct arguments *arguments)
{
	const char *given = getenv("PAWL_BOARD_SERVER"), *password = getenv("REDISCLI_AUTH");
	struct server_address *server = &arguments->server;

	if (!arguments->server_given &&
	    !(given && *given ? take_server(arguments, "$PAWL_BOARD_SERVER", given)
	                      : take_server(arguments, "the default", "127.0.0.1:6379")))
		return false;
	if (password && *password && !server->password[0]) {
		if (strlen(password) >= sizeof(server->password)) {
			complain("board: the password of $REDISCLI_AUTH is too long; expected at "
			         "most 255 bytes");
			return false;
		}
		strcpy(server->password, password);
	}
	if (!server->tls &&
	    (arguments->tls.ca || arguments->tls.certificate || arguments->tls.key)) {
		complain("board: --tls-ca, --tls-cert and --tls-key are for a server with "
		         "rediss:// or valkeys://");
		return false;
	}
	if (!arguments->tls.certificate != !arguments->tls.key) {
		complain("board: --tls-cert and --tls-key are given together or not at all");
		return false;
	}
	return true;
}

/* An address that a browser can open: who listens everywhere is known by the machine's name. */
static void show_address(const struct board *board)
{
	bool everywhere =
	        strcmp(board->listen.host, "0.0.0.0") == 0 || strcmp(board->listen.host, "::") == 0;
	char name[ADDRESS_TEXT] = "localhost", address[ADDRESS_TEXT + 16];

	if (everywhere)
		gethostname(name, sizeof(name) - 1);
	host_port_text(everywhere ? name : board->listen.host, board->listen.port, address,
	               sizeof(address));
	printf("pawl board: %s%s/%s%s shows %s, %s\n", board->origin ? "" : "http://",
	       board->origin ? board->origin : address, board->token_made ? "#token=" : "",
	       board->token_made ? board->token : "", board->server_text,
	       board->write ? "and may write" : "read-only");
	fflush(stdout);
	if (!server_ready(board->server))
		complain("board: the server %s is away: %s; the page says so until it is back",
		         board->server_text, server_wrong(board->server));
}

int command_board(int argc, char **argv)
{
	struct arguments arguments = {
	        .listen = {.host = "127.0.0.1", .port = 8379, .loopback = true}};
	struct board board = {0};
	int code = take_options(argc, argv, long_options, help, take_option, &arguments);

	if (code >= 0)
		return code;
	if (optind < argc) {
		complain("board: '%s' is an argument too many; expected options only",
		         argv[optind]);
		return EXIT_USAGE;
	}
	if (!find_server(&arguments) || !find_token(&arguments, &board.token_made))
		return EXIT_USAGE;
	board.listen = arguments.listen;
	board.token = arguments.token[0] ? arguments.token : NULL;
	board.origin = arguments.origin;
	board.write = arguments.write;
	board.database = arguments.server.database;
	server_address_text(&arguments.server, board.server_text, sizeof(board.server_text));
	board.server = server_new(&arguments.server, &arguments.tls);
	if (!board.server)
		return EXIT_USAGE;
	code = http_serve(&board, show_address);
	server_free(board.server);
	return code;
}
