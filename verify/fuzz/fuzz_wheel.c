/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "../../tests/wheel/wheel_property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (wheel_property(data, size, NULL))
		abort();
	return 0;
}
