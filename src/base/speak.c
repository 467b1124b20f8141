/* SPDX-License-Identifier: MIT */
/* The last message of a program: a user's mistake, or a failed assertion of pawl's own. */
#include "assert.h"
#include "mistake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* One write, so that the messages of two threads do not mix. */
void pawl__mistake(const char *call, const char *format, ...)
{
	char sentence[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	fprintf(stderr, "pawl: %s: %s\n", call, sentence);
	abort();
}

#ifdef PAWL_CHECKED
void pawl__assertion_failed(const char *file, int line, const char *condition)
{
	fprintf(stderr,
	        "pawl: %s:%d: this does not hold: %s. Memory was overwritten, or pawl has a bug\n",
	        file, line, condition);
	abort();
}
#endif
