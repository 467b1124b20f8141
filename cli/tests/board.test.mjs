// SPDX-License-Identifier: MIT
// The page in a browser, before a real server: what it shows, what can be done with it, and what cannot. In the environment, beyond
// chromium.mjs:
//
//	PAWL_MODULE     pawl.so
//	PAWL_SERVER     the server's binary, default redis-server; its client is in the same directory
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";

import {
	DESKTOP, expectNoSidewaysScrolling, expectSilence, expectText, expectToken, HANG, hidden, PHONE, polled,
	screenshot, setHidden, Site, until, withPage,
} from "./browser.mjs";

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
class Server {
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
function startBoard(server, ...options) {
	const { listen = "127.0.0.1:0", env = {} } = typeof options.at(-1) === "object" ? options.pop() : {};
	return Site.start(["board", "--server", `127.0.0.1:${server.port}`, "--listen", listen, ...options], env);
}

const HOUR = 3600000;
const CLICK = '<img src=x onerror="document.title=\'owned\'">';
const SCRIPT = "<script>document.title='owned'</script>";

let server;
let reader; // a board that only reads
let writer; // one with --write

before(async () => {
	server = await Server.start();
	reader = await startBoard(server);
	writer = await startBoard(server, "--write");
});
after(async () => {
	await reader.stop();
	await writer.stop();
	await server.stop();
});
beforeEach(() => server.call("FLUSHALL"));

const queue = (key) => ({ path: `#/queue/${encodeURIComponent(key)}` });
const tile = (state) => `.tile[data-state="${state}"] b`;
const now = () => Number(server.call("TIME").split("\n")[0]) * 1000;

// A task that died, with a reason.
function die(key, id, reason) {
	server.call("PAWL.PUT", key, 0, `payload of ${id}`, "ID", id, "MAXTRIES", 1);
	const token = server.call("PAWL.TAKE", key, "LEASE", HOUR).split("\n")[4];
	server.call("PAWL.NACK", key, id, token, "REASON", reason);
}

const state = (key, id) => server.call("PAWL.GET", key, id).split("\n")[1];

async function row(page, id) {
	const found = page.locator("#task-table tbody tr", { has: page.getByText(id, { exact: true }) });
	await found.waitFor();
	return found;
}

// Run `use` with a server of its own, and a board before it. The counters of a queue outlive it, and INFO has room for some only:
// so a test with many queues does not share its server.
async function withServer(use) {
	const own = await Server.start();
	const board = await startBoard(own);
	await use(own, board);
	await board.stop();
	await own.stop();
}

const openTab = (page, name) => page.getByRole("tab", { name: new RegExp(`^${name}`) }).click();

describe("the page", () => {
	test("queues with counts by state, and their sums", async () => {
		server.call("PAWL.PUT", "mail", HOUR, "later");
		server.call("PAWL.PUT", "mail", HOUR, "later too");
		server.call("PAWL.PUT", "mail", 0, "now");
		server.call("PAWL.PUT", "reports", 0, "held");
		server.call("PAWL.TAKE", "reports", "LEASE", HOUR);
		die("reports", "broken", "no paper");
		server.call("SET", "not-a-queue", "x");
		await withPage(reader, async (page) => {
			await expectText(page, tile("waiting"), "2");
			await expectText(page, tile("due"), "1");
			await expectText(page, tile("leased"), "1");
			await expectText(page, tile("dead"), "1");
			assert.deepEqual(
				await page.locator("#queue-table tbody tr").evaluateAll((rows) =>
					rows.map((r) => [...r.children].slice(0, 5).map((cell) => cell.textContent)),
				),
				[
					["mail", "2", "1", "0", "0"],
					["reports", "0", "0", "1", "1"],
				],
			);
			await expectText(page, "#mode", "read-only");
			await expectText(page, "#server", `127.0.0.1:${server.port}`);
		});
	});

	test("an empty server says how to begin, and a first queue appears by itself", async () => {
		await withPage(reader, async (page) => {
			await expectText(page, "#empty", /PAWL\.PUT jobs 5000 hello/);
			server.call("PAWL.PUT", "jobs", HOUR, "hello");
			await expectText(page, tile("waiting"), "1");
			await hidden(page, "#empty");
		});
	});

	test("numbers follow the server without a reload, in the same elements", async () => {
		server.call("PAWL.PUT", "mail", HOUR, "1");
		await withPage(reader, queue("mail"), async (page) => {
			await expectText(page, tile("waiting"), "1");
			await (await row(page, await page.locator("#task-table .link").first().textContent())).waitFor();
			await page.evaluate(() => {
				window.kept = [...document.querySelectorAll(".tile b, #task-table tbody tr")];
			});
			server.call("PAWL.PUT", "mail", 2 * HOUR, "2");
			await expectText(page, tile("waiting"), "2");
			assert.ok(await page.evaluate(() => window.kept.length === 5 && window.kept.every((element) => element.isConnected)));
		});
	});

	test("shards are one group with their sums, which opens", async () => {
		for (let i = 0; i < 16; i++) server.call("PAWL.PUT", `jobs:{${i}}`, HOUR + i * 1000, `shard ${i}`, "ID", `task-${i}`);
		server.call("PAWL.PUT", "jobs:{3}", 0, "x");
		server.call("PAWL.PUT", "alone:{7}", HOUR, "x");
		await withPage(reader, async (page) => {
			const names = () => page.locator("#queue-table td.name a").allTextContents();
			await expectText(page, "tr.group .badge", "16 shards");
			assert.deepEqual(await names(), ["alone:{7}", "jobs:{*}"]);
			assert.deepEqual((await page.locator("tr.group td.number").allTextContents()).slice(0, 2), ["16", "1"]);
			await page.click("tr.group .toggle");
			assert.deepEqual(await names(), ["alone:{7}", "jobs:{*}", ...Array.from({ length: 16 }, (_, i) => `jobs:{${i}}`)]);
			await page.click("tr.group .toggle");
			assert.equal((await names()).length, 2);
			await page.click("tr.group a");
			await expectText(page, "#crumbs [aria-current]", "jobs:{*}");
			await expectText(page, tile("waiting"), "16");
			// The tasks of all shards in one order.
			const ids = () => page.locator("#task-table td.id").allTextContents();
			await row(page, "task-15");
			assert.deepEqual((await ids()).slice(1), Array.from({ length: 16 }, (_, i) => `task-${i}`));
			await page.getByRole("link", { name: "jobs:{3}" }).click();
			await expectText(page, tile("waiting"), "1");
			await page.getByRole("link", { name: "jobs:{*}" }).click();
			await expectText(page, tile("waiting"), "16");
		});
	});

	test("a group of 800 shards, for which one POST has not lines enough", async () => {
		await withServer(async (full, board) => {
			full.calls(Array.from({ length: 800 }, (_, i) => `PAWL.PUT jobs:{${i}} ${20 * 60000 + i} x ID task-${i}`));
			await withPage(board, { path: "#/group/jobs%3a%7b%2a%7d" }, async (page) => {
				await expectText(page, tile("waiting"), "800");
				await expectText(page, "#hour-sum", "32 tasks fall due"); // of the first 32 shards
				await row(page, "task-49");
				await polled(page, 3);
				await hidden(page, "#banner");
			});
		});
	});

	test("the next hour, a bar a minute, and a click shows the tasks of that minute", async () => {
		const at = Math.ceil(now() / 60000) * 60000 + 20 * 60000; // 20 to 21 minutes from now
		server.calls(Array.from({ length: 30 }, (_, i) => `PAWL.PUT mail 0 bulk AT ${at + i * 1000} ID bulk-${i}`));
		server.call("PAWL.PUT", "mail", 0, "other", "AT", at + 600000, "ID", "other");
		server.call("PAWL.PUT", "mail", 0, "after the hour", "AT", at + 2 * HOUR, "ID", "far");
		await withPage(reader, queue("mail"), async (page) => {
			await expectText(page, "#hour-sum", "31 tasks fall due");
			const clock = await page.evaluate((ms) => new Date(ms).toTimeString().slice(0, 5), at);
			const bar = page.locator("#bars .minute", { has: page.locator("title", { hasText: `${clock}: 30 tasks` }) });
			await bar.waitFor({ state: "attached" });
			await row(page, "other");
			const box = await bar.boundingBox();
			await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
			await expectText(page, "#filter span", `Due at ${clock}.`);
			await page.waitForFunction(() => document.querySelectorAll("#task-table tbody tr").length === 30);
			await page.click("#unfilter");
			await row(page, "far");
		});
	});

	test("lateness, and a dash where nothing was delivered", async () => {
		server.call("PAWL.PUT", "mail", HOUR, "x");
		await withPage(reader, queue("mail"), async (page) => {
			await expectText(page, "#lateness-values dd", "–");
			server.call("PAWL.PUTAT", "mail", now() - 7200000, "late", "late"); // as a replica gets what was put then
			server.call("PAWL.TAKE", "mail");
			await expectText(page, "#lateness-values div:last-child dd", /^2 h/);
			await expectText(page, "#facts div:first-child dd", "1");
		});
	});

	test("a payload has a size, and of a large one the beginning is shown", async () => {
		server.call("PAWL.PUT", "mail", HOUR, "x", "ID", "one");
		server.call("EVAL", "return redis.call('PAWL.PUT', KEYS[1], ARGV[1], string.rep('y', 300000), 'ID', 'large')", 1, "mail", HOUR);
		await withPage(reader, queue("mail"), async (page) => {
			for (const [id, size] of [["one", "1 byte"], ["large", "293 KiB, the first 256 KiB shown"]]) {
				await page.getByRole("button", { name: id }).click();
				await expectText(page, "#task-size", size);
				await page.locator("#task .close").click();
			}
			await expectText(page, "#task-table tr:last-child .payload .text", "y".repeat(300));
		});
	});

	test("the dead with their reasons", async () => {
		die("mail", "bounced", "550 no such mailbox");
		await withPage(reader, queue("mail"), async (page) => {
			await openTab(page, "Dead");
			await expectText(page, "#task-table .reason", "550 no such mailbox");
			await page.getByRole("button", { name: "bounced" }).click();
			await expectText(page, "#task-life li.now", /^It died at/);
			await expectText(page, "#task-life", /550 no such mailbox/);
			await expectText(page, "#task-payload", "payload of bounced");
		});
	});

	test("a task's life goes on while one looks", async () => {
		server.call("PAWL.PUT", "mail", 1.5 * HOUR, "hello", "ID", "m1", "MAXTRIES", 3);
		await withPage(reader, queue("mail"), async (page) => {
			await page.getByRole("button", { name: "m1" }).click();
			await expectText(page, "#task-life li.now", /^It waits, and is due at .* in 1 h/);
			server.call("PAWL.MOVE", "mail", "m1", 0);
			await expectText(page, "#task-life li.now", /^It has been due since/);
			const token = server.call("PAWL.TAKE", "mail", "LEASE", HOUR).split("\n")[4];
			await expectText(page, "#task-life li.now", /^A worker holds it until/);
			await expectText(page, "#task-life li.done", "Delivered 1 time of at most 3.");
			server.call("PAWL.ACK", "mail", "m1", token);
			await expectText(page, "#task-gone", /^It is gone/);
			await page.keyboard.press("Escape");
			await hidden(page, "#task");
		});
	});

	test("a task is found by its id, in whichever shard; and one that is not there", async () => {
		for (let i = 0; i < 3; i++) server.call("PAWL.PUT", `jobs:{${i}}`, HOUR, "x", "ID", `order ${i}`);
		await withPage(reader, { path: `#/group/${encodeURIComponent("jobs:{*}").replace("*", "%2a")}` }, async (page) => {
			await expectText(page, tile("waiting"), "3");
			await page.fill("#find-id", "order 2");
			await page.press("#find-id", "Enter");
			await expectText(page, "#task-facts dd", "jobs:{2}");
			await page.click("#task .close");
			await page.fill("#find-id", "order 9");
			await page.click("#find button");
			await expectText(page, "#task-gone", /^It is gone/);
		});
	});

	test("many tasks are shown some at a time", async () => {
		server.calls(Array.from({ length: 260 }, (_, i) => `PAWL.PUT mail ${HOUR + i * 10} x ID t${i}`));
		await withPage(reader, queue("mail"), async (page) => {
			const rows = (n) => page.waitForFunction((m) => document.querySelectorAll("#task-table tbody tr").length === m, n);
			await rows(50);
			await page.click("#more");
			await rows(200);
			await page.click("#more");
			await rows(260);
			await hidden(page, "#more");
		});
	});

	test("a note says that there are more queues than it looks at, wherever the search finds them", async () => {
		await withServer(async (full, board) => {
			const put = (from, to) => full.calls(Array.from({ length: to - from }, (_, i) => `PAWL.PUT queue-${from + i} ${HOUR} x`));
			put(0, 1000);
			await withPage(board, async (page) => {
				await expectText(page, tile("waiting"), "1,000");
				await hidden(page, "#queues-note");
				put(1000, 1020); // most likely the search ends with a queue that is known
				await expectText(page, "#queues-note", "There are more than 1,000 queues; the others are not looked at.");
				await polled(page, 2);
				assert.equal(await page.locator("#queues-note").isVisible(), true);
			});
		});
	});

	test("the counters of a queue, of a group and of the server, which outlive the key", async () => {
		const counter = (name) => `#metrics-values [data-key="${name}"] dd`;
		for (const key of ["metered: a,b=c", "m:{0}", "m:{1}"]) {
			server.call("PAWL.PUT", key, 0, "x");
			server.call("PAWL.TAKE", key);
			server.call("PAWL.PUT", key, HOUR, "x");
		}
		await withPage(reader, queue("metered: a,b=c"), async (page) => {
			await expectText(page, counter("put"), "2");
			await expectText(page, counter("delivered"), "1");
			server.calls(Array(5).fill('PAWL.PUT "metered: a,b=c" 3600000 x'));
			await expectText(page, counter("put"), /^7 \([\d.]+\/s\)$/);
			server.call("DEL", "metered: a,b=c");
			await expectText(page, "#empty", /is empty/);
			await expectText(page, counter("put"), /^7\b/);
			await page.click("#home");
			await page.getByRole("link", { name: "m:{*}" }).click();
			await expectText(page, counter("put"), "4");
			await page.click("#home");
			await expectText(page, "#metrics-note", "all queues of all databases");
		});
	});

	test("a server without the module is told so", async () => {
		const bare = await Server.start({ module: false });
		const board = await startBoard(bare);
		await withPage(board, (page) => expectText(page, "#banner", "This server has not loaded the module pawl.so."));
		await board.stop();
		await bare.stop();
	});
});

describe("refused requests", () => {
	test("keys, ids, payloads and reasons are text, whatever they look like", async () => {
		server.call("PAWL.PUT", CLICK, HOUR, SCRIPT, "ID", "<b>id</b>");
		die(CLICK, "<i>dead</i>", SCRIPT);
		await withPage(reader, async (page) => {
			await page.getByRole("link", { name: CLICK }).click();
			await expectText(page, "#crumbs [aria-current]", CLICK);
			await expectText(page, "#task-table .payload .text", SCRIPT);
			await page.getByRole("button", { name: "<b>id</b>" }).click();
			await expectText(page, "#task-id", "<b>id</b>");
			await expectText(page, "#task-payload", SCRIPT);
			await page.click("#task .close");
			await openTab(page, "Dead");
			await expectText(page, "#task-table .reason", SCRIPT);
			assert.equal(await page.locator("main img, main script, main b:has-text('id'), main i, dialog script").count(), 0);
			assert.notEqual(await page.title(), "owned");
		});
	});

	test("bytes that are no text, or would turn it round, are shown as what they are", async () => {
		server.call("EVAL", "redis.call('PAWL.PUT', 'mail', 3600000, '\\255\\000bin', 'ID', 'evil\\226\\128\\174gpj.exe')", 0);
		await withPage(reader, queue("mail"), async (page) => {
			await expectText(page, "#task-table .payload .text", "\\xff\\x00bin");
			await expectText(page, "#task-table .id .link", "evil\\u202egpj.exe");
		});
	});

	test("read-only: no button writes, and the bridge also refuses it", async () => {
		die("mail", "bounced", "x");
		await withPage(reader, { ...queue("mail"), expected: /403/ }, async (page) => {
			await openTab(page, "Dead");
			await page.getByRole("button", { name: "bounced" }).click();
			await expectText(page, "#task-life li.now", /^It died/);
			for (const button of ["#pause", "#requeue-all", "#task-requeue", "#task-cancel"])
				assert.equal(await page.locator(button).isVisible(), false, button);
			const status = await page.evaluate(async () => {
				const lines = ["pause mail", "requeue mail bounced", "requeue-all mail", "cancel mail bounced"];
				const ask = (body) => fetch("api", { method: "POST", headers: { "X-Pawl-Board": "1" }, body });
				return Promise.all(lines.map(async (line) => (await ask(line)).status));
			});
			assert.deepEqual(status, [403, 403, 403, 403]);
			assert.equal(state("mail", "bounced"), "dead");
		});
	});

	test("a page of another site reaches nothing", async () => {
		server.call("PAWL.PUT", "mail", HOUR, "x", "ID", "m1");
		// The other board's page is another origin; it is served by the same program.
		await withPage(reader, { expected: /Content Security Policy|CORS|ERR_FAILED|violates/ }, async (page) => {
			const reached = await page.evaluate(async (url) => {
				const attempts = [
					{ method: "POST", headers: { "X-Pawl-Board": "1" }, body: "cancel mail m1" },
					{ method: "POST", mode: "no-cors", body: "cancel mail m1" },
				];
				return Promise.all(attempts.map((options) => fetch(url + "api", options).then((r) => r.ok, () => false)));
			}, writer.url);
			assert.deepEqual(reached, [false, false]);
			assert.equal(state("mail", "m1"), "waiting");
		});
	});
});

test("a token is asked for, remembered, and not shown in the address", async () => {
	server.call("PAWL.PUT", "mail", HOUR, "x");
	const board = await startBoard(server, { listen: "0.0.0.0:0" });
	await expectToken(board, "#board", (page) => expectText(page, tile("waiting"), "1"));
	await board.stop();
});

describe("actions with a confirmation", () => {
	test("pause and resume; leaving it does nothing", async () => {
		server.call("PAWL.PUT", "mail", 0, "x");
		await withPage(writer, queue("mail"), async (page) => {
			await expectText(page, "#pause", "Pause");
			await page.click("#pause");
			await expectText(page, "#confirm-title", "Pause?");
			await expectText(page, "#confirm-what", "mail");
			await page.click("#confirm-no");
			await hidden(page, "#confirm");
			await page.click("#pause");
			await page.keyboard.press("Escape");
			await hidden(page, "#confirm");
			await polled(page);
			assert.equal(await page.locator("#paused").isVisible(), false);
			await page.click("#pause");
			await page.click("#confirm-yes");
			await expectText(page, "#notice", "Paused.");
			await expectText(page, "#paused", "paused");
			assert.equal(server.call("PAWL.TAKE", "mail"), "");
			await page.click("#pause");
			await expectText(page, "#confirm-title", "Resume?");
			await page.click("#confirm-yes");
			await expectText(page, "#notice", "Resumed.");
			await hidden(page, "#paused");
			assert.match(server.call("PAWL.TAKE", "mail"), /x/);
		});
	});

	test("all shards of a group at once", async () => {
		for (let i = 0; i < 4; i++) server.call("PAWL.PUT", `jobs:{${i}}`, HOUR, "x");
		await withPage(writer, { path: "#/group/jobs%3a%7b%2a%7d" }, async (page) => {
			await expectText(page, tile("waiting"), "4");
			await page.click("#pause");
			await expectText(page, "#confirm-what", "jobs:{*} (4 queues)");
			await page.click("#confirm-yes");
			await expectText(page, "#paused", "paused");
			server.call("PAWL.RESUME", "jobs:{2}");
			await expectText(page, "#paused", "3 of 4 paused");
		});
	});

	test("requeue one dead task, then all", async () => {
		for (const id of ["d1", "d2", "d3"]) die("mail", id, "no");
		await withPage(writer, queue("mail"), async (page) => {
			await openTab(page, "Dead");
			await page.getByRole("button", { name: "d2" }).click();
			await page.click("#task-requeue");
			await expectText(page, "#confirm-what", "d2");
			await page.click("#confirm-yes");
			await expectText(page, "#notice", "Requeued.");
			await expectText(page, "#task-life li.now", /^It has been due since/);
			await hidden(page, "#task-requeue");
			assert.deepEqual(["d1", "d2", "d3"].map((id) => state("mail", id)), ["dead", "due", "dead"]);
			await page.click("#task .close");
			await page.click("#requeue-all");
			await expectText(page, "#confirm-text", /^2 dead tasks will be due at once/);
			await page.click("#confirm-yes");
			await expectText(page, "#notice", "2 tasks requeued.");
			await hidden(page, "#requeue-all");
			assert.equal(server.call("PAWL.LEN", "mail", "STATE", "due"), "3");
		});
	});

	test("cancel a task, and one that a worker holds", async () => {
		server.call("PAWL.PUT", "mail", HOUR, "x", "ID", "m1");
		server.call("PAWL.PUT", "mail", 0, "x", "ID", "m2");
		server.call("PAWL.TAKE", "mail", "LEASE", HOUR);
		await withPage(writer, queue("mail"), async (page) => {
			await page.getByRole("button", { name: "m1" }).click();
			await page.click("#task-cancel");
			await expectText(page, "#confirm-text", /cannot be brought back/);
			await page.click("#confirm-yes");
			await expectText(page, "#notice", "Cancelled.");
			await expectText(page, "#task-gone", /^It is gone/);
			await hidden(page, "#task-cancel");
			await page.click("#task .close");
			await openTab(page, "Leased");
			await page.getByRole("button", { name: "m2" }).click();
			await expectText(page, "#task-life li.now", /^A worker holds it/);
			await page.click("#task-cancel");
			await expectText(page, "#confirm-text", /^A worker holds it/);
			await page.click("#confirm-no");
			assert.equal(state("mail", "m2"), "leased");
			await page.click("#task-cancel");
			await page.click("#confirm-yes");
			await expectText(page, "#empty", /is empty/);
			assert.equal(server.call("EXISTS", "mail"), "0");
		});
	});

	test("a refusal of the server is reported", async () => {
		server.call("PAWL.PUT", "mail", HOUR, "x", "ID", "m1");
		await withPage(writer, queue("mail"), async (page) => {
			await page.getByRole("button", { name: "m1" }).click();
			await page.waitForSelector("#task-cancel");
			await page.click("#task-cancel");
			server.call("PAWL.MOVE", "mail", "m1", 0);
			server.call("PAWL.TAKE", "mail", "LEASE", HOUR);
			await page.click("#confirm-yes");
			await expectText(page, "#notice.wrong", /^LEASED/);
			assert.equal(state("mail", "m1"), "leased");
		});
	});
});

describe("when something is away", () => {
	test("a killed server is told with the last numbers, and the page goes on when it is back", async () => {
		server.call("PAWL.PUT", "mail", HOUR, "x", "ID", "m1");
		await withPage(reader, { ...queue("mail"), expected: /503/ }, async (page) => {
			await expectText(page, tile("waiting"), "1");
			await server.kill();
			await expectText(page, "#banner", /^The server 127\.0\.0\.1:\d+ is away: .* What you see is from \d\d:\d\d:\d\d\.$/);
			await expectText(page, "#live", /^away since \d\d:/);
			await expectText(page, tile("waiting"), "1");
			await screenshot(page, "away");
			await server.run();
			await hidden(page, "#banner");
			await expectText(page, "#live", /^live/);
			server.call("PAWL.PUT", "mail", HOUR, "y");
			await expectText(page, tile("waiting"), "2");
		});
	});

	test("a board that has ended is told", async () => {
		server.call("PAWL.PUT", "mail", HOUR, "x");
		const board = await startBoard(server);
		await withPage(board, { expected: /ERR_CONNECTION|ERR_EMPTY|ERR_SOCKET/ }, async (page) => {
			await expectText(page, tile("waiting"), "1");
			await board.stop();
			await expectText(page, "#banner", /pawl board itself does not answer/);
			await expectText(page, tile("waiting"), "1");
		});
	});

	test("a hidden tab asks nothing, and asks again when it is seen", async () => {
		server.call("PAWL.PUT", "mail", HOUR, "x");
		await withPage(reader, async (page) => {
			await expectText(page, tile("waiting"), "1");
			await expectSilence(page, () => setHidden(page, true));
			server.call("PAWL.PUT", "mail", HOUR, "y");
			await setHidden(page, false);
			await expectText(page, tile("waiting"), "2");
		});
	});
});

describe("on any screen", () => {
	function fill() {
		const lines = [];
		for (let i = 0; i < 400; i++) lines.push(`PAWL.PUT mail ${((i * 7919) % 2800) * 1000 + 700000} '{"to":"user${i}@example.org","template":"reminder"}'`);
		for (let i = 0; i < 160; i++) lines.push(`PAWL.PUT jobs:{${i % 16}} ${((i * 104729) % 2800) * 1000 + 700000} '{"resize":"s3://pictures/${i}.png"}'`);
		lines.push(`PAWL.PUT a-queue-with-a-very-long-name-that-does-not-fit-a-phone:and:goes:on:and:on 9000000 ${"x".repeat(500)} ID ${"long-id".repeat(30)}`);
		server.calls(lines);
		for (const id of ["welcome-17", "welcome-18"]) die("mail", id, "550 5.1.1 The email account that you tried to reach does not exist");
	}

	for (const [name, viewport] of [["desktop", DESKTOP], ["phone", PHONE]])
		for (const colorScheme of ["light", "dark"])
			test(`${name}, ${colorScheme}: nothing is cut off or scrolls sideways`, async () => {
				fill();
				await withPage(writer, { viewport, colorScheme }, async (page) => {
					await expectText(page, tile("waiting"), "561");
					await polled(page);
					await expectNoSidewaysScrolling(page);
					await screenshot(page, `queues-${name}-${colorScheme}`, { fullPage: name === "phone" });
					await page.getByRole("link", { name: "mail" }).click();
					await expectText(page, tile("waiting"), "400");
					await page.waitForSelector("#task-table tbody tr");
					await expectNoSidewaysScrolling(page);
					await screenshot(page, `queue-${name}-${colorScheme}`);
					await openTab(page, "Dead");
					await page.getByRole("button", { name: "welcome-17" }).click();
					await expectText(page, "#task-life li.now", /^It died/);
					await expectNoSidewaysScrolling(page);
					await screenshot(page, `task-${name}-${colorScheme}`);
					await page.click("#task-cancel");
					await page.waitForSelector("#confirm");
					await screenshot(page, `confirm-${name}-${colorScheme}`);
					await page.click("#confirm-no");
					await page.click("#task .close");
					await page.click("#home");
					await page.getByRole("link", { name: /^a-queue/ }).click();
					await page.waitForSelector("#task-table tbody tr");
					await expectNoSidewaysScrolling(page);
					await page.click("#task-table .link");
					await expectText(page, "#task-life li.now", /^It waits/);
					await expectNoSidewaysScrolling(page);
				});
			});
});
