/* SPDX-License-Identifier: MIT */
/*
 * run_corpus [--trace | --calendar] PATH...
 *
 * Checks the property of the wheel, or that of the calendar, on each file that is given or is in a given directory: what
 * the fuzzer found, without the fuzzer. With --trace it prints each operation on the wheel as a call.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../tests/calendar/calendar_property.h"
#include "../../tests/wheel/wheel_property.h"

#define INPUT_MAX 65536
#define PATH_SIZE 4096

struct tally {
	FILE *trace;
	bool calendar;
	unsigned files, failed;
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

static void run_file(struct tally *tally, const char *path)
{
	static uint8_t data[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	size_t size;

	tally->files++;
	if (!file) {
		perror(path);
		tally->failed++;
		return;
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	if (!holds(tally, data, size)) {
		fprintf(stderr, "FAILED: %s\n", path);
		tally->failed++;
	}
}

static void run_directory(struct tally *tally, const char *path, DIR *directory)
{
	struct dirent *entry;
	char name[PATH_SIZE];

	while ((entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		run_file(tally, name);
	}
}

static void run_path(struct tally *tally, const char *path)
{
	DIR *directory = opendir(path);

	if (!directory) {
		run_file(tally, path);
		return;
	}
	run_directory(tally, path, directory);
	closedir(directory);
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
			run_path(&tally, argv[i]);
	}
	printf("%u inputs, %u failed\n", tally.files, tally.failed);
	return tally.files == 0 || tally.failed ? 1 : 0;
}
