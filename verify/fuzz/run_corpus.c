/* SPDX-License-Identifier: MIT */
/*
 * run_corpus [--trace | --calendar] FILE...
 *
 * Checks the property of the wheel, or that of the calendar, on inputs that the fuzzer found, without the fuzzer. A line of
 * a file named *.corpus has the name of an input and its bytes in hexadecimal. Any other file is one input, as the fuzzer
 * writes it. With --trace it prints each operation on the wheel as a call.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../tests/calendar/calendar_property.h"
#include "../../tests/wheel/wheel_property.h"

#define INPUT_MAX     4096
#define NAME_MAX_SIZE 64

struct tally {
	FILE *trace;
	bool calendar;
	unsigned inputs, failed;
};

static bool holds(const struct tally *tally, const uint8_t *data, size_t size)
{
	const char *wrong;

	if (!tally->calendar)
		return !wheel_property(data, size, tally->trace);
	wrong = calendar_property(data, size);
	if (wrong)
		fprintf(stderr, "%s\n", wrong);
	return !wrong;
}

static void run_input(struct tally *tally, const char *name, const uint8_t *data, size_t size)
{
	tally->inputs++;
	if (holds(tally, data, size))
		return;
	fprintf(stderr, "FAILED: %s\n", name);
	tally->failed++;
}

/* The bytes up to the end of the line; SIZE_MAX: it has something else than pairs of digits, or too many. */
static size_t read_hex(FILE *file, uint8_t *data)
{
	char pair[3] = "", *end;
	size_t size = 0;
	int c;

	while ((c = getc(file)) != '\n') {
		pair[0] = (char)c;
		pair[1] = (char)(c == EOF ? EOF : getc(file));
		if (size == INPUT_MAX)
			return SIZE_MAX;
		data[size++] = (uint8_t)strtoul(pair, &end, 16);
		if (end != pair + 2)
			return SIZE_MAX;
	}
	return size;
}

static void run_lines(struct tally *tally, FILE *file, const char *path)
{
	static uint8_t data[INPUT_MAX];
	char name[NAME_MAX_SIZE];
	size_t size;

	while (fscanf(file, "%63s", name) == 1 && getc(file) == ' ') {
		size = read_hex(file, data);
		if (size == SIZE_MAX) {
			fprintf(stderr, "FAILED: %s: %s is not hexadecimal, or too long\n", path,
			        name);
			tally->failed++;
			return;
		}
		run_input(tally, name, data, size);
	}
}

static void run_file(struct tally *tally, const char *path)
{
	static uint8_t data[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	size_t length = strlen(path);

	if (!file) {
		perror(path);
		tally->failed++;
	} else if (length > 7 && strcmp(path + length - 7, ".corpus") == 0) {
		run_lines(tally, file, path);
	} else {
		run_input(tally, path, data, fread(data, 1, sizeof(data), file));
	}
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	struct tally tally = {0};

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--trace") == 0)
			tally.trace = stdout;
		else if (strcmp(argv[i], "--calendar") == 0)
			tally.calendar = true;
		else
			run_file(&tally, argv[i]);
	}
	printf("%u inputs, %u failed\n", tally.inputs, tally.failed);
	return tally.inputs == 0 || tally.failed ? 1 : 0;
}
