/* SPDX-License-Identifier: MIT */
/* The parts of `pawl store`. */
#ifndef PAWL_CLI_STORE_H
#define PAWL_CLI_STORE_H

#include <stdbool.h>
#include <stdint.h>

struct pawl_store;
struct pawl_store_options;

/* Whether the directory has files of a store; else stderr says why not. */
bool store_is_there(const char *directory);

/* Open a store that is there, without threads. The options may be all zeroes. false: stderr says why. */
bool store_open(struct pawl_store **store, const char *directory,
                const struct pawl_store_options *options);

/* Print a damage on stdout. A pawl_store_damage_fn. */
void print_damage(const char *file, uint64_t offset, const char *what, void *arg);

/* Copy the files of a store into a directory that does not exist yet, and sync them. false: stderr says why. */
bool store_copy(const char *from, const char *into);

#endif
