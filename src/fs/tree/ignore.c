#include "fs/tree/ignore.h"

#include "base/arena.h"
#include "base/cancel.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* The most memory that one node's rules may take. */
#define NODE_LIMIT ((size_t)64 << 20)

/* A set of bytes, one bit each. */
struct set {
	uint64_t bits[4];
};

/* A pattern is a sequence of tokens. ANY and SET never match a slash. */
enum kind {
	/* This byte. */
	BYTE,
	/* `?`: any one byte. */
	ANY,
	/* `[...]`: one byte of a set. */
	SET,
	/* Matches nothing: a bracket that is not closed, a backslash at the end. */
	NEVER,
	/* `*`: a run of bytes without a slash. */
	STAR,
	/* `**` at the end: any run of bytes. */
	DEEP,
	/* `**` and a slash: nothing, or any run of bytes that ends in a slash. */
	DEEP_DIRS,
};

struct token {
	enum kind kind;
	unsigned char byte;
	const struct set *set;
};

/* A rule: literal text, then tokens. Most rules have only one of the two. */
struct rule {
	enum {
		/* The last component is the text. */
		NAME,
		/* The last component ends in the text (`*.o`; the star is not a token). */
		SUFFIX,
		/* The last component begins with the text, and the rest matches the tokens. */
		GLOB,
		/* The path below the node's directory begins with the text, and the rest matches. */
		PATH,
	} where;
	bool negated;
	bool dirs_only;
	struct st_str text;
	const struct token *tokens;
	size_t count;
	struct st_str source;
	size_t line;
	/* The previous rule in this rule's chain, counted from 1; 0 for none. */
	uint32_t before;
};

/* The chain of the rules that do not fix the last byte of a name. */
#define ANY_END 256

struct st_ignore {
	atomic_uint owners;
	struct st_ignore *parent;
	struct st_str dir;
	struct rule *rules;
	size_t count;
	/*
	 * The last rule, counted from 1, for each last byte of the names that it
	 * matches: of a hundred rules only two or three are tried for most names.
	 */
	uint32_t chains[ANY_END + 1];
	/* Holds the rules and their text. */
	struct st_arena arena;
};

static void set_add(struct set *set, unsigned char byte) {
	set->bits[byte >> 6] |= (uint64_t)1 << (byte & 63);
}

static bool set_has(const struct set *set, unsigned char byte) {
	return set->bits[byte >> 6] >> (byte & 63) & 1;
}

static void set_add_range(struct set *set, unsigned first, unsigned last) {
	for (unsigned byte = first; byte <= last; byte++)
		set_add(set, (unsigned char)byte);
}

/* The named classes, in ASCII as in git: [:space:] has no vertical tab or form feed. */
static bool set_add_class(struct set *set, struct st_str name) {
	static const struct {
		const char *name;
		const char *ranges;
	} classes[] = {
		{"alnum", "09AZaz"},   {"alpha", "AZaz"},
		{"blank", "\t\t  "},   {"cntrl", "\x01\x1F\x7F\x7F"},
		{"digit", "09"},       {"graph", "!~"},
		{"lower", "az"},       {"print", " ~"},
		{"punct", "!/:@[`{~"}, {"space", "\t\n\r\r  "},
		{"upper", "AZ"},       {"xdigit", "09AFaf"},
	};
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		if (!st_str_eq(st_str(classes[i].name), name))
			continue;
		for (const char *range = classes[i].ranges; *range; range += 2)
			set_add_range(set, (unsigned char)range[0], (unsigned char)range[1]);
		return true;
	}
	return false;
}

/* Patterns contain no NUL, so NUL means the end. */
static unsigned char byte_at(struct st_str glob, size_t at) {
	return at < glob.len ? (unsigned char)glob.ptr[at] : '\0';
}

/* Parse a class such as [:alpha:] whose "[" is at *at; moves *at to its "]". */
static bool parse_class(struct st_str glob, size_t *at, struct set *set) {
	size_t start = *at + 2, end = start;
	while (byte_at(glob, end) && glob.ptr[end] != ']')
		end++;
	if (end == glob.len)
		return false;
	if (end == start || glob.ptr[end - 1] != ':') {
		set_add(set, '[');
		return true;
	}
	*at = end;
	return set_add_class(set, st_str_slice(glob, start, end - 1));
}

/*
 * Parse a bracket expression; *at is behind its "[" and moves behind its "]".
 * False if it is not closed or names an unknown class: then the pattern
 * matches nothing. A "]" that comes first is literal, and so is a "-" at
 * either end.
 */
static bool parse_set(struct st_str glob, size_t *at, struct set *set) {
	bool negated = byte_at(glob, *at) == '!' || byte_at(glob, *at) == '^';
	unsigned char before = '\0';

	*at += negated;
	do {
		unsigned char byte = byte_at(glob, *at), after = byte_at(glob, *at + 1);
		bool range = byte == '-' && before && after && after != ']';
		if (range)
			byte = byte_at(glob, ++*at);
		if (byte == '\\')
			byte = byte_at(glob, ++*at);
		else if (byte == '[' && after == ':' && !range) {
			size_t open = *at;
			if (!parse_class(glob, at, set))
				return false;
			before = *at == open ? '[' : '\0';
			++*at;
			continue;
		}
		if (!byte)
			return false;
		if (range)
			set_add_range(set, before, byte);
		else
			set_add(set, byte);
		before = range ? '\0' : byte;
		++*at;
	} while (byte_at(glob, *at) != ']');
	++*at;

	for (size_t i = 0; negated && i < 4; i++)
		set->bits[i] = ~set->bits[i];
	set->bits['/' >> 6] &= ~((uint64_t)1 << ('/' & 63));
	return true;
}

/*
 * Two or more stars cross directories only if they stand alone between slashes.
 * The slash behind them then need not match, unless it is escaped.
 */
static struct token parse_stars(struct st_str glob, size_t *at) {
	size_t start = *at;
	while (byte_at(glob, *at) == '*')
		++*at;
	unsigned char next = byte_at(glob, *at);
	bool ends = !next || next == '/' || (next == '\\' && byte_at(glob, *at + 1) == '/');
	bool begins = start == 0 || glob.ptr[start - 1] == '/';

	if (*at - start < 2 || !begins || !ends)
		return (struct token){.kind = STAR};
	if (next != '/')
		return (struct token){.kind = DEEP};
	++*at;
	return (struct token){.kind = DEEP_DIRS};
}

static bool parse_token(struct st_arena *arena, struct st_str glob, size_t *at,
                        struct token *token) {
	unsigned char byte = byte_at(glob, *at);
	if (byte == '*') {
		*token = parse_stars(glob, at);
		return true;
	}
	++*at;
	if (byte == '?') {
		*token = (struct token){.kind = ANY};
	} else if (byte == '[') {
		struct set *set = st_arena_array(arena, 1, sizeof *set);
		if (!set)
			return false;
		*token = (struct token){.kind = parse_set(glob, at, set) ? SET : NEVER, .set = set};
	} else if (byte == '\\') {
		byte = byte_at(glob, (*at)++);
		*token = (struct token){.kind = byte ? BYTE : NEVER, .byte = byte};
	} else {
		*token = (struct token){.kind = BYTE, .byte = byte};
	}
	return true;
}

static bool compile_glob(struct st_arena *arena, struct st_str glob, struct rule *rule) {
	struct token *tokens = st_arena_array(arena, glob.len, sizeof *tokens);
	if (!tokens)
		return false;
	rule->tokens = tokens;
	for (size_t at = 0; at < glob.len; rule->count++) {
		if (!parse_token(arena, glob, &at, &tokens[rule->count]))
			return false;
		if (tokens[rule->count].kind == NEVER)
			at = glob.len;
	}
	return true;
}

static bool matches_byte(const struct token *token, unsigned char byte) {
	switch (token->kind) {
	case BYTE:
		return token->byte == byte;
	case ANY:
		return byte != '/';
	case SET:
		return set_has(token->set, byte);
	default:
		return false;
	}
}

/* Where to continue after a mismatch: the token behind a star, and the end of the star's match. */
struct backtrack {
	const struct token *token;
	size_t at;
	bool dirs;
};

/* Extend the match of a deep star by one byte, or to the next component. */
static bool reach_deeper(struct backtrack *deep, struct st_str text) {
	if (!deep->token || deep->at >= text.len)
		return false;
	if (deep->dirs) {
		const char *slash = memchr(text.ptr + deep->at, '/', text.len - deep->at);
		if (!slash)
			return false;
		deep->at = (size_t)(slash - text.ptr);
	}
	deep->at++;
	return true;
}

/*
 * On a mismatch only the last star needs to match more: it can match whatever
 * an earlier star could. A single star ends with its component, so behind a
 * slash only the last deep star counts.
 */
static bool matches_tokens(const struct rule *rule, struct st_str text) {
	const struct token *token = rule->tokens, *end = token + rule->count;
	struct backtrack star = {0}, deep = {0};
	size_t at = 0;

	for (;;) {
		if (token < end && token->kind == STAR) {
			star = (struct backtrack){.token = token + 1, .at = at};
			token++;
		} else if (token < end && (token->kind == DEEP || token->kind == DEEP_DIRS)) {
			deep = (struct backtrack){token + 1, at, token->kind == DEEP_DIRS};
			star = (struct backtrack){0};
			token++;
		} else if (token < end && at < text.len &&
		           matches_byte(token, (unsigned char)text.ptr[at])) {
			if (text.ptr[at] == '/')
				star = (struct backtrack){0};
			token++;
			at++;
		} else if (token == end && at == text.len) {
			return true;
		} else if (star.token && star.at < text.len && text.ptr[star.at] != '/') {
			at = ++star.at;
			token = star.token;
		} else if (reach_deeper(&deep, text)) {
			at = deep.at;
			token = deep.token;
			star = (struct backtrack){0};
		} else {
			return false;
		}
	}
}

static bool matches_glob(const struct rule *rule, struct st_str path) {
	return st_str_starts(path, rule->text) &&
	       matches_tokens(rule, st_str_slice(path, rule->text.len, path.len));
}

static bool is_special(char byte) {
	return byte == '*' || byte == '?' || byte == '[' || byte == '\\';
}

static size_t literal_len(struct st_str glob) {
	size_t len = 0;
	while (len < glob.len && !is_special(glob.ptr[len]))
		len++;
	return len;
}

/* Drop the spaces at the end of a line, unless a backslash escapes them. Like git, keep tabs. */
static struct st_str trim_spaces(struct st_str line) {
	size_t end = 0;
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] == ' ')
			continue;
		if (line.ptr[i] == '\\' && ++i == line.len)
			return line;
		end = i + 1;
	}
	return st_str_slice(line, 0, end);
}

static bool rule_init(struct rule *rule, struct st_str line, struct st_arena *arena) {
	struct st_str glob = rule->source = line;
	if (glob.len && glob.ptr[0] == '!') {
		rule->negated = true;
		glob = st_str_slice(glob, 1, glob.len);
	}
	if (glob.len && glob.ptr[glob.len - 1] == '/') {
		rule->dirs_only = true;
		glob.len--;
	}

	bool anchored = memchr(glob.ptr, '/', glob.len) != NULL;
	if (anchored && glob.ptr[0] == '/')
		glob = st_str_slice(glob, 1, glob.len);
	size_t literal = literal_len(glob);
	if (anchored) {
		rule->where = PATH;
		rule->text = st_str_slice(glob, 0, literal);
		return compile_glob(arena, st_str_slice(glob, literal, glob.len), rule);
	}
	if (literal == glob.len) {
		rule->where = NAME;
		rule->text = glob;
		return true;
	}
	struct st_str rest = st_str_slice(glob, 1, glob.len);
	if (glob.ptr[0] == '*' && literal_len(rest) == rest.len) {
		rule->where = SUFFIX;
		rule->text = rest;
		return true;
	}
	rule->where = GLOB;
	rule->text = st_str_slice(glob, 0, literal);
	return compile_glob(arena, st_str_slice(glob, literal, glob.len), rule);
}

/* The next line of a file without its ending; false at the end. */
static bool next_line(struct st_str *rest, struct st_str *line) {
	if (rest->len == 0)
		return false;
	const char *end = memchr(rest->ptr, '\n', rest->len);
	size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
	*line = st_str_slice(*rest, 0, len);
	*rest = st_str_slice(*rest, end ? len + 1 : len, rest->len);
	return true;
}

static bool is_rule(struct st_str line) {
	return line.len > 0 && line.ptr[0] != '#';
}

/* Like git, drop everything from a NUL on, a CR at the end, and trailing spaces. */
static struct st_str strip_line(struct st_str line) {
	const char *nul = memchr(line.ptr, '\0', line.len);
	if (nul)
		line.len = (size_t)(nul - line.ptr);
	else if (line.ptr[line.len - 1] == '\r')
		line.len--;
	return trim_spaces(line);
}

/* The last byte of every name that the rule matches, or ANY_END if they differ. */
static unsigned last_byte(const struct rule *rule) {
	if (rule->count > 0) {
		const struct token *last = &rule->tokens[rule->count - 1];
		return last->kind == BYTE ? last->byte : ANY_END;
	}
	return rule->text.len ? (unsigned char)rule->text.ptr[rule->text.len - 1] : ANY_END;
}

static void add_to_chain(struct st_ignore *node, struct rule *rule) {
	uint32_t *chain = &node->chains[last_byte(rule)];
	rule->before = *chain;
	*chain = (uint32_t)node->count;
}

static bool parse_rules(struct st_ignore *node, struct st_str bytes) {
	if (st_str_starts(bytes, ST_STR("\xEF\xBB\xBF")))
		bytes = st_str_slice(bytes, 3, bytes.len);

	size_t count = 0;
	struct st_str line;
	for (struct st_str rest = bytes; next_line(&rest, &line);)
		count += is_rule(line);
	node->rules = st_arena_array(&node->arena, count, sizeof *node->rules);
	if (!node->rules)
		return false;

	size_t number = 0;
	for (struct st_str rest = bytes; next_line(&rest, &line);) {
		number++;
		if (!is_rule(line))
			continue;
		struct rule *rule = &node->rules[node->count++];
		rule->line = number;
		if (!rule_init(rule, strip_line(line), &node->arena))
			return false;
		add_to_chain(node, rule);
	}
	return true;
}

/* A path relative to the node's directory; empty if it is not below it. */
static struct st_str relative_to_node(const struct st_ignore *node, struct st_str path) {
	if (node->dir.len == 0)
		return path;
	if (path.len <= node->dir.len || path.ptr[node->dir.len] != '/' ||
	    !st_str_starts(path, node->dir))
		return st_str("");
	return st_str_slice(path, node->dir.len + 1, path.len);
}

static bool rule_matches(const struct rule *rule, struct st_str path, struct st_str name) {
	switch (rule->where) {
	case NAME:
		return st_str_eq(name, rule->text);
	case SUFFIX:
		return st_str_ends(name, rule->text);
	case GLOB:
		return matches_glob(rule, name);
	case PATH:
		return path.len > 0 && matches_glob(rule, path);
	}
	return false;
}

/* What it takes to try a rule, in the units of st_cancel_check(). */
static size_t rule_work(const struct rule *rule, struct st_str path, struct st_str name) {
	size_t len = rule->where == PATH ? path.len : name.len;
	return 16 + len * (rule->where == PATH || rule->where == GLOB ? rule->count : 0);
}

/* The result of a search that was cancelled: a rule that ignores everything. */
static const struct rule cancelled_rule;

/* Find the last matching rule in the two chains that can contain it. */
static const struct rule *find_rule(const struct st_ignore *node, struct st_str path,
                                    struct st_str name, bool is_dir) {
	uint32_t by_end = name.len ? node->chains[(unsigned char)name.ptr[name.len - 1]] : 0;
	uint32_t any = node->chains[ANY_END];

	path = relative_to_node(node, path);
	while (by_end || any) {
		uint32_t *last = by_end > any ? &by_end : &any;
		const struct rule *rule = &node->rules[*last - 1];
		if ((is_dir || !rule->dirs_only) && rule_matches(rule, path, name))
			return rule;
		if (st_cancel_check(rule_work(rule, path, name), NULL) < 0)
			return &cancelled_rule;
		*last = rule->before;
	}
	return NULL;
}

struct st_ignore *st_ignore_new(struct st_ignore *parent, struct st_str dir, struct st_str bytes) {
	struct st_ignore *node = calloc(1, sizeof *node);
	if (!node)
		return NULL;
	atomic_init(&node->owners, 1);
	st_arena_init(&node->arena, NODE_LIMIT);
	node->parent = st_ignore_keep(parent);

	char *dir_copy = st_arena_copy(&node->arena, dir);
	char *copy = st_arena_copy(&node->arena, bytes);
	if (dir_copy)
		node->dir = st_strn(dir_copy, dir.len);
	if (dir_copy && copy && parse_rules(node, st_strn(copy, bytes.len)))
		return node;
	st_ignore_drop(node);
	return NULL;
}

struct st_ignore *st_ignore_keep(struct st_ignore *node) {
	if (node)
		atomic_fetch_add_explicit(&node->owners, 1, memory_order_relaxed);
	return node;
}

void st_ignore_drop(struct st_ignore *node) {
	while (node && atomic_fetch_sub_explicit(&node->owners, 1, memory_order_acq_rel) == 1) {
		struct st_ignore *parent = node->parent;
		st_arena_release(&node->arena);
		free(node);
		node = parent;
	}
}

bool st_ignore_match(const struct st_ignore *node, struct st_str path, bool is_dir,
                     struct st_ignore_reason *reason) {
	const char *slash = memrchr(path.ptr, '/', path.len);
	struct st_str name = path;
	if (slash)
		name = st_str_slice(path, (size_t)(slash + 1 - path.ptr), path.len);

	for (; node; node = node->parent) {
		const struct rule *rule = find_rule(node, path, name, is_dir);
		if (!rule)
			continue;
		if (reason)
			*reason = (struct st_ignore_reason){node->dir, rule->source, rule->line};
		return !rule->negated;
	}
	if (reason)
		*reason = (struct st_ignore_reason){st_str(""), st_str(""), 0};
	return false;
}

bool st_ignore_builtin(struct st_str name, bool is_dir) {
	return st_str_eq(name, ST_STR(".git")) ||
	       (is_dir && (st_str_eq(name, ST_STR("node_modules")) || st_str_eq(name, ST_STR("dist"))));
}
