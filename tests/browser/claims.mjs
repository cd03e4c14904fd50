// The page in a real Chromium, against a real server with three agents at work. Prints TAP.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { Stage, axe, openBrowser, put, rescue, tellStory } from "./stage.mjs";

// How long until the page shows what happened; the sanitizers are slow.
const SOON_MS = Number(process.env.SOON_MS ?? 1000);

let count = 0, failed = 0;

async function claim(name, check) {
	count++;
	try {
		await check();
		console.log(`ok ${count} - ${name}`);
	} catch (error) {
		failed++;
		console.log(`not ok ${count} - ${name}`);
		console.log(String(error.stack ?? error).replace(/^/gm, "# "));
	}
}

function assert(truth, message) {
	if (!truth) throw new Error(message);
}

const stage = new Stage();
await stage.start("--allow-undo");
await tellStory(stage);
const browser = await openBrowser();

/** What a page reported: requests, console, violations of the policy, dialogs, errors. */
function watch(page) {
	const seen = { requests: [], console: [], errors: [], dialogs: 0 };
	page.on("request", (request) => seen.requests.push(request));
	page.on("console", (message) => { if (message.type() === "error") seen.console.push(message.text()); });
	page.on("pageerror", (error) => seen.errors.push(String(error)));
	page.on("dialog", (dialog) => { seen.dialogs++; dialog.dismiss(); });
	return seen;
}

async function newPage(options = {}) {
	const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
	await context.addInitScript(() => {
		globalThis.violations = [];
		document.addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
	});
	const page = await context.newPage();
	page.setDefaultTimeout(10000);
	return page;
}

async function show(page, hash) {
	await page.evaluate((to) => { location.hash = to; }, hash);
	await page.waitForFunction((to) => document.querySelector("main").dataset.route === to, hash);
}

const text = (page, selector) => page.textContent(selector);

/** Wait until the page says something; how long that took. */
async function soon(page, words, since = Date.now()) {
	await page.waitForFunction((all) => all.every((word) => document.querySelector("main").textContent.includes(word)), words, { timeout: SOON_MS, polling: 20 });
	console.log(`# ${words[0]}: ${Date.now() - since} ms`);
}

const page = await newPage();
const seen = watch(page);
await page.goto(stage.address);
await page.waitForSelector(".live[data-state=on]");

// ---- what happens is shown

await claim("the token leaves the address", async () => {
	assert(!page.url().includes("token"), page.url());
	assert(await page.evaluate(() => document.cookie) === "", "there is a cookie");
});
await claim("Now shows who works on what, and what needs a person", async () => {
	for (const word of ["parser", "reviewer", "writer", "src/parser.c", "Needs you", "docs/grammar.md"]) {
		assert((await text(page, "main")).includes(word), `${word} is missing`);
	}
});
await claim("Now shows a new agent and its file within a second", async () => {
	await stage.must("newcomer", "write_file", { path: "src/new.c", content: "int x;\n" });
	await soon(page, ["newcomer", "src/new.c"]);
});
await claim("History shows a write within a second", async () => {
	await show(page, "#/history");
	await stage.must("newcomer", "write_file", { path: "src/second.c", content: "int y;\n" });
	await soon(page, ["src/second.c"]);
});
await claim("Context shows a call and its tokens within a second", async () => {
	await show(page, "#/context");
	await stage.must("fourth", "read_file", { path: "src/parser.c" });
	await soon(page, ["fourth"]);
	await page.click("summary:has-text('fourth')");
	assert(/read_file/.test(await text(page, "details[open]")), "no tool");
});
await claim("Context counts the turns of a host that calls stet compact", async () => {
	stage.run("--session", "host", "compact");
	await soon(page, ["host", "1 turn"]);
});
await claim("Places shows a file that is changed in two checkouts", async () => {
	await show(page, "#/places");
	await page.waitForFunction(() => /parser\.c/.test(document.querySelector("#shared")?.textContent), null, { timeout: 5000 });
	assert((await text(page, "#places")).includes("errors-agent"), await text(page, "#places"));
});
await claim("Places forecasts the merge, with the lines that overlap", async () => {
	await page.waitForFunction(() => /overlaps.*parser\.c/.test(document.querySelector("#shared")?.textContent), null, { timeout: 5000 });
	assert(/merges.*grammar\.md/.test(await text(page, "#shared")), await text(page, "#shared"));
	assert(/main: lines \d+.\d+/.test(await text(page, "#shared")), await text(page, "#shared"));
	await page.click("#shared summary:has-text('parser.c')");
	const sides = await page.locator("#shared details[open] figure").allTextContents();
	assert(sides.some((side) => /errors, lines? \d+.*\\v/s.test(side)) && sides.some((side) => /main, line.*\\r/s.test(side)), sides.join("\n"));
});
await claim("and again when a file changes", async () => {
	await stage.must("writer", "write_file", { path: "src/both.c", content: "int both;\n" });
	stage.run("--root", join(stage.home, "parser-errors"), "--session", "errors-agent", "write", "src/both.c");
	await page.waitForFunction(() => /overlaps.*both\.c/.test(document.querySelector("#shared")?.textContent), null, { timeout: 10000 });
	assert(await page.locator("#shared details[open]").count() === 1, "what was open is closed");
});
await claim("a conflict appears within a second, with its diff", async () => {
	await show(page, "#/conflicts");
	put(stage.root, "src/shared.c", "one\ntwo\nthree\n");
	await stage.must("left", "read_file", { path: "src/shared.c" });
	await stage.must("right", "edit_file", { path: "src/shared.c", oldText: "two", newText: "TWO" });
	const answer = await stage.edit("left", "src/shared.c", "two", "2");
	assert(answer.failed, "the edit was not refused");
	await soon(page, ["src/shared.c", "left, after a change by right"]);
	await page.click("a.what:has-text('shared.c')");
	await page.waitForSelector("table.diff");
	assert(/−two\s*/.test((await text(page, "table.diff")).replace(/\s+/g, "")) || (await text(page, "tr.del")).includes("two"), "no removed line");
	assert((await text(page, "tr.add")).includes("TWO"), "no added line");
});
await claim("a conflict is settled before the eyes of the reader", async () => {
	await stage.must("left", "edit_file", { path: "src/shared.c", oldText: "TWO", newText: "2" });
	await soon(page, ["read it again and wrote"]);
});
await claim("a diff can be read side by side", async () => {
	await page.click("button:has-text('Side by side')");
	assert(await page.getAttribute("button:has-text('Side by side')", "aria-pressed") === "true", "not pressed");
	assert(await page.locator("table.side td.none").count() === 0 && await page.locator("table.side td.add").count() > 0, "not side by side");
	await page.click("button:has-text('Unified')");
});
await claim("bytes that were rescued are compared with the file", async () => {
	await show(page, "#/conflicts");
	await page.click("a.what:has-text('grammar.md')");
	await page.waitForSelector("tr.add");
	assert((await text(page, "tr.add")).includes("White space."), "not the rescued bytes");
});
await claim("the search finds by file and by agent", async () => {
	await show(page, "#/history");
	await page.fill("input[name=path]", "GRAMMAR");
	await page.press("input[name=path]", "Enter");
	await page.waitForFunction(() => document.querySelectorAll("#list a.what").length === 1);
	await show(page, "#/history?agent=newcomer");
	assert(await page.locator("#list .row").count() === 2, "not two writes");
	await show(page, "#/history?path=nothing");
	assert((await text(page, "main")).includes("No write matches."), "no empty state");
});

// ---- undo

await claim("an undo is previewed, done and seen", async () => {
	const { writes } = await (await stage.get("history?path=shared.c")).json();
	await show(page, `#/history/${writes[0].id}`);
	await page.click(".undo button");
	await page.waitForSelector(".preview tr.add");
	assert((await text(page, ".preview")).includes("goes back to its earlier content"), await text(page, ".preview"));
	assert(readFileSync(join(stage.root, "src/shared.c"), "utf8").includes("\n2\n"), "the preview changed the file");
	await page.click(".undo button.primary");
	await page.waitForSelector(".undo .done");
	assert(readFileSync(join(stage.root, "src/shared.c"), "utf8").includes("\nTWO\n"), "the file is not undone");
	await soon(page, ["Undone by", "Redo this write"]);
});
await claim("and redone", async () => {
	await page.click(".undo button");
	await page.click(".undo button.primary");
	await page.waitForFunction(() => document.querySelector(".undo .done")?.textContent.includes("Redone"));
	assert(readFileSync(join(stage.root, "src/shared.c"), "utf8").includes("\n2\n"), "the file is not redone");
});
await claim("who undoes is no agent", async () => {
	for (const [view, list] of [["now", "#agents"], ["places", "#places summary:has-text('here') .note"], ["context", "#list"]]) {
		await show(page, `#/${view}`);
		assert(!(await text(page, list)).includes("stet-page"), `${view} lists the page: ${await text(page, list)}`);
	}
});
await claim("an undo that would lose the work of others is refused, and says why", async () => {
	put(stage.root, "src/busy.c", "alpha\n");
	await stage.must("left", "read_file", { path: "src/busy.c" });
	await stage.must("left", "edit_file", { path: "src/busy.c", oldText: "alpha", newText: "beta" });
	const { writes } = await (await stage.get("history?path=busy.c")).json();
	put(stage.root, "src/busy.c", "gamma\n");
	await show(page, `#/history/${writes[0].id}`);
	await page.click(".undo button");
	await page.waitForSelector(".undo .error");
	assert(/others changed/.test(await text(page, ".undo")), await text(page, ".undo"));
	assert(await page.locator(".undo button.primary").count() === 0, "it can be undone");
});
await claim("a file that changes after the preview is previewed anew", async () => {
	await stage.must("left", "write_file", { path: "src/late.c", content: "1\n" });
	await stage.must("left", "edit_file", { path: "src/late.c", oldText: "1", newText: "2" });
	const { writes } = await (await stage.get("history?path=late.c")).json();
	await show(page, `#/history/${writes[0].id}`);
	await page.click(".undo button");
	await page.waitForSelector(".preview");
	put(stage.root, "src/late.c", "2\nmore\n");
	await page.click(".undo button.primary");
	await page.waitForSelector(".undo .error");
	assert((await text(page, ".undo")).includes("changed since the preview"), await text(page, ".undo"));
	assert(readFileSync(join(stage.root, "src/late.c"), "utf8") === "2\nmore\n", "the file was changed");
});
await claim("a run is undone as a whole", async () => {
	await show(page, "#/run/newcomer");
	await page.click(".undo button");
	await page.waitForSelector(".preview");
	await page.click(".undo button.primary");
	await page.waitForSelector(".undo .done");
	const { writes } = await (await stage.get("history?agent=newcomer")).json();
	assert(writes.every((item) => item.undoneBy), "not undone");
});

// ---- addresses and the connection

await claim("reload stays in the view", async () => {
	await show(page, "#/history?agent=writer");
	await page.reload();
	await page.waitForFunction(() => document.querySelector("main").dataset.route === "#/history?agent=writer");
	assert(await page.inputValue("input[name=agent]") === "writer", "the search is lost");
});
await claim("Back goes back", async () => {
	await page.click("#list a.what");
	await page.waitForSelector("table.diff");
	await page.goBack();
	await page.waitForFunction(() => document.querySelector("main").dataset.route === "#/history?agent=writer");
	assert((await text(page, "h1")) === "History", "not the history");
});
await claim("a deep link asks a new tab for the token, and then leads there", async () => {
	const tab = await newPage();
	await tab.goto(`${stage.base}#/history/2`);
	await tab.waitForSelector("input[name=token]");
	await tab.fill("input[name=token]", "wrong wrong wrong wrong");
	await tab.click("button[type=submit]");
	await tab.waitForFunction(() => document.querySelector("main").textContent.includes("not valid here"));
	await tab.fill("input[name=token]", stage.token);
	await tab.click("button[type=submit]");
	await tab.waitForSelector("table.diff");
	assert((await text(tab, ".lead")).includes("parser.c"), "not the write");
	await tab.context().close();
});
await claim("an address that no such address says so", async () => {
	for (const address of ["#/nothing/here", "#/constructor", "#/__proto__/1", "#/%zz"]) {
		await show(page, "#/now");
		await show(page, address);
		assert((await text(page, "main")).includes("no such address"), await text(page, "main"));
	}
	await show(page, "#/history/99999");
	assert((await text(page, "main .error")).includes("no write 99999"), await text(page, "main"));
});
await claim("a lost connection is shown, and regained", async () => {
	await show(page, "#/history");
	await stage.stop();
	await page.waitForSelector(".live[data-state=lost]", { timeout: 5000 });
	assert((await text(page, "#list")).includes("parser.c"), "the list is gone");
	await stage.start("--allow-undo");
	await page.waitForSelector(".live[data-state=on]", { timeout: 5000 });
	await stage.must("returned", "write_file", { path: "src/again.c", content: "int z;\n" });
	await soon(page, ["src/again.c"]);
});
await claim("a server that is gone is shown with what to do, and the view comes back with it", async () => {
	const tab = await newPage();
	await tab.goto(stage.address);
	await tab.waitForSelector(".live[data-state=on]");
	await stage.stop();
	await tab.waitForSelector("#lost:not([hidden])", { timeout: 8000 });
	assert((await text(tab, "#lost")).includes("start stet page again"), await text(tab, "#lost"));
	await show(tab, "#/conflicts");
	assert((await text(tab, "main .error")).includes("cannot be reached"), await text(tab, "main"));
	assert(await tab.locator(".error:visible").count() === 1, "it says so twice");
	await stage.start("--allow-undo");
	await tab.waitForSelector(".live[data-state=on]", { timeout: 5000 });
	await tab.waitForSelector("#list .row");
	assert(await tab.locator(".error:visible").count() === 0, "the error stays");
	await tab.context().close();
});
await claim("a tab that nobody sees keeps no connection, and catches up when it is seen", async () => {
	const first = await newPage();
	const seen = (tab, is) => tab.evaluate((hidden) => {
		Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
		document.dispatchEvent(new Event("visibilitychange"));
	}, !is);
	const tabs = [first];
	await first.goto(stage.address);
	await first.waitForSelector(".live[data-state=on]");
	/* Chromium opens six connections to a server. */
	while (tabs.length < 7) {
		await seen(tabs.at(-1), false);
		const tab = await first.context().newPage();
		tab.setDefaultTimeout(10000);
		tabs.push(tab);
		await tab.goto(stage.address);
		await tab.waitForSelector(".live[data-state=on]");
	}
	await stage.must("unseen", "write_file", { path: "src/unseen.c", content: "int z;\n" });
	await seen(first, true);
	await soon(first, ["src/unseen.c"]);
	await first.context().close();
});

// ---- accessibility

const ADDRESSES = ["#/now", "#/conflicts", "#/conflicts/1", "#/history", "#/history?by=agent", "#/history/1", "#/run/parser", "#/places", "#/context", "#/history/99999", "#/conflicts?path=nothing"];
for (const colorScheme of ["light", "dark"]) {
	await claim(`axe finds nothing in any view, ${colorScheme}`, async () => {
		const tab = await newPage({ colorScheme });
		await tab.goto(stage.address);
		await tab.waitForSelector(".live[data-state=on]");
		await tab.evaluate(axe);
		const found = [];
		for (const address of ADDRESSES) {
			await show(tab, address);
			if (address === "#/history/1") await tab.click(".undo button");
			for (const summary of await tab.locator("summary").all()) await summary.click();
			const { violations } = await tab.evaluate(() => globalThis.axe.run());
			for (const violation of violations) found.push(`${address}: ${violation.id}: ${violation.nodes.map((node) => node.html).join(" ")}`);
		}
		assert(found.length === 0, found.join("\n"));
		await tab.context().close();
	});
}
await claim("everything can be reached and used by keyboard", async () => {
	const missing = [];
	for (const address of ["#/now", "#/conflicts", "#/history/1", "#/context"]) {
		await show(page, address);
		await page.evaluate(() => { document.activeElement.blur(); getSelection().collapse(document.body, 0); });
		const wanted = await page.evaluate(() => {
			const all = [...document.querySelectorAll("a[href], button, input, summary, select, [tabindex='0']")].filter((node) => node.checkVisibility() && !node.disabled);
			all.forEach((node, i) => { node.dataset.stop = i; });
			return all.length;
		});
		const reached = new Set();
		for (let i = 0; i < wanted + 5; i++) {
			await page.keyboard.press("Tab");
			reached.add(await page.evaluate(() => document.activeElement.dataset.stop));
		}
		for (let i = 0; i < wanted; i++) if (!reached.has(String(i))) missing.push(`${address}: ${await page.evaluate((n) => document.querySelector(`[data-stop='${n}']`).outerHTML, i)}`);
	}
	assert(missing.length === 0, missing.join("\n"));
	await show(page, "#/history");
	await page.focus(".skip");
	await page.keyboard.press("Enter");
	assert(await page.evaluate(() => document.activeElement.id) === "main", "the focus does not skip");
	assert(page.url().endsWith("#/history"), page.url());
	await page.keyboard.press("Tab");
	assert(await page.evaluate(() => document.activeElement.name) === "path", "it skips elsewhere");
	await show(page, "#/context");
	await page.focus("summary");
	await page.keyboard.press("Enter");
	assert(await page.locator("details[open]").count() === 1, "Enter does not open");
});
await claim("a row that changes keeps the focus, and stays open", async () => {
	await show(page, "#/context");
	await page.click("summary:has-text('reviewer')");
	await page.focus("li[data-key=reviewer] summary");
	await stage.must("reviewer", "grep", { pattern: "int" });
	await page.waitForFunction(() => document.querySelector("li[data-key=reviewer]").textContent.includes("grep"), null, { timeout: 5000 });
	assert(await page.evaluate(() => document.activeElement.matches("li[data-key=reviewer] summary")), "the focus is lost");
	assert(await page.locator("li[data-key=reviewer] details[open]").count() === 1, "it is closed");
	await show(page, "#/places");
	await page.click("#places summary");
	assert(await page.locator("#places details[open]").count() === 1, "it does not close");
	await stage.must("reviewer", "write_file", { path: "src/closed.c", content: "int c;\n" });
	stage.run("--root", join(stage.home, "parser-errors"), "--session", "errors-agent", "write", "src/closed.c");
	await page.waitForFunction(() => (document.querySelector("#places").textContent.match(/closed\.c/g) ?? []).length === 2, null, { timeout: 8000 });
	assert(await page.locator("#places details[open]").count() === 1, "what was closed is open");
});
await claim("nothing is wider than the screen, at 320 pixels too", async () => {
	const tab = await newPage({ viewport: { width: 320, height: 700 } });
	const long = "a".repeat(64), file = "b".repeat(200);
	await stage.must(long, "write_file", { path: `src/${file}`, content: "x\n" });
	const { writes } = await (await stage.get(`history?agent=${long}`)).json();
	await tab.goto(stage.address);
	await tab.waitForSelector(".live[data-state=on]");
	for (const address of [...ADDRESSES, `#/history/${writes[0].id}`, `#/run/${long}`]) {
		await show(tab, address);
		if (address.endsWith(long)) {
			await tab.click(".undo button");
			await tab.waitForSelector(".preview");
		}
		const over = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
		assert(over <= 0, `${address} is ${over} pixels too wide`);
	}
	await tab.context().close();
});

// ---- hostile names and contents

const SCRIPT = "<img src=x onerror=alert(1)><script>alert(2)</scr" + "ipt>";
await claim("script in names and contents is shown as text", async () => {
	await stage.must("evil", "write_file", { path: `src/${SCRIPT.replaceAll("/", "_")}.c`, content: `${SCRIPT}\n` });
	await stage.must("evil", "write_file", { path: "src/\u202egnp.c", content: "a\u202eb\u200bc\u0007d\u{e0041}e\n" });
	const { writes } = await (await stage.get("history?agent=evil")).json();
	for (const address of ["#/now", "#/history", `#/history/${writes[1].id}`, "#/run/evil"]) {
		await show(page, address);
		assert((await text(page, "main")).includes("<img src=x onerror=alert(1)>"), `${address}: not as text`);
		assert(await page.locator("main img, main script").count() === 0, `${address}: an element was made`);
	}
	await show(page, `#/history/${writes[0].id}`);
	const marks = await page.locator("main .hid").allTextContents();
	for (const mark of ["U+202E", "ZWSP", "U+0007", "U+E0041"]) assert(marks.includes(mark), `${mark} is not shown: ${marks}`);
	assert(!(await page.locator("main").textContent()).includes("\u202e"), "a direction mark is in the page");
	assert(seen.dialogs === 0, "script ran");
});
await claim("in names of branches and checkouts, and in lines that overlap, too", async () => {
	const checkout = join(stage.home, "<img src=x onerror=alert(3)>");
	execFileSync("git", ["-C", stage.root, "worktree", "add", "-q", "-b", "<svg/onload=alert(4)>\u202e", checkout], { stdio: "ignore" });
	stage.run("--root", checkout, "--session", "evil", "edit", "src/parser.c", "size_t len;", `size_t ${SCRIPT};`);
	await stage.must("evil", "read_file", { path: "src/parser.c" });
	await stage.must("evil", "edit_file", { path: "src/parser.c", oldText: "size_t len;", newText: "size_t length;" });
	await show(page, "#/places");
	await page.waitForFunction(() => /overlaps/.test(document.querySelector("#shared li[data-key='src/parser.c']")?.textContent), null, { timeout: 5000 });
	await page.click("#shared li[data-key='src/parser.c'] summary");
	const all = await page.locator("main").textContent();
	for (const words of [SCRIPT, "<svg/onload=alert(4)>U+202E", "<img src=x onerror=alert(3)>"]) assert(all.includes(words), `${words} is not shown as text: ${all}`);
	assert(await page.locator("main img, main script, main svg").count() === 0, "an element was made");
	assert(seen.dialogs === 0, "script ran");
});
await claim("a diff of 10 MB is cut, and the page stays usable", async () => {
	const lines = (word) => Array.from({ length: 200000 }, (_, i) => `${word} ${i} ${"x".repeat(40)}`).join("\n") + "\n";
	put(stage.root, "big.txt", lines("old"));
	await stage.must("bulk", "write_file", { path: "big2.txt", content: lines("new") });
	const { writes } = await (await stage.get("history?path=big2.txt")).json();
	const began = Date.now();
	await show(page, `#/history/${writes[0].id}`);
	assert((await text(page, "main")).includes("The diff is cut"), "it is not cut");
	assert(Date.now() - began < 5000, `it took ${Date.now() - began} ms`);
	await page.click("button:has-text('more line')");
	assert(await page.locator("table.diff tr").count() > 1500, "no more lines");
	const broken = await page.locator("table.diff .no").evaluateAll((cells) =>
		cells.filter((cell) => cell.offsetHeight > 1.5 * parseFloat(getComputedStyle(cell).lineHeight)).length);
	assert(broken === 0, `${broken} line numbers are broken into two lines`);
});
await claim("a log of 10,000 entries is shown page by page", async () => {
	const database = join(stage.root, ".stet", "stet.db");
	execFileSync("sqlite3", ["-cmd", ".timeout 5000", database,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) INSERT INTO writes (path, at, session, after) SELECT CAST('many/' || i AS BLOB), i * 1000000000, 'many', zeroblob(32) FROM n"]);
	const began = Date.now();
	await show(page, "#/history?before=9999999");
	console.log(`# 10,000 entries: ${Date.now() - began} ms`);
	assert(await page.locator("#list .row").count() === 50, "not 50 rows");
	await page.click("a:has-text('Older')");
	await page.waitForFunction(() => document.querySelector("#list")?.textContent.includes("many/9950"));
	const response = await stage.get("history?limit=200&path=parser.c");
	const body = await response.json();
	assert(body.writes.length === 0 && body.next, "the search looked at everything");
});

// ---- others who would like to ask

await claim("a page of another origin learns nothing", async () => {
	const evil = createServer((request, response) => {
		response.setHeader("Content-Type", "text/html");
		response.end("<!doctype html><title>evil</title>");
	});
	await new Promise((done) => evil.listen(0, "127.0.0.1", done));
	const tab = await newPage();
	await tab.goto(`http://127.0.0.1:${evil.address().port}/`);
	const outcomes = await tab.evaluate(async ([base, token]) => {
		const tries = [
			[`${base}api/v1/now`, {}], [`${base}api/v1/now`, { headers: { Authorization: `Bearer ${token}` } }],
			[`${base}api/v1/undo`, { method: "POST", headers: { "X-Stet-Page": "1", "Content-Type": "application/json", Authorization: `Bearer ${token}` }, body: "{\"id\":1}" }],
			[`${base}`, {}],
		];
		return Promise.all(tries.map(([url, options]) => fetch(url, options).then((response) => `read ${response.status}`, () => "refused")));
	}, [stage.base, stage.token]);
	assert(outcomes.every((outcome) => outcome === "refused"), outcomes.join(", "));
	await tab.evaluate((base) => {
		const frame = document.createElement("iframe");
		frame.src = base;
		document.body.append(frame);
		return new Promise((done) => frame.addEventListener("load", done));
	}, stage.base);
	const framed = tab.frames().find((frame) => frame !== tab.mainFrame());
	assert(!framed || framed.url().startsWith("chrome-error:") || framed.url() === "about:blank", `it is framed: ${framed?.url()}`);
	await tab.context().close();
	evil.close();
});
await claim("a name that was rebound to this machine gets nothing", async () => {
	const port = new URL(stage.base).port;
	const answer = await new Promise((done, failed) => {
		import("node:http").then(({ get }) => get({ host: "127.0.0.1", port, path: "/", headers: { Host: `rebound.example:${port}` } }, (response) => done(response.statusCode)).on("error", failed));
	});
	assert(answer === 403, `the status is ${answer}`);
});
await claim("the browser made no request elsewhere, and reported no violation and no error", async () => {
	const foreign = seen.requests.map((request) => request.url()).filter((url) => !url.startsWith(stage.base) && !url.startsWith("data:"));
	assert(foreign.length === 0, foreign.join("\n"));
	assert(seen.requests.every((request) => !request.url().includes(stage.token)), "the token is in a URL");
	const violations = await page.evaluate(() => globalThis.violations);
	assert(violations.length === 0, violations.join("\n"));
	assert(seen.errors.length === 0, seen.errors.join("\n"));
	const expected = /40[49] |ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|status of 40[49]/;
	assert(seen.console.every((message) => expected.test(message)), seen.console.join("\n"));
});
await claim("and would have reported one", async () => {
	await page.addScriptTag({ content: "globalThis.ran = true" }).catch(() => {});
	assert(await page.evaluate(() => globalThis.ran) === undefined, "an inline script ran");
	assert((await page.evaluate(() => globalThis.violations)).length > 0, "no report");
});

await browser.close();
if (failed) console.log(stage.log.replace(/^/gm, "# stet serve: "));
await stage.strike();
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
