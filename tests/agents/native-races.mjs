// The agent's own tools against another writer: the model reads a file, then edits it, or writes it as a whole, while
// lines are appended 0 to 5 ms apart. Without stet's hooks, with them, and with `guard = apply`:
//
//     node native-races.mjs claude
//     node native-races.mjs claude edit guarded    one kind and one mode alone
//
// With `guard = apply`, and where stet's plugin replaces the tools, no line is lost. With the hooks alone the agent's
// tool writes some milliseconds after stet's check: how many races lose lines then, and how many of them silently, is
// measured. 100 races of each kind with STET_TORTURE=1, which measures the agent without stet, too. The figures of
// docs/figures.md are the lines that begin with "# RACES".
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { agents } from './agents.mjs';
import { check, claim, finish, follow } from './claim.mjs';
import { bare, guardedBy } from './run.mjs';

const agent = agents[process.argv[2]];
const full = process.env.STET_TORTURE;
const rounds = Number(process.env.STET_RACES ?? (full ? 100 : 3));
const perRun = agent.turns ? 4 : 25;
const appended = 80;
const attempts = 12;

const base = (slot) => `slot ${slot}\n${Array.from({ length: 20 }, (_, n) => `line ${n + 1}\n`).join('')}`;
// Each race has lines of its own: those of the races before it are in the conversation, too. No line begins with another:
// the model may read one at the end of a text, without its line end.
const tick = (name, n) => `${name} tick ${n}.\n`;
const ticks = (name, count) => Array.from({ length: count }, (_, n) => tick(name, n + 1)).join('');

// How many appended lines the model knows of: they come in order.
const known = (text, name) => Math.max(0, ...[...text.matchAll(/(\S+) tick (\d+)\./g)].map(([, of, n]) => (of.endsWith(name) ? Number(n) : 0)));

async function append(file) {
	for (let n = 1; n <= appended; n++) {
		appendFileSync(file, tick(path.basename(file), n));
		await pause(Math.random() * 5);
	}
}

// Change the file until it is changed. Returns what the agent answered.
async function change(hand, kind, name) {
	let said = '';
	for (let count = 0; count < attempts && !hand.read(name).startsWith('slot taken\n'); count++) {
		const answer = kind === 'edit'
			? await hand.native('edit', name, 'slot free\n', 'slot taken\n')
			: await hand.native('write', name, base('taken') + ticks(name, known(said, name)));
		said += answer;
		if (hand.refuses(answer))
			said += await hand.native('read', name);
	}
	return said;
}

// Whether a line is in a copy of the file that stet rescued, and that the model was told of.
function rescued(hand, line, name) {
	const folder = path.join(hand.work, '.stet/rescued');
	return existsSync(folder) && readdirSync(folder).some((copy) => copy.endsWith(`-${name}`) && hand.count(copy) > 0
		&& readFileSync(path.join(folder, copy), 'utf8').includes(`${line}\n`));
}

// One race: the lines that are lost, and those of them that the model was not told of.
async function race(hand, kind, name) {
	const file = path.join(hand.work, name);
	writeFileSync(file, base('free'));
	await hand.native('read', name);
	const writer = append(file);
	const said = await change(hand, kind, name);
	await writer;
	const text = hand.read(name);
	const done = text.startsWith('slot taken\n');
	const lost = ticks(name, appended).trimEnd().split('\n').filter((line) => !text.includes(`${line}\n`));
	// stet reports a write to a file that the tool had replaced with the session's next event.
	if (lost.length > 0)
		await hand.native('shell', 'true');
	const unseen = lost.filter((line) => !said.includes(line) && hand.count(`+${line}`) === 0 && !rescued(hand, line, name));
	const silent = hand.count(`wrote to "${name}" at the same moment`) ? [] : unseen;
	if (silent.length > 0 && process.env.STET_RACES)
		console.log(`# ${name}: ${silent.join(', ')} lost silently; ${said}`);
	return { done, lost: lost.length, unkept: unseen.length, silent: silent.length };
}

async function races(kind, mode, options) {
	const results = [];
	for (let first = 1; first <= rounds; first += perRun) {
		const count = Math.min(perRun, rounds - first + 1);
		await follow(agent, `${count} races, ${kind}, ${mode}`, { '.git/HEAD': 'ref: refs/heads/main\n' }, async (hand) => {
			for (let n = 0; n < count; n++)
				results.push(await race(hand, kind, `race-${first + n}.txt`));
		}, options);
	}
	const sum = (of) => results.reduce((total, result) => total + of(result), 0);
	const figures = {
		races: results.length,
		lossy: sum(({ lost }) => lost > 0),
		lines: sum(({ lost }) => lost),
		unkept: sum(({ unkept }) => unkept > 0),
		silent: sum(({ silent }) => silent > 0),
		done: sum(({ done }) => done),
	};
	console.log(`# RACES ${process.argv[2]} ${kind} ${mode} ${JSON.stringify(figures)}`);
	return figures;
}

const [, , , onlyKind, onlyMode] = process.argv;
const wanted = (kind, mode) => (!onlyKind || onlyKind === kind) && (!onlyMode || onlyMode === mode);

for (const kind of ['edit', 'write']) {
	if (full && wanted(kind, 'bare'))
		await races(kind, 'without stet', bare);
	if (wanted(kind, 'guarded')) {
		const guarded = await races(kind, 'guarded', guardedBy(''));
		await claim(`${kind}: what is lost is reported`, async () => {
			check(guarded.silent === 0, `${guarded.silent} of ${guarded.races} races lost lines without a word`);
		});
		if (agent.replaced) {
			await claim(`${kind}: no line is lost`, async () => {
				check(guarded.lossy === 0, `${guarded.lossy} of ${guarded.races} races lost ${guarded.lines} lines`);
			});
		}
	}
	if (wanted(kind, 'apply')) {
		const applied = await races(kind, 'guard = apply', guardedBy('apply'));
		await claim(`${kind}: with guard = apply no line is lost`, async () => {
			check(applied.lossy === 0, `${applied.lossy} of ${applied.races} races lost ${applied.lines} lines`);
		});
		await claim(`${kind}: with guard = apply the change is made`, async () => {
			check(applied.done >= applied.races * 0.9, `${applied.done} of ${applied.races}`);
		});
	}
}
finish();
