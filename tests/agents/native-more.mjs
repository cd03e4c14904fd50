// The agent's own tools with stet's hooks: what they would damage, instructions, and lists of tasks.
//
//     node native-more.mjs claude
import { linkSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { agents } from './agents.mjs';
import { check, claim, finish, follow } from './claim.mjs';
import { guarded } from './run.mjs';

const agent = agents[process.argv[2]];

// ---- files that a tool may damage ----

const plain = 'line 1\nline 2\nline 3\nline 4\n';
const crlf = plain.replaceAll('\n', '\r\n');
const delicate = {
	'crlf.txt': Buffer.from(crlf),
	'mixed.txt': Buffer.from(`${plain}${crlf}`.replace('line 2\n', 'LINE 2\n')),
	'latin.txt': Buffer.from(`${plain}caf\xe9\n`, 'latin1'),
	'bom.txt': Buffer.from(`\ufeff${plain}`),
	'unended.txt': Buffer.from(plain.slice(0, -1)),
	'linked.txt': Buffer.from(plain),
};
const replaced = (bytes, from, to) => Buffer.from(bytes.toString('latin1').replace(from, to), 'latin1');

// After a call, a file has its old bytes and the model was told why; or the new ones, and nothing else changed.
async function unharmed(hand, name, before, after, answer, what) {
	const now = readFileSync(path.join(hand.work, name));
	await claim(`${name}: ${what} damages nothing, or is denied with the reason`, async () => {
		if (now.equals(before))
			return check(answer.length > 20, 'denied without a reason');
		check(now.equals(after), `${JSON.stringify(now.toString('latin1'))} instead of ${JSON.stringify(after.toString('latin1'))}; ${answer}`);
		if (name === 'linked.txt')
			check(statSync(path.join(hand.work, name)).nlink === 2, 'its other name has another file now');
	});
}

async function damages(hand) {
	for (const [name, before] of Object.entries(delicate)) {
		const file = path.join(hand.work, name);
		writeFileSync(file, before);
		if (name === 'linked.txt')
			linkSync(file, path.join(hand.work, 'other.txt'));
		await hand.native('read', name);
		const edited = replaced(before, 'line 2', 'line two');
		const answer = await hand.native('edit', name, 'line 2\n', 'line two\n');
		await unharmed(hand, name, before, edited, answer, 'an edit');
		writeFileSync(file, before);
		await hand.native('read', name);
		const text = before.toString().replace('\ufeff', '').replaceAll('\r\n', '\n').replace('line 2', 'line two');
		const written = await hand.native('write', name, text);
		const exact = name === 'unended.txt' ? Buffer.from(`${text.trimEnd()}\n`) : edited;
		const now = readFileSync(file);
		await unharmed(hand, name, before, now.equals(exact) ? exact : edited, written, 'a write');
	}
}

// ---- long reasons ----

// A denial with a diff counts as read as far as the agent handed it on, and no further.
async function longReason(hand, lines) {
	const name = `changed-${lines}.txt`;
	const text = (word) => Array.from({ length: 3 * lines }, (_, n) => `${n % 3 ? 'same' : word} line ${n} of ${lines}\n`).join('');
	hand.write(name, text('old'));
	await hand.native('read', name);
	hand.write(name, text('new'));
	const denied = await hand.native('write', name, `${text('old')}written\n`);
	const told = Array.from({ length: lines }, (_, n) => `+new line ${3 * n} of ${lines}\n`).filter((line) => hand.count(line)).length;
	const answer = await hand.native('write', name, `${text('new')}written\n`);
	await claim(`a denial with a diff of ${lines} lines unlocks a write exactly if all of it reached the model`, async () => {
		if (hand.refuses(denied) || hand.refuses(answer))
			return;
		const written = hand.read(name).includes('new line 0 of') && hand.read(name).includes('written');
		check(told > 0, `nothing of it reached the model: ${denied}`);
		check(written === (told === lines), `${told} of ${lines} lines reached it; ${written ? 'written' : answer}`);
	});
	console.log(`# ${lines} changed lines: ${told} reached the model`);
}

// ---- instructions ----

async function instructions(hand) {
	await hand.native('read', 'sub/a.txt');
	await hand.native('edit', 'sub/a.txt', 'one\n', 'ONE\n');
	await hand.native('shell', 'cat sub/b.txt');
	await hand.native('edit', 'sub/b.txt', 'two\n', 'TWO\n');
	await hand.native('write', 'sub/c.txt', 'three\n');
	await hand.native('read', 'sub/deep/d.txt');
	for (const mark of ['MARK-ROOT', 'MARK-NESTED', 'MARK-DEEP']) {
		await claim(`${mark} reaches the model once`, async () => {
			check(hand.count(mark) === 1, `it is ${hand.count(mark)} times in the request`);
		});
	}
}

// ---- tasks ----

async function todos(hand) {
	for (const call of agent.native.todos(['Mend the door', 'Paint the door'], 1))
		await hand.raw(call);
	const found = hand.stet('task', 'list', '--json');
	await claim("the agent's list of tasks is stet's", async () => {
		check(/Mend the door/.test(found) && /Paint the door/.test(found), found);
		check(/in_progress/.test(found), found);
	});
	const snapshot = hand.stet('snapshot');
	await claim('the snapshot shows it', async () => check(snapshot.includes('Paint the door'), snapshot));
}

const head = { '.git/HEAD': 'ref: refs/heads/main\n' };
await follow(agent, 'delicate files', head, damages, guarded);
await follow(agent, 'long reasons', head, async (hand) => {
	for (const lines of [50, 200, 600])
		await longReason(hand, lines);
}, guarded);
await follow(agent, 'instructions', {
	...head,
	'AGENTS.md': 'MARK-ROOT: be kind.\n',
	'sub/AGENTS.md': 'MARK-NESTED: be brief.\n',
	'sub/deep/AGENTS.md': 'MARK-DEEP: be deep.\n',
	'sub/a.txt': 'one\n',
	'sub/b.txt': 'two\n',
	'sub/deep/d.txt': 'four\n',
}, instructions, guarded);
if (agent.native.todos)
	await follow(agent, 'tasks', head, todos, guarded);
finish();
