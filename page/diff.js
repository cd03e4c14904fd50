// A unified diff as a table: in one column or side by side.

import { count, el, line, plain } from "./dom.js";

const FIRST = 1000;
const KEY = "stet-diff";
const STARTS = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/;

/** The lines of a diff: { kind, old, new, text }; kind is " ", "+", "-", "@" or "\\". */
export function parse(text) {
	const lines = [];
	let before = 0, after = 0, inside = false;
	for (const row of text.split("\n")) {
		const hunk = row.match(STARTS);
		if (hunk) {
			[before, after, inside] = [Number(hunk[1]), Number(hunk[2]), true];
			lines.push({ kind: "@", text: row });
		} else if (inside && row !== "") {
			const kind = " +-".includes(row[0]) ? row[0] : "\\";
			lines.push({
				kind, text: kind === "\\" ? row : row.slice(1),
				old: kind === " " || kind === "-" ? before++ : null,
				new: kind === " " || kind === "+" ? after++ : null,
			});
		}
	}
	return lines;
}

const SIGNS = { " ": "", "+": "+", "-": "\u2212" };
const CLASSES = { " ": "same", "+": "add", "-": "del", "@": "hunk", "\\": "hunk" };

const number = (value) => el("td.no", null, value == null ? "" : String(value));
const wide = (row, columns) => el("tr.hunk", null, el("td", { colspan: columns }, ...line(row.text)));

function unified(row) {
	if (row.kind === "@" || row.kind === "\\") return wide(row, 4);
	return el("tr." + CLASSES[row.kind], null, number(row.old), number(row.new),
		el("td.sign", null, SIGNS[row.kind]), el("td.text", null, ...line(row.text)));
}

/** Pair removed lines with the added ones that follow them. */
function pairs(rows) {
	const out = [];
	for (let i = 0; i < rows.length;) {
		const removed = [], added = [];
		while (rows[i]?.kind === "-") removed.push(rows[i++]);
		while (rows[i]?.kind === "+") added.push(rows[i++]);
		if (!removed.length && !added.length) {
			out.push([rows[i], rows[i]]);
			i++;
		}
		for (let n = 0; n < Math.max(removed.length, added.length); n++) out.push([removed[n], added[n]]);
	}
	return out;
}

function half(row, side) {
	if (!row) return [el("td.no"), el("td.sign"), el("td.text.none")];
	const kind = CLASSES[row.kind];
	return [number(row[side]), el("td.sign." + kind, null, SIGNS[row.kind]), el("td.text." + kind, null, ...line(row.text))];
}

function split([left, right]) {
	if (left && (left.kind === "@" || left.kind === "\\")) return wide(left, 6);
	return el("tr", null, ...half(left, "old"), ...half(right, "new"));
}

function table(lines, side, name) {
	const label = plain(name);
	const rows = side ? pairs(lines) : lines;
	const body = el("tbody");
	const more = el("button", { type: "button" });
	let done = 0;
	const add = () => {
		body.append(...rows.slice(done, done + FIRST).map(side ? split : unified));
		done = Math.min(done + FIRST, rows.length);
		more.hidden = done === rows.length;
		more.textContent = `Show ${count(Math.min(FIRST, rows.length - done), "more line")} of ${count(rows.length - done, "line")}`;
	};
	more.addEventListener("click", add);
	add();
	return el("div", null, el("div.scroll", { tabindex: "0", role: "region", "aria-label": `Diff of ${label}` },
		el(side ? "table.diff.side" : "table.diff", null, el("caption.vh", null, `Diff of ${label}`), body)), more);
}

/** Show what an answer says of a difference: `diff`, `cut`, `noDiff`. */
export function diff(answer, label) {
	if (answer.noDiff) return el("p.quiet", null, `No diff: ${answer.noDiff}.`);
	const lines = parse(answer.diff ?? "");
	if (!lines.length) return el("p.quiet", null, "The contents are the same.");
	const root = el("section.change");
	/* A file that was created or deleted has nothing to stand beside. */
	const both = lines.some((row) => row.old) && lines.some((row) => row.new);
	const draw = () => {
		const side = both && localStorage.getItem(KEY) === "side";
		const choose = (text, value) => el("button", {
			type: "button", "aria-pressed": String((value === "side") === side),
			onclick: () => {
				localStorage.setItem(KEY, value);
				draw();
				[...root.querySelectorAll(".choice button")].find((button) => button.textContent === text).focus();
			},
		}, text);
		const added = lines.filter((row) => row.kind === "+").length, removed = lines.filter((row) => row.kind === "-").length;
		root.replaceChildren(
			el("div.tools", null, el("span.sum", null, el("span.plus", null, `+${added}`), " ", el("span.minus", null, `\u2212${removed}`)),
				both && el("div.choice", { role: "group", "aria-label": "How to show the diff" }, choose("Unified", "one"), choose("Side by side", "side"))),
			table(lines, side, label));
		if (answer.cut) root.append(el("p.quiet", null, "The diff is cut here: it is too long to show."));
	};
	draw();
	return root;
}
