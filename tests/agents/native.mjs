// The agent's own tools, guarded by stet's hooks as `stet setup` installs them. No tool of stet is called:
//
//     node native.mjs claude
//     node native.mjs claude server    the hooks ask the running server
import { agents } from './agents.mjs';
import { check, claim, finish, follow } from './claim.mjs';
import { guardedBy } from './run.mjs';

const agent = agents[process.argv[2]];
const hooks = process.argv[3] ?? 'process';
const lines = (count, mark) => Array.from({ length: count }, (_, n) => `line ${n + 1}${n === 30 ? ` ${mark}` : ''}\n`).join('');
const foreign = (hand, name, mark) => hand.write(name, hand.read(name).replace('line 50\n', `line 50 ${mark}\n`));

// Try a change again that was denied. If the agent itself wants another read,
// the model reads.
async function again(hand, tool, name, ...args) {
	const answer = await hand.native(tool, name, ...args);
	if (!hand.refuses(answer))
		return answer;
	await hand.native('read', name);
	return hand.native(tool, name, ...args);
}

// Print a file by a shell command. On a busy machine Qwen Code sometimes loses what a command printed and sends
// its model "Output: (empty)"; a model would print the file again.
async function print(hand, name) {
	for (let tries = 0; tries < 4; tries++) {
		const answer = await hand.native('shell', `cat ${name}`);
		if (answer.includes('line 60'))
			return;
	}
}

// The agent reads a file, somebody else changes it, the agent edits it: stet denies the edit and shows the other
// change. The agent repeats the edit: stet allows it, and the other change stays.
async function editAfter(hand, look, name, mark) {
	await look(name);
	foreign(hand, name, mark);
	const denied = await hand.native('edit', name, 'line 10\n', 'line 10, edited\n');
	await claim(`${name}: an edit is denied after somebody else changed the file`, async () => {
		check(hand.read(name).includes('line 10\n'), `edited: ${denied}`);
	});
	await claim(`${name}: the other change reaches the model`, async () => {
		check(hand.count(`+line 50 ${mark}`) >= 1, denied);
	});
	const answer = await again(hand, 'edit', name, 'line 10\n', 'line 10, edited\n');
	await claim(`${name}: the same edit again is made, and the other change stays`, async () => {
		check(hand.read(name).includes('line 10, edited\n'), answer);
		check(hand.read(name).includes(`line 50 ${mark}\n`), 'the other change is gone');
	});
}

// The same for a write of the whole file. A model that was told of the other line puts it into its text.
async function writeAfter(hand, name) {
	await hand.native('read', name);
	foreign(hand, name, 'MARK-WRITE');
	const before = hand.read(name);
	const denied = await hand.native('write', name, lines(60, 'rewritten'));
	await claim(`${name}: a write is denied after somebody else changed the file`, async () => {
		check(hand.read(name) === before, `written: ${denied}`);
	});
	await claim(`${name}: the other change reaches the model, or the agent has it read the file`, async () => {
		check(hand.count('+line 50 MARK-WRITE') >= 1 || (agent.checksWrites && hand.refuses(denied)), denied);
	});
	const after = before.replace('line 31', 'line thirty-one');
	const answer = await again(hand, 'write', name, after);
	await claim(`${name}: a write that has the other change is made`, async () => {
		check(hand.read(name) === after, answer);
	});
}

// A file that the model was not sent, or not wholly, is not overwritten.
async function writeUnseen(hand, name, look, what) {
	const before = hand.read(name);
	await look();
	const denied = await hand.native('write', name, 'word\n');
	await claim(`${name}: ${what} is not overwritten`, async () => {
		check(hand.read(name) === before, `written: ${denied}`);
	});
	await hand.native('read', name);
	const after = before.replace('line 31', 'line thirty-one');
	const answer = await hand.native('write', name, after);
	await claim(`${name}: after it was read as a whole, it is`, async () => check(hand.read(name) === after, answer));
}

async function create(hand) {
	const answer = await hand.native('write', 'new.txt', 'fresh\n');
	await claim('a new file is created', async () => check(hand.read('new.txt') === 'fresh\n', answer));
}

await follow(agent, 'its own tools', {
	'.git/HEAD': 'ref: refs/heads/main\n',
	'edit.txt': lines(60, 'first'),
	'shell.txt': lines(60, 'second'),
	'write.txt': lines(60, 'third'),
	'unread.txt': lines(60, 'fourth'),
	'partly.txt': lines(60, 'fifth'),
}, async (hand) => {
	await editAfter(hand, (name) => hand.native('read', name), 'edit.txt', 'MARK-EDIT');
	await editAfter(hand, (name) => print(hand, name), 'shell.txt', 'MARK-SHELL');
	await writeAfter(hand, 'write.txt');
	await writeUnseen(hand, 'unread.txt', async () => {}, 'a file that was never read');
	await writeUnseen(hand, 'partly.txt', () => hand.native('part', 'partly.txt', 1, 20), 'a file of which 20 lines were read');
	await create(hand);
}, guardedBy('', '--hooks', hooks));
finish();
