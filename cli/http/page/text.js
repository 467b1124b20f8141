// SPDX-License-Identifier: MIT
// Makes text that comes from elsewhere safe to show.

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const escape = (c) => {
	const code = c.codePointAt(0);
	return code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16).padStart(4, "0");
};

// Characters that would change how the text around them looks are written as \x.. or \u....
export const plain = (text) =>
	text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, escape);

// The same for bytes, each a character U+0000 to U+00FF. If they are not UTF-8, all but ASCII is written as \x.. .
export function textOf(bytes) {
	try {
		return plain(utf8.decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0))));
	} catch {
		return bytes.replace(/[^\t\n\r -~]/g, escape);
	}
}
