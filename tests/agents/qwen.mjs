// Qwen Code.
import { chat } from './chat.mjs';

export const qwen = {
	name: 'Qwen Code',
	dialect: chat,
	loadsRoot: true,
	namesRoots: true,
	repeatsErrors: true,

	setUp: ({ url, server }) => ({
		command: 'qwen',
		args: ['--auth-type', 'openai', '--yolo', '-p', 'Follow your script.'],
		env: { OPENAI_API_KEY: 'x', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'scripted' },
		files: {
			'.qwen/settings.json': JSON.stringify({
				privacy: { usageStatisticsEnabled: false },
				general: { disableAutoUpdate: true, enableAutoUpdate: false },
				mcpServers: { stet: { ...server, trust: true } },
			}),
		},
	}),

	call: (name, args) => ({ name: `mcp__stet__${name}`, args }),
};
