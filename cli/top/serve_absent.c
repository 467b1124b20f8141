/* SPDX-License-Identifier: MIT */
/* pawl top --page, where libevent was not there when pawl was built. */
#include "../text/arguments.h"
#include "serve.h"

int serve_page(const char *path, const struct site_options *options)
{
	(void)path;
	(void)options;
	complain("top: this pawl was built without --page, since libevent was not there (Debian: "
	         "libevent-dev)");
	return EXIT_USAGE;
}
