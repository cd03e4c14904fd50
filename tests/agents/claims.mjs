// Claims about the text that a model gets through an agent and stet, judged by the requests that the agent sends:
//
//     node claims.mjs claude
import { load } from '../clients/lib.mjs';
import { agents } from './agents.mjs';
import { check, claim, finish, follow } from './claim.mjs';
import { elsewhere } from './run.mjs';

const { encode } = await load('gpt-tokenizer/encoding/o200k_base');
const agent = agents[process.argv[2]];
const pad = (n) => String(n).padStart(5, '0');

// A file is read, edited, changed by somebody else, and edited again. Each mark stands in one place
// only, so that the number of times it is in a request is the number of times the model is told.
const notes = Array.from({ length: 80 }, (_, n) => `line ${n + 1}${n === 40 ? ' MARK-READ' : ''}\n`).join('');

async function tellOnce(hand) {
	const times = (expected, what, marks) => claim(what, async () => {
		for (const mark of marks)
			check(hand.count(mark) === expected, `${JSON.stringify(mark)} is ${hand.count(mark)} times in the request`);
	});
	const once = (what, ...marks) => times(1, what, marks);
	const edit = (from, to) => hand.call('edit_file', { path: 'sub/notes.txt', edits: [{ oldText: from, newText: to }] });

	await claim('the definitions of the tools have at most 2,500 tokens', async () => {
		const tokens = encode(`[${hand.definitions()}]`).length;
		check(tokens <= 2500, `${tokens} tokens`);
		check(!agent.showsAll || hand.definitions().length > 5, 'there are none');
	});

	const early = agent.loadsRoot || agent.isInstructed;
	await times(early ? 1 : 0, `the root's AGENTS.md is ${early ? '' : 'not '}there before the first call`, ['MARK-ROOT']);
	await hand.call('read_file', { path: 'sub/notes.txt' });
	await once('the text of a read reaches the model once', 'MARK-READ', 'line 39\n', 'line 80\n');
	await once("the root's AGENTS.md reaches it once", 'MARK-ROOT');
	await once('a nested AGENTS.md reaches it once', 'MARK-NESTED');

	await edit('line 10\n', 'line 10, edited\n');
	await once('the diff of an edit reaches it once', '-line 10', '+line 10, edited');

	hand.write('sub/notes.txt', hand.read('sub/notes.txt').replace('line 70\n', 'line 70 MARK-FOREIGN\n'));
	const refusal = await edit('line 20\n', 'line 20, edited\n');
	await claim('an edit is refused after somebody else changed the file', async () => {
		check(refusal.includes('modified since you last read it'), refusal);
		check(hand.read('sub/notes.txt').includes('line 20\n'), 'the file was edited');
	});
	const foreign = ['-line 70', '+line 70 MARK-FOREIGN'];
	await times(agent.repeatsErrors ? 2 : 1, 'the diff of the other change reaches the model once', foreign);

	const answer = await edit('line 20\n', 'line 20, edited\n');
	await claim('the same edit again succeeds, and keeps the other change', async () => {
		check(hand.read('sub/notes.txt').includes('line 20, edited\n'), answer);
		check(hand.read('sub/notes.txt').includes('line 70 MARK-FOREIGN\n'), 'the other change is gone');
	});
	await once('nothing of it is told again', 'MARK-READ', 'MARK-ROOT', 'MARK-NESTED', '+line 10, edited', '+line 20, edited');
	await times(agent.repeatsErrors ? 2 : 1, 'nor is the diff of the other change', foreign);
}

// A diff in a refusal counts as read as far as it was sent. What the agent cuts of it was not, and then the
// file may not be replaced as a whole.
async function longDiff(hand, lines) {
	const path = `changed-${lines}.txt`;
	const text = (word) => Array.from({ length: 3 * lines }, (_, n) => `${n % 3 ? 'same' : word} line ${pad(n)} of ${lines}\n`).join('');
	hand.write(path, text('old'));
	await readAll(hand, path);
	hand.write(path, text('new'));
	await hand.call('edit_file', { path, edits: [{ oldText: `same line 00001 of ${lines}`, newText: 'edited' }] });
	const told = Array.from({ length: lines }, (_, n) => `+new line ${pad(3 * n)} of ${lines}`).filter((line) => hand.count(line)).length;
	const answer = await hand.call('write_file', { path, content: `${text('new')}written\n` });
	await claim(`a refusal with a diff of ${lines} lines unlocks a write exactly if all of it reached the model`, async () => {
		check(told > 0, 'nothing of it reached the model');
		const written = hand.read(path).includes('written');
		check(written === (told === lines), `${told} of ${lines} lines reached it; ${written ? 'written' : answer}`);
	});
}

// Where an answer says that the file goes on, as arguments: "Continue with offset 1 and byteOffset 20000 (...)".
function continuation(text) {
	const sentence = /Continue with ([^\](\n]*)/.exec(text)?.[1];
	if (!sentence)
		return undefined;
	return Object.fromEntries([...sentence.matchAll(/(\w+)\W{1,4}(\d+)/g)].map(([, name, value]) => [name, Number(value)]));
}

// Read a file to its last page; the number of pages. At most 60, should there be no end.
async function readAll(hand, path, take = () => {}) {
	for (let count = 1, next = {}; count <= 60; count++) {
		const text = await hand.call('read_file', { path, ...next });
		take(text);
		if (!(next = continuation(text)))
			return count;
	}
	throw new Error(`${path} has no last page`);
}

// A file of many pages may be replaced once the model has got all of it, and no sooner. Each of the
// pieces, which look like shape, must have been in an answer by then, but for those that pages cut.
async function pages(hand, path, pieces, shape, cut) {
	const before = hand.read(path);
	const after = `${before}one more line\n`;
	const missing = new Set(pieces);
	const take = (text) => {
		for (const [piece] of text.matchAll(shape))
			missing.delete(piece);
	};

	await hand.call('read_file', { path });
	const refusal = await hand.call('write_file', { path, content: 'word\n' });
	await claim(`${path}: a write after the first page is refused`, async () => {
		check(hand.read(path) === before, `written: ${refusal}`);
	});

	const count = await readAll(hand, path, take);
	await claim(`${path}: all of it has reached the model with the last page`, async () => {
		check(missing.size <= cut * (count - 1), `${missing.size} of ${pieces.length} pieces are missing after ${count} pages`);
	});

	const answer = await hand.call('write_file', { path, content: after });
	await claim(`${path}: a write after the last page is accepted`, async () => {
		check(hand.read(path) === after, `refused: ${answer}`);
	});
}

const lines = Array.from({ length: 4300 }, (_, n) => `${pad(n)} lorem ipsum dolor sit amet, consectetur z`); // 210 KB
const parts = Array.from({ length: 34_000 }, (_, n) => `<${pad(n)}>..`); // 300 KB

await follow(agent, 'read, edit, refusal, edit', {
	'AGENTS.md': 'MARK-ROOT: be kind.\n',
	'sub/AGENTS.md': 'MARK-NESTED: be brief.\n',
	'sub/notes.txt': notes,
}, async (hand) => {
	await tellOnce(hand);
	for (const lines of [50, 200])
		await longDiff(hand, lines);
});
await follow(agent, 'a file of 210 KB', { 'long.txt': `${lines.join('\n')}\n` }, (hand) => pages(hand, 'long.txt', lines, /\d{5} lorem.*? z\b/g, 0));
await follow(agent, 'a line of 300 KB', { 'wide.txt': `${parts.join('')}\n` }, (hand) => pages(hand, 'wide.txt', parts, /<\d{5}>\.\./g, 1));
if (agent.namesRoots) {
	await follow(agent, 'its roots', { 'AGENTS.md': 'MARK-ROOT: be kind.\n', 'here.txt': 'MARK-HERE\n' }, async (hand) => {
		const text = await hand.call('read_file', { path: 'here.txt' });
		await claim('where no directory is given, the agent names it', async () => check(text.includes('MARK-HERE'), text));
		await claim("its AGENTS.md reaches the model once", async () => {
			check(hand.count('MARK-ROOT') === 1, `it is ${hand.count('MARK-ROOT')} times in the request`);
		});
	}, elsewhere);
}
finish();
