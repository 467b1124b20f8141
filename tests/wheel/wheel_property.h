/* SPDX-License-Identifier: MIT */
/*
 * One property, used three ways: the random test feeds it random bytes, the fuzzer bytes that reach new code, and the
 * corpus runner the bytes that did so before.
 */
#ifndef PAWL_TESTS_WHEEL_PROPERTY_H
#define PAWL_TESTS_WHEEL_PROPERTY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Read the bytes as options and operations, and carry out all of them on a wheel and on its model. Any bytes are valid.
 * Writes the operations to `trace` as calls, if it is not NULL.
 *
 *	0  they agree.
 *	1  they do not; stderr says how.
 */
int wheel_property(const uint8_t *data, size_t size, FILE *trace);

#endif
