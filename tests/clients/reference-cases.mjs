// Calls for reference.mjs. A case has a name, files, calls, and the rules by which stet may do otherwise. In
// paths "@" is the directory of the case in the first root, "%" in the second, "$" its name, "&" above both.

// ---- the rules ----
//
// A rule holds or does not: what stet answered last, what the reference server did, the files of both, and
// the case. What stet refuses, it leaves as it was.

const refuses = (pattern) => (ours, theirs, trees) => ours.failed && JSON.stringify(trees.ours) === JSON.stringify(trees.before) && pattern.test(ours.text);
const asExpected = (ours, theirs, trees, { after }) => !ours.failed && Object.entries(after).every(([name, bytes]) => trees.ours[name]?.replace(/^\d+ /, '') === bytes);
const finds = (ours, theirs, trees, { found }) => !ours.failed && ours.text.split('\n').sort().join() === found.join();
const sorted = (text) => text.split('\n').sort().join('\n');
const paths = (list, above = '') => list.flatMap((item) => [above + item.name, ...paths(item.children ?? [], `${above}${item.name}/`)]);

export const rules = {
	// ---- other than the reference server does, or more ----
	'head and tail give whole lines, as they are in the file': (ours, theirs, trees, { lines }) => ours.text === lines,
	'line ends and bytes outside of an edit stay as they are': asExpected,
	'indentation that is shifted as a whole is kept': asExpected,
	'what is missing is made': asExpected,
	'a long file comes in pages, which say how to go on': (ours, theirs) => theirs.text.startsWith(ours.text) && /Continue with offset/.test(ours.remark),
	'a large tree shows the upper levels first, and says so': (ours) => !ours.failed && /are shown\. Call again/.test(ours.remark),
	'what git ignores is left out, and counted': (ours) => !ours.failed && /Left out as ignored/.test(ours.remark),
	'a part of a name is found, in any case': finds,
	'a pattern without a slash is looked for at any depth': finds,
	'a pattern means what minimatch says, not what it does': finds,
	'a pattern is one for every depth': (ours, theirs, trees, { gone }) => {
		const [here, there] = [ours, theirs].map((answer) => paths(JSON.parse(answer.text)).sort());
		return there.filter((name) => !gone.includes(name)).join() === here.join();
	},
	'a relative path is looked for in every directory': (ours, theirs, trees, test) => !ours.failed && (!test.after || asExpected(ours, theirs, trees, test)),
	'a directory that is not named is the first one': (ours, theirs) => !ours.failed && theirs.failed,
	'a name that could deceive is quoted': (ours, theirs) => sorted(ours.text.replace(/"(?:[^"\\]|\\.)*"$/gm, (name) => JSON.parse(name))) === sorted(theirs.text),
	'a link is moved itself, not what it leads to': (ours, theirs, trees, { calls }) => {
		const name = calls[0][1].source.replace('@', 'one'), { [name]: moved, ...rest } = trees.before;
		return !ours.failed && moved.startsWith('link ') && Object.entries({ ...rest, 'one/moved': moved }).every(([at, value]) => trees.ours[at] === value);
	},
	'links that lead out or nowhere are found, too': (ours, theirs) => theirs.text.split('\n').every((name) => ours.text.split('\n').includes(name)),
	// ---- less, for safety ----
	'an unread file is not overwritten': refuses(/you have not read all of its current version/),
	'a text that is there twice is not guessed at': refuses(/2 times|more than once|other occurrences|places/),
	'blanks that differ are not guessed at': refuses(/not found in the file\. Nearest/),
	'an empty old text is none': refuses(/empty|edits/i),
	'an empty path names nothing': refuses(/is empty/),
	'git and stet are protected': refuses(/belongs to git or to stet|protected/),
	'an argument that a writing tool does not have is refused': refuses(/argument/),
	'a binary file is no text': refuses(/binary/),
};

// ---- the cases ----

export const cases = [];
const add = (name, files, calls, options = {}) => cases.push({ name, files, calls: Array.isArray(calls[0]) ? calls : [calls], rules: [], ...options });

const split = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
const texts = {
	'an empty file': '',
	'one line': 'one\n',
	'a line without an end': 'one',
	'three lines': 'one\ntwo\nthree\n',
	'three lines, the last without an end': 'one\ntwo\nthree',
	'blank lines': '\n\none\n\n\n',
	'CRLF lines': 'one\r\ntwo\r\nthree\r\n',
	'mixed line ends': 'one\r\ntwo\nthree\r\n',
	'letters beyond ASCII': 'café\nñandú\n日本語\n😀\n',
	'long lines': `${'x'.repeat(1500)}\n${'y'.repeat(1500)}\n${'z'.repeat(10)}\n`,
	'fifty lines': Array.from({ length: 50 }, (_, n) => `line ${n + 1}\n`).join(''),
	'lines of three kilobytes': Array.from({ length: 4 }, (_, n) => `${n}${'é'.repeat(1300)}\n`).join(''),
	'tabs and blanks': '\tone\n  two  \n \t three\t\n',
	'a byte order mark': '\ufeffone\ntwo\n',
};
const whole = 'head and tail give whole lines, as they are in the file';
for (const [what, text] of Object.entries(texts)) {
	const all = split(text);
	add(`read_text_file: ${what}`, { '@/a.txt': text }, ['read_text_file', { path: '@/a.txt' }]);
	for (const n of [0, 1, 2, 3, 5, 100]) {
		const head = n ? all.slice(0, n).join('') : text, tail = n ? all.slice(-n).join('') : text;
		add(`read_text_file: the first ${n} of ${what}`, { '@/a.txt': text }, ['read_text_file', { path: '@/a.txt', head: n }], { rules: [whole], lines: head });
		add(`read_text_file: the last ${n} of ${what}`, { '@/a.txt': text }, ['read_text_file', { path: '@/a.txt', tail: n }], { rules: [whole], lines: tail });
	}
	add(`read_file: ${what}`, { '@/a.txt': text }, ['read_file', { path: '@/a.txt' }]);
}
add('read_text_file: head and tail at once', { '@/a.txt': 'one\n' }, ['read_text_file', { path: '@/a.txt', head: 1, tail: 1 }]);
add('read_text_file: head as a string', { '@/a.txt': 'one\n' }, ['read_text_file', { path: '@/a.txt', head: '1' }]);
add('read_text_file: a file of 100 KB', { '@/a.txt': 'a line of thirty bytes, or so..\n'.repeat(3200) }, ['read_text_file', { path: '@/a.txt' }], { rules: ['a long file comes in pages, which say how to go on'] });
add('read_text_file: without a path', {}, ['read_text_file', {}]);
add('read_text_file: a number for a path', {}, ['read_text_file', { path: 7 }]);
add('read_text_file: an argument that it does not have', { '@/a.txt': 'one\n' }, ['read_text_file', { path: '@/a.txt', encoding: 'utf-8', foo: 1 }]);
add('read_text_file: bytes that are not UTF-8', { '@/a.txt': Buffer.from([0x61, 0xff, 0xfe, 0x0a]) }, ['read_text_file', { path: '@/a.txt' }]);
add('read_text_file: a NUL byte', { '@/a.txt': Buffer.from([0x61, 0, 0x62, 0x0a]) }, ['read_text_file', { path: '@/a.txt' }], { rules: ['a binary file is no text'] });

// ---- paths ----

const names = ['a.txt', 'my file.txt', "it's.txt", 'a"b.txt', '  led by blanks.txt', 'ends in a blank ', 'café.txt', 'e\u0301.txt', '日本語.txt', '😀.txt', '100%.txt', 'a%20b.txt', '#a.txt', 'a?b.txt', 'a*b.txt', '[a].txt', '{a,b}.txt', '(a).txt', 'a;b.txt', '-a.txt', 'a\\b.txt', '~a.txt', '.hidden', '..a', 'a..b', 'a&b.txt', '$a.txt', '\u00a0.txt', 'x'.repeat(200)];
for (const name of names) {
	// These stand for something else in a case.
	if (/[@%$&]/.test(name))
		continue;
	const file = `@/${name}`, shown = JSON.stringify(name);
	add(`a file named ${shown} is read`, { [file]: 'text\n' }, ['read_text_file', { path: file }]);
	add(`a file named ${shown} is written, and edited`, { '@/x': '' }, [['write_file', { path: file, content: 'one\n' }], ['edit_file', { path: file, edits: [{ oldText: 'one', newText: 'two' }] }]]);
	add(`a file named ${shown} is listed`, { [file]: 'text\n' }, ['list_directory', { path: '@' }], { rules: ['a name that could deceive is quoted'] });
	add(`a file named ${shown} is in the tree`, { [file]: 'text\n' }, ['directory_tree', { path: '@' }]);
	add(`a file named ${shown} is found`, { [file]: 'text\n' }, ['search_files', { path: '@', pattern: '**' }], { rules: ['a name that could deceive is quoted'] });
	add(`a file named ${shown} is moved`, { [file]: 'text\n' }, ['move_file', { source: file, destination: '@/moved' }]);
	add(`a file named ${shown} has information`, { [file]: 'text\n' }, ['get_file_info', { path: file }]);
}

const tree = { '@/a.txt': 'a\n', '@/sub/b.txt': 'b\n', '@/sub/deep/c.txt': 'c\n', '%/t.txt': 't\n', '@/empty': null };
const spelled = {
	'a relative path': '$/a.txt',
	'a relative path below': '$/sub/b.txt',
	'a relative path of the second directory': '$/t.txt',
	'a slash at the end of a file': '@/a.txt/',
	'dots': '@/./a.txt',
	'dots that go up': '@/sub/../a.txt',
	'dots that go up from what is not there': '@/nope/../a.txt',
	'dots that go up from a file': '@/a.txt/../a.txt',
	'double slashes': '@//a.txt',
	'from one directory into the other': '@/../../two/$/t.txt',
	'out of the directories': '@/../../../etc/passwd',
	'an absolute path elsewhere': '/etc/passwd',
	'the directory above both': '&',
	'a name that begins as the directory does': '&/one-more/a.txt',
	'a missing file': '@/nope.txt',
	'a missing directory': '@/nope/a.txt',
	'a directory': '@/sub',
	'nothing': '',
	'a dot': '.',
	'a NUL byte': '@/a.txt\u0000',
	'a path of Windows': 'C:\\Users\\a.txt',
	'the home directory': `~/one/$/a.txt`,
	'quotes around it': '"@/a.txt"',
	'a blank before it': ' @/a.txt',
	'a very long name': `@/${'x'.repeat(300)}`,
	'a very long path': `@/${'x/'.repeat(3000)}`,
};
for (const [what, text] of Object.entries(spelled)) {
	const second = what.includes('second');
	const rules = [second ? 'a relative path is looked for in every directory' : 'an empty path names nothing'];
	add(`read_text_file: ${what}`, tree, ['read_text_file', { path: text }], { rules });
	add(`get_file_info: ${what}`, tree, ['get_file_info', { path: text }], { rules });
	add(`list_directory: ${what}`, tree, ['list_directory', { path: text }], { rules });
	add(`directory_tree: ${what}`, tree, ['directory_tree', { path: text }], { rules: [...rules, 'a large tree shows the upper levels first, and says so'] });
	add(`write_file: ${what}`, tree, [['read_text_file', { path: text }], ['write_file', { path: text, content: 'new\n' }]], {
		rules: what === 'a missing directory' ? ['what is missing is made'] : rules,
		after: second ? { 'two/t.txt': 'new\n' } : what === 'a missing directory' ? { 'one/nope/a.txt': 'new\n' } : undefined,
	});
	add(`edit_file: ${what}`, tree, ['edit_file', { path: text, edits: [{ oldText: 'a', newText: 'b' }] }], { rules });
	add(`move_file from: ${what}`, tree, ['move_file', { source: text, destination: '@/moved' }], { rules });
}
// The twin of a name, its accents written otherwise.
add('a name in NFD is found by NFC', { '@/cafe\u0301.txt': 'text\n' }, ['read_text_file', { path: '@/caf\u00e9.txt' }]);
add('a name in NFC is found by NFD', { '@/caf\u00e9.txt': 'text\n' }, ['read_text_file', { path: '@/cafe\u0301.txt' }]);
add('a directory in NFD is found by NFC', { '@/cafe\u0301/a.txt': 'text\n' }, ['read_text_file', { path: '@/caf\u00e9/a.txt' }]);
add('a file below a name in NFD is edited', { '@/cafe\u0301/a.txt': 'text\n' }, ['edit_file', { path: '@/caf\u00e9/a.txt', edits: [{ oldText: 'text', newText: 'new' }] }]);
add('of both forms each is itself', { '@/cafe\u0301.txt': 'd\n', '@/caf\u00e9.txt': 'c\n' }, [['read_text_file', { path: '@/caf\u00e9.txt' }], ['read_text_file', { path: '@/cafe\u0301.txt' }]]);

// ---- links ----

const links = { ...tree, '@/file': { link: '@/a.txt' }, '@/relative': { link: 'a.txt' }, '@/dir': { link: '@/sub' }, '@/other': { link: '%' }, '@/out': { link: '/etc/passwd' }, '@/outdir': { link: '/etc' }, '@/dangling': { link: '@/nope' }, '@/loop': { link: '@/loop' }, '@/chain': { link: '@/file' } };
for (const name of ['file', 'relative', 'chain', 'dir/b.txt', 'dir/deep/c.txt', 'other/t.txt', 'out', 'outdir/passwd', 'dangling', 'loop', 'dir']) {
	add(`a link is read: ${name}`, links, ['read_text_file', { path: `@/${name}` }]);
	add(`a link is edited: ${name}`, links, ['edit_file', { path: `@/${name}`, edits: [{ oldText: name.endsWith('b.txt') ? 'b' : name.endsWith('c.txt') ? 'c' : name.endsWith('t.txt') ? 't' : 'a', newText: 'new' }] }]);
	add(`a link is written through: ${name}`, links, [['read_text_file', { path: `@/${name}` }], ['write_file', { path: `@/${name}`, content: 'new\n' }]], { rules: ['what is missing is made'], after: { 'one/nope': 'new\n' } });
	add(`a link has information: ${name}`, links, ['get_file_info', { path: `@/${name}` }]);
	add(`a link is listed: ${name}`, links, ['list_directory', { path: `@/${name}` }]);
	add(`a link is moved: ${name}`, links, ['move_file', { source: `@/${name}`, destination: '@/moved' }], { rules: ['a link is moved itself, not what it leads to'] });
}
add('links are listed', links, ['list_directory', { path: '@' }]);
add('links are in the tree', links, ['directory_tree', { path: '@' }]);
add('links are found', links, ['search_files', { path: '@', pattern: '**' }], { rules: ['links that lead out or nowhere are found, too'] });

// ---- several files ----

add('read_multiple_files: two', tree, ['read_multiple_files', { paths: ['@/a.txt', '@/sub/b.txt'] }]);
add('read_multiple_files: of both directories', tree, ['read_multiple_files', { paths: ['@/a.txt', '%/t.txt'] }]);
add('read_multiple_files: relative ones', tree, ['read_multiple_files', { paths: ['$/a.txt', '$/t.txt'] }], { rules: ['a relative path is looked for in every directory'] });
add('read_multiple_files: the same twice', tree, ['read_multiple_files', { paths: ['@/a.txt', '@/a.txt'] }]);
add('read_multiple_files: an empty one', { ...tree, '@/e.txt': '' }, ['read_multiple_files', { paths: ['@/e.txt', '@/a.txt'] }]);
add('read_multiple_files: one without a line end', { '@/a.txt': 'a', '@/b.txt': 'b' }, ['read_multiple_files', { paths: ['@/a.txt', '@/b.txt'] }]);
add('read_multiple_files: none', tree, ['read_multiple_files', { paths: [] }]);
add('read_multiple_files: not a list', tree, ['read_multiple_files', { paths: '@/a.txt' }]);
const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`@/f${n}.txt`, `${n}\n`]));
add('read_multiple_files: 101 of them', many, ['read_multiple_files', { paths: Object.keys(many) }]);

// ---- writing ----

const unread = 'an unread file is not overwritten';
for (const [what, text] of Object.entries(texts)) {
	add(`write_file: a new file of ${what}`, {}, ['write_file', { path: '@/new.txt', content: text }]);
	add(`write_file: over a read file, ${what}`, { '@/a.txt': 'old\n' }, [['read_text_file', { path: '@/a.txt' }], ['write_file', { path: '@/a.txt', content: text }]]);
}
add('write_file: over an unread file', { '@/a.txt': 'old\n' }, ['write_file', { path: '@/a.txt', content: 'new\n' }], { rules: [unread] });
add('write_file: over an unread empty file', { '@/a.txt': '' }, ['write_file', { path: '@/a.txt', content: 'new\n' }]);
add('write_file: over an unread file, with the same bytes', { '@/a.txt': 'old\n' }, ['write_file', { path: '@/a.txt', content: 'old\n' }]);
add('write_file: over a directory', { '@/d': null }, ['write_file', { path: '@/d', content: 'new\n' }]);
add('write_file: in a missing directory', {}, ['write_file', { path: '@/no/a.txt', content: 'new\n' }], { rules: ['what is missing is made'], after: { 'one/no/a.txt': 'new\n' } });
add('write_file: the mode stays', { '@/a.sh': { text: 'old\n', mode: 0o755 } }, [['read_text_file', { path: '@/a.sh' }], ['write_file', { path: '@/a.sh', content: 'new\n' }]]);
add('write_file: what was just written', {}, [['write_file', { path: '@/a.txt', content: 'one\n' }], ['write_file', { path: '@/a.txt', content: 'two\n' }]]);
add('write_file: in the second directory', {}, ['write_file', { path: '%/a.txt', content: 'new\n' }]);
add('write_file: without content', {}, ['write_file', { path: '@/a.txt' }]);
add('write_file: a number as content', {}, ['write_file', { path: '@/a.txt', content: 7 }]);
add('write_file: an argument that it does not have', {}, ['write_file', { path: '@/a.txt', content: 'new\n', append: true }], { rules: ['an argument that a writing tool does not have is refused'] });
add('write_file: a hint of the model', {}, ['write_file', { path: '@/a.txt', content: 'new\n', explanation: 'because' }]);

// ---- editing ----

const bytes = 'line ends and bytes outside of an edit stay as they are';
const loose = 'blanks that differ are not guessed at';
const edit = (name, text, edits, options) => add(`edit_file: ${name}`, { '@/a.txt': text }, ['edit_file', { path: '@/a.txt', edits: edits.map(([oldText, newText]) => ({ oldText, newText })) }], options);
edit('a word', 'one two\n', [['two', '2']]);
edit('a line', 'one\ntwo\nthree\n', [['two\n', '2\n']]);
edit('several lines', 'one\ntwo\nthree\n', [['one\ntwo', '1\n2']]);
edit('to nothing', 'one\ntwo\n', [['two\n', '']]);
edit('all of it', 'one\n', [['one\n', 'two\n']]);
edit('the last line without an end', 'one\ntwo', [['two', '2']]);
edit('two edits', 'one\ntwo\nthree\n', [['one', '1'], ['three', '3']]);
edit('the second edits the first', 'one\n', [['one', 'two'], ['two', 'three']]);
edit('one of two is not there', 'one\ntwo\n', [['one', '1'], ['nope', 'x']]);
edit('a text that is not there', 'one\n', [['two', '2']]);
edit('dollars are letters', 'price\n', [['price', '$& $1 $$']]);
edit('a backslash is a letter', 'a\n', [['a', '\\n\\t']]);
edit('the same text again', 'one\n', [['one', 'one']]);
edit('a text that is there twice', 'one\none\n', [['one', '1']], { rules: ['a text that is there twice is not guessed at'] });
edit('an empty old text', 'one\n', [['', 'x']], { rules: ['an empty old text is none'] });
edit('no edits', 'one\n', [], { rules: ['an empty old text is none'] });
edit('a CRLF file by LF text', 'one\r\ntwo\r\nthree\r\n', [['one\ntwo', '1\n2']], { rules: [bytes], after: { 'one/a.txt': '1\r\n2\r\nthree\r\n' } });
edit('a word of a CRLF file', 'one\r\ntwo\r\n', [['two', '2']], { rules: [bytes], after: { 'one/a.txt': 'one\r\n2\r\n' } });
edit('a CRLF file by CRLF text', 'one\r\ntwo\r\n', [['one\r\ntwo', '1\r\n2']], { rules: [bytes], after: { 'one/a.txt': '1\r\n2\r\n' } });
edit('a file of mixed line ends', 'one\r\ntwo\nthree\r\n', [['two', '2']], { rules: [bytes], after: { 'one/a.txt': 'one\r\n2\nthree\r\n' } });
edit('an LF file by CRLF text', 'one\ntwo\n', [['one\r\ntwo', '1\r\n2']], { rules: [bytes], after: { 'one/a.txt': '1\n2\n' } });
edit('bytes that are not UTF-8 elsewhere', Buffer.from([0x61, 0xff, 0x0a, 0x62, 0x0a]), [['b', 'c']], { rules: [bytes], after: { 'one/a.txt': 'a\xff\nc\n' } });
edit('a byte order mark', '\ufeffone\ntwo\n', [['two', '2']]);
edit('letters beyond ASCII', 'café\n日本\n', [['日本', '東京']]);
edit('blank lines', 'a\n\n\nb\n', [['a\n\n\nb', 'c']]);
// Blanks: what is shifted as a whole is taken, with the new text shifted alike.
const shifted = 'indentation that is shifted as a whole is kept';
edit('less indentation, one line', '    one\n    two\n', [['one', '1']]);
edit('all lines less indented', 'if:\n    one\n    two\n', [['one\ntwo', '1\n2']], { rules: [shifted], after: { 'one/a.txt': 'if:\n    1\n    2\n' } });
edit('all lines more indented', 'if:\n  one\n  two\n', [['      one\n      two', '      1\n      2']], { rules: [shifted], after: { 'one/a.txt': 'if:\n  1\n  2\n' } });
edit('a block less indented, with depth', 'x\n    if:\n      a\n      b\n', [['if:\n  a\n  b', 'if:\n  c\n  d']], { rules: [shifted], after: { 'one/a.txt': 'x\n    if:\n      c\n      d\n' } });
edit('a block, the new one longer', '  a\n  b\n', [['a\nb', 'a\nb\nc']], { rules: [shifted], after: { 'one/a.txt': '  a\n  b\n  c\n' } });
edit('a tab for blanks', '\tone\n\ttwo\n', [['    one\n    two', '    1\n    2']], { rules: [loose] });
edit('blanks at the end of a line', 'one  \ntwo\n', [['one\ntwo', '1\n2']], { rules: [loose] });
edit('blanks at the end of the old text', 'one\ntwo\n', [['one  \ntwo', '1\n2']], { rules: [loose] });
edit('different depths', '  one\n    two\n', [['one\n  two\n', '1\n  2\n']], { rules: [shifted, loose], after: { 'one/a.txt': '  1\n    2\n' } });
edit('depths of another kind', '  one\n      two\n', [['one\n  two', '1\n  2']], { rules: [loose] });
edit('case', 'One\n', [['one', '1']]);
const editing = (name, files, args, options) => add(`edit_file: ${name}`, files, ['edit_file', args], options);
editing('a dry run', { '@/a.txt': 'one\n' }, { path: '@/a.txt', edits: [{ oldText: 'one', newText: '1' }], dryRun: true });
editing('a dry run that fails', { '@/a.txt': 'one\n' }, { path: '@/a.txt', edits: [{ oldText: 'two', newText: '2' }], dryRun: true });
editing('a missing file', {}, { path: '@/a.txt', edits: [{ oldText: 'one', newText: '1' }] });
editing('without edits', { '@/a.txt': 'one\n' }, { path: '@/a.txt' });
editing('edits as a text', { '@/a.txt': 'one\n' }, { path: '@/a.txt', edits: 'x' });
editing('the mode stays', { '@/a.sh': { text: 'one\n', mode: 0o750 } }, { path: '@/a.sh', edits: [{ oldText: 'one', newText: '1' }] });
editing('a file that may not be written', { '@/a.txt': { text: 'one\n', mode: 0o444 } }, { path: '@/a.txt', edits: [{ oldText: 'one', newText: '1' }] });
editing('a file with another name', { '@/a.txt': 'one\n', '@/b.txt': { hard: '@/a.txt' } }, { path: '@/a.txt', edits: [{ oldText: 'one', newText: '1' }] }, { rules: [bytes], after: { 'one/a.txt': '1\n', 'one/b.txt': '1\n' } });
add('edit_file: after a read', { '@/a.txt': 'one\ntwo\n' }, [['read_text_file', { path: '@/a.txt' }], ['edit_file', { path: '@/a.txt', edits: [{ oldText: 'two', newText: '2' }] }], ['read_text_file', { path: '@/a.txt' }]]);

// ---- directories ----

add('create_directory: one', {}, ['create_directory', { path: '@/new' }]);
add('create_directory: several', {}, ['create_directory', { path: '@/a/b/c' }]);
add('create_directory: one that exists', { '@/d': null }, ['create_directory', { path: '@/d' }]);
add('create_directory: over a file', { '@/d': 'x' }, ['create_directory', { path: '@/d' }]);
add('create_directory: below a file', { '@/d': 'x' }, ['create_directory', { path: '@/d/e' }]);
add('create_directory: outside', {}, ['create_directory', { path: '&/elsewhere' }]);
add('create_directory: relative', {}, ['create_directory', { path: '$/rel' }]);
add('create_directory: with a slash', {}, ['create_directory', { path: '@/new/' }]);
for (const tool of ['list_directory', 'list_directory_with_sizes', 'directory_tree']) {
	add(`${tool}: a tree`, tree, [tool, { path: '@' }]);
	add(`${tool}: an empty directory`, tree, [tool, { path: '@/empty' }]);
	add(`${tool}: a slash at the end`, tree, [tool, { path: '@/sub/' }]);
	add(`${tool}: the second directory`, tree, [tool, { path: '%' }]);
	add(`${tool}: a missing one`, tree, [tool, { path: '@/nope' }]);
	add(`${tool}: hidden files`, { '@/.a': '', '@/.b/c': '' }, [tool, { path: '@' }]);
	add(`${tool}: without a path`, tree, [tool, {}], { rules: ['a directory that is not named is the first one'] });
}
add('list_directory: a root', { '@/.keep': '' }, ['list_directory', { path: '%' }]);
const sized = { '@/a': 'x'.repeat(10), '@/b': 'x'.repeat(2000), '@/c': 'x'.repeat(1_500_000), '@/d': '', '@/e': 'x'.repeat(1024), '@/sub/f': 'x' };
add('list_directory_with_sizes: sizes', sized, ['list_directory_with_sizes', { path: '@' }]);
add('list_directory_with_sizes: by size', sized, ['list_directory_with_sizes', { path: '@', sortBy: 'size' }]);
add('list_directory_with_sizes: by name', sized, ['list_directory_with_sizes', { path: '@', sortBy: 'name' }]);
add('list_directory_with_sizes: by something else', sized, ['list_directory_with_sizes', { path: '@', sortBy: 'date' }]);
const project = { '@/a.c': '', '@/b.h': '', '@/README.md': '', '@/src/main.c': '', '@/src/ui/b.c': '', '@/src/ui/b.test.c': '', '@/src/x.log': '', '@/docs/a.md': '' };
const below = (...list) => list.map((name) => `&/one/$/${name}`);
for (const [pattern, ...gone] of [['*.c', 'src/main.c', 'src/ui/b.c', 'src/ui/b.test.c'], ['**/*.c'], ['src'], ['src/**'], ['**/ui'], ['*.{c,h}', 'src/main.c', 'src/ui/b.c', 'src/ui/b.test.c'], ['src/*.log'], ['ui'], ['src/!(ui)'], ['+(docs|src)'], ['nothing'], ['*'], ['**']])
	add(`directory_tree: without ${pattern}`, project, ['directory_tree', { path: '@', excludePatterns: [pattern] }], gone.length ? { rules: ['a pattern is one for every depth'], gone } : {});
for (const [pattern, rule, ...found] of [
	['**/*.c'], ['src/*.c'], ['src/**/*.c'], ['**/b.*'], ['**/*.{md,h}'], ['**'], ['src/ui/b.c'], ['**/@(a|b).c'], ['**/!(*.c)'], ['**/+([a-z]).c'], ['**/?(a|x).c'], ['src/*(m|a|i|n).c'], ['**/[a-m]*.c'], ['**/*.test.c'], ['s*/**/m*.c'], ['nothing/**'], ['**/ui/**'], ['docs/*'],
	['*.c', 'depth', 'a.c', 'src/main.c', 'src/ui/b.c', 'src/ui/b.test.c'],
	['*.md', 'depth', 'README.md', 'docs/a.md'],
	['!(*.c)', 'meaning', 'README.md', 'b.h', 'docs', 'docs/a.md', 'src', 'src/ui', 'src/x.log'],
	['main', 'part', 'src/main.c'],
	['readme', 'part', 'README.md'],
	['a.c', 'part', 'a.c'],
]) {
	const rule_ = { depth: 'a pattern without a slash is looked for at any depth', meaning: 'a pattern means what minimatch says, not what it does', part: 'a part of a name is found, in any case' }[rule];
	add(`search_files: ${pattern}`, project, ['search_files', { path: '@', pattern }], rule_ ? { rules: [rule_], found: below(...found).sort() } : {});
}
for (const exclude of ['**/*.test.c', 'src', 'src/**', '**/ui', '**/ui/**'])
	add(`search_files: **/*.c without ${exclude}`, project, ['search_files', { path: '@', pattern: '**/*.c', excludePatterns: [exclude] }]);
add('search_files: in a missing directory', project, ['search_files', { path: '@/nope', pattern: '**' }]);
add('search_files: relative', project, ['search_files', { path: '$/src', pattern: '**/*.c' }]);
add('search_files: without a pattern', project, ['search_files', { path: '@' }]);
add('directory_tree: what git ignores', { '@/.gitignore': '*.o\n', '@/a.o': '', '@/a.c': '', '@/node_modules/x.js': '' }, ['directory_tree', { path: '@' }], { rules: ['what git ignores is left out, and counted'] });
add('search_files: what git ignores', { '@/.gitignore': '*.o\n', '@/a.o': '', '@/a.c': '' }, ['search_files', { path: '@', pattern: '**' }], { rules: ['what git ignores is left out, and counted'] });
add('list_directory: what git ignores', { '@/.gitignore': '*.o\n', '@/a.o': '', '@/a.c': '' }, ['list_directory', { path: '@' }]);

// ---- moving ----

const move = (name, files, source, destination, options) => add(`move_file: ${name}`, files, ['move_file', { source, destination }], options);
move('a file', tree, '@/a.txt', '@/b.txt');
move('into a directory', tree, '@/a.txt', '@/sub/a.txt');
move('a directory', tree, '@/sub', '@/other');
move('an empty directory', tree, '@/empty', '@/other');
move('to the second directory', tree, '@/a.txt', '%/a.txt');
move('from the second directory', tree, '%/t.txt', '@/t.txt');
move('a directory to the second one', tree, '@/sub', '%/sub');
move('over a file', tree, '@/a.txt', '@/sub/b.txt');
move('over a directory', tree, '@/a.txt', '@/sub');
move('over itself', tree, '@/a.txt', '@/a.txt');
move('what is missing', tree, '@/nope', '@/other');
move('into a missing directory', tree, '@/a.txt', '@/nope/a.txt', { rules: ['what is missing is made'], after: { 'one/nope/a.txt': 'a\n' } });
move('into itself', tree, '@/sub', '@/sub/deep/sub');
move('out of the directories', tree, '@/a.txt', '&/a.txt');
move('from outside', tree, '/etc/passwd', '@/passwd');
move('relative ones', tree, '$/a.txt', '$/b.txt');
move('a slash at the end', tree, '@/sub/', '@/other/');
move('another case', tree, '@/a.txt', '@/A.TXT');
add('move_file: there and back', tree, [['move_file', { source: '@/a.txt', destination: '@/b.txt' }], ['move_file', { source: '@/b.txt', destination: '@/a.txt' }]]);
add('move_file: then read', tree, [['move_file', { source: '@/a.txt', destination: '@/b.txt' }], ['read_text_file', { path: '@/b.txt' }]]);
add('move_file: read, then written', tree, [['read_text_file', { path: '@/a.txt' }], ['move_file', { source: '@/a.txt', destination: '@/b.txt' }], ['write_file', { path: '@/b.txt', content: 'new\n' }]]);

// ---- information ----

add('get_file_info: a file', { '@/a.txt': 'text\n' }, ['get_file_info', { path: '@/a.txt' }]);
add('get_file_info: a directory', tree, ['get_file_info', { path: '@/sub' }]);
add('get_file_info: an empty file', { '@/a.txt': '' }, ['get_file_info', { path: '@/a.txt' }]);
add('get_file_info: a mode', { '@/a.sh': { text: 'x', mode: 0o751 } }, ['get_file_info', { path: '@/a.sh' }]);
add('get_file_info: a large file', { '@/a': 'x'.repeat(3_000_000) }, ['get_file_info', { path: '@/a' }]);
add('list_allowed_directories', {}, ['list_allowed_directories', {}]);

// ---- media ----

for (const ending of ['png', 'jpg', 'JPEG', 'gif', 'webp', 'bmp', 'svg', 'mp3', 'wav', 'ogg', 'flac', 'bin', 'txt', 'unknown'])
	add(`read_media_file: .${ending}`, { [`@/a.${ending}`]: Buffer.from([0x89, 0x50, 0x00, 0xff]) }, ['read_media_file', { path: `@/a.${ending}` }]);
add('read_media_file: a name with blanks and accents', { '@/my café.bin': Buffer.from([1, 2]) }, ['read_media_file', { path: '@/my café.bin' }]);
add('read_media_file: an empty file', { '@/a.png': '' }, ['read_media_file', { path: '@/a.png' }]);
add('read_media_file: a directory', { '@/a.png': null }, ['read_media_file', { path: '@/a.png' }]);
add('read_media_file: a missing file', {}, ['read_media_file', { path: '@/a.png' }]);

// ---- the rest ----

add('an unknown tool', {}, ['no_such_tool', {}]);
add('git is protected', { '@/.git/config': 'x\n' }, [['read_text_file', { path: '@/.git/config' }], ['write_file', { path: '@/.git/config', content: 'y\n' }]], { rules: ['git and stet are protected'] });
