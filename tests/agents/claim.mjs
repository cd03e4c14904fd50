// Claims about an agent, printed as TAP.
import { claim } from '../clients/lib.mjs';
import { play } from './run.mjs';

export { claim, finish } from '../clients/lib.mjs';

export function check(holds, otherwise) {
	if (!holds)
		throw `${otherwise}`.slice(0, 1000);
}

// Have the agent's model follow a script, which makes the claims. The last claim is that the script ran to its end.
export async function follow(agent, name, files, script, options) {
	let error;
	await play(agent, files, script, options).catch((reason) => (error = reason));
	await claim(`${agent.name} follows the script to its end: ${name}`, async () => {
		if (error)
			throw error;
	});
}
