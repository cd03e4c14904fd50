// The official clients, over HTTP and stdio.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { claim, finish, load, serve, stet, workspace } from './lib.mjs';
import { play } from './story.mjs';

const info = { name: 'stet-tests', version: '1' };

// The clients: sdk 1.x, which is legacy, and client 2.x in each of its modes.
async function sdk1() {
	const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
	const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
	const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');
	const { ListRootsRequestSchema, ResourceUpdatedNotificationSchema } = await load('@modelcontextprotocol/sdk/types.js');
	return {
		name: 'sdk 1.x',
		Client, StreamableHTTPClientTransport, StdioClientTransport,
		options: {},
		onUpdated: (client, handler) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, handler),
		onRoots: (client, handler) => client.setRequestHandler(ListRootsRequestSchema, handler),
	};
}

async function client2(name, versionNegotiation) {
	const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
	const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');
	return {
		name: `client 2.x ${name}`,
		Client, StreamableHTTPClientTransport, StdioClientTransport,
		options: versionNegotiation ? { versionNegotiation } : {},
		onUpdated: (client, handler) => client.setNotificationHandler('notifications/resources/updated', handler),
		onRoots: (client, handler) => client.setRequestHandler('roots/list', handler),
	};
}

// A client as the story wants it.
function agent(kind, client, transport) {
	const modern = client.getProtocolEra?.() === 'modern';
	let told;
	kind.onUpdated(client, ({ params }) => told?.(params.uri));
	return {
		name: `${kind.name}, ${transport}`,
		modern,
		// Modern HTTP has no sessions.
		tracks: !(modern && transport === 'HTTP'),
		call: (name, args) => client.callTool({ name, arguments: args }),
		subscribe: (uri) => modern ? client.listen({ resourceSubscriptions: [uri] }) : client.subscribeResource({ uri }),
		updated: () => new Promise((resolve) => { told = resolve; }),
	};
}

async function talk(kind, transportName, makeTransport, dir, wanted) {
	const client = new kind.Client(info, kind.options);
	await claim(`${kind.name}, ${transportName}: connects`, async () => {
		await client.connect(makeTransport());
		const { tools } = await client.listTools();
		assert.ok(tools.some((tool) => tool.name === 'edit_file'));
	});
	const it = agent(kind, client, transportName);
	await claim(`${it.name}: speaks the ${wanted} era`, async () => assert.equal(it.modern ? 'modern' : 'legacy', wanted));
	await play(it, dir);
	await claim(`${it.name}: ends`, () => client.close());
}

const kinds = [
	[await sdk1(), 'legacy'],
	[await client2('legacy', undefined), 'legacy'],
	[await client2('auto', { mode: 'auto' }), 'modern'],
	[await client2('pinned', { mode: { pin: '2026-07-28' } }), 'modern'],
];

for (const [kind, wanted] of kinds) {
	const dir = workspace();
	const server = await serve(dir);
	const requestInit = { headers: server.headers };
	const connect = () => new kind.StreamableHTTPClientTransport(new URL(server.url), { requestInit });
	await talk(kind, 'HTTP', connect, dir, wanted);
	await claim(`${kind.name}, HTTP: the server ends well`, async () => assert.equal(await server.stop(), 0));
}

for (const [kind, wanted] of kinds) {
	const dir = workspace();
	await talk(kind, 'stdio', () => new kind.StdioClientTransport({ command: stet, args: ['mcp', dir] }), dir, wanted);
}

// A client that names its roots, to a server that was given no directory.
for (const [kind, wanted] of kinds) {
	const [home, one, two] = [workspace(), workspace(), workspace()];
	writeFileSync(path.join(one, 'in one.txt'), 'one\n');
	writeFileSync(path.join(two, 'in two.txt'), 'two\n');
	const client = new kind.Client(info, { ...kind.options, capabilities: { roots: { listChanged: true } } });
	let roots = [one];
	kind.onRoots(client, async () => ({ roots: roots.map((root) => ({ uri: pathToFileURL(root).href })) }));
	const read = async (name) => (await client.callTool({ name: 'read_file', arguments: { path: name } })).content[0].text;
	await claim(`${kind.name}: its first call works in its roots`, async () => {
		await client.connect(new kind.StdioClientTransport({ command: stet, args: ['mcp'], cwd: home }));
		assert.equal(await read('in one.txt'), 'one\n');
		assert.match(await read('in two.txt'), /File not found/);
	});
	// The modern era has no notification for this.
	if (wanted === 'legacy') {
		await claim(`${kind.name}: roots that change are followed`, async () => {
			roots = [two];
			await client.sendRootsListChanged();
			assert.equal(await read('in two.txt'), 'two\n');
		});
	}
	await client.close();
}
finish();
