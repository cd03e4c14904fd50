// Match names by minimatch: node match.mjs FILE, which holds lines of JSON, [pattern, name, ...]. For
// each a line is printed, of one character for each name: 1 or 0, or a line "-" where minimatch is known
// to mean something else than it says (docs/decisions.md).
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';

const {minimatch} = createRequire(process.execPath)('minimatch');

// What stet adds to the reference server's `dot`: a pattern without a slash is one for a name at any depth,
// `#` begins no comment, and of "!(" the "!" belongs to the parentheses.
const options = {dot: true, matchBase: true, nocomment: true, nonegate: true, maxExtglobRecursion: 100};

const parse = pattern => {
	const nots = /^!*/.exec(pattern)[0].length - /^!+\(/.test(pattern);
	return {negated: nots % 2 === 1, rest: pattern.slice(nots)};
};
const texts = pattern => minimatch.braceExpand(parse(pattern).rest);
const names = pattern => texts(pattern).flatMap(text => text.split('/'));

const faults = [
	// A slash at either end and "./" never match a relative path; in stet they have a meaning.
	pattern => texts(pattern).some(text => /^\/|\/$/.test(text)),
	pattern => names(pattern).some(name => name === '.'),
	// `*\.c` and `?\.c` are compared with the backslash in them.
	pattern => names(pattern).some(name => /^(\*+|\?+)[^+@!?*[(]*\\/.test(name)),
	// Braces take away backslashes that belong to the rest of the pattern.
	pattern => /\\/.test(pattern) && /\{.*\}/.test(pattern),
	// `{a},b}` is written out as bash does it, which is a quirk of bash.
	pattern => /\{[^,]*\}[^{]*,.*\}/.test(pattern),
	// `!(a|)` and `!(a@(b))` are taken for `!()`.
	pattern => /!\((.*[|)])?\)/.test(pattern),
	// Of `!(a)*` and `!(*)b` the star stands for one character at least, so that the first matches "a".
	pattern => names(pattern).some(name => /!\(/.test(name) && /[(|)]\*+($|[|)])/.test(name)),
	// Behind `!(a)` at the start, `@(b|)` and `@(b|?(c))` at the end do not match nothing.
	pattern => names(pattern).some(name => /^!\(.*\)[*+@?]\(.*([?*]\(|\|\||\(\||\|\)).*\)$/.test(name)),
	// `@()` stands for itself where it is a whole name.
	pattern => /[?*+@]\(\|*\)/.test(pattern),
];

// "-" besides `[[:alpha:]]` makes an expression that JavaScript refuses.
const match = (name, pattern) => {
	try {
		const {negated, rest} = parse(pattern);
		return minimatch(name, rest, options) !== negated;
	} catch (error) {
		if (error instanceof SyntaxError)
			return;
		throw error;
	}
};

const out = [];
for (const line of readFileSync(process.argv[2], 'utf8').split('\n').filter(Boolean)) {
	const [pattern, ...names] = JSON.parse(line);
	const known = faults.some(fault => fault(pattern)) || match('a', pattern) === undefined;
	out.push(known ? '-' : names.map(name => +match(name, pattern)).join(''));
}
process.stdout.write(out.join('\n') + '\n');
