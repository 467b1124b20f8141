/* SPDX-License-Identifier: MIT */
/* Where in the source, and which variable: what addr2line and nm say about this program. */
#include "explorer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_SOURCES = 4096, SOURCE = 160, MAX_SYMBOLS = 8192, SYMBOL = 64 };

struct source {
	uintptr_t pc;
	char text[SOURCE];
};

struct symbol {
	uintptr_t begin, size;
	char name[SYMBOL];
};

struct sources {
	char program[4096];
	unsigned count, answered;
	struct source list[MAX_SOURCES];
	bool symbols_known;
	unsigned symbol_count;
	struct symbol symbols[MAX_SYMBOLS];
	char object[SYMBOL + 24];
};

/* Not argv[0]: the shell may have found the program in PATH. */
static struct sources *sources(void)
{
	static struct sources *all;

	if (!all) {
		all = calloc(1, sizeof(*all));
		if (readlink("/proc/self/exe", all->program, sizeof(all->program) - 1) < 0)
			snprintf(all->program, sizeof(all->program), "%s", explorer->program);
	}
	return all;
}

static struct source *find(uintptr_t pc)
{
	struct sources *p = sources();

	for (unsigned i = 0; i < p->count; i++)
		if (p->list[i].pc == pc)
			return &p->list[i];
	return NULL;
}

void source_note(uintptr_t pc)
{
	struct sources *p = sources();

	if (pc && p->count < MAX_SOURCES && !find(pc)) {
		struct source *source = &p->list[p->count++];

		source->pc = pc;
		snprintf(source->text, SOURCE, "%#" PRIxPTR, pc);
	}
}

/* "function at directory/file:line (discriminator 2)" */
static void set_source(struct source *source, char *line)
{
	char *file = strstr(line, " at ");
	char *slash = file ? strrchr(file, '/') : NULL;
	char *more = strstr(line, " (discriminator");

	if (!file)
		return;
	if (more)
		*more = '\0';
	*file = '\0';
	snprintf(source->text, SOURCE, "%.60s (%.80s)", slash ? slash + 1 : file + 4, line);
}

/* "0x401234" begins an answer; the lines that follow are source lines, the innermost function first. */
static void read_answers(FILE *answers)
{
	struct source *source = NULL;
	char line[512];

	while (fgets(line, sizeof(line), answers)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0x", 2) == 0 && !strchr(line, ' ')) {
			source = find((uintptr_t)strtoull(line, NULL, 16) + 1);
		} else if (source) {
			set_source(source, line);
			source = NULL;
		}
	}
}

/* A return address belongs to the instruction before it. */
static void look_up(void)
{
	struct sources *p = sources();
	size_t size = (size_t)p->count * 24 + sizeof(p->program) + 200, used;
	char *command = malloc(size);
	FILE *answers;

	used = (size_t)snprintf(command, size, "addr2line -a -f -i -p -e '%s'", p->program);
	while (p->answered < p->count)
		used += (size_t)snprintf(command + used, size - used, " %#" PRIxPTR,
		                         p->list[p->answered++].pc - 1);
	snprintf(command + used, size - used,
	         " 2>/dev/null | sed 's/^\\(0x[0-9a-f]*\\): /\\1\\n/'");
	answers = popen(command, "r");
	if (answers) {
		read_answers(answers);
		pclose(answers);
	}
	free(command);
}

const char *source_text(uintptr_t pc)
{
	source_note(pc);
	if (sources()->answered < sources()->count)
		look_up();
	return find(pc) ? find(pc)->text : "an unknown line";
}

/* The program's variables. */
static void read_symbols(void)
{
	struct sources *p = sources();
	char command[sizeof(p->program) + 64], line[512], kind;
	FILE *answers;

	p->symbols_known = true;
	snprintf(command, sizeof(command), "nm -S --defined-only '%s' 2>/dev/null", p->program);
	answers = popen(command, "r");
	while (answers && fgets(line, sizeof(line), answers)) {
		struct symbol *symbol = &p->symbols[p->symbol_count];

		if (p->symbol_count < MAX_SYMBOLS &&
		    sscanf(line, "%" SCNxPTR " %" SCNxPTR " %c %63s", &symbol->begin, &symbol->size,
		           &kind, symbol->name) == 4 &&
		    strchr("bBdD", kind))
			p->symbol_count++;
	}
	if (answers)
		pclose(answers);
}

const char *variable_of(const void *address, size_t *byte)
{
	struct sources *p = sources();

	if (!p->symbols_known)
		read_symbols();
	for (unsigned i = 0; i < p->symbol_count; i++) {
		*byte = (uintptr_t)address - p->symbols[i].begin;
		if (*byte < p->symbols[i].size)
			return p->symbols[i].name;
	}
	return NULL;
}

const char *object_name(const void *address)
{
	struct sources *p = sources();
	size_t byte;
	const char *name = variable_of(address, &byte);

	if (!name)
		snprintf(p->object, sizeof(p->object), "%p", address);
	else if (byte)
		snprintf(p->object, sizeof(p->object), "%s+%zu", name, byte);
	else
		snprintf(p->object, sizeof(p->object), "%s", name);
	return p->object;
}
