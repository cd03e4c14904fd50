// The server's JSON interface (docs/page.md).

const KEY = "stet-token";
let token = "";

/** Take the token out of the address into this tab's memory. Whether there is one. */
export function takeToken() {
	const match = location.hash.match(/^#token=([^&]*)(?:&to=(.*))?$/);
	if (match) {
		sessionStorage.setItem(KEY, match[1]);
		history.replaceState(null, "", match[2] ? "#" + match[2] : "#/now");
	}
	token = sessionStorage.getItem(KEY) ?? "";
	return token !== "";
}

export function setToken(text) {
	token = text.trim().replace(/^.*#token=/, "");
	sessionStorage.setItem(KEY, token);
}

/** An error: its status, 0 if the server cannot be reached, and a sentence. */
export class Failure extends Error {
	constructor(status, message, body) {
		super(message);
		this.status = status;
		this.body = body;
	}
}

function address(section, parameters) {
	const query = new URLSearchParams();
	for (const [key, value] of Object.entries(parameters)) {
		if (value !== undefined && value !== "") query.set(key, value);
	}
	return `/api/v1/${section}?${query}`;
}

async function send(url, options = {}) {
	try {
		return await fetch(url, {
			...options,
			headers: { Authorization: `Bearer ${token}`, ...options.headers },
			cache: "no-store", credentials: "omit", redirect: "error",
		});
	} catch (error) {
		if (error.name === "AbortError") throw error;
		throw new Failure(0, "The server cannot be reached. If it has ended, start stet page again and open the address that it prints.");
	}
}

async function read(response) {
	let body = null;
	try {
		body = await response.json();
	} catch { /* The gate answers with text. */ }
	if (!response.ok) throw new Failure(response.status, body?.message ?? `The server answered ${response.status}.`, body);
	return body;
}

export const get = async (section, parameters = {}, signal = undefined) =>
	read(await send(address(section, parameters), { signal }));

/** Preview, undo or redo. */
export const undo = async (body) => read(await send("/api/v1/undo", {
	method: "POST", body: JSON.stringify(body),
	headers: { "Content-Type": "application/json", "X-Stet-Page": "1" },
}));

/** How long to wait for a line; the server sends one every five seconds. */
const SILENCE_MS = 12000;

/** Listen to changes until the connection is lost, or `stop` ends it. */
export async function listen(ws, heard, stop) {
	let alarm;
	const expect = () => {
		clearTimeout(alarm);
		alarm = setTimeout(() => stop.abort(), SILENCE_MS);
	};
	expect();
	try {
		const response = await send(address("stream", { ws }), { signal: stop.signal });
		if (!response.ok) await read(response);
		const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
		let rest = "";
		for (;;) {
			const { value, done } = await reader.read();
			if (done) return;
			expect();
			const lines = (rest + value).split("\n");
			rest = lines.pop();
			for (const text of lines) heard(JSON.parse(text).changes);
		}
	} catch (error) {
		if (error instanceof Failure) throw error;
	} finally {
		clearTimeout(alarm);
		stop.abort();
	}
}
