/* SPDX-License-Identifier: MIT */
/* The part of C's stdint.h that the wheel needs, from the kernel. */
#include <linux/types.h>
#ifndef UINT64_C
#define UINT32_C(x) x##U
#define UINT64_C(x) x##ULL
#define UINT32_MAX  U32_MAX
#define UINT64_MAX  U64_MAX
#endif
