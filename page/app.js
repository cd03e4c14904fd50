// The page: routes, live updates and errors.

import { Failure, get, listen, setToken, takeToken } from "./api.js";
import { el, plain, tickTimes } from "./dom.js";
import { VIEWS, link, viewOf } from "./views.js";

const main = document.getElementById("main");
const live = document.getElementById("live");
const lost = document.getElementById("lost");
const workspace = document.getElementById("workspace");

const WORKSPACE = "stet-workspace";
/** The shortest time between two refreshes, and the pause before the connection is tried again. */
const REFRESH_MS = 400;
const RETRY_MS = 1000;
/** After how many tries the page says what may be wrong. */
const TRIES = 3;

let about = null, route = null, view = null, generation = 0;
let refreshing = false, wanted = false, lastOpen = null, listening = null;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const say = (text) => { document.getElementById("say").textContent = text; };

// ---- errors

function showTokenForm(message) {
	const field = el("input", { type: "password", name: "token", autocomplete: "off", required: true });
	main.replaceChildren(el("h1", null, "stet"), el("p.empty", null, message),
		el("form.search", {
			onsubmit: (event) => {
				event.preventDefault();
				setToken(field.value);
				start();
			},
		}, el("label", null, el("span", null, "Token"), field), el("button", { type: "submit" }, "Open")));
}

function showFailure(error) {
	if (error.status === 401) {
		showTokenForm("This token is not valid here. Open the address that stet page printed, or enter its token.");
		return;
	}
	if (view) view.unreached = error.status === 0;
	lost.hidden = true;
	main.replaceChildren(el("h1", null, view?.title ?? "stet"), el("p.error", { role: "alert" }, error.message),
		el("p", null, el("button", { type: "button", onclick: () => open() }, "Try again"), " ", el("a", { href: "#/now" }, "Now")));
}

function setLive(state, text) {
	if (live.dataset.state === state) return;
	live.dataset.state = state;
	live.textContent = text;
}

// ---- routes

function readRoute() {
	const [pathname, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
	const parameters = Object.fromEntries(new URLSearchParams(query));
	let parts;
	try {
		parts = pathname.split("/").filter(Boolean).map(decodeURIComponent);
	} catch {
		parts = ["?"];
	}
	return { parts: parts.length ? parts : ["now"], query: parameters, ws: Number(sessionStorage.getItem(WORKSPACE)) || 0, allowUndo: about?.allowUndo };
}

function drawNav() {
	const current = { run: "history", rescued: "conflicts" }[route.parts[0]] ?? route.parts[0];
	document.getElementById("views").replaceChildren(...VIEWS.map(([key, title]) =>
		el("li", null, el("a", { href: link(key), "aria-current": key === current ? "page" : null }, title))));
}

/** The data of a view as a text to compare, without the server's clock, which always changes. */
const signature = (data) => view.signature?.(data) ?? JSON.stringify({ ...data, now: 0 });

/** Load the view of the address and draw it. */
async function open() {
	const mine = ++generation;
	route = readRoute();
	view = viewOf(route);
	drawNav();
	document.title = `${view?.title ?? "Not found"} \u00b7 stet`;
	if (!view) {
		main.replaceChildren(el("h1", null, "Not found"), el("p.empty", null, "The page has no such address. ", el("a", { href: "#/now" }, "Go to Now.")));
		main.dataset.route = location.hash;
		return;
	}
	try {
		const data = await view.load();
		if (mine !== generation) return;
		main.replaceChildren(...(view.back ? [el("p.back", null, el("a", { href: view.back[1] }, "\u2190 ", view.back[0]))] : []), el("h1", null, view.title));
		view.draw(main, data);
		view.was = signature(data);
		if (lastOpen !== null && lastOpen !== location.hash) main.focus({ preventScroll: true });
		if (lastOpen !== location.hash) scrollTo(0, 0);
		lastOpen = location.hash;
	} catch (error) {
		if (mine === generation) fail(error);
	}
	if (mine === generation) main.dataset.route = location.hash;
}

function fail(error) {
	if (!(error instanceof Failure)) throw error;
	if (error.status === 0 && view?.was) return;
	showFailure(error);
}

// ---- live

async function refreshOnce() {
	const mine = generation, shown = view;
	if (shown?.unreached) return open();
	if (!shown?.live || !shown.was || document.hidden) return;
	const data = await shown.load();
	const is = signature(data);
	if (mine !== generation || is === shown.was) return;
	shown.was = is;
	shown.draw(main, data);
}

/** Refresh now, or as soon as the refresh that runs has ended. */
async function refresh() {
	wanted = true;
	if (refreshing) return;
	refreshing = true;
	while (wanted) {
		wanted = false;
		try {
			await refreshOnce();
		} catch (error) {
			if (error.status === 404 || error.status === 401) fail(error);
		}
		await pause(REFRESH_MS);
	}
	refreshing = false;
}

/** A browser opens few connections to one server, so a tab that nobody sees keeps none. */
async function untilSeen() {
	while (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
}

function showLost(failure, tries) {
	setLive("lost", "connection lost");
	lost.textContent = failure;
	lost.hidden = tries < TRIES || Boolean(view?.unreached);
}

async function follow() {
	for (let tries = 1; ; tries++) {
		let heard = null, failure = "The server ended the connection.";
		await untilSeen();
		listening = new AbortController();
		try {
			await listen(route?.ws ?? 0, (changes) => {
				if (live.dataset.state === "lost") say("The connection is back.");
				setLive("on", "live");
				lost.hidden = true;
				tries = 0;
				if (changes !== heard) refresh();
				heard = changes;
			}, listening);
		} catch (error) {
			if (error.status === 401) {
				setLive("lost", "no access");
				showFailure(error);
				return;
			}
			failure = error.message;
		}
		if (document.hidden) continue;
		showLost(failure, tries);
		await pause(RETRY_MS);
	}
}

// ---- the start

function drawWorkspaces() {
	const roots = about.workspaces;
	document.getElementById("root").textContent = roots.length === 1 ? plain(roots[0]) : "";
	workspace.replaceChildren(...roots.map((root, i) => el("option", { value: String(i) }, plain(root))));
	workspace.hidden = roots.length === 1;
	if (!roots[Number(sessionStorage.getItem(WORKSPACE))]) sessionStorage.removeItem(WORKSPACE);
	workspace.value = sessionStorage.getItem(WORKSPACE) ?? "0";
}

async function start() {
	setLive("wait", "connecting");
	try {
		about = await get("");
	} catch (error) {
		if (!(error instanceof Failure)) throw error;
		if (error.status === 401) showFailure(error);
		else {
			setLive("lost", "connection lost");
			showFailure(error);
			await pause(RETRY_MS);
			start();
		}
		return;
	}
	drawWorkspaces();
	await open();
	follow();
}

addEventListener("hashchange", () => {
	if (location.hash.startsWith("#token=")) {
		takeToken();
		start();
	} else if (about) open();
});
/** The address is the view's, so a link within the page may not change it. */
document.querySelector(".skip").addEventListener("click", (event) => {
	event.preventDefault();
	main.focus();
});
document.addEventListener("visibilitychange", () => {
	if (document.hidden) listening?.abort();
	else refresh();
});
workspace.addEventListener("change", () => {
	sessionStorage.setItem(WORKSPACE, workspace.value);
	location.reload();
});
setInterval(tickTimes, 1000);
/** The state of this checkout does not change when agents work in others, so a view of these polls. */
setInterval(() => { if (view?.poll) refresh(); }, 2000);

if (takeToken()) start();
else {
	setLive("lost", "no access");
	showTokenForm("The page needs its token: open the address that stet page printed, or enter the token.");
}
