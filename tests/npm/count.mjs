// Count the tokens of texts as o200k has them. The file named as the argument holds for each text
// its length in bytes, a line end and the text; the counts are printed, one a line.
import fs from 'node:fs';
import { createRequire } from 'node:module';

const { encode } = createRequire(process.execPath)('gpt-tokenizer/encoding/o200k_base');
const bytes = fs.readFileSync(process.argv[2]);
const counts = [];
for (let at = 0; at < bytes.length; ) {
	const end = bytes.indexOf(10, at);
	const from = end + 1;
	at = from + Number(bytes.toString('latin1', at, end));
	// Treat text that looks like a special token as plain text.
	counts.push(encode(bytes.toString('utf8', from, at), { disallowedSpecial: new Set() }).length);
}
console.log(counts.join('\n'));
