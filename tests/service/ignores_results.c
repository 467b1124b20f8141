/* SPDX-License-Identifier: MIT */
/* A program that ignores results which must not be ignored: the test service.must-use wants a warning for each. */
#include <pawl/purgatory.h>

int main(void)
{
	struct pawl_service *service;
	struct pawl_purgatory *purgatory;

	pawl_service_open(&service, NULL);
	pawl_purgatory_open(&purgatory, service, NULL);
	return 0;
}
