/* SPDX-License-Identifier: MIT */
/* pawl top: its options, and the view in a terminal. */
#define _GNU_SOURCE
#include <errno.h>
#include <pawl/wheel.h>
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
#include "../wait/wait.h"
#include "draw.h"
#include "program.h"
#include "serve.h"

enum { ANSWER_SECONDS = 10 };

#define MINUTE_NS  (60 * PAWL_SECOND)
#define SCREEN_ON  "\033[?1049h\033[?25l\033[?7l" /* another screen, no cursor, no wrapping */
#define SCREEN_OFF "\033[?7h\033[?25h\033[?1049l"

static const char help[] =
        "usage: pawl top [OPTION...] SOCKET\n"
        "\n"
        "Shows what goes on in a program that has called pawl_service_inspect(service,\n"
        "SOCKET): when its tasks are due, which functions they have, how late they are,\n"
        "the latest runs, and the keys with most waiting. On a terminal it does so once\n"
        "a second, otherwise once. Keys: q ends it, space pauses it.\n"
        "\n"
        "  --once             once, even on a terminal\n"
        "  --json             the snapshots as they are, a line each, with the functions'\n"
        "                     names added\n"
        "  --interval S       seconds from one to the next, 0.1 to 3600 (default 1)\n"
        "  --page             serve a page for a browser, until SIGINT or SIGTERM; its\n"
        "                     /snapshot.json is a snapshot as with --json\n"
        "  --listen ADDRESS   ADDRESS:PORT of the page, port 0 for any; default\n"
        "                     127.0.0.1:8380. Other than loopback needs a token\n"
        "  --token-file FILE  its first line is the token; default $PAWL_TOP_TOKEN, else\n"
        "                     one is made where it is needed, and printed\n"
        "  --origin URL       behind a proxy: the page's address in browsers; other than\n"
        "                     loopback needs a token\n"
        "  --help             this text\n";

struct arguments {
	bool once, json, page;
	double interval; /* 0: not given */
	struct site_options page_options;
	const char *path;
};

/* A snapshot, and when it came. */
struct taken {
	struct snapshot *snapshot;
	uint64_t at_ns;
};

/* The snapshots of the last minute, the oldest first. */
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

static void remove_oldest(struct history *history)
{
	free(history->taken[0].snapshot);
	memmove(history->taken, history->taken + 1, --history->count * sizeof(history->taken[0]));
}

/* With a short interval there is no room for a whole minute: then the history is shorter. */
static void history_add(struct history *history, struct snapshot *snapshot)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (history->count == HISTORY)
		remove_oldest(history);
	while (history->count > 1 && now - history->taken[1].at_ns >= MINUTE_NS)
		remove_oldest(history);
	history->taken[history->count++] = (struct taken){snapshot, now};
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

static unsigned rows_of(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : 24;
}

/* From the upper left corner on, as many lines as the terminal has rows, in one write. */
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

/* Keys come without Enter and are not shown. `before` is to be restored at the end. */
static bool read_keys_unseen(struct termios *before)
{
	struct termios keys;

	if (tcgetattr(STDIN_FILENO, before) != 0)
		return false;
	keys = *before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	return tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

/* Wait for a key, a signal, or the time; NULL: for ever. A signal that comes just before is not missed. */
static void wait_for_input(struct pollfd *input, const struct timespec *time)
{
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if (!ended_by)
		ppoll(input, 1, time, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Wait for keys until the next snapshot is due. False: the user, or a signal, ends it. */
static bool wait_until(uint64_t until_ns, bool keys, bool *paused)
{
	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC),
		         left = now < until_ns ? until_ns - now : 0;
		struct timespec time = {(time_t)(left / PAWL_SECOND), (long)(left % PAWL_SECOND)};
		struct pollfd input = {keys ? STDIN_FILENO : -1, POLLIN, 0};
		char key;

		if (ended_by)
			return false;
		if (!*paused && left == 0)
			return true;
		wait_for_input(&input, *paused ? NULL : &time);
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
	struct program program;
	struct history history;
};

static bool next_snapshot(struct session *session)
{
	struct snapshot *snapshot = program_ask(&session->program);

	if (snapshot)
		history_add(&session->history, snapshot);
	return snapshot;
}

static void show(struct session *session, bool live, bool paused)
{
	struct drawing drawing = drawing_of(&session->history, session->program.symbols);

	drawing.paused = paused;
	if (session->arguments->json) {
		program_write_json(&session->program, drawing.now, stdout);
		fflush(stdout);
	} else if (live)
		show_frame(&drawing);
	else
		draw(&drawing, stdout);
}

static int run(struct session *session)
{
	const struct arguments *arguments = session->arguments;
	bool live = terminal_of(STDOUT_FILENO).live && !arguments->once && !arguments->json;
	bool once = arguments->once || (!live && !arguments->json), paused = false, fine;
	uint64_t interval = (uint64_t)((arguments->interval > 0 ? arguments->interval : 1) * 1e9),
	         next = clock_ns(CLOCK_MONOTONIC);
	struct termios before;
	bool keys;

	fine = next_snapshot(session);
	if (fine && once)
		show(session, false, false);
	if (!fine || once)
		return fine ? EXIT_FINE : EXIT_FAULT;
	end_by_signal(SIGINT);
	end_by_signal(SIGTERM);
	end_by_signal(SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	keys = live && read_keys_unseen(&before);
	if (live)
		fputs(SCREEN_ON, stdout);
	do {
		if (!paused && session->history.count > 0)
			next = clock_ns(CLOCK_MONOTONIC) + interval;
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
	return fine || ended_by ? EXIT_FINE : EXIT_FAULT;
}

/* Whether the options may be given together; if not, stderr says why. */
static bool fit_together(const struct arguments *arguments)
{
	const struct site_options *page = &arguments->page_options;

	if (arguments->page && (arguments->once || arguments->json || arguments->interval > 0)) {
		complain("top: --page is given with %s; expected none of --once, --json and "
		         "--interval",
		         arguments->once   ? "--once"
		         : arguments->json ? "--json"
		                           : "--interval");
		return false;
	}
	if (!arguments->page && (page->listen || page->token_file || page->origin)) {
		complain("top: %s requires --page", page->listen       ? "--listen"
		                                    : page->token_file ? "--token-file"
		                                                       : "--origin");
		return false;
	}
	return true;
}

static int show_in_terminal(const struct arguments *arguments)
{
	struct session session = {.arguments = arguments, .program.path = arguments->path};
	int code = program_connect(&session.program, ANSWER_SECONDS) ? run(&session) : EXIT_USAGE;

	if (code != EXIT_FINE)
		complain("top: %s", session.program.wrong);
	program_disconnect(&session.program);
	history_free(&session.history);
	return finish_output(code);
}

int command_top(int argc, char **argv)
{
	struct arguments arguments = {0};
	const struct setting settings[] = {
	        {"once", .flag = &arguments.once},
	        {"json", .flag = &arguments.json},
	        {"interval", .decimal = &arguments.interval, .low = 0.1, .high = 3600},
	        {"page", .flag = &arguments.page},
	        {"listen", .text = &arguments.page_options.listen},
	        {"token-file", .text = &arguments.page_options.token_file},
	        {"origin", .text = &arguments.page_options.origin},
	        {0},
	};
	int code = parse_options(argc, argv, settings, help);

	if (code >= 0)
		return code;
	if (argc - optind != 1) {
		complain("top: %s; expected the path of one socket",
		         optind == argc ? "SOCKET is missing" : "there are too many arguments");
		return EXIT_USAGE;
	}
	if (!fit_together(&arguments))
		return EXIT_USAGE;
	arguments.path = argv[optind];
	return arguments.page ? serve_page(arguments.path, &arguments.page_options)
	                      : show_in_terminal(&arguments);
}
