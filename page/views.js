// The views. Each is { title, load(), draw(main, data) }; draw() is called again when the data changed.

import { get } from "./api.js";
import { diff } from "./diff.js";
import { count, el, line, name, path, plain, reconcile, time, tokens } from "./dom.js";
import { undoPanel } from "./undo.js";

const REASONS = {
	modified: "the file changed after the agent read it", deleted: "the file was deleted after the agent read it",
	unseen: "the agent had not read the whole file", drops: "the write would remove most of the file",
	hash: "the file was not the version that the agent expected",
};
const KINDS = { created: ["+", "created"], changed: ["~", "changed"], deleted: ["\u2212", "deleted"], read: ["\u00b7", "read"] };

/** The address of a route: link("history", 12, { path: "a.c" }). */
export function link(...parts) {
	const query = typeof parts.at(-1) === "object" ? new URLSearchParams(parts.pop()).toString() : "";
	return "#/" + parts.map(encodeURIComponent).join("/") + (query && "?" + query);
}

// ---- parts

const kind = (word) => el("span.kind." + word, { title: KINDS[word][1] }, el("span", { "aria-hidden": "true" }, KINDS[word][0]), el("span.vh", null, KINDS[word][1]));
const agent = (text) => text ? el("a.agent", { href: link("run", text) }, name(text)) : el("span.agent", null, "unnamed");
const tag = (text, style = "tag") => el("span." + style, null, text);

/** A section with a heading and a list, which it brings up to date; `empty` is the sentence if there is nothing. */
function list(main, id, title, items, keyOf, make, empty) {
	let section = main.querySelector(`#${id}`);
	if (!section) {
		section = el("section.block", { id }, title && el("h2", null, title), el("ul.rows"));
		main.append(section);
	}
	const rows = section.querySelector("ul");
	reconcile(rows, items, keyOf, make);
	rows.hidden = !items.length;
	section.querySelector(".empty")?.remove();
	if (!items.length && empty) section.append(empty());
	section.hidden = !items.length && !empty;
}

/** Say below a list that it is not all, if it is not. */
function more(main, id, is, sentence) {
	const section = main.querySelector(`#${id}`);
	section.querySelector(".more")?.remove();
	if (is) section.append(el("p.quiet.more", null, sentence));
}

const empty = (sentence, command) => () => el("p.empty", null, sentence, command && [" ", el("code", null, command)]);

function searchForm(route) {
	const { path: file = "", agent: who = "" } = route.query;
	const field = (key, label, value) => el("label", null, el("span", null, label), el("input", { type: "search", name: key, value, autocomplete: "off", spellcheck: "false" }));
	return el("form.search", {
		role: "search",
		onsubmit: (event) => {
			event.preventDefault();
			const query = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value));
			if (route.query.by) query.by = route.query.by;
			location.hash = link(route.parts[0], query);
		},
	}, field("path", "File", file), field("agent", "Agent", who), el("button", { type: "submit" }, "Search"));
}

/** Links to the entries before and to the newest ones. */
function pager(main, route, next) {
	main.querySelector(".pager")?.remove();
	const { before, ...rest } = route.query;
	if (!before && !next) return;
	main.append(el("nav.pager", { "aria-label": "Pages" },
		before && el("a", { href: link(route.parts[0], rest) }, "Newest"),
		next && el("a", { href: link(route.parts[0], { ...rest, before: next }) }, "Older")));
}

// ---- now

function attentionRow(item) {
	if (item.kind === "notice") return el("li.row.warn", null, el("span.what", null, plain(item.text)));
	if (item.kind === "rescued") {
		return el("li.row.warn", null, tag("rescued"), el("a.what", { href: link("rescued", item.name) }, path(item.path)),
			el("span.note", null, `another program wrote ${count(item.bytes, "byte")} late; stet kept them`), time(item.at));
	}
	return el("li.row.warn", null, tag("refused"), el("a.what", { href: link("conflicts", item.id) }, path(item.path)),
		el("span.note", null, agent(item.agent), " has not tried again: ", REASONS[item.reason] ?? item.reason), time(item.at));
}

function agentRow(item) {
	return el("li.row", null, el("span.dot" + (Date.now() - item.at < 60000 ? ".on" : "")), agent(item.agent),
		el("span.what", null, el("span.tool", null, item.tool.replaceAll("_", " ")), item.path && [" ", el("a", { href: link("history", { path: item.path }) }, path(item.path))]),
		el("span.note", null, item.calls ? `${count(item.calls, "call")}, ${tokens(item.tokens)}` : ""), time(item.at));
}

function fileRow(item) {
	const others = item.agents.length > 1;
	return el("li.row", null, kind(item.kind), el("a.what", { href: item.id ? link("history", item.id) : link("history", { path: item.path }) }, path(item.path)),
		el("span.note" + (others ? ".several" : ""), null, item.agents.flatMap((who, i) => [i ? ", " : "", agent(who)])), time(item.at));
}

const now = (route) => ({
	title: "Now", live: true,
	load: () => get("now", { ws: route.ws }),
	draw(main, data) {
		if (!data.agents.length && !data.files.length && !data.attention.length) {
			main.querySelectorAll(".block").forEach((node) => node.remove());
			if (!main.querySelector(".empty")) main.append(empty("No agent has used stet here in the last day. Connect one:", "stet setup claude")());
			return;
		}
		main.querySelector(":scope > .empty")?.remove();
		list(main, "attention", "Needs you", data.attention, (item) => item.kind + (item.id ?? item.name ?? ""), attentionRow);
		list(main, "agents", "Agents", data.agents.sort((a, b) => b.at - a.at), (item) => item.agent, agentRow, empty("No agent was active in the last day."));
		more(main, "agents", data.moreAgents, "More agents were active in the last day: these are the newest.");
		list(main, "files", "Recent files", data.files.sort((a, b) => b.at - a.at), (item) => item.path, fileRow, empty("No file was read or written in the last day."));
	},
});

// ---- conflicts

const outcome = (item) => item.settledBy
	? el("a.note", { href: link("history", item.settledBy) }, item.kind === "merged" ? "merged and written" : "read it again and wrote")
	: el("span.note.open", null, "not tried again");

function conflictRow(item) {
	if (item.kind === "rescued") {
		return el("li.row", null, tag("rescued", "tag.rescued"), el("a.what", { href: link("rescued", item.name) }, path(item.path)),
			el("span.note", null, count(item.bytes, "byte")), time(item.at));
	}
	return el("li.row", null, tag(item.kind, "tag." + item.kind), el("a.what", { href: link("conflicts", item.id) }, path(item.path)),
		el("span.note", null, agent(item.agent), item.other && [", after a change by ", agent(item.other)]), outcome(item), time(item.at));
}

const conflicts = (route) => ({
	title: "Conflicts", live: !route.query.before,
	load: () => get("conflicts", { ws: route.ws, ...route.query }),
	draw(main, data) {
		if (!main.querySelector("form")) main.append(searchForm(route));
		const items = [...data.conflicts, ...(data.rescued ?? [])].sort((a, b) => b.at - a.at);
		const searched = route.query.path || route.query.agent;
		list(main, "list", null, items, (item) => item.kind + (item.id ?? item.name), conflictRow,
			searched ? empty("No conflict matches.") : empty("No conflicts: no agent wrote to a file that had changed since it read it. All that was written:", "stet log"));
		pager(main, route, data.next);
	},
});

const fact = (label, ...value) => el("div", null, el("dt", null, label), el("dd", null, ...value));

const conflict = (route) => ({
	title: "Conflict", live: true, back: ["Conflicts", link("conflicts")],
	load: async () => (await get("conflict", { ws: route.ws, id: route.parts[1] })).conflict,
	draw(main, item) {
		main.querySelector(".detail")?.remove();
		main.append(el("div.detail", null,
			el("p.lead", null, tag(item.kind, "tag." + item.kind), " ", path(item.path)),
			el("dl.facts", null,
				fact("Agent", agent(item.agent)), item.other && fact("Changed by", agent(item.other)),
				item.reason && fact("Why", REASONS[item.reason] ?? item.reason), fact("When", time(item.at)), fact("Outcome", outcome(item))),
			el("h2", null, item.kind === "merged" ? "Changes by others" : "Changes that stet showed the agent"), diff(item, item.path)));
	},
});

const rescued = (route) => ({
	title: "Rescued bytes", back: ["Conflicts", link("conflicts")],
	load: () => get("rescued", { ws: route.ws, name: route.parts[1] }),
	draw(main, item) {
		main.append(el("p.lead", null, tag("rescued", "tag.rescued"), " ", path(item.path)),
			el("p.quiet", null, "Another program wrote these bytes to a file that stet had just replaced. stet keeps them in ", el("code", null, ".stet/rescued/", name(item.name)), "."),
			el("h2", null, "Changes from the current file to the rescued bytes"), diff(item, item.path));
	},
});

// ---- history

const state = (item) => [
	item.undoes && tag("undo"), item.undoneBy && el("a.tag", { href: link("history", item.undoneBy) }, "undone"),
	item.story && tag(name(item.story), "story")];

const writeRow = (item) => el("li.row" + (item.undoneBy ? ".gone" : ""), null, kind(item.kind), el("a.what", { href: link("history", item.id) }, path(item.path)),
	el("span.note", null, agent(item.agent), ...state(item)), time(item.at));

/** Writes that were made as one: a change set, or an undo of several files. */
function groups(writes) {
	const out = [];
	for (const item of writes) {
		const last = out.at(-1)?.[0];
		if (last && last.moment === item.moment && last.agent === item.agent && !last.undoes === !item.undoes) out.at(-1).push(item);
		else out.push([item]);
	}
	return out;
}

function groupRow(items) {
	if (items.length === 1) return writeRow(items[0]);
	return el("li.group", null, el("p", null, `${count(items.length, "file")} as one change`), el("ul.rows", null, ...items.map(writeRow)));
}

function byAgent(writes) {
	const found = new Map();
	for (const item of writes) {
		const key = item.agent ?? "";
		const entry = found.get(key) ?? { agent: key, at: item.at, writes: 0, files: [] };
		entry.writes++;
		if (!entry.files.includes(item.path)) entry.files.push(item.path);
		found.set(key, entry);
	}
	return [...found.values()];
}

const runRow = (item) => el("li.row", null, el("a.what", { href: item.agent ? link("run", item.agent) : link("history") }, item.agent ? name(item.agent) : "unnamed"),
	el("span.note", null, `${count(item.writes, "write")} to ${count(item.files.length, "file")}`), time(item.at));

const history = (route) => ({
	title: "History", live: !route.query.before,
	load: () => get("history", { ws: route.ws, ...route.query, limit: route.query.by ? 200 : 50 }),
	draw(main, data) {
		const { by, before, ...rest } = route.query;
		if (!main.querySelector("form")) {
			const choose = (text, value) => el("a", { href: link("history", value ? { ...rest, by: value } : rest), "aria-current": (by ?? "") === value ? "true" : null }, text);
			main.append(searchForm(route), el("p.choice", null, choose("By time", ""), choose("By agent", "agent")));
		}
		const nothing = rest.path || rest.agent ? empty(data.next ? "No write in this part of the history matches." : "No write matches.") : empty("No agent has written through stet yet. Try it:", "stet edit FILE OLD NEW");
		if (by) list(main, "list", null, byAgent(data.writes), (item) => item.agent, runRow, nothing);
		else list(main, "list", null, groups(data.writes), (items) => items[0].id, groupRow, nothing);
		pager(main, route, data.next);
	},
});

const write = (route) => ({
	title: "Write", live: true, back: ["History", link("history")],
	load: async () => (await get("write", { ws: route.ws, id: route.parts[1] })).write,
	draw(main, item) {
		const fresh = el("div.detail", null,
			el("p.lead", null, kind(item.kind), " ", path(item.path)),
			el("dl.facts", null, fact("Agent", agent(item.agent)), fact("When", time(item.at)), item.story && fact("Story", name(item.story)),
				item.undoes && fact("Undoes", el("a", { href: link("history", item.undoes) }, `write ${item.undoes}`)),
				item.undoneBy && fact("Undone by", el("a", { href: link("history", item.undoneBy) }, `write ${item.undoneBy}`)),
				fact("File", el("a", { href: link("history", { path: item.path }) }, "all its writes"))),
			diff(item, item.path));
		main.querySelector(".detail")?.remove();
		main.append(fresh);
		if (!route.allowUndo || item.undoes) return;
		const key = String(Boolean(item.undoneBy));
		if (main.querySelector(".undo")?.dataset.redo === key) fresh.after(main.querySelector(".undo"));
		else {
			const note = main.querySelector(".undo .done");
			main.querySelector(".undo")?.remove();
			main.append(undoPanel({ ws: route.ws, id: item.id, redo: Boolean(item.undoneBy) }, "this write", key, note));
		}
	},
});

// ---- a run

function runFile(route, file) {
	const body = el("div");
	return el("li", null, el("details", {
		ontoggle: async (event) => {
			if (!event.target.open || body.childElementCount) return;
			try {
				body.append(diff(await get("diff", { ws: route.ws, path: file.path, from: file.before ?? undefined, to: file.after ?? undefined }), file.path));
			} catch (error) {
				body.append(el("p.quiet", null, error.message));
			}
		},
	}, el("summary.row", null, kind(file.before ? file.after ? "changed" : "deleted" : "created"), el("span.what", null, path(file.path)),
		el("span.note", null, count(file.writes, "write"), file.others && ", others wrote in between"), time(file.at)), body));
}

const run = (route) => ({
	title: "Run", live: true, back: ["History", link("history", { by: "agent" })],
	load: async () => {
		try {
			return await get("run", { ws: route.ws, agent: route.parts[1] });
		} catch (error) {
			if (error.status !== 404) throw error;
			return { agent: route.parts[1], writes: 0, files: [] };
		}
	},
	draw(main, data) {
		main.querySelector(".lead")?.remove();
		main.querySelector("h1").after(el("p.lead", null, name(data.agent), el("span.quiet", null, ` ${count(data.writes, "write")} to ${count(data.files.length, "file")}, not undone`)));
		list(main, "list", null, data.files, (file) => file.path, (file) => runFile(route, file), empty("This agent has made no write that stet can undo."));
		if (data.omitted) main.append(el("p.quiet", null, `${count(data.omitted, "more file")} left out.`));
		if (route.allowUndo && data.files.length && !main.querySelector(".undo")) {
			main.append(undoPanel({ ws: route.ws, agent: data.agent }, `all writes of ${plain(data.agent)}`, "run"));
		}
	},
});

// ---- context

function sessionRow(item) {
	const most = Math.max(1, ...item.tools.map((tool) => tool.tokens));
	const bar = (tool) => {
		const inner = el("span");
		inner.style.inlineSize = `${Math.max(1, 100 * tool.tokens / most)}%`;
		return el("span.meter", { "aria-hidden": "true" }, inner);
	};
	return el("li", null, el("details", null,
		el("summary.row", null, el("span.what", null, name(item.agent)), el("span.note", null, tokens(item.tokens)),
			el("span.note", null, count(item.calls, "call"), item.failures ? `, ${item.failures} refused` : "", item.turns ? `, ${count(item.turns, "turn")}` : ""), time(item.at)),
		el("dl.facts", null,
			fact("AGENTS.md", item.instructions ? tokens(item.instructions) : "none", item.agentsMd.length ? [": ", item.agentsMd.flatMap((file, i) => [i ? ", " : "", path(file)])] : ""),
			fact("Compactions", String(item.compactions)), item.turns ? fact("Turns of its host", String(item.turns)) : null),
		el("div.scroll", { tabindex: "0", role: "region", "aria-label": `Tools of ${plain(item.agent)}` }, el("table.plain", null, el("caption.vh", null, `Tools of ${plain(item.agent)}`),
			el("thead", null, el("tr", null, el("th", { scope: "col" }, "Tool"), el("th", { scope: "col" }, "Tokens"), el("th", { scope: "col" }, "Calls"), el("th", { scope: "col" }, "Refused"))),
			el("tbody", null, ...item.tools.sort((a, b) => b.tokens - a.tokens).map((tool) => el("tr", null,
				el("th", { scope: "row" }, name(tool.tool), bar(tool)), el("td", null, tool.tokens.toLocaleString("en")),
				el("td", null, String(tool.calls)), el("td", null, String(tool.failures)))))))));
}

const context = (route) => ({
	title: "Context", live: true,
	load: () => get("context", { ws: route.ws, ...route.query }),
	draw(main, data) {
		list(main, "list", null, data.sessions, (item) => item.agent, sessionRow, empty("No agent has called stet in the last week. Connect one:", "stet setup claude"));
		more(main, "list", data.moreSessions, "More sessions were active in the last week: these are the newest.");
	},
});

// ---- places

const linesOf = (file) => (file.lines ?? []).map(({ start, end }) => start === end ? `${start}` : `${start}\u2013${end}`).join(", ") + (file.linesLeftOut ? " \u2026" : "");
const withLines = (text) => !text ? "" : `${/^\d+$/.test(text) ? "line" : "lines"} ${text}`;
const meet = (one, two) => (one.lines ?? []).some((a) => (two.lines ?? []).some((b) => a.start <= b.end && b.start <= a.end));
const since = (seconds) => time(Date.now() - seconds * 1000);
const placeName = (place) => place.branch || place.path;
/** The page itself is no agent. */
const agentsOf = (place) => place.agents.filter(({ name: who }) => who !== "stet-page");

/** What a merge of two places does to a file; the worst comes first. */
const VERDICTS = { overlaps: "tag.refused", "same lines": "tag.refused", unknown: "tag.rescued", merges: "tag.merged", "other lines": "tag" };

function verdictOf({ in: where, pairs }) {
	if (pairs.length) return Object.keys(VERDICTS).find((verdict) => pairs.some((pair) => pair.verdict === verdict));
	return where.some((one, i) => where.slice(i + 1).some((two) => meet(one.file, two.file))) ? "same lines" : "other lines";
}

/** Files that are changed in several places: [{ path, in: [{ place, file }], pairs, verdict }]. */
function sharedFiles(places, forecast) {
	const found = new Map(), names = new Map();
	const entry = (file) => found.get(file) ?? found.set(file, { path: file, in: [], pairs: [] }).get(file);
	for (const place of places) {
		for (const file of place.files) entry(file.path).in.push({ place: placeName(place), file: { ...file, secondsAgo: 0 } });
	}
	for (const place of forecast?.places ?? []) names.set(place.id, placeName(place));
	for (const pair of forecast?.pairs ?? []) {
		for (const file of pair.files ?? []) entry(file.path).pairs.push({ ...file, names: [names.get(pair.a), names.get(pair.b)] });
	}
	const order = Object.keys(VERDICTS);
	return [...found.values()].filter((item) => item.in.length > 1 || item.pairs.length).map((item) => ({ ...item, verdict: verdictOf(item) }))
		.sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
}

/** Why places could not be compared. */
function unknownPairs(forecast) {
	const names = new Map(forecast.places.map((place) => [place.id, placeName(place)]));
	const told = forecast.pairs.filter((pair) => pair.verdict === "unknown" && !pair.files)
		.map(({ a, b, of, why }) => of ? `${plain(names.get(of))} ${why}.` : `${plain(names.get(a))} and ${plain(names.get(b))}: ${why}`);
	return told.length ? `No forecast of the merge: ${[...new Set(told)].join(" ")}` : "";
}

function side(place, { start, count: lines, text, cut }) {
	const rows = text.replace(/\n$/, "").split("\n").flatMap((row, i) => [i ? "\n" : "", line(row)]);
	return el("figure", null, el("figcaption", null, name(place), lines ? `, ${withLines(linesOf({ lines: [{ start, end: start + lines - 1 }] }))}` : `: nothing, before line ${start}`),
		lines ? el("pre", null, rows, cut && " \u2026") : null);
}

const pairOf = (pair) => el("div.pair", null, el("p.quiet", null, name(pair.names[0]), " and ", name(pair.names[1]), `: ${pair.why ?? pair.verdict}`),
	(pair.overlaps ?? []).map((overlap) => el("div.sides", null, side(pair.names[0], overlap.a), side(pair.names[1], overlap.b))),
	pair.overlapsLeftOut ? el("p.quiet", null, `${count(pair.overlapsLeftOut, "more overlap")}.`) : null);

function sharedRow(item) {
	const row = [tag(item.verdict, VERDICTS[item.verdict]), el("span.what", null, path(item.path)),
		el("span.note", null, item.in.flatMap(({ place, file }, i) => [i ? "; " : "", name(place), linesOf(file) && ": ", withLines(linesOf(file))]))];
	const told = item.pairs.filter((pair) => pair.verdict !== "merges");
	return told.length ? el("li", null, el("details", null, el("summary.row", null, row), told.map(pairOf))) : el("li.row", null, row);
}

function placeRow(place) {
	const agents = agentsOf(place);
	return el("li", null, el("details", { open: true }, el("summary.row", null, el("span.what", null, path(place.path), place.here && [" ", tag("here")]),
		el("span.note", null, place.branch ? name(place.branch) : "", agents.length ? [place.branch && ": ", agents.flatMap((who, i) => [i ? ", " : "", name(who.name)])] : ""), since(place.secondsAgo)),
	el("ul.rows", null, place.files.map((file) => el("li.row", null, kind({ created: "created", removed: "deleted" }[file.change] ?? "changed"), el("span.what", null, path(file.path)),
		el("span.note", null, name(file.by), linesOf(file) && `, ${withLines(linesOf(file))}`, file.editing && [" ", tag("being edited")]), since(file.secondsAgo)))),
	place.filesLeftOut ? el("p.quiet", null, `${count(place.filesLeftOut, "more file")}.`) : null));
}

/** Leaves out the ages, which change all the time. */
const settled = (key, value) => key === "secondsAgo" ? undefined : value;

/** Git needs a while for a forecast, so it is made beside the view, and not too often. */
const FORECAST_MS = 5000;

function forecaster(route, show) {
	let busy = false, again = false;
	return async (mark) => {
		again = true;
		if (busy) return;
		for (busy = true; again && mark.isConnected; await new Promise((done) => setTimeout(done, FORECAST_MS))) {
			again = false;
			try {
				show((await get("forecast", { ws: route.ws })).forecast, "");
			} catch (error) {
				show(null, `No forecast of the merge: ${error.message}`);
			}
		}
		busy = false;
	};
}

const places = (route) => {
	let forecast = null, problem = "", main = null, known = [];
	const show = () => {
		list(main, "shared", "Changed in several places", sharedFiles(known, forecast), (item) => item.path, sharedRow, null);
		more(main, "shared", problem, problem);
		main.querySelector("#shared").hidden &&= !problem;
	};
	const ask = forecaster(route, (answer, why) => {
		[forecast, problem] = [answer, answer ? unknownPairs(answer) : why];
		if (main.querySelector("#shared")) show();
	});
	return {
		title: "Places", live: true, poll: true,
		load: () => get("places", { ws: route.ws }),
		signature: (data) => JSON.stringify(data, settled),
		draw(into, { who }) {
			[main, known] = [into, who.places];
			main.querySelector(":scope > .empty")?.remove();
			if (!who.repository) {
				main.append(empty("This directory is not in a git repository, so it has no other checkouts. To make it one:", "git init")());
				return;
			}
			show();
			list(main, "places", "Checkouts", known, (place) => place.path, placeRow, empty("No agent has worked in a checkout of this repository yet. Make another one:", "git worktree add ../other"));
			if (known.length > 1) ask(main.querySelector("#shared"));
		},
	};
};

/** The views of the navigation, and what an address leads to. */
export const VIEWS = [["now", "Now"], ["conflicts", "Conflicts"], ["history", "History"], ["places", "Places"], ["context", "Context"]];

export function viewOf(route) {
	const [first, second] = route.parts;
	const found = second === undefined ? { now, conflicts, history, places, context } : { conflicts: conflict, rescued, history: write, run };
	return Object.hasOwn(found, first) ? found[first](route) : undefined;
}
