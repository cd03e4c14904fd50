// Making elements. Text from outside only ever becomes a text node: nothing here parses HTML.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{DI}]|(?! )\p{Zs}/gu;
const HIDDEN_IN_LINE = /(?!\t)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{DI}]|(?! )\p{Zs}/gu;
const NAMES = { 9: "TAB", 10: "LF", 13: "CR", 27: "ESC", 0x200b: "ZWSP", 0x200d: "ZWJ", 0xa0: "NBSP" };

/** An element: el("a.row", { href: "#" }, "text", child). A class may follow the tag's name. */
export function el(tag, attributes, ...children) {
	const [name, ...classes] = tag.split(".");
	const node = document.createElement(name);
	if (classes.length) node.className = classes.join(" ");
	for (const [key, value] of Object.entries(attributes ?? {})) {
		if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
		else if (value !== false && value != null) node.setAttribute(key, value === true ? "" : value);
	}
	node.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
	return node;
}

const codeOf = (character) => "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

/** A name in a sentence or an attribute, where no element can be. */
export const plain = (text) => text.replace(HIDDEN, (character) => `<${codeOf(character)}>`);

function pieces(text, hidden) {
	const out = [];
	let from = 0;
	for (const match of text.matchAll(hidden)) {
		const point = match[0].codePointAt(0);
		const code = codeOf(match[0]);
		if (match.index > from) out.push(text.slice(from, match.index));
		out.push(el("span.hid", { title: code }, NAMES[point] ?? code));
		from = match.index + match[0].length;
	}
	out.push(text.slice(from));
	return out;
}

/** A name of a file or an agent, with what cannot be seen made visible. */
export const name = (text) => el("bdi.name", null, ...pieces(text, HIDDEN));

/** The text of a line, as nodes. Tabs stay. */
export const line = (text) => (text.search(HIDDEN_IN_LINE) < 0 ? [text] : pieces(text, HIDDEN_IN_LINE));

/** A path: its directory is quieter than its name, and breaks may follow the slashes. */
export function path(text) {
	const slash = text.lastIndexOf("/") + 1;
	const dirs = text.slice(0, slash).split(/(?<=\/)/).flatMap((dir) => [...pieces(dir, HIDDEN), el("wbr")]);
	return el("bdi.path", null, slash ? el("span.dir", null, ...dirs) : null, ...pieces(text.slice(slash), HIDDEN));
}

const UNITS = [[60, 1, "s"], [3600, 60, "min"], [86400, 3600, "h"], [30 * 86400, 86400, "d"]];

function ago(at) {
	const seconds = Math.max(0, Math.round((Date.now() - at) / 1000));
	if (seconds < 5) return "now";
	const unit = UNITS.find(([limit]) => seconds < limit);
	return unit ? `${Math.floor(seconds / unit[1])} ${unit[2]} ago` : new Date(at).toLocaleDateString();
}

/** A time, relative; the exact one is its title. */
export function time(at) {
	const date = new Date(at);
	return el("time", { datetime: date.toISOString(), title: date.toLocaleString(), "data-at": at }, ago(at));
}

/** Bring the relative times up to date. */
export function tickTimes() {
	for (const node of document.querySelectorAll("time[data-at]")) {
		const text = ago(Number(node.dataset.at));
		if (node.textContent !== text) node.textContent = text;
	}
}

export const count = (number, one, many = one + "s") => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** Tokens, rounded: they are estimates. */
export function tokens(number) {
	if (number < 1000) return `${number} tokens`;
	return number < 999500 ? `${(number / 1000).toPrecision(3)} k tokens` : `${(number / 1e6).toPrecision(3)} M tokens`;
}

const STOPS = "a, summary, button, [tabindex]";

/** Let a row that replaces another be as open as that was, and have the focus if that had it. */
function takeOver(fresh, node) {
	const details = fresh.querySelector("details"), was = node.querySelector("details");
	if (details && was) details.open = was.open;
	const stop = [...node.querySelectorAll(STOPS)].indexOf(document.activeElement);
	return () => { if (stop >= 0) fresh.querySelectorAll(STOPS)[stop]?.focus({ preventScroll: true }); };
}

/**
 * Bring a list up to date. Rows that did not change stay as they are, so that focus, selection and
 * what the reader opened stay, too.
 */
export function reconcile(list, items, keyOf, make) {
	const old = new Map([...list.children].map((node) => [node.dataset.key, node]));
	let at = list.firstElementChild;
	for (const item of items) {
		const key = keyOf(item), was = JSON.stringify(item);
		let node = old.get(key);
		old.delete(key);
		if (!node || node.was !== was) {
			const fresh = make(item);
			const focus = node && takeOver(fresh, node);
			fresh.dataset.key = key;
			fresh.was = was;
			if (node === at) at = at?.nextElementSibling ?? null;
			node?.remove();
			list.insertBefore(fresh, at);
			focus?.();
			continue;
		}
		if (node === at) at = at.nextElementSibling;
		else list.insertBefore(node, at);
	}
	for (const node of old.values()) node.remove();
}
