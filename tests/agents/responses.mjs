// OpenAI responses, as Codex speaks it.
import { beginEvents, sendEvent, sendJson, textOf } from './model.mjs';

function send({ reply }, item) {
	const id = `resp_${Date.now()}`;
	const usage = { input_tokens: 10, output_tokens: 10, total_tokens: 20 };
	beginEvents(reply);
	sendEvent(reply, { type: 'response.created', response: { id } }, 'response.created');
	sendEvent(reply, { type: 'response.output_item.done', output_index: 0, item }, 'response.output_item.done');
	sendEvent(reply, { type: 'response.completed', response: { id, output: [item], usage } }, 'response.completed');
	reply.end();
}

export const responses = {
	answers: (url) => /\/responses(\?|$)/.test(url),
	// In code mode the list of tools is an item of the conversation.
	offersTools: (body) => body.tools?.length > 0 || body.input.some((item) => item.type === 'additional_tools'),
	other: (request, reply) => sendJson(reply, {}, 404),

	result(body, id) {
		const found = body.input.findLast((item) => item.call_id === id && /_output$/.test(item.type));
		return found && textOf(found.output?.content ?? found.output ?? found.tools);
	},

	// call.script is what a model in "code mode" writes: JavaScript that calls the tools.
	sendCall(answer, id, { name, namespace, args, script }) {
		const call = { id: `item_${id}`, call_id: id, status: 'completed', name };
		if (script !== undefined)
			send(answer, { ...call, type: 'custom_tool_call', input: script });
		else
			send(answer, { ...call, type: 'function_call', namespace, arguments: JSON.stringify(args) });
	},

	sendText(answer, text) {
		const content = [{ type: 'output_text', text, annotations: [] }];
		send(answer, { id: 'item_text', type: 'message', role: 'assistant', status: 'completed', content });
	},
};
