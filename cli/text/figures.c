/* SPDX-License-Identifier: MIT */
#include "figures.h"

const char *grouped(uint64_t number, char text[NUMBER_TEXT])
{
	char *at = text + NUMBER_TEXT;
	int digits = 0;

	*--at = '\0';
	do {
		if (digits > 0 && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + number % 10);
		number /= 10;
		digits++;
	} while (number > 0);
	return at;
}

void print_bar(FILE *to, bool utf8, unsigned eighths)
{
	static const char *const blocks[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

	for (unsigned i = 0; i < eighths / 8; i++)
		fputs(utf8 ? "█" : "#", to);
	if (utf8)
		fputs(blocks[eighths % 8], to);
}
