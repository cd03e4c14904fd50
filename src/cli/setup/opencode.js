// Written by `stet setup opencode`; `stet setup opencode --remove` deletes it. See docs/hooks.md of stet.
//
// opencode's own edit and write are replaced by tools of the same names, for which stet makes the change, so that
// nothing comes between its check and the write. The other tools stay; stet hears of them. Where stet cannot
// decide, the file is changed as if there were no stet; where stet is not installed, the plugin does nothing.
import { spawn, spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

const program = @P;
const limit = 10_000;

// Run `stet hook` with an event. Its decision, or {} for none.
function decide(event) {
	return new Promise((resolve) => {
		const child = spawn(program, ['hook', '--client', 'opencode'], { stdio: ['pipe', 'pipe', 'ignore'], timeout: limit });
		const chunks = [];
		child.on('error', () => resolve({}));
		child.stdin.on('error', () => {});
		child.stdout.on('data', (chunk) => chunks.push(chunk));
		child.on('close', () => {
			try {
				resolve(JSON.parse(Buffer.concat(chunks).toString()));
			} catch {
				resolve({});
			}
		});
		child.stdin.end(JSON.stringify(event));
	});
}

// opencode's read prints "12: TEXT" for each line. Returns the text, the number of its first line and of all lines.
function readFileText(output) {
	const lines = output.slice(output.indexOf('<content>\n') + 10).split('\n');
	const first = parseInt(lines[0], 10);
	const text = [];
	while (lines[text.length]?.startsWith(`${first + text.length}: `))
		text.push(lines[text.length].slice(`${first + text.length}: `.length));
	const total = /\((?:End of file - total (\d+) lines|.* of (\d+)\.)/.exec(lines.slice(text.length, text.length + 3).join('\n'));
	if (!output.includes('<type>file</type>') || !text.length)
		return undefined;
	return {
		content: `${text.join('\n')}\n`,
		startLine: first,
		numLines: text.length,
		totalLines: Number(total?.[1] ?? total?.[2] ?? Infinity) || first + text.length,
	};
}

function places(text, part) {
	return text.split(part).length - 1;
}

async function change(file, args) {
	if (args.content !== undefined || !args.oldString) {
		await mkdir(path.dirname(file), { recursive: true });
		return writeFile(file, args.content ?? args.newString);
	}
	const text = await readFile(file, 'utf8');
	const count = places(text, args.oldString);
	if (count === 0)
		throw new Error('oldString not found in the file. It must match exactly, with white space and line ends.');
	if (count > 1 && !args.replaceAll)
		throw new Error(`oldString is at ${count} places of the file. Add lines around it, or set replaceAll.`);
	return writeFile(file, text.split(args.oldString).join(args.newString));
}

// Ask for the permissions that opencode's own tools ask for.
async function ask(file, ctx) {
	const outside = path.relative(ctx.directory, file).startsWith('..') && path.relative(ctx.worktree, file).startsWith('..');
	const dir = path.join(path.dirname(file), '*');
	if (outside)
		await ctx.ask({ permission: 'external_directory', patterns: [dir], always: [dir], metadata: { filepath: file } });
	await ctx.ask({ permission: 'edit', patterns: [path.relative(ctx.worktree, file)], always: ['*'], metadata: { filepath: file } });
}

function replacement(name, describe, args) {
	return {
		description: describe,
		args,
		async execute(input, ctx) {
			const file = path.resolve(ctx.directory, input.filePath);
			await ask(file, ctx);
			const { decision, reason } = await decide({
				hook_event_name: 'PreToolUse',
				session_id: ctx.sessionID,
				cwd: ctx.directory,
				tool_name: name,
				tool_input: { ...input, filePath: file },
			});
			if (decision === 'deny')
				throw new Error(reason);
			if (decision !== 'done')
				await change(file, input);
			const title = path.relative(ctx.worktree, file);
			return { title, output: reason ?? `${title} is written.`, metadata: { filepath: file, stet: decision === 'done' } };
		},
	};
}

const file = { type: 'string', description: 'The path of the file' };
const tools = {
	edit: replacement('edit', 'Replaces an exact text in a file. Fails if oldString is not in the file, or at several places and replaceAll is not set.', {
		filePath: file,
		oldString: { type: 'string', description: 'The text to replace, with its white space; without the line numbers of read' },
		newString: { type: 'string', description: 'The text to put in its place' },
		replaceAll: { type: 'boolean', description: 'Replace all places; false for one' },
	}),
	write: replacement('write', 'Writes a file as a whole. Read an existing file first. Prefer edit for changes.', {
		filePath: file,
		content: { type: 'string', description: 'The whole new content of the file' },
	}),
};

const replaced = new Set(Object.keys(tools));
const watched = new Set([...replaced, 'read', 'bash', 'apply_patch', 'todowrite']);

async function guard(directory) {
	const started = new Set();
	const report = (moment, session, more) =>
		decide({ hook_event_name: moment, session_id: session, cwd: directory, ...more });

	return {
		tool: tools,
		'tool.execute.before': async ({ tool, sessionID }, { args }) => {
			if (tool !== 'apply_patch')
				return;
			const { decision, reason } = await report('PreToolUse', sessionID, { tool_name: tool, tool_input: args });
			if (decision === 'deny')
				throw new Error(reason);
		},
		'tool.execute.after': async ({ tool, sessionID, args }, output) => {
			if (!watched.has(tool) || output.metadata?.stet)
				return;
			const shown = tool === 'read' ? { file: readFileText(output.output) } : output.output;
			const { context } = await report('PostToolUse', sessionID, { tool_name: tool, tool_input: args, tool_response: shown });
			if (context)
				output.output += `\n\n${context}`;
		},
		'chat.message': async ({ sessionID }, { parts }) => {
			const moments = [...(started.has(sessionID) ? [] : ['SessionStart']), 'UserPromptSubmit'];
			const text = parts.find((part) => part.type === 'text');
			started.add(sessionID);
			for (const moment of moments) {
				const { context } = await report(moment, sessionID, { source: 'startup' });
				if (context && text)
					parts.push({ ...text, id: `${text.id.slice(0, -5)}${moments.length}stet`, text: context, synthetic: true });
			}
		},
		event: async ({ event }) => {
			if (event.type === 'session.compacted')
				await report('PostCompact', event.properties.sessionID);
		},
	};
}

// opencode loads the plugin of the project and that of the user; one is enough.
const loaded = Symbol.for('stet');

export const Stet = async ({ directory }) => {
	globalThis[loaded] ??= new Set();
	if (globalThis[loaded].has(directory) || spawnSync(program, ['--version'], { timeout: limit }).status !== 0)
		return {};
	globalThis[loaded].add(directory);
	return guard(directory);
};
