// Gemini CLI.
import { generate } from './generate.mjs';

export const gemini = {
	name: 'Gemini CLI',
	dialect: generate,
	loadsRoot: false,
	namesRoots: true,
	isInstructed: true,
	showsAll: true,
	turns: 100,
	addsArgument: 'wait_for_previous',

	setUp: ({ url, server }) => ({
		command: 'gemini',
		args: ['--yolo', '-m', 'gemini-2.5-pro', '-p', 'Follow your script.'],
		env: { GEMINI_API_KEY: 'x', GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
		files: {
			'.gemini/settings.json': JSON.stringify({
				security: { auth: { selectedType: 'gemini-api-key' } },
				privacy: { usageStatisticsEnabled: false },
				general: { disableAutoUpdate: true, enableAutoUpdate: false },
				...(server && { mcpServers: { stet: { ...server, trust: true } } }),
			}),
		},
	}),

	call: (name, args) => ({ name: `mcp_stet_${name}`, args }),

	client: 'gemini',
	native: {
		read: (file) => ({ name: 'read_file', args: { file_path: file } }),
		part: (file, from, count) => ({ name: 'read_file', args: { file_path: file, start_line: from, end_line: from + count - 1 } }),
		edit: (file, from, to) => ({ name: 'replace', args: { file_path: file, instruction: 'change it', old_string: from, new_string: to } }),
		write: (file, content) => ({ name: 'write_file', args: { file_path: file, content } }),
		shell: (command) => ({ name: 'run_shell_command', args: { command } }),
		todos: (names, current) => [{ name: 'write_todos', args: { todos: names.map((description, n) => ({ description, status: n + 1 === current ? 'in_progress' : 'pending' })) } }],
	},
};
