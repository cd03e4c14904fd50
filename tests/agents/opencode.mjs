// opencode.
import { chat } from './chat.mjs';

export const opencode = {
	name: 'opencode',
	dialect: chat,
	loadsRoot: true,
	namesRoots: true,
	showsAll: true,
	replaced: true,

	setUp: ({ url, server }) => ({
		command: 'opencode',
		args: ['run', 'Follow your script.'],
		env: {
			OPENCODE_DISABLE_AUTOUPDATE: '1',
			OPENCODE_DISABLE_MODELS_FETCH: '1',
			OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
			OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
			// Where there is a plugin, opencode installs its own package for plugins before it starts. There is no network
			// here, and npm would try again for 70 seconds.
			npm_config_fetch_retries: '0',
			OPENCODE_CONFIG_CONTENT: JSON.stringify({
				model: 'scripted/model',
				small_model: 'scripted/model',
				permission: { '*': 'allow' },
				provider: {
					scripted: {
						npm: '@ai-sdk/openai-compatible',
						name: 'scripted',
						options: { baseURL: `${url}/v1`, apiKey: 'x' },
						models: { model: { name: 'model', tool_call: true, limit: { context: 1_000_000, output: 32_000 } } },
					},
				},
				...(server && { mcp: { stet: { type: 'local', command: [server.command, ...server.args], enabled: true } } }),
			}),
		},
	}),

	call: (name, args) => ({ name: `stet_${name}`, args }),

	client: 'opencode',
	native: {
		read: (file) => ({ name: 'read', args: { filePath: file } }),
		part: (file, offset, limit) => ({ name: 'read', args: { filePath: file, offset, limit } }),
		edit: (file, from, to) => ({ name: 'edit', args: { filePath: file, oldString: from, newString: to } }),
		write: (file, content) => ({ name: 'write', args: { filePath: file, content } }),
		shell: (command) => ({ name: 'bash', args: { command, description: 'Run it' } }),
		todos: (names, current) => [{ name: 'todowrite', args: { todos: names.map((content, n) => ({ content, status: n + 1 === current ? 'in_progress' : 'pending', priority: 'high', id: String(n + 1) })) } }],
	},
};
