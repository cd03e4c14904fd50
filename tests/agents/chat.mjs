// OpenAI chat completions, as opencode and Qwen Code speak it.
import { beginEvents, sendEvent, sendJson, textOf } from './model.mjs';

const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };

function send({ reply }, body, message, finish_reason) {
	const whole = { id: `chatcmpl_${Date.now()}`, created: Math.floor(Date.now() / 1000), model: body.model };
	if (!body.stream)
		return sendJson(reply, { ...whole, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage });
	const chunk = { ...whole, object: 'chat.completion.chunk' };
	beginEvents(reply);
	sendEvent(reply, { ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] });
	sendEvent(reply, { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] });
	sendEvent(reply, { ...chunk, choices: [], usage });
	reply.end('data: [DONE]\n\n');
}

export const chat = {
	answers: (url) => /\/chat\/completions(\?|$)/.test(url),
	offersTools: (body) => body.tools?.length > 0,
	other: (request, reply) => sendJson(reply, {}, 404),

	result(body, id) {
		const found = body.messages.findLast((message) => message.role === 'tool' && message.tool_call_id === id);
		return found && textOf(found.content);
	},

	sendCall(answer, id, { name, args }, body) {
		const call = { index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
		send(answer, body, { role: 'assistant', content: null, tool_calls: [call] }, 'tool_calls');
	},

	sendText(answer, text, body) {
		send(answer, body, { role: 'assistant', content: text }, 'stop');
	},
};
