/* SPDX-License-Identifier: MIT */
#include "queue.h"

/* Whether c is between the two, in either order. */
static bool between(char a, char b, char c)
{
	return a <= b ? c >= a && c <= b : c >= b && c <= a;
}

/* Match c with a class: from `[` to `]`, or to the end of the pattern. *p moves past it. */
static bool in_class(const char **p, const char *end, char c)
{
	const char *at = *p + 1;
	bool negated = at < end && *at == '^', found = false;

	for (at += negated; at < end && *at != ']'; at++) {
		if (*at == '\\' && end - at >= 2) {
			found |= *++at == c;
		} else if (end - at >= 3 && at[1] == '-') {
			found |= between(at[0], at[2], c);
			at += 2;
		} else {
			found |= *at == c;
		}
	}
	*p = at < end ? at + 1 : at;
	return found != negated;
}

/* Match c with the part at *p, which is not `*`. *p moves past that part. */
static bool fits(const char **p, const char *end, char c)
{
	if (**p == '[')
		return in_class(p, end, c);
	if (**p == '?')
		return ++*p, true;
	if (**p == '\\' && end - *p >= 2)
		++*p;
	return *(*p)++ == c;
}

/*
 * After a byte that does not match, retry with one byte more for the last `*`. Earlier stars need no retry: the last
 * one can match anything that they could.
 */
bool glob_matches(const struct glob *glob, const char *text, size_t size)
{
	const char *p = glob->pattern, *end = p + glob->size, *text_end = text + size;
	const char *after_star = NULL, *star_text = NULL;

	while (text < text_end) {
		if (p < end && *p == '*') {
			after_star = ++p;
			star_text = text;
		} else if (p < end && fits(&p, end, *text)) {
			text++;
		} else if (after_star) {
			p = after_star;
			text = ++star_text;
		} else {
			return false;
		}
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}
