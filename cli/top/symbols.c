/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "symbols.h"
#include "snapshot.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	char other[NAME_MAX_TEXT]; /* the name of an address for which `known` has no room */
};

struct file {
	int fd;
	uint64_t size;
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

/* The file that is mapped at the address, and the address's offset in it. */
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

/* The process may have another root, so the path is looked up there first. */
static int open_of(uint64_t process, const char *path)
{
	char inside[PATH_TEXT + 64];
	int fd;

	snprintf(inside, sizeof(inside), "/proc/%" PRIu64 "/root%s", process, path);
	fd = open(inside, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd;
}

/*
 * A copy of a part of the file, which is the caller's to free; NULL: the file has no such part. A mapping would end this
 * process by SIGBUS if the file were truncated meanwhile, as a linker does.
 */
static void *read_part(const struct file *file, uint64_t offset, uint64_t size)
{
	size_t done = 0;
	char *bytes;

	if (size == 0 || offset > file->size || size > file->size - offset)
		return NULL;
	bytes = malloc(size);
	while (bytes && done < size) {
		ssize_t got = pread(file->fd, bytes + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			free(bytes);
			return NULL;
		}
		done += (size_t)got;
	}
	return bytes;
}

/* The address by which the file's symbol tables know an offset in it. */
static bool address_of_offset(const struct file *file, const ElfW(Ehdr) * header, uint64_t offset,
                              uint64_t *address)
{
	ElfW(Phdr) *segments =
	        read_part(file, header->e_phoff, header->e_phnum * sizeof(*segments));
	bool found = false;

	for (unsigned i = 0; segments && !found && i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && offset >= segments[i].p_offset &&
		    offset - segments[i].p_offset < segments[i].p_filesz) {
			*address = offset - segments[i].p_offset + segments[i].p_vaddr;
			found = true;
		}
	free(segments);
	return found;
}

static bool is_function_at(const ElfW(Sym) * symbol, uint64_t address)
{
	return (symbol->st_info & 15) == STT_FUNC && address >= symbol->st_value &&
	       address - symbol->st_value < (symbol->st_size ? symbol->st_size : 1);
}

static bool find_in_table(const struct file *file, const ElfW(Shdr) * table,
                          const ElfW(Shdr) * names, uint64_t address, char *name)
{
	ElfW(Sym) *symbols = read_part(file, table->sh_offset, table->sh_size);
	char *texts = symbols ? read_part(file, names->sh_offset, names->sh_size) : NULL;
	bool found = false;

	for (uint64_t i = 0; texts && !found && i < table->sh_size / sizeof(*symbols); i++) {
		uint64_t at = symbols[i].st_name;

		if (is_function_at(&symbols[i], address) && at < names->sh_size) {
			snprintf(name, NAME_MAX_TEXT, "%.*s",
			         (int)strnlen(texts + at, (size_t)(names->sh_size - at)),
			         texts + at);
			found = *name != '\0';
		}
	}
	free(texts);
	free(symbols);
	return found;
}

static bool find_symbol(const struct file *file, const ElfW(Ehdr) * header, uint64_t address,
                        char *name)
{
	ElfW(Shdr) *sections =
	        read_part(file, header->e_shoff, header->e_shnum * sizeof(*sections));
	bool found = false;

	for (unsigned i = 0; sections && !found && i < header->e_shnum; i++)
		if ((sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM) &&
		    sections[i].sh_link < header->e_shnum)
			found = find_in_table(file, &sections[i], &sections[sections[i].sh_link],
			                      address, name);
	free(sections);
	return found;
}

static bool find_in_file(const struct file *file, uint64_t offset, char *name)
{
	ElfW(Ehdr) *header = read_part(file, 0, sizeof(*header));
	uint64_t address;
	bool found = header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	             header->e_ident[EI_CLASS] == NATIVE_CLASS &&
	             address_of_offset(file, header, offset, &address) &&
	             find_symbol(file, header, address, name);

	free(header);
	return found;
}

static bool is_regular(struct file *file)
{
	struct stat status;

	if (fstat(file->fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0)
		return false;
	file->size = (uint64_t)status.st_size;
	return true;
}

static void find_name(uint64_t process, uint64_t address, char *name)
{
	char path[PATH_TEXT];
	struct file file;
	uint64_t offset = 0;
	bool found;

	snprintf(name, NAME_MAX_TEXT, "0x%" PRIx64, address);
	if (!find_mapping(process, address, path, &offset))
		return;
	file.fd = open_of(process, path);
	found = file.fd >= 0 && is_regular(&file) && find_in_file(&file, offset, name);
	if (file.fd >= 0)
		close(file.fd);
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
