// Gemini generateContent, as Gemini CLI speaks it.
import { beginEvents, sendEvent, sendJson } from './model.mjs';

function send({ reply, url }, part) {
	const candidates = [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }];
	const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 };
	if (!url.includes(':streamGenerateContent'))
		return sendJson(reply, { candidates, usageMetadata });
	beginEvents(reply);
	sendEvent(reply, { candidates, usageMetadata });
	reply.end();
}

export const generate = {
	answers: (url) => /:(streamG|g)enerateContent(\?|$)/.test(url),
	offersTools: (body) => body.tools?.some((tool) => tool.functionDeclarations?.length > 0) ?? false,
	other: ({ url }, reply) => sendJson(reply, url.includes(':countTokens') ? { totalTokens: 10 } : {}),

	result(body, id) {
		const parts = body.contents.flatMap((content) => content.parts ?? []);
		const found = parts.findLast((part) => part.functionResponse?.id === id)?.functionResponse;
		return found && (found.response?.output ?? found.response?.error ?? JSON.stringify(found.response));
	},

	sendCall(answer, id, { name, args }) {
		send(answer, { functionCall: { id, name, args } });
	},

	sendText(answer, text) {
		send(answer, { text });
	},
};
