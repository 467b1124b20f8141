/* SPDX-License-Identifier: MIT */
/* What the wheel needs of MSVC's header. */
#pragma once
typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef unsigned __int64 uintptr_t;
#define UINT32_C(x) x##U
#define UINT64_C(x) x##ULL
#define UINT32_MAX  0xffffffffU
#define UINT64_MAX  0xffffffffffffffffULL
#define SIZE_MAX    0xffffffffffffffffULL
