/* SPDX-License-Identifier: MIT */
/* pawl top: what goes on in a service that is inspected, once a second. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "../commands.h"
#include "../text/arguments.h"
#include "draw.h"
#include "link.h"

#define MINUTE_NS  UINT64_C(60000000000)
#define SCREEN_ON  "\033[?1049h\033[?25l\033[?7l" /* another screen, no cursor, no wrapping */
#define SCREEN_OFF "\033[?7h\033[?25h\033[?1049l"

static const char help[] =
        "usage: pawl top [OPTION...] SOCKET\n"
        "\n"
        "Shows what goes on in a program that has called pawl_service_inspect(service,\n"
        "SOCKET): when its tasks are due, which functions they have, how late they are,\n"
        "the latest runs, and the keys with most waiting. Once a second on a terminal,\n"
        "once else. Keys: q ends it, space pauses it.\n"
        "\n"
        "  --once             once, on a terminal, too\n"
        "  --json             the snapshots as they are, a line each, with the functions'\n"
        "                     names added\n"
        "  --interval S       seconds from one to the next, 0.1 to 3600 (default 1)\n"
        "  --help             this text\n";

static const struct option options[] = {
        {"once", no_argument, NULL, 'o'},
        {"json", no_argument, NULL, 'j'},
        {"interval", required_argument, NULL, 'i'},
        {"help", no_argument, NULL, 'h'},
        {0},
};

struct arguments {
	bool once, json;
	double interval;
	const char *path;
};

static bool take_option(void *to, int option)
{
	struct arguments *arguments = to;

	switch (option) {
	case 'o':
		arguments->once = true;
		return true;
	case 'j':
		arguments->json = true;
		return true;
	case 'i':
		return argument_decimal("--interval", optarg, 0.1, 3600, &arguments->interval);
	default:
		return false;
	}
}

static volatile sig_atomic_t ended_by;

static void note_signal(int number)
{
	ended_by = number;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = note_signal}; /* without SA_RESTART */

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* A snapshot, and when it came. */
struct taken {
	struct snapshot *snapshot;
	uint64_t at_ns;
};

/* Those of the last minute: the oldest first. */
enum { HISTORY = 61 };
struct history {
	struct taken taken[HISTORY];
	unsigned count;
};

static void history_free(struct history *history)
{
	for (unsigned i = 0; i < history->count; i++)
		free(history->taken[i].snapshot);
	history->count = 0;
}

static void drop_oldest(struct history *history)
{
	free(history->taken[0].snapshot);
	memmove(history->taken, history->taken + 1, --history->count * sizeof(history->taken[0]));
}

/* With a short interval those of the last minute are more than there is room for: then it is less than a minute. */
static void history_add(struct history *history, struct snapshot *snapshot)
{
	uint64_t now = clock_ns();

	if (history->count == HISTORY)
		drop_oldest(history);
	while (history->count > 1 && now - history->taken[1].at_ns >= MINUTE_NS)
		drop_oldest(history);
	history->taken[history->count++] = (struct taken){snapshot, now};
}

/* NULL: link->wrong says why. */
static struct snapshot *ask(struct link *link, const char *path)
{
	struct snapshot *snapshot = malloc(sizeof(*snapshot));

	if (!snapshot) {
		snprintf(link->wrong, sizeof(link->wrong), "no memory for a snapshot");
		return NULL;
	}
	if (link_ask(link, path)) {
		if (snapshot_read(snapshot, link->text))
			return snapshot;
		snprintf(link->wrong, sizeof(link->wrong),
		         "what '%s' answers is no snapshot of a service, or is of another version "
		         "of pawl: %.40s",
		         path, link->text);
	}
	free(snapshot);
	return NULL;
}

static struct drawing drawing_of(const struct history *history, struct symbols *symbols)
{
	const struct taken *now = &history->taken[history->count - 1];
	struct drawing drawing = {
	        .terminal = terminal_of(STDOUT_FILENO), .now = now->snapshot, .symbols = symbols};

	if (history->count > 1) {
		drawing.before = now[-1].snapshot;
		drawing.since_ns = now->at_ns - now[-1].at_ns;
		drawing.a_minute_ago = history->taken[0].snapshot;
		drawing.minute_ns = now->at_ns - history->taken[0].at_ns;
	}
	return drawing;
}

static void add_name(struct symbols *symbols, uint64_t address, bool *first)
{
	const char *name = symbols_name(symbols, address);

	if (address == 0)
		return;
	printf("%s\"0x%" PRIx64 "\":\"", *first ? "" : ",", address);
	for (; *name; name++)
		printf(*name == '"' || *name == '\\' ? "\\%c" : "%c", *name);
	putchar('"');
	*first = false;
}

/* {"pawl":...} with one member more: {"pawl":...,"names":{"0x1234":"expire"}} */
static void print_json(const struct link *link, const struct snapshot *snapshot,
                       struct symbols *symbols)
{
	bool first = true;

	printf("%.*s,\"names\":{", (int)(strrchr(link->text, '}') - link->text), link->text);
	for (unsigned i = 0; i < snapshot->function_count; i++)
		add_name(symbols, snapshot->functions[i].address, &first);
	if (snapshot->slowest_address)
		add_name(symbols, snapshot->slowest_address, &first);
	puts("}}");
	fflush(stdout);
}

static unsigned rows_of(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : 24;
}

/* As many lines as there are rows, in one piece, from the upper left corner on. */
static void show_frame(const struct drawing *drawing)
{
	unsigned rows = rows_of(STDOUT_FILENO);
	char *text = NULL, *line, *rest;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	draw(drawing, to);
	fclose(to);
	fputs("\033[H", stdout);
	rest = text;
	for (unsigned row = 0; row < rows && (line = strsep(&rest, "\n")) != NULL; row++)
		printf("%s%s\033[K", row ? "\r\n" : "", line);
	fputs("\033[J", stdout);
	fflush(stdout);
	free(text);
}

/* Keys without Enter, and not shown. What was there is put back at the end. */
static bool take_keys(struct termios *before)
{
	struct termios keys;

	if (tcgetattr(STDIN_FILENO, before) != 0)
		return false;
	keys = *before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	return tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

/* Wait for the next snapshot's time, and for keys. False: it is to end. */
static bool wait_until(uint64_t until_ns, bool keys, bool *paused)
{
	for (;;) {
		uint64_t now = clock_ns();
		struct pollfd input = {keys ? STDIN_FILENO : -1, POLLIN, 0};
		char key;

		if (ended_by)
			return false;
		if (!*paused && now >= until_ns)
			return true;
		poll(&input, 1, *paused ? -1 : (int)((until_ns - now) / 1000000 + 1));
		if (!input.revents)
			continue;
		if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q')
			return false;
		if (key == ' ') {
			*paused = !*paused;
			return true;
		}
	}
}

struct session {
	const struct arguments *arguments;
	struct link link;
	struct history history;
	struct symbols *symbols;
};

static bool find_symbols(struct session *session, const struct snapshot *snapshot)
{
	if (!session->symbols)
		session->symbols = symbols_open(snapshot->process);
	if (!session->symbols)
		snprintf(session->link.wrong, sizeof(session->link.wrong), "no memory for names");
	return session->symbols;
}

static bool next_snapshot(struct session *session)
{
	struct snapshot *snapshot = ask(&session->link, session->arguments->path);

	if (!snapshot || !find_symbols(session, snapshot)) {
		free(snapshot);
		return false;
	}
	history_add(&session->history, snapshot);
	return true;
}

static void show(struct session *session, bool live, bool paused)
{
	struct drawing drawing = drawing_of(&session->history, session->symbols);

	drawing.paused = paused;
	if (session->arguments->json)
		print_json(&session->link, drawing.now, session->symbols);
	else if (live)
		show_frame(&drawing);
	else
		draw(&drawing, stdout);
}

static int run(struct session *session)
{
	const struct arguments *arguments = session->arguments;
	bool live = terminal_of(STDOUT_FILENO).live && !arguments->once && !arguments->json;
	bool once = arguments->once || (!live && !arguments->json), paused = false, fine;
	uint64_t interval = (uint64_t)(arguments->interval * 1e9), next = clock_ns();
	struct termios before;
	bool keys;

	fine = next_snapshot(session);
	if (fine && once)
		show(session, false, false);
	if (!fine || once)
		return fine ? EXIT_FINE : EXIT_FAULT;
	catch_signals();
	keys = live && take_keys(&before);
	if (live)
		fputs(SCREEN_ON, stdout);
	do {
		if (!paused && session->history.count > 0)
			next = clock_ns() + interval;
		show(session, live, paused);
		if (!wait_until(next, keys, &paused))
			break;
		fine = paused || next_snapshot(session);
	} while (fine && !ferror(stdout));
	if (live)
		fputs(SCREEN_OFF, stdout);
	fflush(stdout);
	if (keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	return fine ? EXIT_FINE : EXIT_FAULT;
}

int command_top(int argc, char **argv)
{
	struct arguments arguments = {.interval = 1};
	struct session session = {.arguments = &arguments};
	int code = take_options(argc, argv, options, help, take_option, &arguments);

	if (code >= 0)
		return code;
	if (argc - optind != 1) {
		complain("top: %s; expected the path of one socket",
		         optind == argc ? "SOCKET is missing" : "there are too many arguments");
		return EXIT_USAGE;
	}
	arguments.path = argv[optind];
	code = link_open(&session.link, arguments.path) ? run(&session) : EXIT_USAGE;
	if (code != EXIT_FINE)
		complain("top: %s", session.link.wrong);
	link_close(&session.link);
	history_free(&session.history);
	symbols_close(session.symbols);
	return finish_output(code);
}
