// What stet's hooks add to a turn of an agent: from the model's answer, a call of one of the agent's own tools, to the
// next request with its result. Sessions without stet, with a process for each event and, where there is that, with the
// running server take turns.
//
//     node turns.mjs claude
import { agents } from './agents.mjs';
import { check, finish, follow } from './claim.mjs';
import { bare, guardedBy } from './run.mjs';

const agent = agents[process.argv[2]];
const sessions = 3;
const rounds = 15;
const files = { '.git/HEAD': 'ref: refs/heads/main\n', 'a.txt': Array.from({ length: 200 }, (_, n) => `line ${n}\n`).join('') };

const modes = { 'without stet': bare, 'a process for each event': guardedBy('') };
if (agent.client === 'claude')
	modes['the running server'] = guardedBy('', '--hooks', 'server');

const median = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];

async function timed(times, call) {
	const begun = performance.now();
	await call();
	times.push(performance.now() - begun);
}

// The first turn of each kind starts more than the tool.
async function session(hand, { reads, edits }) {
	await hand.native('read', 'a.txt');
	await hand.native('edit', 'a.txt', 'line 0\n', 'line 0, edited\n');
	for (let n = 1; n <= rounds; n++) {
		await timed(edits, () => hand.native('edit', 'a.txt', `line ${n}\n`, `line ${n}, edited\n`));
		await timed(reads, () => hand.native('read', 'a.txt'));
	}
	check(hand.read('a.txt').includes(`line ${rounds}, edited\n`), 'not edited');
}

const results = Object.keys(modes).map((mode) => ({ mode, reads: [], edits: [] }));
for (let n = 0; n < sessions; n++)
	for (const result of results)
		await follow(agent, result.mode, files, (hand) => session(hand, result), modes[result.mode]);
for (const { mode, reads, edits } of results)
	console.log(`# TURN ${mode}: read ${median(reads).toFixed(1)} ms, edit ${median(edits).toFixed(1)} ms`);
finish();
