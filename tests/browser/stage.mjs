// The stage: a workspace, a server with the page, and agents that work there.

import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createRequire } from "node:module";

const STET = process.env.STET ?? "build/stet";
const require = createRequire(join(process.env.BROWSER_NPM ?? ".", "node_modules", "/"));
export const { chromium } = require("playwright-core");
export const axe = require("axe-core").source;

/** Write a file of the workspace as somebody without stet would. */
export function put(root, path, text) {
	mkdirSync(dirname(join(root, path)), { recursive: true });
	writeFileSync(join(root, path), text);
}

/** Bytes that stet has rescued, as it keeps them. */
export function rescue(root, path, text) {
	const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
	const name = `${hash}-${path.replaceAll("/", "%2F")}`;
	mkdirSync(join(root, ".stet", "rescued"), { recursive: true, mode: 0o700 });
	writeFileSync(join(root, ".stet", "rescued", name), text, { mode: 0o600 });
}

/** A server with the page; `base`, `token`, `address`, and agents. */
export class Stage {
	constructor() {
		this.home = mkdtempSync(join(tmpdir(), "stet-page-"));
		this.root = join(this.home, "project");
		mkdirSync(this.root);
		mkdirSync(join(this.home, "state"));
		this.token = "0123456789abcdef0123456789abcdef";
		this.log = "";
		this.id = 0;
	}

	/** Start the server, at the port that it had before. */
	async start(...options) {
		const listen = this.base ? new URL(this.base).host : "127.0.0.1:0";
		this.server = spawn(STET, ["serve", "--page", "--listen", listen, ...options, this.root], {
			env: { ...process.env, HOME: this.home, XDG_STATE_HOME: join(this.home, "state"), STET_TOKEN: this.token },
			stdio: ["ignore", "pipe", "pipe"],
		});
		this.server.stderr.on("data", (text) => { this.log += text; });
		const first = await new Promise((done, failed) => {
			let text = "";
			this.server.stdout.on("data", (piece) => {
				text += piece;
				if (text.includes("\n")) done(text.split("\n")[0]);
			});
			this.server.once("exit", () => failed(new Error(`stet serve ended: ${this.log}`)));
		});
		this.base = first.replace(/mcp$/, "");
		this.address = `${this.base}#token=${this.token}`;
	}

	/** Stop the server, and wait until it has ended. */
	async stop() {
		if (!this.server || this.server.exitCode !== null) return;
		const ended = new Promise((done) => this.server.once("exit", done));
		this.server.kill("SIGTERM");
		await ended;
	}

	/** Stop the server and remove everything. */
	async strike() {
		await this.stop();
		rmSync(this.home, { recursive: true, force: true });
	}

	/** The headers and the body of a call of a tool, as the agent of this name. */
	request(agent, tool, args) {
		const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
		return {
			headers: {
				Authorization: `Bearer ${this.token}`, "Content-Type": "application/json", Accept: "application/json, text/event-stream",
				"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
			},
			body: JSON.stringify({ jsonrpc: "2.0", id: ++this.id, method: "tools/call", params: { name: tool, arguments: { ...args, session: agent }, _meta: meta } }),
		};
	}

	/** Call a tool as the agent of this name. Returns the text of the answer, and whether it failed. */
	async call(agent, tool, args) {
		const response = await fetch(`${this.base}mcp`, { method: "POST", ...this.request(agent, tool, args) });
		const { result, error } = await response.json();
		if (error) throw new Error(`${tool}: ${error.message}`);
		return { text: result.content.map((block) => block.text).join("\n"), failed: Boolean(result.isError) };
	}

	/** The same, for a call that has to succeed. */
	async must(agent, tool, args) {
		const answer = await this.call(agent, tool, args);
		if (answer.failed) throw new Error(`${agent} ${tool}: ${answer.text}`);
		return answer.text;
	}

	edit(agent, path, oldText, newText, more = {}) {
		return this.call(agent, "edit_file", { path, oldText, newText, ...more });
	}

	/** Run stet on the workspace, as another process, with an empty list of messages as its input. */
	run(...args) {
		const env = { ...process.env, HOME: this.home, XDG_STATE_HOME: join(this.home, "state") };
		execFileSync(STET, ["--root", this.root, ...args], { env, input: "[]", stdio: ["pipe", "ignore", "ignore"] });
	}

	/** Ask the page's interface, with the token. */
	get(section, headers = {}) {
		return fetch(`${this.base}api/v1/${section}`, { headers: { Authorization: `Bearer ${this.token}`, ...headers } });
	}
}

/** Chromium, with its sandbox unless this is root's. */
export async function openBrowser() {
	const root = process.getuid() === 0;
	return chromium.launch({
		executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, chromiumSandbox: !root,
		args: ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run", ...(root ? ["--no-sandbox"] : [])],
	});
}

// ---- a story

const PARSER = `#include "parser.h"

/* One token of a rule. */
struct token {
	const char *text;
	size_t len;
};

static bool is_blank(char c) {
	return c == ' ' || c == '\\t';
}

int parser_next(struct parser *parser, struct token *out) {
	while (is_blank(*parser->at))
		parser->at++;
	if (*parser->at == '\\0')
		return 0;
	out->text = parser->at;
	out->len = strcspn(parser->at, " \\t");
	parser->at += out->len;
	return 1;
}
`;

/** A second checkout, in which another agent changes the same file. */
async function addWorktree(stage) {
	const git = (...args) => execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-C", stage.root, ...args], { stdio: "ignore" });
	git("init", "-q", "-b", "main");
	git("add", "src", "docs", "tests", "AGENTS.md");
	git("commit", "-q", "-m", "Begin");
	const other = join(stage.home, "parser-errors");
	git("worktree", "add", "-q", "-b", "errors", other);
	const environment = { ...process.env, HOME: stage.home, XDG_STATE_HOME: join(stage.home, "state") };
	for (const [path, from, to] of [["src/parser.c", "return c == ' '", "return c == '\\v' || c == ' '"], ["docs/grammar.md", "# Grammar", "# The grammar"]]) {
		execFileSync(STET, ["--root", other, "--session", "errors-agent", "edit", path, from, to], { env: environment, stdio: "ignore" });
	}
}

/** Three agents refactor a parser: reads, writes, a refusal that is settled, one that is not, a merge, late bytes, an undo. */
export async function tellStory(stage) {
	const { root } = stage;
	put(root, "AGENTS.md", "# Rules\n\nKeep functions short. Run `make check` before you stop.\n");
	put(root, "src/parser.c", PARSER);
	put(root, "src/parser.h", "struct parser { const char *at; };\n");
	put(root, "docs/grammar.md", "# Grammar\n\nA rule is a list of tokens.\n\n## Blanks\n\nSpace and tab.\n");
	put(root, "tests/parser_test.c", "#include \"parser.h\"\n\nint main(void) {\n\treturn 0;\n}\n");
	await addWorktree(stage);
	await stage.must("parser", "read_file", { path: "src/parser.c" });
	await stage.must("reviewer", "read_file", { path: "src/parser.c" });
	await stage.must("writer", "read_file", { path: "docs/grammar.md" });
	await stage.must("writer", "grep", { pattern: "token" });
	await stage.must("parser", "edit_file", { path: "src/parser.c", oldText: "c == '\\t'", newText: "c == '\\t' || c == '\\r'" });
	await stage.edit("reviewer", "src/parser.c", "static bool is_blank(char c) {\n\treturn c == ' ' || c == '\\t';", "static inline bool is_blank(char c) {\n\treturn strchr(\" \\t\", c);");
	await stage.must("reviewer", "edit_file", { path: "src/parser.c", oldText: "static bool is_blank", newText: "static inline bool is_blank" });
	await stage.must("writer", "edit_file", { path: "docs/grammar.md", oldText: "Space and tab.", newText: "Space, tab and carriage return." });
	await stage.must("writer", "write_file", { path: "docs/changes.md", content: "# Changes\n\n- A carriage return is a blank.\n" });
	await stage.must("parser", "read_file", { path: "tests/parser_test.c" });
	await stage.must("reviewer", "read_file", { path: "tests/parser_test.c" });
	await stage.must("parser", "edit_file", { path: "tests/parser_test.c", oldText: "#include \"parser.h\"", newText: "#include <assert.h>\n\n#include \"parser.h\"" });
	await stage.must("reviewer", "edit_file", { path: "tests/parser_test.c", oldText: "return 0;", newText: "assert(1);\n\treturn 0;", onStale: "merge" });
	await stage.must("writer", "read_file", { path: "src/parser.h" });
	await stage.must("parser", "edit_file", { path: "src/parser.h", oldText: "const char *at;", newText: "const char *at, *end;" });
	await stage.edit("writer", "src/parser.h", "const char *at;", "const char *at; /* the next byte */");
	await stage.must("reviewer", "write_file", { path: "notes.txt", content: "Look at the tests again.\n" });
	await stage.must("reviewer", "undo", { id: 8, dryRun: false }).catch(() => {});
	rescue(root, "docs/grammar.md", "# Grammar\n\nA rule is a list of tokens.\n\n## Blanks\n\nWhite space.\n");
}
