/* SPDX-License-Identifier: MIT */
/* The part of MSVC's header that the wheel needs. */
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
