/* SPDX-License-Identifier: MIT */
/* The part of C's stddef.h that the wheel needs, from the kernel. */
#ifndef PAWL_KERNEL_STDDEF_H
#define PAWL_KERNEL_STDDEF_H
#include <linux/limits.h>
#include <linux/stddef.h>
#include <linux/types.h>
typedef u64 max_align_t; /* kmalloc aligns to 8 bytes at least */
#endif
