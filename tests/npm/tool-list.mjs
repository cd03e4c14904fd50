// Count the tokens of the list of tools, as clients send it to a model, in the way of each API. The
// arguments start the server; the largest count is printed.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const { encode } = createRequire(process.execPath)('gpt-tokenizer/encoding/o200k_base');
const [command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const answers = createInterface(server.stdout)[Symbol.asyncIterator]();

async function ask(id, method, params) {
	server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
	for (let line; !(line = await answers.next()).done; ) {
		const message = JSON.parse(line.value);
		if (message.id === id && !message.method)
			return message.result;
	}
	throw new Error(`the server did not answer ${method}`);
}

const forms = {
	messages: ({ name, description, inputSchema }) => ({ name: `mcp__stet__${name}`, description, input_schema: inputSchema }),
	chat: ({ name, description, inputSchema }) => ({
		type: 'function',
		function: { name: `stet_${name}`, description, parameters: inputSchema },
	}),
	responses: ({ name, description, inputSchema }) => ({
		type: 'function', name, description, strict: false, parameters: inputSchema,
	}),
	gemini: ({ name, description, inputSchema }) => ({ name: `mcp_stet_${name}`, description, parametersJsonSchema: inputSchema }),
};

await ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'count', version: '1' } });
server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
const { tools } = await ask(2, 'tools/list', {});
server.stdin.end();
const counts = Object.entries(forms).map(([name, form]) => [name, encode(JSON.stringify(tools.map(form))).length]);
console.error(`# ${tools.length} tools: ${counts.map(([name, count]) => `${name} ${count}`).join(', ')}`);
console.log(Math.max(...counts.map(([, count]) => count)));
