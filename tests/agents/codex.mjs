// Codex: with plain tools, and in code mode, where the model writes JavaScript that calls them.
import { responses } from './responses.mjs';

const setUp = (model) => ({ home, url, server }) => ({
	command: 'codex',
	args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-m', model, 'Follow your script.'],
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
			'[mcp_servers.stet]',
			`command = ${JSON.stringify(server.command)}`,
			`args = ${JSON.stringify(server.args)}`,
			'default_tools_approval_mode = "approve"',
			'',
		].join('\n'),
	},
});

export const codex = {
	name: 'Codex',
	dialect: responses,
	loadsRoot: true,
	setUp: setUp('gpt-5.5'),
	call: (name, args) => ({ namespace: 'mcp__stet', name, args }),
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
};
