// A model that follows a script, on loopback. An agent sends it requests as it would send them to the
// real one; each that offers tools is answered with the script's next tool call, the others (titles,
// summaries) with "ok". What the agent sends is what a real model would read: it is kept, and judged.
//
//     const model = await startModel(anthropic, (name) => `mcp__stet__${name}`);
//     const text = await model.call('read_file', { path: 'a.txt' }); // as the model reads it
//     model.end();                                                  // answers with a text from now on
import { createServer } from 'node:http';

// How the dialects differ:
//   answers(url)          is this a request for an answer
//   offersTools(body)     can the model call tools in it
//   result(body, id)      the text of the tool call's result; undefined if it is not there
//   sendCall(reply, id, call, body), sendText(reply, text, body)
export class Model {
	#dialect;
	#server;
	#calls = 0;
	#pending; // the call under way: {id, call, resolve, reject}
	#ended = false;
	#waiting; // a request that waits for the script: {body, reply}
	requests = [];

	constructor(dialect) {
		this.#dialect = dialect;
	}

	async listen() {
		this.#server = createServer((request, reply) => this.#receive(request, reply));
		this.#server.keepAliveTimeout = 60_000;
		await new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
		this.url = `http://127.0.0.1:${this.#server.address().port}`;
	}

	close() {
		this.#server.closeAllConnections();
		this.#server.close();
	}

	// What the model reads at the moment: the newest request with tools.
	get newest() {
		return this.requests.findLast((request) => request.tools)?.body;
	}

	// The first request with tools; it comes without any call.
	async start() {
		if (!this.newest)
			await new Promise((resolve, reject) => (this.#pending = { resolve, reject }));
	}

	// Have the agent call a tool; the result's text, as it is in the agent's next request.
	async call(call) {
		const id = `call_${++this.#calls}`;
		return new Promise((resolve, reject) => {
			this.#pending = { id, call, resolve, reject };
			this.#serve();
		});
	}

	end() {
		this.#ended = true;
		this.#serve();
	}

	// The agent has ended: fail the pending request with the reason.
	fail(error) {
		this.#pending?.reject(error);
	}

	async #receive(request, reply) {
		const chunks = [];
		for await (const chunk of request)
			chunks.push(chunk);
		const text = Buffer.concat(chunks).toString();
		if (request.method !== 'POST' || !this.#dialect.answers(request.url)) {
			this.requests.push({ url: request.url, method: request.method, tools: false, body: {} });
			return this.#dialect.other(request, reply);
		}
		const body = JSON.parse(text);
		const tools = this.#dialect.offersTools(body);
		this.requests.push({ url: request.url, tools, body });
		const answer = { reply, url: request.url };
		if (!tools)
			return this.#dialect.sendText(answer, 'ok', body);
		this.#waiting = { answer, body };
		this.#settle(body);
	}

	// A request arrived. It has the result that the script waits for, unless the agent only tries again.
	#settle(body) {
		const pending = this.#pending;
		if (!pending?.id) {
			this.#pending = undefined;
			pending?.resolve();
			return this.#serve();
		}
		const result = this.#dialect.result(body, pending.id);
		if (result === undefined)
			return this.#serve();
		this.#pending = undefined;
		pending.resolve(result);
	}

	#serve() {
		if (!this.#waiting)
			return;
		const { answer, body } = this.#waiting;
		if (this.#pending?.id) {
			this.#waiting = undefined;
			this.#dialect.sendCall(answer, this.#pending.id, this.#pending.call, body);
		} else if (this.#ended) {
			this.#waiting = undefined;
			this.#dialect.sendText(answer, 'done', body);
		}
	}
}

// One event of a stream.
export function sendEvent(reply, data, event) {
	reply.write(`${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
}

export function beginEvents(reply) {
	reply.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
}

export function sendJson(reply, value, status = 200) {
	reply.writeHead(status, { 'content-type': 'application/json' });
	reply.end(JSON.stringify(value));
}

// The text in what may be a string, or a list of parts with a text each.
export function textOf(content) {
	if (typeof content === 'string')
		return content;
	if (!Array.isArray(content))
		return content === undefined ? '' : JSON.stringify(content);
	return content.map((part) => part.text ?? '').join('');
}
