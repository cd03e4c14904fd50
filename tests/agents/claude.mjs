// Claude Code.
import { anthropic } from './anthropic.mjs';

const named = (name) => `mcp__stet__${name}`;

export const claude = {
	name: 'Claude Code',
	dialect: anthropic,
	loadsRoot: true,
	namesRoots: true,
	checksWrites: true,

	setUp: ({ url, server }) => ({
		command: 'claude',
		args: ['-p', 'Follow your script.', '--dangerously-skip-permissions', ...(server ? ['--strict-mcp-config',
			'--mcp-config', JSON.stringify({ mcpServers: { stet: { type: 'stdio', ...server } } })] : [])],
		env: {
			ANTHROPIC_BASE_URL: url,
			ANTHROPIC_API_KEY: 'x',
			IS_SANDBOX: '1',
			DISABLE_AUTOUPDATER: '1',
			DISABLE_TELEMETRY: '1',
			DISABLE_ERROR_REPORTING: '1',
			CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
			CLAUDE_CODE_ENABLE_TODO_TOOLS: '1',
		},
	}),

	// A tool that is not in the list yet has to be searched for.
	search(name, body) {
		if (!body.tools.some((tool) => tool.name === named(name)))
			return { name: 'ToolSearch', args: { query: `select:${named(name)}`, max_results: 1 } };
	},
	call: (name, args) => ({ name: named(name), args }),

	client: 'claude',
	native: {
		read: (file) => ({ name: 'Read', args: { file_path: file } }),
		part: (file, offset, limit) => ({ name: 'Read', args: { file_path: file, offset, limit } }),
		edit: (file, from, to) => ({ name: 'Edit', args: { file_path: file, old_string: from, new_string: to } }),
		write: (file, content) => ({ name: 'Write', args: { file_path: file, content } }),
		shell: (command) => ({ name: 'Bash', args: { command } }),
		todos: (names, current) => [
			{ name: 'ToolSearch', args: { query: 'select:TaskCreate,TaskUpdate', max_results: 2 } },
			...names.map((subject) => ({ name: 'TaskCreate', args: { subject, description: subject } })),
			{ name: 'TaskUpdate', args: { taskId: String(current), status: 'in_progress' } },
		],
	},
};
