// Claims in JavaScript, printed as TAP; servers to talk to; and the packages, which lie in a cache.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

export const stet = process.env.STET;
const require = createRequire(path.join(process.env.STET_NPM, 'package.json'));

// A module of a package in the cache.
export async function load(name) {
	return import(pathToFileURL(require.resolve(name)).href);
}

let count = 0;
let failed = 0;

// What to remove at the end.
const leftovers = [];
process.on('exit', () => leftovers.forEach((clear) => clear()));

// claim('a sentence', async () => {...}): holds if nothing is thrown.
export async function claim(name, body) {
	count++;
	try {
		await within(30_000, body());
		console.log(`ok ${count} - ${name}`);
	} catch (error) {
		failed++;
		console.log(`not ok ${count} - ${name}`);
		explain(String(error?.stack ?? error));
	}
}

// How many claims did not hold so far.
export function failures() {
	return failed;
}

// Print what helps to understand a failure.
export function explain(text) {
	console.log(text.replace(/^/gm, '# '));
}

export function finish() {
	console.log(`1..${count}`);
	process.exit(failed > 0 ? 1 : 0);
}

export function within(ms, promise) {
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`not done within ${ms} ms`)), ms);
	});
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// A directory that is removed when the process ends.
export function workspace() {
	const dir = mkdtempSync(path.join(process.env.TMPDIR ?? tmpdir(), 'stet-clients-'));
	leftovers.push(() => rmSync(dir, { recursive: true, force: true }));
	return dir;
}

// A stet serve; {url, headers, stop}.
export async function serve(...args) {
	const token = randomBytes(16).toString('hex');
	const child = spawn(stet, ['serve', ...args], {
		stdio: ['ignore', 'pipe', 'inherit'],
		env: { ...process.env, STET_TOKEN: token },
	});
	leftovers.push(() => child.kill('SIGKILL'));
	const [url] = await once(createInterface(child.stdout), 'line');
	const stop = async () => {
		child.kill('SIGTERM');
		const [status] = await once(child, 'exit');
		return status;
	};
	return { url, headers: { Authorization: `Bearer ${token}` }, stop };
}
