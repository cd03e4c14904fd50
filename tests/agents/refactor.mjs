// A refactor over five files through an agent: one call of apply_patch, one entry in the log, one undo.
import { spawnSync } from 'node:child_process';

import { agents } from './agents.mjs';
import { check, claim, finish, follow } from './claim.mjs';

const agent = agents[process.argv[2]];
const numbers = [1, 2, 3, 4, 5];
const name = (n) => `src/part${n}.c`;
const text = (n, word) => `int ${word}_${n}(void);\n\nint part${n}(void) {\n\treturn ${word}_${n}();\n}\n`;
const files = Object.fromEntries(numbers.map((n) => [name(n), text(n, 'old')]));

// Each file's two places, in Codex's format.
const update = (n) => [
	`*** Update File: ${name(n)}`,
	'@@', `-int old_${n}(void);`, `+int new_${n}(void);`,
	'@@', `-\treturn old_${n}();`, `+\treturn new_${n}();`,
];
const patch = ['*** Begin Patch', ...numbers.flatMap(update), '*** End Patch', ''].join('\n');

// What stet log lists, as a person sees it: an entry begins with its number. The variables of these tests
// are none of stet's.
function entries(hand) {
	const env = { PATH: process.env.PATH };
	const { stdout, stderr } = spawnSync(process.env.STET, ['--root', hand.work, 'log'], { encoding: 'utf8', env });
	return { count: stdout.split('\n').filter((line) => /^\d+ /.test(line)).length, text: stdout + stderr };
}

const all = (hand, word) => numbers.filter((n) => hand.read(name(n)) === text(n, word)).length;

async function refactor(hand) {
	hand.write(name(4), text(4, 'other'));
	const refusal = await hand.call('apply_patch', { patch });
	await claim('a patch whose fourth file does not fit changes nothing', async () => {
		check(all(hand, 'old') === 4, `${all(hand, 'old')} of the other four are as they were`);
		check(refusal.includes(name(4)) && !refusal.includes(name(3)), refusal);
	});

	hand.write(name(4), text(4, 'old'));
	const answer = await hand.call('apply_patch', { patch });
	await claim('one call changes five files', async () => check(all(hand, 'new') === 5, answer));
	await claim('the diff of each file reaches the model once', async () => {
		const missing = numbers.filter((n) => answer.split(`+int new_${n}(void);`).length !== 2);
		check(!missing.length, `not that of ${missing}: ${answer}`);
	});
	await claim('the log has one entry, which names the five files', async () => {
		const log = entries(hand);
		check(log.count === 1 && numbers.every((n) => log.text.includes(name(n))), log.text);
	});

	const undone = await hand.call('undo', {});
	await claim('one undo brings back all five', async () => check(all(hand, 'old') === 5, undone));
}

await follow(agent, 'a refactor over five files', files, refactor);
finish();
