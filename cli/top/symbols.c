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

enum { KNOWN = 1024, NAME_MAX_TEXT = 128, PATH_TEXT = 4096, BLOCK = 1024 };

/* The files are the program's, which may be hostile: a file with holes can claim tables of terabytes. */
enum { TABLE_MAX = 1 << 26, LEFT_AT_FIRST = 1 << 30, COST_OF_NAME = 4096 }; /* bytes */

#define NATIVE_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

struct symbols {
	uint64_t process;
	uint64_t left; /* bytes of symbol tables that may still be read */
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
	uint64_t *left; /* of its symbols */
};

struct symbols *symbols_open(uint64_t process)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->process = process;
	symbols->left = LEFT_AT_FIRST;
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

static bool has_part(const struct file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset;
}

/* False: the file has no such part. A mapping would end this process by SIGBUS if the file were truncated, as a linker does. */
static bool read_part(const struct file *file, uint64_t offset, uint64_t size, void *to)
{
	size_t done = 0;

	while (has_part(file, offset, size) && done < size) {
		ssize_t got =
		        pread(file->fd, (char *)to + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return size > 0 && done == size;
}

/* As many headers as a 16-bit number can count. The caller's to free; NULL: the file does not have them. */
static void *read_headers(const struct file *file, uint64_t offset, uint16_t count, size_t size)
{
	void *headers = malloc(count * size);

	if (headers && read_part(file, offset, count * size, headers))
		return headers;
	free(headers);
	return NULL;
}

/* The address by which the file's symbol tables know an offset in it. */
static bool address_of_offset(const struct file *file, const ElfW(Ehdr) * header, uint64_t offset,
                              uint64_t *address)
{
	ElfW(Phdr) *segments =
	        read_headers(file, header->e_phoff, header->e_phnum, sizeof(*segments));
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

/* Whether so many bytes may still be read. */
static bool spend(const struct file *file, uint64_t bytes)
{
	if (bytes > *file->left)
		return false;
	*file->left -= bytes;
	return true;
}

static bool read_name(const struct file *file, const ElfW(Shdr) * names, uint64_t at, char *name)
{
	uint64_t rest = at < names->sh_size ? names->sh_size - at : 0;
	char text[NAME_MAX_TEXT] = "";

	if (rest >= sizeof(text))
		rest = sizeof(text) - 1;
	if (!spend(file, COST_OF_NAME) || !read_part(file, names->sh_offset + at, rest, text) ||
	    !*text)
		return false;
	memcpy(name, text, sizeof(text));
	return true;
}

static bool find_in_table(const struct file *file, const ElfW(Shdr) * table,
                          const ElfW(Shdr) * names, uint64_t address, char *name)
{
	ElfW(Sym) block[BLOCK];
	uint64_t count = table->sh_size / sizeof(*block);

	if (table->sh_size > TABLE_MAX || !has_part(file, table->sh_offset, table->sh_size) ||
	    !spend(file, table->sh_size))
		return false;
	for (uint64_t first = 0; first < count; first += BLOCK) {
		uint64_t size = count - first < BLOCK ? count - first : BLOCK;

		if (!read_part(file, table->sh_offset + first * sizeof(*block),
		               size * sizeof(*block), block))
			return false;
		for (uint64_t i = 0; i < size; i++)
			if (is_function_at(&block[i], address) &&
			    read_name(file, names, block[i].st_name, name))
				return true;
	}
	return false;
}

static bool find_symbol(const struct file *file, const ElfW(Ehdr) * header, uint64_t address,
                        char *name)
{
	ElfW(Shdr) *sections =
	        read_headers(file, header->e_shoff, header->e_shnum, sizeof(*sections));
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
	ElfW(Ehdr) header;
	uint64_t address;

	return read_part(file, 0, sizeof(header), &header) &&
	       memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
	       header.e_ident[EI_CLASS] == NATIVE_CLASS &&
	       address_of_offset(file, &header, offset, &address) &&
	       find_symbol(file, &header, address, name);
}

static bool is_regular(struct file *file)
{
	struct stat status;

	if (fstat(file->fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0)
		return false;
	file->size = (uint64_t)status.st_size;
	return true;
}

static void find_name(struct symbols *symbols, uint64_t address, char *name)
{
	char path[PATH_TEXT];
	struct file file = {.left = &symbols->left};
	uint64_t offset = 0;
	bool found;

	snprintf(name, NAME_MAX_TEXT, "0x%" PRIx64, address);
	if (!find_mapping(symbols->process, address, path, &offset))
		return;
	file.fd = open_of(symbols->process, path);
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
	find_name(symbols, address, symbols->known[symbols->count].name);
	blank_controls(symbols->known[symbols->count].name);
	return symbols->known[symbols->count++].name;
}
