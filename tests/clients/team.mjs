// A team at one server: TLS, tokens that allow less, callers' names, the access log.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import tls from 'node:tls';
import { pathToFileURL } from 'node:url';

import { claim, explain, finish, failures, load, stet, workspace } from './lib.mjs';

const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');

const certs = process.env.STET_CERTS;
const dir = workspace();
const [one, two] = ['one', 'two'].map((name) => path.join(dir, name));
for (const root of [one, two]) {
	mkdirSync(root);
	writeFileSync(path.join(root, 'a.txt'), `first of ${path.basename(root)}\n`);
}
const file = (name) => path.join(dir, name);
// Two checkouts of one repository.
const [main, tree] = ['main', 'tree'].map((name) => path.join(dir, name));
const git = (where, ...args) => assert.equal(
	spawnSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd: where }).status, 0);
mkdirSync(main);
git(main, 'init', '-q');
writeFileSync(path.join(main, 'a.txt'), 'one\ntwo\nthree\n');
git(main, 'add', '.');
git(main, 'commit', '-qm', 'first');
git(main, 'worktree', 'add', '-q', '-b', 'other', tree);
const words = (name) => `${name}-0123456789abcdef`;
const tokens = [
	`${words('alice')} name=alice`,
	`${words('bob')} name=bob`,
	`${words('reader')} name=reader read-only`,
	`${words('fenced')} name=fenced root=${two}`,
	`${words('planted')} name=planted root=${tree}`,
];
const writeTokens = (lines) => writeFileSync(file('tokens'), lines.join('\n') + '\n', { mode: 0o600 });
writeTokens(tokens);
for (const end of ['pem', 'key'])
	copyFileSync(path.join(certs, `server.${end}`), file(`tls.${end}`));

const options = ['--token-file', file('tokens'), '--tls-cert', file('tls.pem'), '--tls-key', file('tls.key')];
const server = spawn(stet, ['serve', ...options, '--page', '--access-log', file('access.log'), one, two, main, tree], {
	stdio: ['ignore', 'pipe', 'pipe'],
});
process.on('exit', () => server.kill('SIGKILL'));
const complaints = [];
const waiting = [];
createInterface(server.stderr).on('line', (line) => {
	complaints.push(line);
	waiting.splice(0).forEach((wake) => wake());
});
// Wait until the server has complained of all these.
async function complained(...texts) {
	while (!texts.every((text) => complaints.some((line) => line.includes(text))))
		await new Promise((resolve) => waiting.push(resolve));
	complaints.length = 0;
}
const [url] = await once(createInterface(server.stdout), 'line');
const port = Number(new URL(url).port);

async function connect(name) {
	const client = new Client({ name: 'team-test', version: '1' });
	const requestInit = { headers: { Authorization: `Bearer ${words(name)}` } };
	await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
	const call = async (tool, args) => {
		const { content, isError } = await client.callTool({ name: tool, arguments: args });
		return { isError: Boolean(isError), text: content.map((block) => block.text).join('\n') };
	};
	return { client, call };
}

await claim('the URL is https', async () => assert.match(url, /^https:\/\/127\.0\.0\.1:\d+\/mcp$/));

const alice = await connect('alice');
const bob = await connect('bob');
await claim('the official client reads and edits over TLS', async () => {
	const target = path.join(one, 'a.txt');
	assert.match((await alice.call('read_file', { path: target })).text, /first of one/);
	const edited = await alice.call('edit_file', { path: target, oldText: 'first', newText: 'second' });
	assert.equal(edited.isError, false, edited.text);
	assert.equal(readFileSync(target, 'utf8'), 'second of one\n');
});

await claim('a conflict names the caller who wrote', async () => {
	const target = path.join(one, 'a.txt');
	await bob.call('read_file', { path: target });
	await alice.call('edit_file', { path: target, oldText: 'second', newText: 'third' });
	const refused = await bob.call('edit_file', { path: target, oldText: 'of', newText: 'of the' });
	assert.equal(refused.isError, true);
	assert.match(refused.text, /alice:team-test #\d+/);
});

await claim('so does the log', async () => {
	const { stdout } = spawnSync(stet, ['log'], { cwd: one, encoding: 'utf8' });
	assert.match(stdout, /alice:team-test #\d+/);
});

await claim('a token that may only read sees no tool that writes, and cannot call one', async () => {
	const { client, call } = await connect('reader');
	const { tools } = await client.listTools();
	assert.ok(tools.some((tool) => tool.name === 'read_file'));
	assert.ok(!tools.some((tool) => tool.name === 'edit_file'));
	const target = path.join(one, 'a.txt');
	assert.match((await call('read_file', { path: target })).text, /third/);
	for (const [tool, args] of [
		['write_file', { path: path.join(one, 'new.txt'), content: 'x' }],
		['edit_file', { path: target, oldText: 'third', newText: 'x' }],
		['delete_file', { path: target }],
		['tasks', { action: 'add', description: 'x' }],
		['edit_file', { path: target, oldText: 'third', newText: 'x', session: 'named' }],
	]) {
		const refused = await call(tool, args);
		assert.equal(refused.isError, true, tool);
		assert.match(refused.text, /not allowed: your token may only read/, tool);
	}
	assert.equal(readFileSync(target, 'utf8'), 'third of one\n');
	assert.equal(existsSync(path.join(one, 'new.txt')), false);
	await client.close();
});

await claim('a token for one directory cannot leave it', async () => {
	const { client, call } = await connect('fenced');
	const outside = path.join(one, 'a.txt');
	assert.equal((await call('list_allowed_directories', {})).text.trim().split('\n').pop().trim(), two);
	assert.match((await call('read_file', { path: path.join(two, 'a.txt') })).text, /first of two/);
	for (const [tool, args] of [
		['read_file', { path: outside }],
		['read_file', { path: '../one/a.txt' }],
		['write_file', { path: path.join(one, 'new.txt'), content: 'x' }],
		['move_file', { source: path.join(two, 'a.txt'), destination: path.join(one, 'b.txt') }],
		['grep', { pattern: 'third', path: one }],
		['read_file', { path: outside, session: 'named' }],
	]) {
		const refused = await call(tool, args);
		assert.equal(refused.isError, true, `${tool}: ${refused.text}`);
		assert.ok(!refused.text.includes('third'), tool);
	}
	const uri = pathToFileURL(outside).href;
	await assert.rejects(client.readResource({ uri }));
	await assert.rejects(client.subscribeResource({ uri }));
	const index = await client.readResource({ uri: 'stet://agents' });
	assert.ok(!index.contents[0].text.includes(one));
	const { completion } = await client.complete({
		ref: { type: 'ref/resource', uri: 'file://{+path}' }, argument: { name: 'path', value: `${one}/` },
	}).catch(() => ({ completion: { values: [] } }));
	assert.deepEqual(completion.values, []);
	await client.close();
});

const get = (where, headers = {}) => fetch(new URL(where, url), { headers });
await claim('a token for one checkout hears nothing of the others of its repository', async () => {
	const here = path.join(tree, 'a.txt');
	const asked = async ({ client, call }) => [
		(await call('others', {})).text,
		(await call('others', { forecast: true, all: true, path: here })).text,
		(await call('read_file', { path: here })).text,
		(await client.readResource({ uri: 'stet://others' })).contents[0].text,
	];
	const planted = await connect('planted');
	await planted.call('edit_file', { path: here, oldText: 'three', newText: 'drei' });
	await alice.call('edit_file', { path: path.join(main, 'a.txt'), oldText: 'one', newText: 'eins' });
	const page = async (name) => (await get('/api/v1/places?ws=' + (name === 'alice' ? 3 : 0),
		{ Authorization: `Bearer ${words(name)}` })).text();
	// The server stores the work of others after it answers them: wait until alice sees it.
	const stored = (text) => JSON.parse(text).who.places.some((place) => place.path === main && place.files.length);
	while (!stored(await page('alice')))
		await new Promise((resolve) => setImmediate(resolve));
	assert.match((await alice.call('read_file', { path: here })).text, /\[Elsewhere: .*main/);
	for (const text of [...await asked(planted), await page('planted')]) {
		assert.ok(!text.includes(main), text);
		assert.ok(!/Elsewhere|eins/.test(text), text);
	}
	assert.match(await page('planted'), /"path":"a\.txt"/);
	await planted.client.close();
});

await claim('the access log has a line for each call, with the caller and the tool', async () => {
	const lines = readFileSync(file('access.log'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
	const edit = lines.find((line) => line.caller === 'alice' && line.call === 'tools/call edit_file');
	assert.equal(edit.status, 200);
	assert.equal(edit.method, 'POST');
	assert.equal(edit.path, '/mcp');
	assert.match(edit.from, /^127\.0\.0\.1:\d+$/);
	assert.match(edit.at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
	assert.ok(edit.ms >= 0);
	assert.ok(!readFileSync(file('access.log'), 'utf8').includes(words('alice')));
});

await claim('a wrong token is refused, and logged without a caller', async () => {
	const answer = await get('/metrics', { Authorization: `Bearer ${words('nobody')}` });
	assert.equal(answer.status, 401);
	const line = JSON.parse(readFileSync(file('access.log'), 'utf8').trim().split('\n').pop());
	assert.equal(line.status, 401);
	assert.equal(line.caller, undefined);
});

await claim('metrics count by caller', async () => {
	const text = await (await get('/metrics', { Authorization: `Bearer ${words('alice')}` })).text();
	assert.match(text, /stet_requests_total\{caller="alice"\} [1-9]/);
	assert.match(text, /stet_requests_total\{caller="reader"\} [1-9]/);
});

// The certificate that a new connection gets, by its common name; or why there is none.
function presented(more) {
	return new Promise((resolve) => {
		const socket = tls.connect({ host: '127.0.0.1', port, servername: 'localhost', ...more }, () => {
			resolve(socket.getPeerCertificate().subject.CN);
			socket.destroy();
		});
		socket.on('error', (error) => resolve(error.code));
	});
}

await claim('a client refuses a certificate that it does not trust', async () => {
	assert.equal(await presented({ ca: readFileSync(path.join(certs, 'other.pem')) }), 'DEPTH_ZERO_SELF_SIGNED_CERT');
});
await claim('TLS 1.3 and 1.2 are spoken, 1.1 is not', async () => {
	assert.equal(await presented({ minVersion: 'TLSv1.3' }), 'server');
	assert.equal(await presented({ maxVersion: 'TLSv1.2' }), 'server');
	const old = await presented({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
	assert.notEqual(old, 'server');
});
await claim('plain HTTP gets no answer', async () => {
	await assert.rejects(fetch(`http://127.0.0.1:${port}/healthz`));
});

await claim('SIGHUP takes a new certificate, new tokens and a new log; sessions go on', async () => {
	const stream = await fetch(url, {
		headers: {
			Authorization: `Bearer ${words('alice')}`, Accept: 'text/event-stream',
			'Mcp-Session-Id': alice.client.transport.sessionId, 'MCP-Protocol-Version': '2025-11-25',
		},
	});
	assert.equal(stream.status, 200);
	for (const end of ['pem', 'key'])
		copyFileSync(path.join(certs, `next.${end}`), file(`tls.${end}`));
	renameSync(file('access.log'), file('access.1'));
	writeTokens([...tokens.filter((line) => !line.includes('name=bob')), `${words('carol')} name=carol read-only`]);
	server.kill('SIGHUP');
	await complained('The 5 tokens were reloaded.', 'The certificate was reloaded.');
	assert.equal(await presented({}), 'next');
	assert.match((await alice.call('read_file', { path: path.join(one, 'a.txt') })).text, /third/);
	await assert.rejects(bob.call('read_file', { path: path.join(one, 'a.txt') }));
	const carol = await connect('carol');
	assert.match((await carol.call('write_file', { path: path.join(one, 'n'), content: 'x' })).text, /may only read/);
	assert.ok(readFileSync(file('access.log'), 'utf8').includes('"carol"'));
	await carol.client.close();
	await stream.body.cancel();
});

await claim('a broken certificate is refused, and the old one stays', async () => {
	writeFileSync(file('tls.pem'), 'no certificate');
	server.kill('SIGHUP');
	await complained('The certificate was not reloaded');
	assert.equal(await presented({}), 'next');
});

await claim('a token that loses a directory at SIGHUP loses it in open sessions too', async () => {
	writeTokens([`${words('alice')} name=alice root=${two}`]);
	server.kill('SIGHUP');
	await complained('The 1 token was reloaded.');
	const refused = await alice.call('read_file', { path: path.join(one, 'a.txt') });
	assert.equal(refused.isError, true);
	assert.ok(!refused.text.includes('third'));
});

await claim('1,000 connections that say nothing keep nobody out', async () => {
	const silent = [];
	for (let i = 0; i < 1000; i++) {
		const socket = net.connect(port, '127.0.0.1');
		socket.on('error', () => {});
		silent.push(once(socket, 'connect').then(() => socket, () => socket));
	}
	const sockets = await Promise.all(silent);
	// A handshake that meets the flood can be the oldest stranger; a client then connects again.
	let again;
	for (let tries = 0; !again; tries++)
		again = await connect('alice').catch((error) => { if (tries === 9) throw error; });
	assert.match((await again.call('read_file', { path: path.join(two, 'a.txt') })).text, /first of two/);
	await again.client.close();
	sockets.forEach((socket) => socket.destroy());
});

// Everything that a server must not start with, and the sentence for it.
const pem = (name) => path.join(certs, name);
for (const [name, args, sentence] of [
	['a key of another certificate', ['--tls-cert', pem('server.pem'), '--tls-key', pem('other.key')], /key.*cannot be used: key values mismatch/],
	['an expired certificate', ['--tls-cert', pem('expired.pem'), '--tls-key', pem('expired.key')], /has expired: renew it/],
	['no certificate at all', ['--tls-cert', pem('none.pem'), '--tls-key', pem('server.key')], /none\.pem.*No such file/],
	['a certificate without its key', ['--tls-cert', pem('server.pem')], /go together/],
	['other machines without TLS', ['--listen', '0.0.0.0:0'], /--tls-cert and --tls-key, or --insecure/],
	['TLS on a Unix socket', ['--listen', `unix:${file('s')}`, '--tls-cert', pem('server.pem'), '--tls-key', pem('server.key')], /not allowed with a Unix socket/],
	['a token for a directory that is not served', ['--token-file', file('elsewhere')], /which is not served/],
	['two tokens of one name that differ', ['--token-file', file('twins')], /named ci may do different things/],
	['a socket of systemd that is not there', ['--listen', 'systemd'], /needs one socket from systemd/],
]) {
	writeFileSync(file('elsewhere'), `${words('x')} root=/\n`, { mode: 0o600 });
	writeFileSync(file('twins'), `${words('x')} name=ci\n${words('y')} name=ci read-only\n`, { mode: 0o600 });
	await claim(`does not start with ${name}`, async () => {
		const env = { ...process.env, STET_TOKEN: words('env') };
		const started = spawnSync(stet, ['serve', ...args, one], { encoding: 'utf8', timeout: 10_000, env });
		assert.match(started.stderr, sentence);
		assert.notEqual(started.status, 0);
	});
}

await claim('ends on a signal', async () => {
	server.kill('SIGTERM');
	const [status] = await once(server, 'exit');
	assert.equal(status, 0);
});
if (failures() > 0)
	explain(complaints.join('\n'));
finish();
