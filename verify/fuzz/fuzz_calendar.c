/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "../../tests/calendar/calendar_property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *wrong = calendar_property(data, size);

	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
	return 0;
}
