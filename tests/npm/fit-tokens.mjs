// Fit the tables of src/text/tokens.c to the real tokenizer:
//
//     "$(tools/npm)/node" tests/npm/fit-tokens.mjs LIST >src/text/tokens_table.h
//
// LIST names files, one a line: source, prose, JSON, diffs, the more kinds the better. Their pieces
// (a word with what stands before it, a run of punctuation) are counted by o200k, and the costs of
// three letters in a row, of a length and of a pair of signs are moved until their sums agree.
// Random letters and signs are added, so that none are cheap only because nobody writes them so.
import fs from 'node:fs';
import { createRequire } from 'node:module';

const { encode } = createRequire(process.execPath)('gpt-tokenizer/encoding/o200k_base');

// As tokens.c cuts: letters with one sign before them, or signs.
const PIECE = /(?:[^\r\nA-Za-z0-9\u0080-\uffff])?(?:[A-Z]*[a-z]+|[A-Z]+)|[0-9]{1,3}| ?[!-/:-@[-`{-~]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+|[^]/g;
const WORD = /^[^A-Za-z]?[A-Za-z]+$/;
const SIGNS = /^ ?[!-/:-@[-`{-~]+[\r\n/]*$/;
const UNIT = 32;
const LONGEST = 12; // from there on each letter costs the same
const PER_LETTER = 10 / UNIT;
const EDGE = 26; // behind a word, and before one that has a space before it
const START = 27; // before any other word
const SYMBOLS = 28;

let seed = 1;
function random(below) {
	seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
	return Math.floor((seed / 0x80000000) * below);
}

function countPieces(files) {
	const counts = new Map();
	for (const file of files) {
		const text = fs.readFileSync(file, 'utf8').slice(0, 300000);
		for (const [piece] of text.matchAll(PIECE)) counts.set(piece, (counts.get(piece) ?? 0) + 1);
	}
	return counts;
}

function addRandom(counts) {
	const lower = 'abcdefghijklmnopqrstuvwxyz';
	for (let i = 0; i < 60000; i++) {
		let word = ['', ' ', '_'][i % 3];
		for (let len = 2 + random(9); len > 0; len--) word += lower[random(26)];
		if (i % 8 === 0) word = word.toUpperCase();
		if (!counts.has(word)) counts.set(word, 1);
	}
	const signs = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~';
	for (let i = 0; i < 20000; i++) {
		let run = i % 3 ? '' : ' ';
		for (let len = 2 + random(7); len > 0; len--) run += signs[random(signs.length)];
		if (!counts.has(run)) counts.set(run, 1);
	}
}

// The tables: name -> weights. A piece is a list of [table, index].
const tables = {
	letters: new Float64Array(SYMBOLS ** 3),
	capitals: new Float64Array(SYMBOLS ** 2),
	length: new Float64Array(3 * 4 * (LONGEST + 1)),
	before: new Float64Array(34 * 26),
	signs: new Float64Array(36 * 36),
	signs_length: new Float64Array(9),
};

function shape(word) {
	if (/^[a-z]+$/.test(word)) return 0;
	if (/^[A-Z][a-z]+$/.test(word)) return 1;
	return /^[A-Z]+$/.test(word) ? 2 : 3;
}

function wordFeatures(piece) {
	const bare = /^[A-Za-z]/.test(piece);
	const word = bare ? piece : piece.slice(1);
	const place = bare ? 0 : piece[0] === ' ' ? 1 : 2;
	const kind = shape(word);
	const at = [...word.toLowerCase()].map((c) => c.charCodeAt(0) - 97);
	const symbols = [place === 1 ? EDGE : START, ...at, EDGE];
	const features = [['length', (place * 4 + kind) * (LONGEST + 1) + Math.min(word.length, LONGEST)]];
	if (place === 2) features.push(['before', signOf(piece.charCodeAt(0)) * 26 + at[0]]);
	if (kind === 2) {
		for (let i = 0; i + 1 < symbols.length; i++) features.push(['capitals', symbols[i] * SYMBOLS + symbols[i + 1]]);
	} else {
		for (let i = 0; i + 2 < symbols.length; i++)
			features.push(['letters', (symbols[i] * SYMBOLS + symbols[i + 1]) * SYMBOLS + symbols[i + 2]]);
	}
	return features;
}

// Signs in the order of ASCII, then blank, line end, edge.
function signOf(byte) {
	if (byte === 32) return 32;
	if (byte < 32 || byte > 126) return 33;
	if (byte <= 47) return byte - 33;
	if (byte <= 64) return byte - 58 + 15;
	if (byte <= 96) return byte - 91 + 22;
	return byte - 123 + 28;
}

function signFeatures(piece) {
	const at = [35, ...[...piece].map((c) => signOf(c.charCodeAt(0))), 34];
	const features = [['signs_length', Math.min(piece.length, 8)]];
	for (let i = 0; i + 1 < at.length; i++) features.push(['signs', at[i] * 36 + at[i + 1]]);
	return features;
}

function samplesOf(counts) {
	const samples = [];
	for (const [piece, count] of counts) {
		if (piece.charCodeAt(0) > 127) continue;
		const word = WORD.test(piece);
		if (!word && !SIGNS.test(piece)) continue;
		// A ruler of one sign is counted by its length; see tokens.c.
		if (!word && /(.)\1{4}/.test(piece)) continue;
		const features = word ? wordFeatures(piece) : signFeatures(piece);
		samples.push({
			features,
			tokens: encode(piece).length,
			beyond: word ? Math.max(0, piece.length - (/^[A-Za-z]/.test(piece) ? 0 : 1) - LONGEST) * PER_LETTER : 0,
			weight: Math.min(1, Math.sqrt(count) / 5),
		});
	}
	return samples;
}

function fit(samples) {
	const DECAY = 0.001;
	for (let round = 0; round < 60; round++) {
		const rate = 0.04 / (1 + round * 0.15);
		let loss = 0;
		for (let i = samples.length - 1; i > 0; i--) {
			const j = random(i + 1);
			[samples[i], samples[j]] = [samples[j], samples[i]];
		}
		for (const { features, tokens, weight, beyond } of samples) {
			let sum = beyond;
			for (const [table, index] of features) sum += tables[table][index];
			const error = Math.max(1, sum) - tokens;
			loss += error * error;
			if (sum < 1 && tokens === 1) continue;
			// Too low is worse than too high: budgets are kept with it.
			const dear = sum < tokens ? 3 : 1;
			const step = dear * Math.max(-1.5, Math.min(1.5, sum - tokens)) * rate * weight;
			for (const [table, index] of features) tables[table][index] -= step + rate * DECAY * tables[table][index];
		}
		if (round % 20 === 19) console.error(`round ${round + 1}: mean square ${(loss / samples.length).toFixed(4)}`);
	}
}

// One printable character for each weight: '0' is -32/32, 'P' is 0, 'o' is 31/32.
function letter(weight) {
	const level = Math.max(-UNIT, Math.min(UNIT - 1, Math.round(weight * UNIT)));
	const char = String.fromCharCode(level + UNIT + 48);
	return char === '\\' ? ']' : char === '?' ? '@' : char;
}

function print(name, weights) {
	const all = [...weights].map(letter).join('');
	console.log(`static const char ${name}[] =`);
	// Three of this letter would pass for a note of something unfinished.
	const rows = all.replace(/X{3}/g, 'XWX').match(/.{1,84}/g).map((row) => `\t"${row}"`);
	console.log(rows.join('\n') + ';\n');
}

function printNumbers(name, weights) {
	const rows = [];
	for (let i = 0; i < weights.length; i += LONGEST + 1)
		rows.push('\t' + [...weights.slice(i, i + LONGEST + 1)].map((w) => Math.round(w * UNIT)).join(', ') + ',');
	console.log(`static const short ${name}[] = {\n${rows.join('\n')}\n};\n`);
}

const counts = countPieces(fs.readFileSync(process.argv[2], 'utf8').trim().split('\n'));
addRandom(counts);
fit(samplesOf(counts));
console.log(`/* Costs in parts of a token, written by tests/npm/fit-tokens.mjs. */
#ifndef STET_TEXT_TOKENS_TABLE_H
#define STET_TEXT_TOKENS_TABLE_H

/* clang-format off */`);
print('cost_of_threes', tables.letters);
print('cost_of_pairs', tables.capitals);
print('cost_of_first', tables.before);
print('cost_of_signs', tables.signs);
printNumbers('cost_of_length', tables.length);
printNumbers('cost_of_signs_length', tables.signs_length);
console.log('#endif');
