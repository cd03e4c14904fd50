// The story that every client plays: read, edit, conflict, recovery, subscription.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { claim, within } from './lib.mjs';

// A client is {name, tracks, call(tool, args), subscribe(uri), updated()}: whether the server keeps
// a session for it, and a promise of the next resource that changed.
// The hash that an answer's text names: what a model would pass on.
const hashOf = (answer) => answer.content.map((block) => block.text).join('\n').match(/\b(?:fileHash:?|hash is now) ([0-9a-f]{16})\b/)?.[1];

export async function play(client, dir) {
	const file = path.join(dir, 'poem.txt');
	const says = (what) => `${client.name}: ${what}`;
	const edit = (oldText, newText, expectedHash) =>
		client.call('edit_file', { path: 'poem.txt', oldText, newText, ...(expectedHash && { expectedHash }) });
	let hash;

	writeFileSync(file, 'one\ntwo\nthree\n');
	await claim(says('reads'), async () => {
		const answer = await client.call('read_file', { path: 'poem.txt' });
		assert.equal(answer.content[0].text, 'one\ntwo\nthree\n');
		assert.equal(answer.structuredContent, undefined);
		hash = hashOf(answer);
		assert.match(hash, /^[0-9a-f]{16}$/);
	});

	await claim(says('edits'), async () => {
		const answer = await edit('two', 'TWO', client.tracks ? undefined : hash);
		assert.ok(!answer.isError, answer.content[0].text);
		assert.equal(readFileSync(file, 'utf8'), 'one\nTWO\nthree\n');
		hash = hashOf(answer);
	});

	let refusal;
	await claim(says('hears of a conflict'), async () => {
		writeFileSync(file, 'one\nTWO\nthree\nfour\n');
		refusal = await edit('three', 'THREE', client.tracks ? undefined : hash);
		assert.equal(refusal.isError, true);
		assert.match(refusal.content[0].text, /modified since|hash mismatch/);
		assert.equal(readFileSync(file, 'utf8'), 'one\nTWO\nthree\nfour\n');
	});

	await claim(says('recovers in one more call'), async () => {
		const answer = await edit('three', 'THREE', client.tracks ? undefined : hashOf(refusal));
		assert.ok(!answer.isError, answer.content[0].text);
		assert.equal(readFileSync(file, 'utf8'), 'one\nTWO\nTHREE\nfour\n');
	});

	await claim(says('hears of changes that it subscribed to'), async () => {
		const uri = pathToFileURL(file).href;
		await client.subscribe(uri);
		const updated = client.updated();
		writeFileSync(file, 'five\n');
		assert.equal(await within(10_000, updated), uri);
	});
}
