/* SPDX-License-Identifier: MIT */
/*
 * Names of functions in another process. /proc/PID/maps says which files are mapped where, and the symbol tables of those files
 * have the names, also those of static functions, unless the file was stripped. A table of more than 64 MB is not read, and of
 * all tables together not more than 1 GB: so a file that claims more costs neither memory nor much time.
 */
#ifndef PAWL_CLI_TOP_SYMBOLS_H
#define PAWL_CLI_TOP_SYMBOLS_H

#include <stdint.h>

struct symbols;

struct symbols *symbols_open(uint64_t process); /* NULL: no memory */
void symbols_close(struct symbols *symbols);

/*
 * "expire", or without a symbol "program+0x1234", or "0x55d0c4a1b2f0". Address 0: "(others)". Valid until close; after 1024
 * addresses only until the next call.
 */
const char *symbols_name(struct symbols *symbols, uint64_t address);

#endif
