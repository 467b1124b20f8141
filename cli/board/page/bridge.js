// SPDX-License-Identifier: MIT
// Requests to the server, and the bytes of its replies. A string from the server is a string of bytes here: each
// character is one byte, U+0000 to U+00FF. bytesOf() and textOf() convert.
import { textOf } from "./text.js";
import { authorization } from "./token.js";

export const encode = (bytes) =>
	String(bytes).replace(/[^A-Za-z0-9_.~-]/g, (c) => "%" + c.charCodeAt(0).toString(16).padStart(2, "0"));

export const decode = (text) => text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));

export const bytesOf = (text) => String.fromCharCode(...new TextEncoder().encode(text));

// A payload as HEAD shows it: [first bytes, size].
export const payloadOf = ([head, size]) => (head.length < size ? { cut: head, size } : head);

// A reply that the bridge has cut: its first bytes, and its size.
// The last character is left out if it may be cut in two.
export const headOf = (value) =>
	typeof value === "object" && value !== null ? value.cut.replace(/[\xc0-\xff][\x80-\xbf]{0,3}$/, "") : value;
export const sizeOf = (value) => (typeof value === "object" && value !== null ? value.size : value.length);

const LINES = 4096; // that a POST may have: LINES_MAX in api.c

export class Away extends Error {}
export class Refused extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

async function post(requests) {
	let response, answer;
	try {
		response = await fetch("api", {
			method: "POST",
			headers: { "X-Pawl-Board": "1", ...authorization() },
			body: requests.map((words) => words.map(encode).join(" ")).join("\n"),
			signal: AbortSignal.timeout(15000),
		});
		answer = await response.json();
	} catch {
		throw new Away("pawl board itself does not answer; is it still running?");
	}
	if (response.status === 503) throw new Away(`The server ${answer.server} is away: ${textOf(answer.away)}`);
	if (!response.ok) throw new Refused(response.status, answer.wrong);
	return answer;
}

// Send requests, each a list of words: { write, server, database, replies }. An error reply is { error }.
export async function ask(requests) {
	const answer = await post(requests.slice(0, LINES));
	for (let from = LINES; from < requests.length; from += LINES)
		answer.replies.push(...(await post(requests.slice(from, from + LINES))).replies);
	return answer;
}

// A map of the server as an object.
export function mapOf(list) {
	const map = {};
	for (let i = 0; i + 1 < list.length; i += 2) map[list[i]] = list[i + 1];
	return map;
}
