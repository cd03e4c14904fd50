// Run an agent in a directory of its own, with a scripted model and stet as its MCP server.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { explain, failures, workspace } from '../clients/lib.mjs';
import { Model } from './model.mjs';

const packages = process.env.STET_AGENTS;
const limit = 300_000;

// The running processes; each ends as a group, with the servers that it started.
const groups = new Set();
function endGroup(pid) {
	try {
		process.kill(-pid, 'SIGKILL');
	} catch {
		// The process has ended already.
	}
	groups.delete(pid);
}
process.on('exit', () => groups.forEach(endGroup));
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
	process.on(signal, () => process.exit(1));

// Nothing of the user's environment, and a proxy that refuses whatever does not go to loopback.
function environment(home, more) {
	const nowhere = 'http://127.0.0.1:9';
	return {
		PATH: `${packages}:${packages}/node_modules/.bin:${path.dirname(process.env.STET)}:${process.env.PATH}`,
		HOME: home,
		XDG_CONFIG_HOME: path.join(home, '.config'),
		TMPDIR: path.join(home, 'tmp'),
		LANG: 'C.UTF-8',
		TERM: 'dumb',
		HTTP_PROXY: nowhere,
		HTTPS_PROXY: nowhere,
		NO_PROXY: '127.0.0.1,localhost',
		no_proxy: '127.0.0.1,localhost',
		...more,
	};
}

export function writeFiles(dir, files) {
	for (const [name, text] of Object.entries(files)) {
		mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
		writeFileSync(path.join(dir, name), text);
	}
}

// In place of options: stet mcp starts elsewhere and is given no directory, so that the agent has to name it.
export const elsewhere = Symbol('elsewhere');

// In place of options: no server is given to the agent; `stet setup` installs what it installs for a user, whose
// configuration has the key `guard` if one is named. Further arguments are for stet setup.
export const guarded = { guard: '', setup: [] };
export const guardedBy = (guard, ...setup) => ({ guard, setup });

// In place of options: the agent alone, without stet.
export const bare = Symbol('bare');

// Run stet setup for the agent's user, as a person would.
function setUpStet(agent, home, work, { guard, setup }) {
	const args = ['setup', agent.client, '--scope', 'user', '--yes', ...setup];
	if (guard)
		writeFiles(home, { '.config/stet/config.json': JSON.stringify({ guard }) });
	const { status, stdout, stderr } = spawnSync(process.env.STET, args, { cwd: work, env: environment(home), encoding: 'utf8' });
	if (status !== 0)
		throw new Error(`stet ${args.join(' ')} ended with status ${status}: ${stdout}${stderr}`);
}

// The server as an agent's configuration names it. What the agent loads by itself stet does not send.
function serverFor(agent, work, options) {
	if (options === bare || options.setup)
		return undefined;
	const agents = agent.loadsRoot ? ['--agents', 'nested'] : [];
	if (options === elsewhere)
		return { command: '/bin/sh', args: ['-c', 'cd / && exec "$0" mcp "$@"', process.env.STET, ...agents] };
	return { command: process.env.STET, args: ['mcp', ...agents, ...options, work] };
}

// The end of each log that the agent keeps.
function logs(home) {
	return readdirSync(home, { recursive: true })
		.filter((name) => /\.log$|\/debug\/.*\.txt$/.test(name))
		.map((name) => `--- ${name}\n${readFileSync(path.join(home, name), 'utf8').slice(-3000)}`);
}

function report(agent, output, model, home) {
	const last = model.requests.slice(-3).map(({ url, body }) => {
		const text = JSON.stringify(body);
		return `--- ${url}: ${text.length} characters\n${text.slice(-3000)}`;
	});
	return [`--- ${agent.name} printed\n${output.text.slice(-3000)}`, ...logs(home), ...last].join('\n');
}

// Start it; `gone` is fulfilled with a sentence when it ends, or had to be ended.
function start(agent, { home, work, url, server, options }) {
	const { command, args, env, files } = agent.setUp({ home, work, url, server });
	writeFiles(home, files ?? {});
	mkdirSync(path.join(home, 'tmp'), { recursive: true });
	if (options.setup)
		setUpStet(agent, home, work, options);
	const program = path.join(packages, 'node_modules', '.bin', command);
	const child = spawn(program, args, {
		cwd: work,
		env: environment(home, env),
		stdio: ['ignore', 'pipe', 'pipe'],
		detached: true,
	});
	const output = { text: '' };
	for (const stream of [child.stdout, child.stderr])
		stream.on('data', (data) => (output.text += data));
	groups.add(child.pid);
	const gone = new Promise((resolve) => {
		const timer = setTimeout(() => {
			endGroup(child.pid);
			resolve(`${agent.name} was not done within ${limit / 1000} seconds`);
		}, limit);
		child.on('error', (error) => resolve(`${agent.name} did not start: ${error.message}`));
		child.on('exit', (status, signal) => {
			clearTimeout(timer);
			endGroup(child.pid);
			resolve(`${agent.name} ended with ${signal ?? `status ${status}`}`);
		});
	});
	return { gone, output };
}

// play(agent, files, script, options): the agent runs in a directory with these files, stet mcp with these
// options or elsewhere, and its model follows the script. Throws what the script throws. What is known about the
// agent is printed if it does, or if a claim of the script does not hold.
export async function play(agent, files, script, options = []) {
	const dir = workspace();
	const [home, work] = ['home', 'work'].map((name) => path.join(dir, name));
	mkdirSync(home);
	mkdirSync(work);
	writeFiles(work, files);
	const model = new Model(agent.dialect);
	await model.listen();
	const { gone, output } = start(agent, { home, work, url: model.url, server: serverFor(agent, work, options), options });
	gone.then((how) => model.fail(new Error(how)));
	const before = failures();
	let done = false;
	try {
		await model.start();
		await script(new Hand(agent, model, home, work));
		model.end();
		await gone;
		done = true;
	} finally {
		if (!done || failures() > before)
			explain(report(agent, output, model, home));
		model.close();
		groups.forEach(endGroup);
		rmSync(dir, { recursive: true, force: true });
		if (process.env.STET_REQUESTS)
			writeFileSync(process.env.STET_REQUESTS, JSON.stringify(model.requests, null, '\t'));
	}
}

// All strings of a request; one that is JSON itself, as arguments are, counts as what is in it.
function strings(value) {
	if (typeof value === 'string' && /^[[{]/.test(value))
		try {
			return strings(JSON.parse(value));
		} catch {
			return [value];
		}
	if (typeof value === 'string')
		return [value];
	return value && typeof value === 'object' ? Object.values(value).flatMap(strings) : [];
}

// What a script holds: the tools of stet, and what the model reads.
class Hand {
	#agent;
	#model;

	#home;

	constructor(agent, model, home, work) {
		this.#home = home;
		this.#agent = agent;
		this.#model = model;
		this.work = work;
	}

	// Call a tool of stet the way a model of this agent does; the text that comes back.
	async call(name, args) {
		const find = this.#agent.search?.(name, this.#model.newest);
		if (find)
			await this.#model.call(find);
		const result = await this.#model.call(this.#agent.call(name, args));
		return this.#agent.text?.(result) ?? result;
	}

	// Call one of the agent's own tools: read, part, edit, write or shell. The tools but the last take a file.
	async native(tool, ...args) {
		const made = this.#agent.native[tool];
		const call = tool === 'shell' ? made(...args) : made(path.join(this.work, args[0]), ...args.slice(1));
		return this.#model.call(call);
	}

	// Make a call as it is.
	async raw(call) {
		return this.#model.call(call);
	}

	// Some agents refuse by themselves, before they ask the hook, and have the model read the file again.
	refuses(answer) {
		return /read it again|re-read|has not been read|modified since read/i.test(answer);
	}

	// Run stet in the directory as the agent's user; what it prints.
	stet(...args) {
		return spawnSync(process.env.STET, args, { cwd: this.work, env: environment(this.#home), encoding: 'utf8' }).stdout;
	}

	// How often a text is in what the model reads now.
	count(text) {
		return strings(this.#model.newest).reduce((sum, string) => sum + string.split(text).length - 1, 0);
	}

	// The definitions of stet's tools that the model is given with each request, without what the agent
	// adds to each.
	definitions() {
		const tools = (this.#model.newest.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? tool);
		return tools
			.map((tool) => JSON.stringify(tool, (key, value) => (key === this.#agent.addsArgument ? undefined : value)))
			.filter((tool) => /"name":"\w*stet_/.test(tool));
	}

	// The names of the tools that the model is given.
	toolNames() {
		const tools = (this.#model.newest.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? tool);
		return tools.map((tool) => tool.name ?? tool.function?.name ?? tool.type);
	}

	read(name) {
		return readFileSync(path.join(this.work, name), 'utf8');
	}

	write(name, text) {
		writeFileSync(path.join(this.work, name), text);
	}
}
