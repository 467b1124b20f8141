// SPDX-License-Identifier: MIT
// Shared by the tests of pawl board, beyond ../http/browser.mjs: a server with the module, and a board before it. In the environment:
//
//	PAWL_MODULE     pawl.so
//	PAWL_SERVER     the server's binary, default redis-server; its client is in the same directory
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { HANG, Site, until } from "../http/browser.mjs";

const { PAWL_MODULE } = process.env;
const SERVER = process.env.PAWL_SERVER || "redis-server";
const CLI = process.env.PAWL_CLI || SERVER.replace(/-server$/, "-cli");

function freePort() {
	return new Promise((done) => {
		const probe = createServer().listen(0, "127.0.0.1", () => {
			const { port } = probe.address();
			probe.close(() => done(port));
		});
	});
}

// A server with the module; its data outlives a restart.
export class Server {
	static async start({ module = true } = {}) {
		const server = new Server();
		server.module = module ? ["--loadmodule", PAWL_MODULE] : [];
		server.directory = mkdtempSync(join(tmpdir(), "pawl-board-"));
		server.port = await freePort();
		await server.run();
		return server;
	}

	async run() {
		this.process = spawn(
			SERVER,
			["--port", this.port, "--bind", "127.0.0.1", "--dir", this.directory, "--save", "", "--appendonly", "yes",
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
		rmSync(this.directory, { recursive: true });
	}
}

// `pawl board` before that server.
export function startBoard(server, ...options) {
	const { listen = "127.0.0.1:0", env = {} } = typeof options.at(-1) === "object" ? options.pop() : {};
	return Site.start(["board", "--server", `127.0.0.1:${server.port}`, "--listen", listen, ...options], env);
}
