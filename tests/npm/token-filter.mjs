// Write the filter of src/text/tokens.c, which knows the tokens of o200k that ASCII text is made of:
//
//     "$(tools/npm)/node" tests/npm/token-filter.mjs >src/text/tokens.bin
//
// It prints the constants that go with it, for tokens.c, to standard error.
//
// They are words, with one sign or blank before them or without, and runs of signs, the more frequent
// ones. The filter is a xor filter: a token's three places hold numbers whose exclusive or is one more
// part of its hash. Of other texts one in 4096 passes for a token.
import { createRequire } from 'node:module';

const { decode } = createRequire(process.execPath)('gpt-tokenizer/encoding/o200k_base');

const RANKS = 80000; // tokens are numbered by how early they were learnt
const LONGEST = 24;
const WORD = /^[^\r\nA-Za-z0-9]?[A-Za-z]+(?:'(?:s|t|re|ve|m|ll|d))?$/;
const SIGNS = /^ ?[!-/:-@[-`{-~]+[\r\n/]*$/;
const MASK = (1n << 64n) - 1n;

function tokens() {
	const list = [];
	for (let rank = 0; rank < 199998; rank++) {
		const text = decode([rank]);
		if (!/^[\x01-\x7f]{2,}$/.test(text) || text.length > LONGEST) continue;
		if ((rank < RANKS && WORD.test(text)) || SIGNS.test(text)) list.push(text);
	}
	return list;
}

// As hash_on() and mix() of tokens.c.
function hash(text, seed) {
	let hash = 0xcbf29ce484222325n;
	for (const char of text) hash = ((hash ^ BigInt(char.charCodeAt(0))) * 0x100000001b3n) & MASK;
	hash ^= seed;
	hash = ((hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn) & MASK;
	hash = ((hash ^ (hash >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK;
	return hash ^ (hash >> 33n);
}

// Three places, one in each third, and the number that they must make.
function placesOf(hash, third) {
	const at = (shift) => Number((((hash >> shift) & 0xffffn) * BigInt(third)) >> 16n);
	return { at: [at(0n), third + at(16n), 2 * third + at(32n)], number: Number(hash >> 52n) };
}

// Take away places that one token alone has, until none is left; then fill them in backwards.
function build(keys, third) {
	const slots = Array.from({ length: 3 * third }, () => ({ count: 0, keys: 0 }));
	keys.forEach(({ at }, i) => at.forEach((place) => {
		slots[place].count++;
		slots[place].keys ^= i;
	}));
	const single = slots.flatMap((slot, place) => (slot.count === 1 ? [place] : []));
	const order = [];
	while (single.length) {
		const place = single.pop();
		if (slots[place].count !== 1) continue;
		const i = slots[place].keys;
		order.push([i, place]);
		for (const other of keys[i].at) {
			slots[other].count--;
			slots[other].keys ^= i;
			if (slots[other].count === 1) single.push(other);
		}
	}
	if (order.length < keys.length) return null;
	const numbers = new Uint16Array(3 * third);
	for (const [i, place] of order.reverse())
		numbers[place] = keys[i].at.reduce((sum, other) => sum ^ (other === place ? 0 : numbers[other]), keys[i].number);
	return numbers;
}

const list = tokens();
const third = Math.ceil((1.23 * list.length + 32) / 3);
let seed = 0n;
let numbers = null;
while (!numbers) {
	seed++;
	numbers = build(list.map((text) => placesOf(hash(text, seed), third)), third);
}
console.error(`${list.length} tokens: FILTER_ROW = ${third}, FILTER_SEED = ${seed}`);
process.stdout.write(Buffer.from(numbers.buffer));
