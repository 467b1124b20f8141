// SPDX-License-Identifier: MIT
// Starts the browser of the tests. If it or its driver is missing, the error says how to install it.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const CHROMIUM = "/usr/bin/chromium";

function driverIn(modules) {
	try {
		return createRequire(join(modules, "node_modules", "x.js"))("playwright-core").chromium;
	} catch (error) {
		if (error.code !== "MODULE_NOT_FOUND") throw error;
		throw new Error(`playwright-core is missing in ${modules}; scripts/bootstrap installs it into build/node`);
	}
}

// `modules`: the directory that has playwright-core. `timeout`: in ms.
export async function launchChromium(modules, timeout) {
	const driver = driverIn(modules);
	if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is missing; scripts/bootstrap installs it, as does apt-get install chromium`);
	return driver.launch({
		executablePath: CHROMIUM,
		args: ["--disable-lcd-text", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
		timeout,
	});
}
