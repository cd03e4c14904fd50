// Codex: with plain tools, and in code mode, where the model writes JavaScript that calls them.
import { responses } from './responses.mjs';

const setUp = (model) => ({ home, url, server }) => ({
	command: 'codex',
	args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox',
		...(server ? [] : ['--dangerously-bypass-hook-trust']), '-m', model, 'Follow your script.'],
	env: { OPENAI_API_KEY: 'x', CODEX_HOME: `${home}/.codex` },
	files: {
		'.codex/config.toml': [
			'model_provider = "scripted"',
			'check_for_update_on_startup = false',
			'[analytics]',
			'enabled = false',
			'[model_providers.scripted]',
			'name = "scripted"',
			`base_url = ${JSON.stringify(`${url}/v1`)}`,
			'env_key = "OPENAI_API_KEY"',
			'wire_api = "responses"',
			...(server ? ['[mcp_servers.stet]',
				`command = ${JSON.stringify(server.command)}`,
				`args = ${JSON.stringify(server.args)}`,
				'default_tools_approval_mode = "approve"'] : []),
			'',
		].join('\n'),
	},
});

// Codex reads with the shell, and writes with patches. One that adds a file replaces a file that is there.
const marked = (sign, text) => text.replace(/^(?=.)/gm, sign);
const patches = {
	edit: (file, from, to) => `*** Begin Patch\n*** Update File: ${file}\n@@\n${marked('-', from)}${marked('+', to)}*** End Patch\n`,
	write: (file, content) => `*** Begin Patch\n*** Add File: ${file}\n${marked('+', content)}*** End Patch\n`,
};
const native = (shell, patch) => ({
	read: (file) => shell(`cat ${file}`),
	part: (file, from, count) => shell(`sed -n ${from},${from + count - 1}p ${file}`),
	edit: (...args) => patch(patches.edit(...args)),
	write: (...args) => patch(patches.write(...args)),
	shell,
});

export const codex = {
	name: 'Codex',
	dialect: responses,
	loadsRoot: true,
	setUp: setUp('gpt-5.5'),
	call: (name, args) => ({ namespace: 'mcp__stet', name, args }),

	client: 'codex',
	native: native((cmd) => ({ name: 'exec_command', args: { cmd } }), (patch) => ({ name: 'apply_patch', script: patch })),
};

export const codexCode = {
	name: 'Codex in code mode',
	dialect: responses,
	loadsRoot: true,
	setUp: setUp('gpt-6.1-sol'),
	call: (name, args) => ({
		name: 'exec',
		script: `text(await tools.mcp__stet__${name}(${JSON.stringify(args)}))`,
	}),
	// A model reads JSON here. What is no JSON is an error of the agent's own.
	text(result) {
		try {
			return JSON.parse(result.slice(result.indexOf('{'))).content.map((part) => part.text).join('\n');
		} catch {
			return result;
		}
	},

	client: 'codex',
	native: native((cmd) => ({ name: 'exec', script: `text(await tools.exec_command(${JSON.stringify({ cmd })}))` }),
		(patch) => ({ name: 'exec', script: `text(await tools.apply_patch(${JSON.stringify(patch)}))` })),
};
