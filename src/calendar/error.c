/* SPDX-License-Identifier: MIT */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

/* The text may quote any bytes of the input, and is shown on terminals and in logs. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

int pawl__calendar_fail(struct pawl_calendar_error *error, size_t position, const char *format, ...)
{
	va_list arguments;

	if (!error)
		return -EINVAL;
	error->position = position;
	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is the line before. */
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	make_printable(error->text);
	return -EINVAL;
}
