/* SPDX-License-Identifier: MIT */
/* pawl board, where a library that it needs was not there when it was built. */
#include "../commands.h"
#include "../text/arguments.h"

int command_board(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	complain("board: this pawl was built without it, since hiredis or libevent was not there "
	         "(Debian: libhiredis-dev, "
	         "libevent-dev)");
	return EXIT_USAGE;
}
