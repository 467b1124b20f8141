// SPDX-License-Identifier: MIT
// What the tests of the page share: a server with the module, a board before it, and a page in a real browser.
//
//	node --test FILE, with these in the environment:
//	BOARD_COMMAND    the pawl command
//	BOARD_ARTEFACTS  a folder for screenshots
//	BOARD_MODULES    the folder that has playwright-core
//	BOARD_HANG       ms after which something counts as hung, 120000 unless told
//	PAWL_MODULE      pawl.so
//	PAWL_SERVER      the server's binary, redis-server unless told; its client stands beside it
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

const { BOARD_COMMAND, BOARD_ARTEFACTS, BOARD_MODULES, PAWL_MODULE } = process.env;
const SERVER = process.env.PAWL_SERVER || "redis-server";
const CLI = process.env.PAWL_CLI || SERVER.replace(/-server$/, "-cli");
const { chromium } = createRequire(join(BOARD_MODULES, "node_modules", "x.js"))("playwright-core");

export const HANG = Number(process.env.BOARD_HANG ?? 120000); // however slow the machine is
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

const browser = await chromium.launch({
	executablePath: "/usr/bin/chromium",
	args: ["--disable-lcd-text", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
	timeout: HANG,
});
after(() => browser.close());
mkdirSync(BOARD_ARTEFACTS, { recursive: true });

function freePort() {
	return new Promise((done) => {
		const probe = createServer().listen(0, "127.0.0.1", () => {
			const { port } = probe.address();
			probe.close(() => done(port));
		});
	});
}

async function until(condition, what) {
	const end = Date.now() + HANG;
	while (!(await condition())) {
		assert.ok(Date.now() < end, `still not so: ${what}`);
		await sleep(20);
	}
}

// A server with the module; its data outlives a restart.
export class Server {
	static async start({ module = true } = {}) {
		const server = new Server();
		server.module = module ? ["--loadmodule", PAWL_MODULE] : [];
		server.folder = mkdtempSync(join(tmpdir(), "pawl-board-"));
		server.port = await freePort();
		await server.run();
		return server;
	}

	async run() {
		this.process = spawn(
			SERVER,
			["--port", this.port, "--bind", "127.0.0.1", "--dir", this.folder, "--save", "", "--appendonly", "yes",
				"--appendfsync", "always", ...this.module].map(String),
			{ stdio: "ignore" },
		);
		this.gone = new Promise((done) => this.process.once("exit", done));
		await until(() => {
			try {
				return this.call("PING") === "PONG";
			} catch {
				return false;
			}
		}, "the server answers");
	}

	// The reply as redis-cli prints it; an error is thrown.
	call(...words) {
		const text = execFileSync(CLI, ["-e", "-p", String(this.port), ...words.map(String)], {
			encoding: "utf8",
			timeout: HANG,
			stdio: ["ignore", "pipe", "pipe"],
		});
		return text.replace(/\n$/, "");
	}

	// Many at once, a line each as redis-cli reads them.
	calls(lines) {
		execFileSync(CLI, ["-p", String(this.port)], { input: lines.join("\n") + "\n", timeout: HANG });
	}

	async kill() {
		this.process.kill("SIGKILL");
		await this.gone;
	}

	async stop() {
		await this.kill();
		rmSync(this.folder, { recursive: true });
	}
}

// `pawl board` before that server.
export class Board {
	static async start(server, ...options) {
		const board = new Board();
		const { listen = "127.0.0.1:0", env = {} } = typeof options.at(-1) === "object" ? options.pop() : {};
		board.process = spawn(BOARD_COMMAND, ["board", "--server", `127.0.0.1:${server.port}`, "--listen", listen, ...options], {
			env: { ...process.env, ...env },
			stdio: ["ignore", "pipe", "inherit"],
		});
		board.gone = new Promise((done) => board.process.once("exit", done));
		board.said = await new Promise((done) => board.process.stdout.once("data", (data) => done(String(data))));
		board.port = Number(/:(\d+)\//.exec(board.said)[1]);
		board.token = /#token=(\w+)/.exec(board.said)?.[1];
		board.url = `http://127.0.0.1:${board.port}/`;
		return board;
	}

	async stop() {
		this.process.kill("SIGTERM");
		assert.equal(await this.gone, 0);
	}
}

// Run `use` with a page of its own. An error in the page, or a request to anywhere else, fails the test; what the browser
// says of answers that `expected` matches does not.
export async function withPage(board, use, { path = "", viewport = DESKTOP, expected = /^$/, ...options } = {}) {
	const context = await browser.newContext({ viewport, ...options });
	const page = await context.newPage();
	const wrong = [];
	page.setDefaultTimeout(HANG);
	page.on("pageerror", (error) => wrong.push(error.stack));
	page.on("console", (message) => message.type() === "error" && !expected.test(message.text()) && wrong.push(message.text()));
	page.on("dialog", (dialog) => wrong.push(`a dialog: ${dialog.message()}`));
	page.on("request", (request) => request.url().startsWith(board.url) || wrong.push(`requested ${request.url()}`));
	await page.goto(board.url + path);
	try {
		await use(page);
	} finally {
		await context.close();
	}
	assert.deepEqual(wrong, []);
}

// Until the element has this text; a regular expression, or all of it.
export async function expectText(page, selector, text) {
	try {
		await page.waitForFunction(
			([where, wanted, flags]) => {
				const element = document.querySelector(where);
				const found = element?.checkVisibility() ? element.textContent.trim() : null;
				return found !== null && (flags === null ? found === wanted : new RegExp(wanted, flags).test(found));
			},
			text instanceof RegExp ? [selector, text.source, text.flags] : [selector, text, null],
		);
	} catch (error) {
		const found = await page.locator(selector).allTextContents();
		throw new Error(`${selector} is ${JSON.stringify(found)}; expected ${text}`, { cause: error });
	}
}

export const hidden = (page, selector) => page.waitForSelector(selector, { state: "hidden" });

// Until so many answers have come: what is shown is not older than the first of them.
export async function polled(page, times = 2) {
	for (let i = 0; i < times; i++) await page.waitForResponse((response) => response.url().endsWith("/api"));
}

export async function screenshot(page, name, options = {}) {
	await page.screenshot({ path: join(BOARD_ARTEFACTS, `${name}.png`), ...options });
}
