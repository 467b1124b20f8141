/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

static unsigned width_of(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || !*term || strcmp(term, "dumb") == 0;
}

struct terminal terminal_of(int fd)
{
	struct terminal t = {
	        .bold = "", .dim = "", .good = "", .bad = "", .accent = "", .plain = ""};

	setlocale(LC_CTYPE, "");
	t.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	t.live = isatty(fd) && !is_dumb();
	t.width = t.live ? width_of(fd) : 80;
	if (t.live && !is_set("NO_COLOR")) {
		t.bold = "\033[1m";
		t.dim = "\033[2m";
		t.good = "\033[32m";
		t.bad = "\033[31m";
		t.accent = "\033[1;36m";
		t.plain = "\033[0m";
	}
	return t;
}
