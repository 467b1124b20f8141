/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "symbols.h"
#include "snapshot.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KNOWN = 1024, NAME_MAX_TEXT = 128, PATH_TEXT = 4096 };

#define NATIVE_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

struct symbols {
	uint64_t process;
	unsigned count;
	struct {
		uint64_t address;
		char name[NAME_MAX_TEXT];
	} known[KNOWN];
	char other[NAME_MAX_TEXT]; /* once all are in use */
};

struct file {
	const char *bytes;
	size_t size;
};

struct symbols *symbols_open(uint64_t process)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (symbols)
		symbols->process = process;
	return symbols;
}

void symbols_close(struct symbols *symbols)
{
	free(symbols);
}

/* Where the address is in a file that is mapped there. */
static bool find_mapping(uint64_t process, uint64_t address, char *path, uint64_t *offset)
{
	char maps[64], line[PATH_TEXT + 128];
	bool found = false;
	FILE *file;

	snprintf(maps, sizeof(maps), "/proc/%" PRIu64 "/maps", process);
	file = fopen(maps, "re");
	while (!found && file && fgets(line, sizeof(line), file)) {
		uint64_t begin, end, from;
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &begin, &end,
		           &from, &at) < 3 ||
		    address < begin || address >= end || line[at] != '/')
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(path, PATH_TEXT, "%s", line + at);
		*offset = address - begin + from;
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

/* As the process sees the path: it may have another root. */
static int open_of(uint64_t process, const char *path)
{
	char inside[PATH_TEXT + 64];
	int fd;

	snprintf(inside, sizeof(inside), "/proc/%" PRIu64 "/root%s", process, path);
	fd = open(inside, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static bool map_file(int fd, struct file *file)
{
	struct stat status;
	void *bytes;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
		return false;
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	*file = (struct file){bytes, (size_t)status.st_size};
	return bytes != MAP_FAILED;
}

/* Whether the file has `count` things of this size there, and in place for reading. */
static bool has(const struct file *file, uint64_t offset, uint64_t count, uint64_t size)
{
	return offset <= file->size && offset % _Alignof(ElfW(Addr)) == 0 &&
	       (size == 0 || count <= (file->size - offset) / size);
}

/* The address that the file's own tables have for a place in it. */
static bool address_of_offset(const struct file *file, uint64_t offset, uint64_t *address)
{
	const ElfW(Ehdr) *header = (const void *)file->bytes;
	const ElfW(Phdr) * segments;

	if (!has(file, header->e_phoff, header->e_phnum, sizeof(*segments)))
		return false;
	segments = (const void *)(file->bytes + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && offset >= segments[i].p_offset &&
		    offset - segments[i].p_offset < segments[i].p_filesz) {
			*address = offset - segments[i].p_offset + segments[i].p_vaddr;
			return true;
		}
	return false;
}

static bool find_in_table(const struct file *file, const ElfW(Shdr) * table,
                          const ElfW(Shdr) * names, uint64_t address, char *name)
{
	const ElfW(Sym) *symbols = (const void *)(file->bytes + table->sh_offset);

	if (!has(file, table->sh_offset, table->sh_size, 1) || names->sh_offset > file->size ||
	    names->sh_size > file->size - names->sh_offset)
		return false;
	for (uint64_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
		const ElfW(Sym) *symbol = &symbols[i];

		if ((symbol->st_info & 15) == STT_FUNC && address >= symbol->st_value &&
		    address - symbol->st_value < (symbol->st_size ? symbol->st_size : 1) &&
		    symbol->st_name < names->sh_size) {
			const char *text = file->bytes + names->sh_offset + symbol->st_name;

			snprintf(name, NAME_MAX_TEXT, "%.*s",
			         (int)strnlen(text, (size_t)(names->sh_size - symbol->st_name)),
			         text);
			return *name != '\0';
		}
	}
	return false;
}

static bool find_symbol(const struct file *file, uint64_t address, char *name)
{
	const ElfW(Ehdr) *header = (const void *)file->bytes;
	const ElfW(Shdr) * sections;

	if (!has(file, header->e_shoff, header->e_shnum, sizeof(*sections)))
		return false;
	sections = (const void *)(file->bytes + header->e_shoff);
	for (unsigned i = 0; i < header->e_shnum; i++)
		if ((sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM) &&
		    sections[i].sh_link < header->e_shnum &&
		    find_in_table(file, &sections[i], &sections[sections[i].sh_link], address,
		                  name))
			return true;
	return false;
}

static bool find_in_file(const struct file *file, uint64_t offset, char *name)
{
	uint64_t address;

	return file->size >= sizeof(ElfW(Ehdr)) && memcmp(file->bytes, ELFMAG, SELFMAG) == 0 &&
	       file->bytes[EI_CLASS] == NATIVE_CLASS && address_of_offset(file, offset, &address) &&
	       find_symbol(file, address, name);
}

static void find_name(uint64_t process, uint64_t address, char *name)
{
	char path[PATH_TEXT];
	struct file file;
	uint64_t offset = 0;
	bool found = false;
	int fd;

	snprintf(name, NAME_MAX_TEXT, "0x%" PRIx64, address);
	if (!find_mapping(process, address, path, &offset))
		return;
	fd = open_of(process, path);
	if (fd >= 0 && map_file(fd, &file)) {
		found = find_in_file(&file, offset, name);
		munmap((void *)file.bytes, file.size);
	}
	if (fd >= 0)
		close(fd);
	if (!found)
		snprintf(name, NAME_MAX_TEXT, "%.90s+0x%" PRIx64, strrchr(path, '/') + 1, offset);
}

const char *symbols_name(struct symbols *symbols, uint64_t address)
{
	if (address == 0)
		return "(others)";
	for (unsigned i = 0; i < symbols->count; i++)
		if (symbols->known[i].address == address)
			return symbols->known[i].name;
	if (symbols->count == KNOWN) {
		snprintf(symbols->other, sizeof(symbols->other), "0x%" PRIx64, address);
		return symbols->other;
	}
	symbols->known[symbols->count].address = address;
	find_name(symbols->process, address, symbols->known[symbols->count].name);
	blank_controls(symbols->known[symbols->count].name);
	return symbols->known[symbols->count++].name;
}
