// SPDX-License-Identifier: MIT
// The page of pawl top in a browser, before a real program: what it shows, what hostile names cannot do, and what it does when the
// program is not there. PAWL_PROGRAM in the environment: the program of program.c.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import {
	DESKTOP, end, expectNoSidewaysScrolling, expectSilence, expectText, expectToken, hidden, PHONE, polled,
	screenshot, setHidden, Site, start, TABLET, withPage,
} from "./browser.mjs";

const HTML = "<img src=x onerror=document.title='owned'>";
const tile = (name) => `.tile[data-tile="${name}"] b`;

let directory;
let number = 0;
before(() => (directory = mkdtempSync(join(tmpdir(), "pawl-top-"))));
after(() => rmSync(directory, { recursive: true }));

const newPath = () => join(directory, `socket-${number++}`);

class Program {
	static async start(mode, path = newPath()) {
		const program = new Program();
		program.path = path;
		program.process = await start(process.env.PAWL_PROGRAM, [path, mode]);
		return program;
	}

	kill() {
		return end(this.process, "SIGKILL");
	}
}

const startTop = (path, listen = "127.0.0.1:0") => Site.start(["top", "--page", "--listen", listen, path]);

// Run `use` with a page that shows a program in this mode.
async function showing(mode, options, use) {
	if (!use) return showing(mode, {}, options);
	const program = await Program.start(mode);
	const site = await startTop(program.path);
	await withPage(site, options, (page) => use(page, program));
	await site.stop();
	await program.kill();
}

const rows = (page, table) =>
	page.locator(`${table} tbody tr`).evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));
const numbers = (text) => Number(text.replaceAll(",", ""));

describe("the page", () => {
	test("a busy program: the future, functions by name, lateness, the latest runs, the slowest, keys", () =>
		showing("busy", async (page, program) => {
			await expectText(page, "#program", `busy, process ${program.process.pid}`);
			await expectText(page, tile("ran"), /^[1-9]/);
			await expectText(page, "#state", "live");
			const due = await rows(page, "#due-table");
			assert.deepEqual(due.map(([label]) => label), ["due, not run yet", "within 1 ms", "within 10 ms", "within 100 ms", "within 1 s",
				"within 10 s", "within 1 min", "within 10 min", "within 1 h", "within 6 h", "within 1 day", "beyond 1 day"]);
			assert.ok(numbers(due[8][1]) > 500, JSON.stringify(due));
			assert.ok(await page.locator("#due-table .fill").evaluateAll((bars) => bars.some((bar) => bar.clientWidth > 100)));
			const functions = await rows(page, "#function-table");
			assert.deepEqual(functions.map(([name]) => name), ["expire_session", "retry_delivery", "refresh_prices"]);
			assert.match(functions[0][1], /^9\d\d$/);
			await expectText(page, "#slowest-table tbody tr:first-child th", "refresh_prices");
			await expectText(page, "#slowest-ever", /^Since it opened: refresh_prices, [\d.]+ ms$/);
			for (const table of ["#lateness-table", "#took-table"]) {
				await expectText(page, `${table} tbody tr:nth-child(2) th`, /^the last (\d+ s|1 min)$/);
				for (const row of await rows(page, table)) assert.match(row.slice(1).join(" "), /^([\d.]+ (ns|µs|ms|s) ?){3}$/, JSON.stringify(row));
			}
			await expectText(page, "#latest-table tbody tr:nth-child(16) th", /^(expire_session|retry_delivery|refresh_prices)$/);
			const keys = await rows(page, ".keys");
			assert.deepEqual(keys.map(([, waiting, operation]) => [waiting, operation]),
				[6, 5, 4, 3, 2, 1].map((waiting) => [String(waiting), "fetch of orders from offset 4711"]));
			assert.match(keys[0][0], /^[0-9a-f]{24}$/);
			await expectText(page, "#purgatories small", "21 operations, watched 21 times; completed 0, expired 0");
		}));

	test("functions in the order that is chosen", () =>
		showing("busy", async (page) => {
			await expectText(page, "#function-table tbody tr:first-child th", "expire_session");
			await page.getByRole("button", { name: "Longest" }).press("Enter");
			await expectText(page, "#function-table tbody tr:first-child th", "refresh_prices");
			assert.equal(await page.locator("#function-table th[aria-sort]").textContent(), "Longest");
			await page.getByRole("button", { name: "Runs/s" }).click();
			await expectText(page, "#function-table tbody tr:last-child th", "refresh_prices");
		}));

	test("numbers follow the program without a reload, in the same elements", () =>
		showing("busy", async (page) => {
			await expectText(page, "#function-table tbody tr:first-child th", "expire_session");
			const ran = await page.locator("#facts [data-key='Ran'] dd").textContent();
			// Of the functions the first one, which always has tasks: one whose only task runs just then may be missing.
			await page.evaluate(() => (window.kept = [...document.querySelectorAll(".tile b, #function-table tbody tr:first-child, #due-table tr")]));
			await page.waitForFunction((old) => document.querySelector("#facts [data-key='Ran'] dd").textContent !== old, ran);
			assert.ok(await page.evaluate(() => window.kept.length > 15 && window.kept.every((element) => element.isConnected)));
		}));

	test("how long ago is told in units that suit it", () =>
		showing("busy", async (page) => {
			let taken = 1000;
			await page.route("**/snapshot.json", async (route) => {
				const response = await route.fetch();
				await route.fulfill({ response, headers: { ...response.headers(), "x-pawl-taken": String((taken += 12000)) } });
			});
			for (const table of ["#lateness-table", "#took-table"]) await expectText(page, `${table} tbody tr:nth-child(2) th`, "the last 1 min");
			await expectText(page, "#facts [data-key='Tick'] dd", "1 ms");
		}));

	test("a service without a task", () =>
		showing("empty", async (page) => {
			await expectText(page, tile("pending"), "0");
			await expectText(page, "#due-note", "0 tasks");
			await expectText(page, "#no-functions", /^No task is pending/);
			await expectText(page, "#no-slowest", "No run was noted yet.");
			await expectText(page, "#no-latest", /^No run was noted yet/);
			await expectText(page, "#lateness-table tbody tr:last-child td", "–");
			assert.equal(await page.locator("#purgatories section").count(), 0);
		}));

	test("300,000 tasks of 300 functions: an estimate, which is said; some functions, or all", () =>
		showing("many", async (page) => {
			await expectText(page, tile("pending"), "300,000");
			await expectText(page, "#due-note", /^estimated from [\d,]+ of 300,000 tasks$/);
			await expectText(page, "#functions-note", "pending is an estimate");
			await expectText(page, "#function-table tbody tr:first-child td", /^[\d,]+ \u00b1 [\d,]+$/);
			assert.equal((await rows(page, "#function-table")).length, 12);
			await expectText(page, "#function-table tbody tr:first-child th", /^(many_\d+|\(others\))$/);
			await page.click("#all-functions");
			await expectText(page, "#all-functions", "Show the first 12");
			const all = await rows(page, "#function-table");
			assert.ok(all.length > 50, `${all.length} functions`);
			await page.click("#all-functions");
			await page.waitForFunction(() => document.querySelectorAll("#function-table tbody tr").length === 12);
		}));
});

describe("requests that it refuses", () => {
	test("names of functions and texts of operations are text, whatever they look like", () =>
		showing("hostile", async (page) => {
			await expectText(page, "#function-table tbody th", HTML);
			await expectText(page, "#latest-table tbody th", HTML);
			await expectText(page, "#slowest-table tbody th", HTML);
			await expectText(page, "#slowest-ever", new RegExp(`^Since it opened: ${HTML}, `));
			assert.deepEqual((await rows(page, ".keys"))[0][2], `${HTML}\\x1b[2J\\u202e`);
			assert.equal(await page.locator("main img, main script").count(), 0);
			assert.notEqual(await page.title(), "owned");
		}));

	test("a page of another site reaches nothing", async () => {
		const program = await Program.start("busy");
		const [site, other] = await Promise.all([1, 2].map(() => startTop(program.path)));
		await withPage(other, { expected: /Content Security Policy|CORS|ERR_FAILED|violates|403/ }, async (page) => {
			const reached = await page.evaluate(async (url) => {
				const attempts = [{}, { mode: "no-cors" }, { credentials: "include" }];
				return Promise.all(attempts.map((options) => fetch(`${url}snapshot.json`, options).then((r) => r.ok, () => false)));
			}, site.url);
			assert.deepEqual(reached, [false, false, false]);
		});
		await site.stop();
		await other.stop();
		await program.kill();
	});
});

describe("when something is away", () => {
	test("a program that is not there yet is waited for", async () => {
		const path = newPath();
		const site = await startTop(path);
		await withPage(site, { expected: /503/ }, async (page) => {
			await expectText(page, "#waiting-why", `cannot connect to '${path}': No such file or directory`);
			await expectText(page, "#state", "waiting");
			await hidden(page, "#top");
			await screenshot(page, "waiting");
			const program = await Program.start("busy", path);
			await expectText(page, tile("pending"), /^1,2\d\d$/);
			await hidden(page, "#waiting");
			await program.kill();
		});
		await site.stop();
	});

	test("a program that is gone is told with the last numbers, and the page goes on when it is back", () =>
		showing("busy", { expected: /503/ }, async (page, program) => {
			await expectText(page, tile("ran"), /^[1-9]/);
			await program.kill();
			await expectText(page, "#banner", /^The program is gone: cannot connect to '.*refused; .*\. What you see is from \d\d:\d\d:\d\d\.$/);
			await expectText(page, "#state", "gone");
			await expectText(page, tile("pending"), /^1,2\d\d$/);
			await screenshot(page, "gone");
			const back = await Program.start("empty", program.path);
			await hidden(page, "#banner");
			await expectText(page, "#program", `empty, process ${back.process.pid}`);
			await expectText(page, tile("pending"), "0");
			await expectText(page, "#state", "live");
			await back.kill();
		}));

	test("a pawl top that has ended is told", async () => {
		const program = await Program.start("busy");
		const site = await startTop(program.path);
		await withPage(site, { expected: /ERR_CONNECTION|ERR_EMPTY|ERR_SOCKET/ }, async (page) => {
			await expectText(page, tile("pending"), /^1,2/);
			await site.stop();
			await expectText(page, "#banner", /^pawl top itself does not answer; is it still running\? What you see/);
		});
		await program.kill();
	});

	test("a snapshot that the page cannot show is told, and the page goes on with the next one", () =>
		showing("busy", { expected: /TypeError/ }, async (page) => {
			await expectText(page, tile("pending"), /^1,2\d\d$/);
			await page.route("**/snapshot.json", (route) => route.fulfill({ body: '{"format":1,"names":{}}', contentType: "application/json" }));
			await expectText(page, "#banner", /^The snapshot cannot be shown: .* What you see is from/);
			await expectText(page, "#state", "gone");
			await page.unroute("**/snapshot.json");
			await hidden(page, "#banner");
			await expectText(page, tile("ran"), /^[1-9]/);
			await expectText(page, "#state", "live");
		}));

	for (const [how, off, on] of [
		["hidden", (page) => setHidden(page, true), (page) => setHidden(page, false)],
		["paused", (page) => page.click("#pause"), (page) => page.click("#pause")],
	])
		test(`a page that is ${how} asks nothing, and asks again afterwards`, () =>
			showing("busy", async (page) => {
				await expectText(page, tile("ran"), /^[1-9]/);
				await expectSilence(page, () => off(page));
				const ran = await page.locator("#facts [data-key='Ran'] dd").textContent();
				await on(page);
				await page.waitForFunction((old) => document.querySelector("#facts [data-key='Ran'] dd").textContent !== old, ran);
				await expectText(page, "#state", "live");
			}));
});

test("a token is asked for, remembered, and not shown in the address", async () => {
	const program = await Program.start("busy");
	const site = await startTop(program.path, "0.0.0.0:0");
	await expectToken(site, "#top", (page) => expectText(page, tile("pending"), /^1,2/));
	await site.stop();
	await program.kill();
});

describe("on any screen", () => {
	for (const [name, viewport] of [["desktop", DESKTOP], ["tablet", TABLET], ["phone", PHONE]])
		for (const colorScheme of ["light", "dark"])
			test(`${name}, ${colorScheme}: nothing is cut off or scrolls sideways`, async () => {
				for (const mode of colorScheme === "light" ? ["busy", "hostile"] : ["busy", name === "phone" ? "many" : "empty"])
					await showing(mode, { viewport, colorScheme }, async (page) => {
						await expectText(page, "#program", new RegExp(`^${mode}, process`));
						await polled(page, mode === "busy" ? 3 : 1);
						await expectNoSidewaysScrolling(page);
						await screenshot(page, `${mode}-${name}-${colorScheme}`, { fullPage: true });
					});
			});

	test("the keyboard reaches every button, and a reader hears of a change of state only", () =>
		showing("many", async (page) => {
			await expectText(page, "#all-functions", /^Show all/);
			const reached = [];
			for (let i = 0; i < 6; i++) {
				await page.keyboard.press("Tab");
				reached.push(await page.evaluate(() => document.activeElement.textContent));
			}
			assert.deepEqual(reached.slice(0, 5), ["Pause", "Pending", "Runs/s", "Mean", "Longest"]);
			assert.match(reached[5], /^Show all/);
			await page.evaluate(() => {
				window.heard = 0;
				new MutationObserver(() => window.heard++).observe(document.querySelector("[role=status]"), { childList: true, characterData: true, subtree: true });
			});
			await polled(page, 3);
			assert.equal(await page.evaluate(() => window.heard), 0);
		}));
});
