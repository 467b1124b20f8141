/* SPDX-License-Identifier: MIT */
/* pawl board: its options. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../commands.h"
#include "../http/site.h"
#include "../text/arguments.h"
#include "api.h"

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
        "  --origin URL       behind a proxy: the page's address in browsers; other than\n"
        "                     loopback needs a token\n"
        "  --tls-ca FILE      the CA of the server's certificate; default the system's\n"
        "  --tls-cert FILE    the client's certificate, and\n"
        "  --tls-key FILE     its key\n"
        "  --help             this text\n"
        "\n"
        "The password of the server is taken from the address, else from $REDISCLI_AUTH.\n"
        "SIGINT or SIGTERM ends it.\n";

struct arguments {
	const char *server_text;
	struct server_address server;
	struct site_options site;
	struct server_tls_files tls;
	bool write;
};

static bool read_server(struct arguments *arguments, const char *option, const char *text)
{
	char wrong[ADDRESS_TEXT + 100];

	if (server_address_parse(text, &arguments->server, wrong, sizeof(wrong)))
		return true;
	complain("board: %s: %s", option, wrong);
	return false;
}

static bool find_server(struct arguments *arguments)
{
	const char *given = getenv("PAWL_BOARD_SERVER"), *password = getenv("REDISCLI_AUTH");
	struct server_address *server = &arguments->server;

	if (!(arguments->server_text ? read_server(arguments, "--server", arguments->server_text)
	      : given && *given      ? read_server(arguments, "$PAWL_BOARD_SERVER", given)
	                             : read_server(arguments, "the default", "127.0.0.1:6379")))
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

static void show_address(const struct site *site)
{
	const struct board *board = site->arg;
	char url[URL_TEXT];

	site_url(site, url);
	printf("pawl board: %s shows %s, %s\n", url, board->server_text,
	       board->write ? "and may write" : "read-only");
	fflush(stdout);
	server_begin(board->server);
	if (!server_ready(board->server))
		complain("board: the server %s is away: %s; the page says so until it is back",
		         board->server_text, server_wrong(board->server));
}

int command_board(int argc, char **argv)
{
	struct arguments arguments = {.write = false};
	struct board board = {0};
	struct site site = {.command = "board",
	                    .page = &board_page,
	                    .path = "/api",
	                    .method = EVHTTP_REQ_POST,
	                    .header = "X-Pawl-Board",
	                    .answer = board_answer,
	                    .arg = &board};
	const struct setting settings[] = {
	        {"server", .text = &arguments.server_text},
	        {"listen", .text = &arguments.site.listen},
	        {"write", .flag = &arguments.write},
	        {"token-file", .text = &arguments.site.token_file},
	        {"origin", .text = &arguments.site.origin},
	        {"tls-ca", .text = &arguments.tls.ca},
	        {"tls-cert", .text = &arguments.tls.certificate},
	        {"tls-key", .text = &arguments.tls.key},
	        {0},
	};
	int code = parse_options(argc, argv, settings, help);

	if (code >= 0)
		return code;
	if (optind < argc) {
		complain("board: '%s' is an argument too many; expected options only",
		         argv[optind]);
		return EXIT_USAGE;
	}
	if (!find_server(&arguments) ||
	    !site_prepare(&site, &arguments.site, "127.0.0.1:8379", "PAWL_BOARD_TOKEN"))
		return EXIT_USAGE;
	board.write = arguments.write;
	board.database = arguments.server.database;
	server_address_text(&arguments.server, board.server_text, sizeof(board.server_text));
	board.server = server_new(&arguments.server, &arguments.tls);
	if (!board.server)
		return EXIT_USAGE;
	code = site_serve(&site, show_address);
	server_free(board.server);
	return code;
}
