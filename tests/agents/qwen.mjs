// Qwen Code.
import { chat } from './chat.mjs';

export const qwen = {
	name: 'Qwen Code',
	dialect: chat,
	loadsRoot: true,
	namesRoots: true,
	repeatsErrors: true,
	turns: 100,

	setUp: ({ url, server }) => ({
		command: 'qwen',
		args: ['--auth-type', 'openai', '--yolo', '-p', 'Follow your script.'],
		env: { OPENAI_API_KEY: 'x', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'scripted' },
		files: {
			'.qwen/settings.json': JSON.stringify({
				privacy: { usageStatisticsEnabled: false },
				tools: { todoWrite: { enabled: true } },
				general: { disableAutoUpdate: true, enableAutoUpdate: false },
				...(server && { mcpServers: { stet: { ...server, trust: true } } }),
			}),
		},
	}),

	call: (name, args) => ({ name: `mcp__stet__${name}`, args }),

	client: 'qwen',
	native: {
		read: (file) => ({ name: 'read_file', args: { file_path: file } }),
		part: (file, from, limit) => ({ name: 'read_file', args: { file_path: file, offset: from - 1, limit } }),
		edit: (file, from, to) => ({ name: 'edit', args: { file_path: file, old_string: from, new_string: to } }),
		write: (file, content) => ({ name: 'write_file', args: { file_path: file, content } }),
		shell: (command) => ({ name: 'run_shell_command', args: { command, is_background: false } }),
		todos: (names, current) => [
			{ name: 'tool_search', args: { query: 'select:todo_write' } },
			{ name: 'todo_write', args: { todos: names.map((content, n) => ({ content, status: n + 1 === current ? 'in_progress' : 'pending', id: String(n + 1) })) } },
		],
	},
};
