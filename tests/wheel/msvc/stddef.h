/* SPDX-License-Identifier: MIT */
/* The part of MSVC's header that the wheel needs, as MSVC's C has it: without max_align_t. */
#pragma once
typedef unsigned __int64 size_t;
typedef __int64 ptrdiff_t;
#define NULL                 ((void *)0)
#define offsetof(type, name) ((size_t) & (((type *)0)->name))
