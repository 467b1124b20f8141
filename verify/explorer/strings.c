/* SPDX-License-Identifier: MIT */
/*
 * Functions of <string.h> that the program calls. libc is not compiled with the explorer, so each range that a function
 * reads or writes is checked here, as a plain access; then libc does the work. None is a scheduling point.
 *
 * The extent of a string function's reads is known only after libc has looked for the end. Freed memory and the gap
 * after a block can be read, so that is safe, and the check that follows reports it.
 */
#include "explorer.h"

#define WRAP(type, name, ...)            \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

static void reads(const void *memory, size_t size, uintptr_t pc)
{
	memory_access(memory, size, false, false, pc);
}

static void writes(const void *memory, size_t size, uintptr_t pc)
{
	memory_access(memory, size, true, false, pc);
}

WRAP(void *, memcpy, void *to, const void *from, size_t size)
{
	reads(from, size, CALLER);
	writes(to, size, CALLER);
	return __real_memcpy(to, from, size);
}

WRAP(void *, memmove, void *to, const void *from, size_t size)
{
	reads(from, size, CALLER);
	writes(to, size, CALLER);
	return __real_memmove(to, from, size);
}

WRAP(void *, memset, void *to, int byte, size_t size)
{
	writes(to, size, CALLER);
	return __real_memset(to, byte, size);
}

WRAP(int, memcmp, const void *a, const void *b, size_t size)
{
	reads(a, size, CALLER);
	reads(b, size, CALLER);
	return __real_memcmp(a, b, size);
}

WRAP(size_t, strlen, const char *text)
{
	size_t length = __real_strlen(text);

	reads(text, length + 1, CALLER);
	return length;
}

/* How much of the text is read if at most `most` bytes are: the end of it counts. */
static size_t read_size(const char *text, size_t most)
{
	size_t length = strnlen(text, most);

	return length < most ? length + 1 : length;
}

WRAP(char *, strcpy, char *to, const char *from)
{
	size_t size = read_size(from, PTRDIFF_MAX);

	reads(from, size, CALLER);
	writes(to, size, CALLER);
	return __real_strcpy(to, from);
}

WRAP(char *, strncpy, char *to, const char *from, size_t size)
{
	reads(from, read_size(from, size), CALLER);
	writes(to, size, CALLER);
	return __real_strncpy(to, from, size);
}

/* Up to the first difference. */
static void reads_both(const char *a, const char *b, size_t most, uintptr_t pc)
{
	size_t size = 0;

	while (size < most && a[size] && a[size] == b[size])
		size++;
	size += size < most;
	reads(a, size, pc);
	reads(b, size, pc);
}

WRAP(int, strcmp, const char *a, const char *b)
{
	reads_both(a, b, PTRDIFF_MAX, CALLER);
	return __real_strcmp(a, b);
}

WRAP(int, strncmp, const char *a, const char *b, size_t size)
{
	reads_both(a, b, size, CALLER);
	return __real_strncmp(a, b, size);
}

WRAP(char *, strchr, const char *text, int character)
{
	char *found = __real_strchr(text, character);

	reads(text, found ? (size_t)(found - text) + 1 : read_size(text, PTRDIFF_MAX), CALLER);
	return found;
}

static char *duplicate(const char *text, size_t most, uintptr_t pc)
{
	size_t length = strnlen(text, most);
	char *copy = system_allocate(length + 1, 16, pc);

	reads(text, read_size(text, most), pc);
	if (copy) {
		memcpy(copy, text, length);
		copy[length] = '\0';
	}
	return copy;
}

WRAP(char *, strdup, const char *text)
{
	return running() ? duplicate(text, PTRDIFF_MAX, CALLER) : __real_strdup(text);
}

WRAP(char *, strndup, const char *text, size_t size)
{
	return running() ? duplicate(text, size, CALLER) : __real_strndup(text, size);
}
