/* SPDX-License-Identifier: MIT */
/* A stable sort by a 64-bit key: radix sort, or insertion sort for few items. */
#ifndef PAWL_MODULE_SORT_H
#define PAWL_MODULE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct task;

struct sort_item {
	uint64_t key;
	struct task *task;
};

/* Equal keys keep their order. */
void sort_stable(struct sort_item *items, size_t count);

#endif
