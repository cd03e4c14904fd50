// Anthropic Messages, as Claude Code speaks it.
import { beginEvents, sendEvent, sendJson, textOf } from './model.mjs';

const usage = { input_tokens: 10, output_tokens: 10 };

function message(body, content, stop_reason) {
	return { id: `msg_${Date.now()}`, type: 'message', role: 'assistant', model: body.model, content, stop_reason, stop_sequence: null, usage };
}

function send({ reply }, body, block, delta, stop_reason) {
	if (!body.stream)
		return sendJson(reply, message(body, [block], stop_reason));
	const empty = block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} };
	const events = [
		{ type: 'message_start', message: message(body, [], null) },
		{ type: 'content_block_start', index: 0, content_block: empty },
		{ type: 'content_block_delta', index: 0, delta },
		{ type: 'content_block_stop', index: 0 },
		{ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
		{ type: 'message_stop' },
	];
	beginEvents(reply);
	for (const event of events)
		sendEvent(reply, event, event.type);
	reply.end();
}

export const anthropic = {
	answers: (url) => /^\/v1\/messages(\?|$)/.test(url),
	offersTools: (body) => body.tools?.length > 0,
	other: ({ url }, reply) => sendJson(reply, url.includes('count_tokens') ? { input_tokens: 10 } : {}),

	result(body, id) {
		const blocks = body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
		const found = blocks.findLast((block) => block.type === 'tool_result' && block.tool_use_id === id);
		return found && textOf(found.content);
	},

	sendCall(answer, id, { name, args }, body) {
		const block = { type: 'tool_use', id, name, input: args };
		send(answer, body, block, { type: 'input_json_delta', partial_json: JSON.stringify(args) }, 'tool_use');
	},

	sendText(answer, text, body) {
		send(answer, body, { type: 'text', text }, { type: 'text_delta', text }, 'end_turn');
	},
};
