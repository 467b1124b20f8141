// SPDX-License-Identifier: MIT
// The token, if the page asks for one: it comes with the address once, or is typed, and lasts as long as the tab.

let token = sessionStorage.getItem("pawl-token") ?? "";

function setToken(text) {
	token = text;
	sessionStorage.setItem("pawl-token", text);
}

// Headers of a request.
export const authorization = () => (token ? { Authorization: `Bearer ${token}` } : {});

// "#token=..." is kept, and removed from the address.
export function takeTokenFromAddress() {
	const found = /^#token=([\w.~-]+)$/.exec(location.hash);
	if (!found) return;
	setToken(found[1]);
	history.replaceState(null, "", "#/");
}

// The form for a token. `again` is called when one was typed.
export function prepareLogin(again) {
	const field = document.getElementById("token");
	document.getElementById("login").addEventListener("submit", (event) => {
		event.preventDefault();
		field.dataset.tried = "1";
		setToken(field.value.trim());
		again();
	});
}
