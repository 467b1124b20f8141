/* SPDX-License-Identifier: MIT */
/* Names of functions in a process whose files change meanwhile. Linked with --wrap=fstat. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../cli/top/symbols.h"
#include "../support/test.h"

static const char *truncated_after_stat; /* NULL, or the path of a file */

int __real_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);

int __wrap_fstat(int fd, struct stat *status)
{
	int result = __real_fstat(fd, status);

	if (truncated_after_stat)
		EXPECT_EQ(truncate(truncated_after_stat, 4096), 0); /* the headers are left */
	return result;
}

static void a_function_of_this_program(void)
{
}

/* Where the function is in the file of this program. */
static uint64_t offset_in_program(uint64_t address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t begin, end, from, offset = 0;
	char line[4096];

	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &begin, &end, &from) ==
		            3 &&
		    address >= begin && address < end)
			offset = address - begin + from;
	fclose(maps);
	return offset;
}

struct copy {
	char path[64];
	char *bytes;
	size_t size;
};

/* This program once more, in a file of its own that is mapped. */
static void make_copy(struct copy *copy)
{
	int from = open("/proc/self/exe", O_RDONLY), to;
	struct stat status;

	EXPECT_EQ(__real_fstat(from, &status), 0);
	strcpy(copy->path, "/tmp/pawl-symbols-XXXXXX");
	to = mkstemp(copy->path);
	copy->size = (size_t)status.st_size;
	EXPECT_EQ(ftruncate(to, status.st_size), 0);
	copy->bytes = mmap(NULL, copy->size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
	EXPECT(copy->bytes != MAP_FAILED);
	EXPECT_EQ(pread(from, copy->bytes, copy->size, 0), status.st_size);
	close(from);
	close(to);
}

static void remove_copy(struct copy *copy)
{
	munmap(copy->bytes, copy->size);
	unlink(copy->path);
}

static void a_static_function_has_its_name(void)
{
	struct symbols *symbols = symbols_open((uint64_t)getpid());

	EXPECT(strcmp(symbols_name(symbols, (uintptr_t)a_function_of_this_program),
	              "a_function_of_this_program") == 0);
	symbols_close(symbols);
}

static void a_file_that_is_truncated_meanwhile_ends_nothing(void)
{
	uint64_t offset = offset_in_program((uintptr_t)a_function_of_this_program), address;
	struct symbols *symbols = symbols_open((uint64_t)getpid());
	struct copy copy;
	char expected[128];

	make_copy(&copy);
	address = (uintptr_t)copy.bytes + offset;
	EXPECT(strcmp(symbols_name(symbols, address), "a_function_of_this_program") == 0);
	symbols_close(symbols);

	symbols = symbols_open((uint64_t)getpid());
	snprintf(expected, sizeof(expected), "%s+0x%" PRIx64, strrchr(copy.path, '/') + 1, offset);
	truncated_after_stat = copy.path;
	EXPECT(strcmp(symbols_name(symbols, address), expected) == 0);
	truncated_after_stat = NULL;
	symbols_close(symbols);
	remove_copy(&copy);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_static_function_has_its_name),
	        TEST(a_file_that_is_truncated_meanwhile_ends_nothing),
	};

	return RUN_TESTS(tests);
}
