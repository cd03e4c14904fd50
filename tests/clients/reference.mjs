// stet mcp --structured beside the reference filesystem server: the same calls on the same files. Each case
// is equal, or better by a rule with a name; where stet does less, the rule says why that is safe.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
	chmodSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

import { claim, finish, load, stet, workspace } from './lib.mjs';
import { cases, rules } from './reference-cases.mjs';

const require = createRequire(path.join(process.env.STET_NPM, 'package.json'));
const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');
const program = path.join(path.dirname(require.resolve('@modelcontextprotocol/server-filesystem/package.json')), 'dist', 'index.js');
const commands = {
	reference: [process.execPath, [program]],
	stet: [stet, ['mcp', '--structured', '--tools', 'all']],
};

async function connect([command, args], env) {
	const client = new Client({ name: 'stet-tests', version: '1' }, { capabilities: {} });
	await client.connect(new StdioClientTransport({ command, args, env: { ...process.env, ...env }, stderr: 'ignore' }));
	// From then on the client holds every answer against the schema of its tool.
	await client.listTools();
	return client;
}

// ---- one server: its two directories, and what is in them ----

class Server {
	constructor(name) {
		this.root = workspace();
		this.dirs = ['one', 'two'].map((dir) => path.join(this.root, dir));
		this.dirs.forEach((dir) => mkdirSync(dir));
		this.name = name;
	}

	async start() {
		const [command, args] = commands[this.name];
		this.client = await connect([command, [...args, ...this.dirs]], { HOME: this.root });
	}

	// Paths of a case: "@" is its directory in the first root, "%" in the second, "~" home; below is one by itself.
	path(text, number) {
		return text
			.replaceAll('@', path.join(this.dirs[0], `case${number}`))
			.replaceAll('%', path.join(this.dirs[1], `case${number}`))
			.replaceAll('$', `case${number}`)
			.replaceAll('&', this.root);
	}

	// Files by their paths: text or bytes, null for a directory, {link}, {hard}, {mode, text}.
	make(files, number) {
		for (const dir of this.dirs)
			mkdirSync(path.join(dir, `case${number}`));
		for (const [name, value] of Object.entries(files)) {
			const file = this.path(name, number);
			mkdirSync(path.dirname(file), { recursive: true });
			const plain = typeof value === 'string' || Buffer.isBuffer(value);
			if (value === null)
				mkdirSync(file, { recursive: true });
			else if (!plain && value.link)
				symlinkSync(this.path(value.link, number), file);
			else if (!plain && value.hard)
				linkSync(this.path(value.hard, number), file);
			else
				writeFileSync(file, plain ? value : value.text);
			if (value?.mode)
				chmodSync(file, value.mode);
		}
	}

	async call(tool, args, number) {
		const fill = (value) =>
			typeof value === 'string' ? this.path(value, number)
			: Array.isArray(value) ? value.map(fill)
			: value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, key === 'content' || key.endsWith('Text') ? part : fill(part)]))
			: value;
		try {
			return this.tidy(await this.client.callTool({ name: tool, arguments: fill(args) }), number);
		} catch (error) {
			return { thrown: error.message, failed: true };
		}
	}

	// The answer of a call: whether it failed, the text, and the data if it is more than text.
	tidy(result, number) {
		const blocks = JSON.parse(JSON.stringify(result.content).replaceAll(this.root, '&'));
		const data = result.structuredContent?.content;
		return {
			failed: result.isError === true,
			text: typeof data === 'string' ? data.replaceAll(this.root, '&') : (blocks[0]?.text ?? ''),
			blocks,
			mirrors: typeof data === 'object' ? assertEqual(data, result.content) : undefined,
			remark: result.structuredContent?.remark ?? '',
		};
	}

	// All that is in the directories of a case: kinds, bytes, modes.
	look(number) {
		const found = {};
		const walk = (dir, shown) => {
			for (const name of readdirSync(dir).sort()) {
				const file = path.join(dir, name), at = `${shown}/${name}`, st = lstatSync(file);
				if (name === '.stet')
					continue;
				if (st.isDirectory()) {
					found[at] = 'directory';
					walk(file, at);
				} else if (st.isSymbolicLink()) {
					found[at] = `link ${readlinkSync(file).replaceAll(this.root, '&')}`;
				} else {
					found[at] = `${(statSync(file).mode & 0o777).toString(8)} ${readFileSync(file).toString('latin1')}`;
				}
			}
		};
		this.dirs.forEach((dir, n) => walk(path.join(dir, `case${number}`), 'one two'.split(' ')[n]));
		return found;
	}
}

// ---- what counts as equal ----

const lines = (text) => text.split('\n').sort().join('\n');
const sortTree = (list) => list.map((item) => (item.children ? { ...item, children: sortTree(item.children) } : item)).sort((a, b) => (a.name < b.name ? -1 : 1));
// Members by their names; times as numbers, to the second.
const members = (text) => Object.fromEntries(text.trim().split('\n').map((line) => {
	const [, key, value] = /^(\w+): (.*)$/.exec(line);
	return [key, ['created', 'modified', 'accessed'].includes(key) ? typeof Date.parse(value) : value];
}));
// Of a diff, what is taken away and put in its place.
const changed = (text) => text.split('\n').filter((line) => /^[-+](?![-+])/.test(line)).join('\n');

const shapes = {
	list_directory: lines,
	list_directory_with_sizes: lines,
	search_files: lines,
	directory_tree: (text) => JSON.stringify(sortTree(JSON.parse(text))),
	get_file_info: (text) => {
		const { type, fileHash, ...rest } = members(text);
		return JSON.stringify(rest);
	},
	edit_file: changed,
};

// Failures are told in other words; that they are failures is what counts.
function same(tool, a, b) {
	if (a.failed || b.failed)
		return a.failed === b.failed;
	const shape = shapes[tool] ?? ((text) => text);
	if (a.mirrors !== undefined || b.mirrors !== undefined)
		return a.mirrors && b.mirrors && assertEqual(a.blocks, b.blocks);
	return shape(a.text) === shape(b.text);
}

function assertEqual(a, b) {
	try {
		assert.deepEqual(a, b);
		return true;
	} catch {
		return false;
	}
}

// ---- the run ----

const servers = [new Server('reference'), new Server('stet')];
await Promise.all(servers.map((server) => server.start()));

const verdicts = {};
const count = (verdict) => (verdicts[verdict] = (verdicts[verdict] ?? 0) + 1);

async function play({ files, calls }, number) {
	servers.forEach((server) => server.make(files, number));
	const before = servers[1].look(number);
	const answers = [];
	for (const [tool, args] of calls)
		answers.push(await Promise.all(servers.map((server) => server.call(tool, args, number))));
	const [theirs, ours] = servers.map((server) => server.look(number));
	return { answers, trees: { before, ours, theirs } };
}

const short = (value) => JSON.stringify(value).slice(0, 1200);

for (const [number, test] of cases.entries()) {
	await claim(test.name, async () => {
		const { answers, trees } = await play(test, number);
		const [theirs, ours] = answers.at(-1);
		const equal = answers.every(([a, b], n) => same(test.calls[n][0], a, b)) && assertEqual(trees.ours, trees.theirs);
		// Where the files of a case are named, they are by the case's own directory.
		const filled = { ...test, found: test.found?.map((name) => name.replaceAll('$', `case${number}`)) };
		const rule = equal ? undefined : test.rules.find((name) => rules[name](ours, theirs, trees, filled));
		assert.ok(equal || rule, `reference: ${short(theirs)}\nstet:      ${short(ours)}\nfiles there: ${short(trees.theirs)}\nfiles here:  ${short(trees.ours)}`);
		count(equal ? 'equal' : rule);
	});
}
await Promise.all(servers.map((server) => server.client.close()));

for (const rule of Object.keys(rules))
	await claim(`there is a case for the rule: ${rule}`, async () => assert.ok(verdicts[rule]));

// ---- what the reference server's own tests of its process want of it ----

await claim('every answer is text in structuredContent.content, and media are what content is', async () => {
	const dir = workspace();
	writeFileSync(path.join(dir, 'test.txt'), 'test content');
	writeFileSync(path.join(dir, 'a.bin'), Buffer.from([0, 1, 0xff]));
	mkdirSync(path.join(dir, 'subdir'));
	const client = await connect([commands.stet[0], [...commands.stet[1], dir]]);
	const call = (name, args) => client.callTool({ name, arguments: args });
	const content = async (name, args) => (await call(name, args)).structuredContent.content;
	const at = (name) => path.join(dir, name);
	assert.ok(Array.isArray(JSON.parse(await content('directory_tree', { path: dir }))));
	assert.match(await content('list_directory_with_sizes', { path: dir }), /\[FILE\]/);
	assert.equal(typeof await content('list_directory', { path: dir }), 'string');
	assert.equal(typeof await content('search_files', { path: dir, pattern: '*.txt' }), 'string');
	assert.match(await content('move_file', { source: at('test.txt'), destination: at('moved.txt') }), /Successfully moved/);
	const refused = await call('move_file', { source: at('moved.txt'), destination: at('subdir') });
	assert.equal(refused.isError, true);
	assert.match(refused.content[0].text, /Destination already exists/);
	const media = await call('read_media_file', { path: at('a.bin') });
	assert.equal(media.content.length, 1);
	assert.deepEqual(media.structuredContent, { content: media.content });
	const { tools } = await client.listTools();
	const schema = JSON.stringify(tools.find((tool) => tool.name === 'read_media_file').outputSchema);
	assert.ok(['resource', 'image', 'audio'].every((word) => schema.includes(word)), schema);
	await client.close();
});

// ---- starting ----

async function exitStatus([command, args], ...dirs) {
	const child = spawn(command, [...args, ...dirs], { stdio: ['ignore', 'ignore', 'ignore'] });
	const [status] = await once(child, 'exit');
	return status;
}
const nowhere = path.join(workspace(), 'nowhere');
for (const [name, command] of Object.entries(commands))
	await claim(`${name}: exit status 1 if none of the directories can be used`, async () => assert.equal(await exitStatus(command, nowhere, '/etc/passwd'), 1));

console.log(`# ${cases.length} cases`);
for (const [verdict, times] of Object.entries(verdicts).sort(([, a], [, b]) => b - a))
	console.log(`# ${String(times).padStart(4)} ${verdict}`);
finish();
