// Undo and redo: first a preview, then exactly that.

import { Failure, undo } from "./api.js";
import { diff } from "./diff.js";
import { count, el, path } from "./dom.js";

const OUTCOMES = {
	restored: "goes back to its earlier content", merged: "loses these changes and keeps those of others", deleted: "is deleted, because this write created it",
	recreated: "is created again", unchanged: "already has its earlier content", conflict: "stays as it is", impossible: "stays as it is",
};

const reasonOf = (file) => file.reason ? `: ${file.reason}` : "";

const fileItem = (file) => el("li", null, el("p", null, path(file.path), " ", el("span.quiet", null, (OUTCOMES[file.outcome] ?? file.outcome) + reasonOf(file))),
	file.diff && diff({ diff: file.diff, cut: file.diffTruncated }, file.path));

const refusal = (text) => el("p.error", { role: "alert" }, text);

/** A panel that undoes or redoes; `request` goes to the server, `note` tells of the action before. */
export function undoPanel(request, subject, key, note) {
	const verb = request.redo ? "Redo" : "Undo";
	const panel = el("section.undo", { "data-redo": key, "aria-label": verb });
	const button = (text, onclick, style = "button") => el(style, { type: "button", onclick }, text);
	const show = (...nodes) => {
		panel.replaceChildren(...nodes.filter(Boolean));
		panel.querySelector("button")?.focus();
	};
	const idle = (...notes) => panel.replaceChildren(...notes, button(`${verb} ${subject}\u2026`, preview));

	const previewed = (answer, ...notes) => {
		const files = answer.preview?.files ?? [];
		const left = files.filter((file) => file.outcome === "conflict" || file.outcome === "impossible").length;
		const possible = files.length - left > 0;
		show(...notes, el("h2", null, `${verb} ${subject}?`),
			left ? refusal(`stet cannot ${verb.toLowerCase()} ${count(left, "file")}.`) : null,
			el("ul.preview", null, ...files.map(fileItem)),
			el("p.buttons", null, possible && button(verb, () => act(answer.expected), "button.primary"), button("Cancel", () => idle())));
	};
	const failed = (error) => {
		if (!(error instanceof Failure)) throw error;
		if (error.body?.preview) previewed(error.body, refusal(error.message));
		else idle(refusal(error.message));
	};
	const ask = async (body, then) => {
		panel.querySelectorAll("button").forEach((node) => { node.disabled = true; });
		try {
			then(await undo(body));
		} catch (error) {
			failed(error);
		}
	};
	const preview = () => ask(request, (answer) => previewed(answer));
	const act = (expected) => ask({ ...request, expected }, (answer) => {
		const done = answer.done?.takenBack ?? 0;
		panel.replaceChildren(el("p.done", { role: "status" }, `${request.redo ? "Redone" : "Undone"}: ${count(done, "file")}.`));
	});
	idle(...(note ? [note] : []));
	return panel;
}
