/* SPDX-License-Identifier: MIT */
#include <pawl/pawl.h>

const char *pawl_version(void)
{
	return PAWL_VERSION;
}

int pawl_version_number(void)
{
	return PAWL_VERSION_NUMBER;
}
