// Gemini CLI.
import { generate } from './generate.mjs';

export const gemini = {
	name: 'Gemini CLI',
	dialect: generate,
	loadsRoot: false,
	namesRoots: true,
	isInstructed: true,
	showsAll: true,
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
				mcpServers: { stet: { ...server, trust: true } },
			}),
		},
	}),

	call: (name, args) => ({ name: `mcp_stet_${name}`, args }),
};
