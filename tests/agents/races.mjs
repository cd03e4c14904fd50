// An agent edits a file, and appends to it, while a process appends to it every 0 to 5 ms: each call gets
// through in at most two attempts, and nothing is lost. 100 edits and 100 appends with STET_TORTURE=1.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

import { agents } from './agents.mjs';
import { check, claim, finish, follow } from './claim.mjs';

const agent = agents[process.argv[2]];
const rounds = process.env.STET_TORTURE ? 100 : 10;
const numbers = Array.from({ length: rounds }, (_, n) => n + 1);

// Attempts until the file has it; more than two are too many.
async function attempts(hand, done, tool, args) {
	for (let count = 1; count <= 2; count++) {
		const answer = await hand.call(tool, args);
		if (done(hand.read(args.path)))
			return '';
		if (count === 2)
			return answer;
	}
}

async function failures(hand, tool, make) {
	const failed = [];
	for (const n of numbers) {
		const { done, args } = make(n);
		const refusal = await attempts(hand, done, tool, { path: 'busy.txt', ...args });
		if (refusal)
			failed.push(refusal);
	}
	return failed;
}

async function race(hand) {
	await hand.call('read_file', { path: 'busy.txt' });
	const file = path.join(hand.work, 'busy.txt');
	const appender = spawn(process.execPath, [new URL('appender.mjs', import.meta.url).pathname, file], { stdio: ['pipe', 'pipe', 'inherit'] });
	let printed = '';
	appender.stdout.on('data', (data) => (printed += data));

	const edits = await failures(hand, 'edit_file', (n) => ({
		done: (text) => text.includes(`slot ${n} taken\n`),
		args: { edits: [{ oldText: `slot ${n} free\n`, newText: `slot ${n} taken\n` }] },
	}));
	const appends = await failures(hand, 'append_file', (n) => ({
		done: (text) => text.includes(`added ${n}\n`),
		args: { content: `added ${n}\n` },
	}));
	appender.stdin.end();
	await once(appender, 'close');

	const of = (failed) => `${failed.length} of ${rounds} did not: ${failed[0]}`;
	await claim('each edit gets through in at most two attempts', async () => check(!edits.length, of(edits)));
	await claim('each append gets through in at most two attempts', async () => check(!appends.length, of(appends)));
	await claim('every line of the other process is in the file, once and in order', async () => {
		const ticks = hand.read('busy.txt').split('\n').filter((line) => line.startsWith('tick '));
		const expected = Array.from({ length: Number(printed) }, (_, n) => `tick ${n + 1}`);
		check(ticks.length > 0 && ticks.join() === expected.join(), `${ticks.length} of ${expected.length} lines`);
	});
	await claim('every line of the agent is in the file once', async () => {
		const lines = hand.read('busy.txt').split('\n');
		for (const line of numbers.flatMap((n) => [`slot ${n} taken`, `added ${n}`]))
			check(lines.filter((other) => other === line).length === 1, `"${line}" is not there, or more than once`);
	});
}

await follow(agent, 'edits and appends against a busy file', {
	'busy.txt': numbers.map((n) => `slot ${n} free\n`).join(''),
}, race, ['--tools', 'all']);
finish();
