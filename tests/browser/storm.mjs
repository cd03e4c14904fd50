// Many agents and the page: does it stay usable, and what does it cost? Prints TAP.
// 50 agents make 1,000 events a second for five seconds; for a minute with STET_TORTURE=1.

import { readFileSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { Stage, openBrowser, put } from "./stage.mjs";

const TORTURE = process.env.STET_TORTURE === "1";
const SECONDS = TORTURE ? 60 : 5;
const AGENTS = 50, EVENTS = 1000;
// How much more processor time a call may take with five readers. Short runs are noisy.
const GROWTH = TORTURE ? 1.05 : 1.5;
// For how long the page may work without a pause; a machine that runs other tests meanwhile is slower.
const BUSY_MS = TORTURE ? 100 : 400;
const MEMORY = 64 << 20;

let count = 0, failed = 0;

async function claim(name, check) {
	count++;
	try {
		await check();
		console.log(`ok ${count} - ${name}`);
	} catch (error) {
		failed++;
		console.log(`not ok ${count} - ${name}\n${String(error.stack).replace(/^/gm, "# ")}`);
	}
}

function assert(truth, message) {
	if (!truth) throw new Error(message);
}

const stage = new Stage();
put(stage.root, "src/README", "Files of fifty agents.\n");
await stage.start("--durability", "relaxed");

/** Processor time of the server, in milliseconds. */
function processorTime() {
	const tasks = `/proc/${stage.server.pid}/task`;
	return readdirSync(tasks).reduce((sum, id) => sum + Number(readFileSync(`${tasks}/${id}/schedstat`, "utf8").split(" ")[0]) / 1e6, 0);
}

const memory = () => Number(readFileSync(`/proc/${stage.server.pid}/statm`, "utf8").split(" ")[1]) * 4096;

/** An agent with a connection of its own. fetch() would take more processor time for a call than the server does. */
class Agent {
	constructor(number) {
		this.path = `src/${number}.c`;
		this.session = `agent-${number}`;
		this.turn = 0;
		this.unread = "";
		this.socket = connect(Number(new URL(stage.base).port), "127.0.0.1");
		this.socket.setNoDelay(true);
		this.socket.setEncoding("latin1");
		this.socket.on("data", (text) => this.#read(text));
		this.socket.on("close", () => this.failed?.(new Error(`${this.session}: the server closed the connection`)));
	}

	/** An answer has the head, its length among the fields, and a body of that length. */
	#read(text) {
		this.unread += text;
		const head = this.unread.indexOf("\r\n\r\n");
		if (head < 0) return;
		const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.unread.slice(0, head))?.[1]);
		if (!(this.unread.length >= head + 4 + length)) return;
		const body = this.unread.slice(head + 4, head + 4 + length);
		this.unread = "";
		this.done(JSON.parse(body));
	}

	async #call(tool, args) {
		const { headers, body } = stage.request(this.session, tool, args);
		const fields = Object.entries({ ...headers, Host: new URL(stage.base).host, "Content-Length": Buffer.byteLength(body) });
		const answer = await new Promise((done, failed) => {
			Object.assign(this, { done, failed });
			this.socket.write(`POST /mcp HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`);
		});
		if (!answer.result || answer.result.isError) throw new Error(`${this.session} ${tool}: ${JSON.stringify(answer)}`);
	}

	/** One event: the agent reads or edits its file. */
	act() {
		const { path } = this, turn = this.turn++;
		if (turn === 0) return this.#call("write_file", { path, content: "int x = 0;\nint y = 0;\n" });
		if (turn % 2) return this.#call("read_file", { path });
		return this.#call("edit_file", { path, oldText: `int x = ${turn - 2};`, newText: `int x = ${turn};` });
	}
}

const agents = Array.from({ length: AGENTS }, (_, number) => new Agent(number));
for (const agent of agents) await agent.act();

/** Let the agents work: `perSecond` events altogether. Returns how many there were. */
async function work(seconds, perSecond) {
	const end = Date.now() + seconds * 1000, pause = AGENTS * 1000 / perSecond;
	let events = 0;
	await Promise.all(agents.map(async (agent, number) => {
		for (let due = Date.now() + pause * number / AGENTS; due < end; due += pause) {
			const wait = due - Date.now();
			if (wait > 0) await new Promise((done) => setTimeout(done, wait));
			if (Date.now() > end) return;
			await agent.act();
			events++;
		}
	}));
	return events;
}

// ---- a browser in the storm

const browser = await openBrowser();
const page = await browser.newPage();
await page.goto(stage.address);
await page.waitForSelector(".live[data-state=on]");
await page.evaluate(() => {
	globalThis.tasks = [];
	globalThis.frames = [];
	new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ entryTypes: ["longtask"] });
	let last = performance.now();
	const frame = (now) => {
		globalThis.frames.push(now - last);
		last = now;
		requestAnimationFrame(frame);
	};
	requestAnimationFrame(frame);
});
const devtools = await page.context().newCDPSession(page);
await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
/** Processor time of the page's main thread, in seconds: unlike the length of a task it does not depend on other programs. */
const workOfPage = async () => (await devtools.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
await work(1, 200);
const pageWork = await workOfPage();
const before = memory();
const began = Date.now(), cost = { server: processorTime(), agents: process.cpuUsage() };
const events = await work(SECONDS, EVENTS);
const rate = Math.round(events / ((Date.now() - began) / 1000));
const grown = memory() - before;
const own = process.cpuUsage(cost.agents);
console.log(`# an event takes ${((processorTime() - cost.server) / events).toFixed(3)} ms of the server's processor time, ${((own.user + own.system) / 1000 / events).toFixed(3)} ms of the agents'`);
const { tasks, frames } = await page.evaluate(() => ({ tasks: globalThis.tasks, frames: globalThis.frames }));
frames.sort((a, b) => a - b);
const longest = Math.max(0, ...tasks);
console.log(`# ${events} events of ${AGENTS} agents, ${rate} a second; ${frames.length} frames, 99 of 100 within ${Math.round(frames[Math.floor(frames.length * 0.99)])} ms; the page was busy for ${Math.round(longest)} ms at most, ${tasks.filter((ms) => ms >= BUSY_MS).length} times for ${BUSY_MS} ms`);
console.log(`# the page's own work: ${(1000 * (await workOfPage() - pageWork) / SECONDS).toFixed(1)} ms of processor time a second`);
console.log(`# the server's memory: ${(before / 1048576).toFixed(1)} MiB, grew by ${(grown / 1048576).toFixed(1)} MiB`);
await claim(`the page never works for ${BUSY_MS} ms without a pause`, async () => assert(longest < BUSY_MS, `${Math.round(longest)} ms`));
await claim("the page still answers, and is up to date within a second", async () => {
	await stage.must("last", "write_file", { path: "last.txt", content: "x\n" });
	await page.waitForFunction(() => document.querySelector("main").textContent.includes("last.txt"), null, { timeout: Number(process.env.SOON_MS ?? 1000) });
	await page.click("nav a:has-text('Context')");
	await page.waitForSelector("summary");
});
await claim("its lists stay short", async () => assert(await page.locator("main li").count() <= 150, "too many rows"));
if (TORTURE) {
	await claim(`the agents make ${EVENTS} events a second`, async () => assert(rate >= EVENTS * 0.98, `${rate}`));
	await claim("99 of 100 frames take less than 100 ms", async () => assert(frames[Math.floor(frames.length * 0.99)] < 100, "longer"));
}
await claim("the server's memory is bounded", async () => assert(grown < MEMORY, `${grown} bytes more`));
await browser.close();

// ---- readers without a browser

/** Run with readers of the stream, each of which has read its first line. */
async function withReaders(number, run) {
	const stop = new AbortController();
	const readers = await Promise.all(Array.from({ length: number }, async () => {
		const response = await fetch(`${stage.base}api/v1/stream`, { headers: { Authorization: `Bearer ${stage.token}` }, signal: stop.signal });
		const reader = response.body.getReader();
		await reader.read();
		return reader;
	}));
	const ended = readers.map(async (reader) => { while (!(await reader.read()).done); });
	const result = await run();
	stop.abort();
	await Promise.allSettled(ended);
	return result;
}

async function timePerCall() {
	const start = processorTime(), calls = await work(1, 400);
	return (processorTime() - start) / calls;
}

const ratios = [];
for (let round = 0; round < (TORTURE ? 31 : 3); round++) {
	const [first, second] = round % 2 ? [5, 0] : [0, 5];
	const one = await withReaders(first, timePerCall), two = await withReaders(second, timePerCall);
	const [without, readers] = first ? [two, one] : [one, two];
	ratios.push(readers / without);
	if (!TORTURE) console.log(`# a call takes ${without.toFixed(3)} ms of processor time, with five readers ${readers.toFixed(3)} ms`);
}
ratios.sort((a, b) => a - b);
const median = ratios[Math.floor(ratios.length / 2)];
await claim("five readers of the stream cost almost nothing", async () => assert(median <= GROWTH, `a factor of ${median.toFixed(3)}`));
console.log(`# factor ${median.toFixed(3)}`);
if (failed) console.log(stage.log.replace(/^/gm, "# stet serve: "));
for (const agent of agents) agent.socket.destroy();
await stage.strike();
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
