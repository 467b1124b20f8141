/* SPDX-License-Identifier: MIT */
/* Names of functions in a process whose files change meanwhile, or are hostile. Linked with --wrap=fstat and --wrap=pread. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tests/support/test.h"
#include "../top/symbols.h"

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

static uint64_t bytes_read;

ssize_t __real_pread(int fd, void *to, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t offset);

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t offset)
{
	bytes_read += size;
	return __real_pread(fd, to, size, offset);
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
	EXPECT_EQ(__real_pread(from, copy->bytes, copy->size, 0), status.st_size);
	close(from);
	close(to);
}

static void remove_copy(struct copy *copy)
{
	munmap(copy->bytes, copy->size);
	unlink(copy->path);
}

static void expect_name(uint64_t address, const char *name)
{
	struct symbols *symbols = symbols_open((uint64_t)getpid());

	EXPECT_STR(symbols_name(symbols, address), name);
	symbols_close(symbols);
}

/* The function is named by its place in the copy, for which not more than `most` bytes were read. */
static void expect_no_name(const struct copy *copy, uint64_t most)
{
	uint64_t offset = offset_in_program((uintptr_t)a_function_of_this_program);
	char expected[128];

	snprintf(expected, sizeof(expected), "%s+0x%" PRIx64, strrchr(copy->path, '/') + 1, offset);
	bytes_read = 0;
	expect_name((uintptr_t)copy->bytes + offset, expected);
	EXPECT(bytes_read <= most);
}

static void a_static_function_has_its_name(void)
{
	expect_name((uintptr_t)a_function_of_this_program, "a_function_of_this_program");
}

static void a_file_that_is_truncated_meanwhile_ends_nothing(void)
{
	struct copy copy;

	make_copy(&copy);
	expect_name((uintptr_t)copy.bytes +
	                    offset_in_program((uintptr_t)a_function_of_this_program),
	            "a_function_of_this_program");
	truncated_after_stat = copy.path;
	expect_no_name(&copy, UINT64_MAX);
	truncated_after_stat = NULL;
	remove_copy(&copy);
}

#define MB UINT64_C(1048576)

static void end_with_hole(const struct copy *copy, uint64_t size)
{
	EXPECT_EQ(truncate(copy->path, (off_t)size), 0);
}

static void a_table_of_gigabytes_is_not_read(void)
{
	struct copy copy;
	ElfW(Ehdr) * header;
	ElfW(Shdr) * sections;

	make_copy(&copy);
	header = (ElfW(Ehdr) *)(void *)copy.bytes;
	sections = (ElfW(Shdr) *)(void *)(copy.bytes + header->e_shoff);
	end_with_hole(&copy, 32768 * MB);
	for (unsigned i = 0; i < header->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM)
			sections[i].sh_size = 16384 * MB;
	expect_no_name(&copy, MB);
	remove_copy(&copy);
}

/* Each of them is small enough, but there are 4,000 of them, one over the other. */
static void many_tables_are_not_all_read(void)
{
	enum { TABLES = 4000 };
	struct copy copy;
	ElfW(Shdr) * table;
	size_t size = TABLES * sizeof(*table);
	ElfW(Ehdr) * header;
	int fd;

	make_copy(&copy);
	table = calloc(TABLES, sizeof(*table));
	for (unsigned i = 0; i < TABLES; i++)
		table[i] = (ElfW(Shdr)){.sh_type = SHT_SYMTAB,
		                        .sh_offset = 16 * MB,
		                        .sh_size = 48 * MB,
		                        .sh_link = 1};
	end_with_hole(&copy, 64 * MB);
	fd = open(copy.path, O_WRONLY);
	EXPECT_EQ(pwrite(fd, table, size, (off_t)(8 * MB)), size);
	close(fd);
	free(table);
	header = (ElfW(Ehdr) *)(void *)copy.bytes;
	header->e_shoff = 8 * MB;
	header->e_shnum = TABLES;
	expect_no_name(&copy, 1025 * MB);
	remove_copy(&copy);
}

/* Each symbol is at every address, and has no name. */
static void symbols_without_names_do_not_cost_a_read_each(void)
{
	struct copy copy;
	ElfW(Ehdr) * header;
	ElfW(Shdr) sections[2] = {
	        {.sh_type = SHT_SYMTAB, .sh_offset = 8 * MB, .sh_size = 48 * MB, .sh_link = 1},
	        {.sh_type = SHT_STRTAB, .sh_offset = 60 * MB, .sh_size = MB}};
	ElfW(Sym) symbol = {.st_info = STT_FUNC, .st_size = SIZE_MAX};
	char *bytes;
	int fd;

	make_copy(&copy);
	end_with_hole(&copy, 64 * MB);
	fd = open(copy.path, O_RDWR);
	bytes = mmap(NULL, 64 * MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	EXPECT(bytes != MAP_FAILED);
	for (uint64_t at = 8 * MB; at < 56 * MB; at += sizeof(symbol))
		memcpy(bytes + at, &symbol, sizeof(symbol));
	memcpy(bytes + 60 * MB, sections, sizeof(sections));
	header = (ElfW(Ehdr) *)(void *)copy.bytes;
	header->e_shoff = 60 * MB;
	header->e_shnum = 2;
	expect_no_name(&copy, 49 * MB + 262144 * 128);
	munmap(bytes, 64 * MB);
	close(fd);
	remove_copy(&copy);
}

int main(void)
{
	static const struct test tests[] = {
	        TEST(a_static_function_has_its_name),
	        TEST(a_file_that_is_truncated_meanwhile_ends_nothing),
	        TEST(a_table_of_gigabytes_is_not_read),
	        TEST(many_tables_are_not_all_read),
	        TEST(symbols_without_names_do_not_cost_a_read_each),
	};

	return RUN_TESTS(tests);
}
