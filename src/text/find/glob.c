#include "text/find/glob.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/unicode.h"
#include "base/utf8.h"
#include "text/find/braces.h"

/* How much memory one pattern with all its alternatives may use. */
#define GLOB_LIMIT ((size_t)64 << 20)

/* ---- a compiled pattern ---- */

struct range {
	uint32_t first, last;
};

/* A bracket expression: ranges of characters, and character classes as bits. */
struct set {
	bool negated;
	struct range *ranges;
	size_t count;
	unsigned classes;
};

enum kind {
	/* One given byte. */
	BYTE,
	/* Any one character. */
	ANY,
	/* One character of a set. */
	SET,
	/* An empty set, which matches nothing. */
	NEVER,
	/* Any run of characters. */
	STAR,
	/* Choices in parentheses, after one of "?*+@!". */
	CHOICE,
};

struct node;

struct sequence {
	struct node *nodes;
	size_t count;
};

/* What must match after a node: the rest of its sequence, then the tail of the enclosing node. */
struct tail {
	const struct sequence *sequence;
	size_t from;
	const struct tail *up;
};

struct node {
	enum kind kind;
	unsigned char byte;
	const struct set *set;
	/* These belong to a CHOICE: its operator, and the choices. */
	char type;
	struct sequence *choices;
	size_t count;
	struct tail tail;
	/* The index of this `!(...)` among those of the same name. */
	size_t number;
};

/* One component of a path pattern: `**`, a literal name, or a pattern for a name. */
struct part {
	/* This is `**`. */
	bool deep;
	/* This is the literal name in `text`. */
	bool literal;
	struct st_str text;
	struct sequence names;
	/* How many `!(...)` it holds. */
	size_t nots;
};

/* A pattern after brace expansion. */
struct alternative {
	/* Match only the last name of a path. */
	bool base;
	bool dirs_only;
	struct part *parts;
	size_t count;
};

struct st_glob {
	bool negated;
	struct alternative *alternatives;
	size_t count;
	struct st_arena arena;
};

/* ---- parsing ---- */

struct reader {
	struct st_arena *arena;
	/* How many `!(...)` the current name has so far. */
	size_t nots;
	/* After a failure: why the pattern is invalid, or NULL if memory ran out. */
	const char *problem;
};

static bool fail_pattern(struct reader *reader, const char *problem) {
	reader->problem = problem;
	return false;
}

/* Read a class such as [:alpha:] at the start of a text. @return Its length; 0 if there is none. */
static size_t class_at(struct st_str text, unsigned *class) {
	static const char *const names[] = {
		[ST_UNICODE_ALNUM] = "[:alnum:]", [ST_UNICODE_ALPHA] = "[:alpha:]",
		[ST_UNICODE_ASCII] = "[:ascii:]", [ST_UNICODE_BLANK] = "[:blank:]",
		[ST_UNICODE_CNTRL] = "[:cntrl:]", [ST_UNICODE_DIGIT] = "[:digit:]",
		[ST_UNICODE_GRAPH] = "[:graph:]", [ST_UNICODE_LOWER] = "[:lower:]",
		[ST_UNICODE_PRINT] = "[:print:]", [ST_UNICODE_PUNCT] = "[:punct:]",
		[ST_UNICODE_SPACE] = "[:space:]", [ST_UNICODE_UPPER] = "[:upper:]",
		[ST_UNICODE_WORD] = "[:word:]",   [ST_UNICODE_XDIGIT] = "[:xdigit:]",
	};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (st_str_starts(text, st_str(names[i]))) {
			*class = i;
			return strlen(names[i]);
		}
	}
	return 0;
}

/* Read one character of a set, which may be escaped. @return Its length; 0 at the end. */
static size_t read_point(struct st_str text, size_t at, uint32_t *point) {
	size_t escape = at < text.len && text.ptr[at] == '\\';
	if (at + escape >= text.len)
		return 0;
	return escape + st_utf8_next(st_str_slice(text, at + escape, text.len), point);
}

static void set_add(struct set *set, uint32_t first, uint32_t last) {
	/* A reversed range such as z-a is empty. */
	if (first <= last)
		set->ranges[set->count++] = (struct range){first, last};
}

/*
 * Parse a bracket expression; `at` is just after the "[". A "]" at the start is
 * literal, and so is a "-" that is not part of a range. *never: it matches nothing.
 *
 * @return The offset after the closing "]"; 0 if there is none.
 */
static size_t read_set(struct st_str text, size_t at, struct set *set, bool *never) {
	bool first = true;
	*never = false;
	set->negated = at < text.len && (text.ptr[at] == '!' || text.ptr[at] == '^');
	at += set->negated;
	for (; at < text.len && (first || text.ptr[at] != ']'); first = false) {
		unsigned class;
		uint32_t point, last;
		size_t len = class_at(st_str_slice(text, at, text.len), &class);
		if (len > 0) {
			set->classes |= 1U << class;
			at += len;
			continue;
		}
		len = read_point(text, at, &point);
		if (len == 0)
			return 0;
		at += len;
		last = point;
		if (at + 1 < text.len && text.ptr[at] == '-' && text.ptr[at + 1] != ']') {
			*never |= class_at(st_str_slice(text, at + 1, text.len), &class) > 0;
			len = read_point(text, at + 1, &last);
			if (len == 0)
				return 0;
			at += 1 + len;
		}
		set_add(set, point, last);
	}
	*never |= set->count == 0 && set->classes == 0;
	return at < text.len ? at + 1 : 0;
}

/* Parse a set into a node. @return Where it ends; 0 if it is not a set; SIZE_MAX out of memory. */
static size_t add_set(struct reader *reader, struct st_str text, size_t at, struct node *node) {
	bool never;
	struct set *set = st_arena_array(reader->arena, 1, sizeof *set);
	if (!set)
		return SIZE_MAX;
	set->ranges = st_arena_array(reader->arena, text.len - at + 1, sizeof *set->ranges);
	if (!set->ranges)
		return SIZE_MAX;
	size_t end = read_set(text, at, set, &never);
	if (end > 0)
		*node = (struct node){.kind = never ? NEVER : SET, .set = set};
	return end;
}

/* Append a text without parentheses to a sequence, which has room for a node per byte. */
static bool add_plain(struct reader *reader, struct st_str text, struct sequence *out) {
	for (size_t at = 0; at < text.len;) {
		struct node *node = &out->nodes[out->count];
		unsigned char byte = (unsigned char)text.ptr[at];
		size_t end = byte == '[' ? add_set(reader, text, at + 1, node) : 0;
		if (end == SIZE_MAX)
			return false;
		bool escaped = byte == '\\' && at + 1 < text.len;
		if (end > 0)
			at = end;
		else if (byte == '*')
			*node = (struct node){.kind = STAR};
		else if (byte == '?')
			*node = (struct node){.kind = ANY};
		else
			*node = (struct node){.kind = BYTE,
			                      .byte = escaped ? (unsigned char)text.ptr[at + 1] : byte};
		if (end == 0)
			at += 1 + escaped;
		/* Merge adjacent stars. */
		bool again = byte == '*' && out->count > 0 && node[-1].kind == STAR;
		out->count += !again;
	}
	return true;
}

/* The offset after a bracket expression, whose parentheses are literal; the text's length if it does not close. */
static size_t skip_brackets(struct st_str text, size_t at) {
	size_t first = at + 1;
	bool negated = first < text.len && (text.ptr[first] == '!' || text.ptr[first] == '^');
	for (at = first; at < text.len; at++) {
		if (text.ptr[at] == '\\')
			at++;
		else if (text.ptr[at] == ']' && at != first && !(negated && at == first + 1))
			return at + 1;
	}
	return text.len;
}

/* Whether a choice such as "@(" opens at a place. */
static bool opens(struct st_str text, size_t at) {
	return at + 1 < text.len && text.ptr[at + 1] == '(' && text.ptr[at] &&
	       strchr("?*+@!", text.ptr[at]);
}

/* The offset after the next item: a byte, an escaped byte or a bracket expression. */
static size_t step_over(struct st_str text, size_t at) {
	if (text.ptr[at] == '[')
		return skip_brackets(text, at);
	return at + 1 + (text.ptr[at] == '\\' && at + 1 < text.len);
}

/* Find the ")" that closes the choice at a place, and count its choices; 0 if there is none. */
static size_t find_choice_end(struct st_str text, size_t at, size_t *choices) {
	size_t depth = 1;
	*choices = 1;
	for (at += 2; at < text.len; at = step_over(text, at)) {
		if (opens(text, at)) {
			depth++;
			at++;
		} else if (text.ptr[at] == '|' && depth == 1) {
			++*choices;
		} else if (text.ptr[at] == ')' && --depth == 0) {
			return at;
		}
	}
	return 0;
}

static bool read_sequence(struct reader *reader, struct st_str text, size_t depth,
                          struct sequence *out);

static bool read_choices(struct reader *reader, struct st_str text, size_t depth,
                         struct node *node) {
	size_t start = 0, nested = 0;
	for (size_t at = 0; at <= text.len;) {
		if (at == text.len || (text.ptr[at] == '|' && nested == 0)) {
			if (!read_sequence(reader, st_str_slice(text, start, at), depth,
			                   &node->choices[node->count++]))
				return false;
			start = ++at;
			continue;
		}
		bool opened = opens(text, at);
		nested += opened;
		nested -= text.ptr[at] == ')' && nested > 0;
		at = opened ? at + 2 : step_over(text, at);
	}
	return true;
}

/* Parse the choice, operator and parentheses, at a place. */
static bool read_choice(struct reader *reader, struct st_str text, size_t at, size_t close,
                        size_t choices, size_t depth, struct node *node) {
	if (depth == ST_GLOB_DEPTH_MAX)
		return fail_pattern(reader, "nests parentheses too deeply");
	*node = (struct node){.kind = CHOICE, .type = text.ptr[at]};
	if (node->type == '!' && reader->nots == ST_GLOB_NOTS_MAX)
		return fail_pattern(reader, "has too many \"!(...)\"");
	if (node->type == '!')
		node->number = reader->nots++;
	node->choices = st_arena_array(reader->arena, choices, sizeof *node->choices);
	return node->choices &&
	       read_choices(reader, st_str_slice(text, at + 2, close), depth + 1, node);
}

static bool read_sequence(struct reader *reader, struct st_str text, size_t depth,
                          struct sequence *out) {
	size_t start = 0;
	out->nodes = st_arena_array(reader->arena, text.len + 1, sizeof *out->nodes);
	if (!out->nodes)
		return false;
	for (size_t at = 0; at < text.len;) {
		size_t choices;
		if (!opens(text, at)) {
			at = step_over(text, at);
			continue;
		}
		size_t close = find_choice_end(text, at, &choices);
		/* The parenthesis does not close: it is literal, and so is any later one. */
		if (close == 0)
			break;
		if (!add_plain(reader, st_str_slice(text, start, at), out) ||
		    !read_choice(reader, text, at, close, choices, depth, &out->nodes[out->count++]))
			return false;
		start = at = close + 1;
	}
	bool added = add_plain(reader, st_str_slice(text, start, text.len), out);
	assert(out->count <= text.len);
	return added;
}

static void set_tails(struct sequence *sequence, const struct tail *up) {
	for (size_t i = 0; i < sequence->count; i++) {
		struct node *node = &sequence->nodes[i];
		node->tail = (struct tail){sequence, i + 1, up};
		for (size_t k = 0; k < node->count; k++)
			set_tails(&node->choices[k], &node->tail);
	}
}

/* If a name holds no pattern, store it without its escapes, for a plain comparison. */
static bool make_literal(struct reader *reader, struct part *part) {
	char *text = st_arena_alloc(reader->arena, part->names.count + 1);
	if (!text)
		return false;
	for (size_t i = 0; i < part->names.count; i++) {
		if (part->names.nodes[i].kind != BYTE)
			return true;
		text[i] = (char)part->names.nodes[i].byte;
	}
	part->literal = true;
	part->text = st_strn(text, part->names.count);
	return true;
}

static bool read_part(struct reader *reader, struct st_str text, struct part *part) {
	part->deep = st_str_eq(text, ST_STR("**"));
	if (part->deep)
		return true;
	reader->nots = 0;
	if (!read_sequence(reader, text, 0, &part->names))
		return false;
	part->nots = reader->nots;
	set_tails(&part->names, NULL);
	return make_literal(reader, part);
}

/* Append a part. `..` removes the part before it, and adjacent `**` become one. */
static bool add_part(struct reader *reader, struct alternative *alt, struct st_str text) {
	struct part *before = alt->count > 0 ? &alt->parts[alt->count - 1] : NULL;
	if (before && before->deep && st_str_eq(text, ST_STR("**")))
		return true;
	if (before && !before->deep && st_str_eq(text, ST_STR(".."))) {
		alt->count--;
		return true;
	}
	alt->parts[alt->count] = (struct part){0};
	return read_part(reader, text, &alt->parts[alt->count++]);
}

static size_t count_slashes(struct st_str text) {
	size_t count = 0;
	for (size_t i = 0; i < text.len; i++)
		count += text.ptr[i] == '/';
	return count;
}

static bool read_alternative(struct reader *reader, struct st_str text, struct alternative *alt) {
	while (st_str_starts(text, ST_STR("./")))
		text = st_str_slice(text, 2, text.len);
	while (text.len > 0 && text.ptr[text.len - 1] == '/') {
		alt->dirs_only = true;
		text.len--;
	}
	alt->parts = st_arena_array(reader->arena, count_slashes(text) + 1, sizeof *alt->parts);
	if (!alt->parts)
		return false;
	for (size_t start = 0; start < text.len;) {
		const char *slash = memchr(text.ptr + start, '/', text.len - start);
		size_t end = slash ? (size_t)(slash - text.ptr) : text.len;
		if (end > start && !add_part(reader, alt, st_str_slice(text, start, end)))
			return false;
		start = end + 1;
	}
	alt->base = alt->count == 1 && text.ptr[0] != '/';
	return true;
}

/* ---- compiling ---- */

/* How many "!" negate the whole pattern; the "!" of a leading "!(" does not. */
static size_t count_nots(struct st_str pattern) {
	size_t count = 0;
	while (count < pattern.len && pattern.ptr[count] == '!' && !opens(pattern, count))
		count++;
	return count;
}

static int read_pattern(struct st_glob *glob, struct st_str pattern, struct stet_error *err) {
	struct reader reader = {.arena = &glob->arena};
	st_auto(st_braces) braces = {0};
	size_t nots = count_nots(pattern);
	glob->negated = nots % 2;
	int code = st_braces_expand(&braces, st_str_slice(pattern, nots, pattern.len), err);
	if (code < 0)
		return code;
	glob->alternatives = st_arena_array(&glob->arena, braces.count, sizeof *glob->alternatives);
	bool read = glob->alternatives != NULL;
	for (size_t i = 0; i < braces.count && read; i++)
		read = read_alternative(&reader, st_buf_str(&braces.list[i]),
		                        &glob->alternatives[glob->count++]);
	if (read)
		return 0;
	return reader.problem ? st_fail(err, STET_E_INVALID, "A pattern %s. Use several simpler ones.",
	                                reader.problem)
	                      : st_fail_nomem(err);
}

int st_glob_new(struct st_str pattern, struct st_glob **out, struct stet_error *err) {
	*out = NULL;
	if (pattern.len > ST_GLOB_MAX)
		return st_fail(err, STET_E_INVALID, "A pattern may have up to %d bytes, not %zu.",
		               ST_GLOB_MAX, pattern.len);
	struct st_glob *glob = calloc(1, sizeof *glob);
	if (!glob)
		return st_fail_nomem(err);
	st_arena_init(&glob->arena, GLOB_LIMIT);
	int code = read_pattern(glob, pattern, err);
	if (code < 0)
		st_glob_free(glob);
	else
		*out = glob;
	return code;
}

void st_glob_free(struct st_glob *glob) {
	if (!glob)
		return;
	st_arena_release(&glob->arena);
	free(glob);
}

bool st_glob_is_pattern(struct st_str text) {
	for (size_t i = 0; i < text.len; i++) {
		if ((text.ptr[i] && strchr("*?[{/\\", text.ptr[i])) || opens(text, i))
			return true;
	}
	return text.len > 1 && text.ptr[0] == '!';
}

/* ---- matching a name ---- */

/*
 * Matching works as in an NFA: a set of places in the name, one bit each, from
 * before its first byte to after its last. Each node maps the places where it may
 * begin to the places where it may end, all at once, so nothing backtracks.
 */
enum { PLACE_WORDS = (ST_GLOB_NAME_MAX + 64) / 64 };

struct places {
	uint64_t bits[PLACE_WORDS];
};

struct match {
	struct st_str name;
	/* How many words of `bits` this name needs. */
	size_t word_count;
	/* Where characters begin, and the end of the name. */
	struct places starts;
	/* For each `!(...)`: the places tested so far, and those where it cannot begin. */
	struct places known[ST_GLOB_NOTS_MAX], ruled_out[ST_GLOB_NOTS_MAX];
};

static bool has_place(const struct places *places, size_t at) {
	return places->bits[at / 64] >> (at % 64) & 1;
}

static void add_place(struct places *places, size_t at) {
	places->bits[at / 64] |= (uint64_t)1 << (at % 64);
}

/* The first place at or after an offset; SIZE_MAX if there is none. */
static size_t next_place(const struct match *match, const struct places *places, size_t from) {
	for (size_t word = from / 64; word < match->word_count; word++) {
		uint64_t bits = places->bits[word];
		if (word == from / 64)
			bits &= ~(uint64_t)0 << (from % 64);
		if (bits)
			return word * 64 + (size_t)__builtin_ctzll(bits);
	}
	return SIZE_MAX;
}

/* Add places to a set. @return Whether any of them is new. */
static bool add_places(const struct match *match, struct places *places,
                       const struct places *more) {
	uint64_t new = 0;
	for (size_t i = 0; i < match->word_count; i++) {
		new |= more->bits[i] & ~places->bits[i];
		places->bits[i] |= more->bits[i];
	}
	return new != 0;
}

static void remove_places(const struct match *match, struct places *places,
                          const struct places *less) {
	for (size_t i = 0; i < match->word_count; i++)
		places->bits[i] &= ~less->bits[i];
}

/* Add every start of a character at or after a place. */
static void add_from(const struct match *match, struct places *places, size_t from) {
	for (size_t word = from / 64; word < match->word_count; word++) {
		uint64_t mask = word == from / 64 ? ~(uint64_t)0 << (from % 64) : ~(uint64_t)0;
		places->bits[word] |= match->starts.bits[word] & mask;
	}
}

static bool set_has(const struct set *set, uint32_t point) {
	bool found = false;
	for (size_t i = 0; i < set->count && !found; i++)
		found = point >= set->ranges[i].first && point <= set->ranges[i].last;
	for (unsigned class = 0; set->classes >> class && !found; class ++)
		found = set->classes >> class & 1 && st_unicode_is(point, class);
	return found != set->negated;
}

/* How many bytes a BYTE, ANY or SET node matches at a place; 0 if it does not match. */
static size_t match_character(const struct match *match, const struct node *node, size_t at) {
	uint32_t point;
	if (node->kind == BYTE)
		return (unsigned char)match->name.ptr[at] == node->byte;
	if (node->kind == NEVER)
		return 0;
	size_t len = st_utf8_next(st_str_slice(match->name, at, match->name.len), &point);
	return node->kind == ANY || set_has(node->set, point) ? len : 0;
}

static void match_node(struct match *match, const struct node *node, struct places *places);

static void match_sequence(struct match *match, const struct sequence *sequence, size_t from,
                           struct places *places) {
	for (size_t i = from; i < sequence->count; i++)
		match_node(match, &sequence->nodes[i], places);
}

/* Where one choice may end after it began at one of the places. */
static struct places match_choices(struct match *match, const struct node *node,
                                   const struct places *from) {
	struct places all = {0};
	for (size_t i = 0; i < node->count; i++) {
		struct places ends = *from;
		match_sequence(match, &node->choices[i], 0, &ends);
		add_places(match, &all, &ends);
	}
	return all;
}

/* Add all places that repeating the choices any number of times reaches. */
static void match_repeated(struct match *match, const struct node *node, struct places *places) {
	struct places new = *places;
	for (;;) {
		struct places next = match_choices(match, node, &new);
		remove_places(match, &next, places);
		if (!add_places(match, places, &next))
			return;
		new = next;
	}
}

/* Whether one choice, and the rest of the pattern after it, match from a place to the name's end. */
static bool leads_to_end(struct match *match, const struct node *node, size_t at) {
	struct places places = {0};
	add_place(&places, at);
	places = match_choices(match, node, &places);
	for (const struct tail *tail = &node->tail; tail; tail = tail->up)
		match_sequence(match, tail->sequence, tail->from, &places);
	return has_place(&places, match->name.len);
}

static bool is_ruled_out(struct match *match, const struct node *node, size_t at) {
	size_t number = node->number;
	if (!has_place(&match->known[number], at)) {
		add_place(&match->known[number], at);
		if (leads_to_end(match, node, at))
			add_place(&match->ruled_out[number], at);
	}
	return has_place(&match->ruled_out[number], at);
}

/* `!(...)` matches any run of characters, so the first place not ruled out reaches all later ones. */
static void match_negated(struct match *match, const struct node *node, struct places *places) {
	size_t at = next_place(match, places, 0);
	bool nothing = node->count == 1 && node->choices[0].count == 0;
	/* `!()` matches anything but the empty string. */
	if (nothing && at != SIZE_MAX)
		at = next_place(match, &match->starts, at + 1);
	else
		while (at != SIZE_MAX && is_ruled_out(match, node, at))
			at = next_place(match, places, at + 1);
	*places = (struct places){0};
	if (at != SIZE_MAX)
		add_from(match, places, at);
}

static void match_choice(struct match *match, const struct node *node, struct places *places) {
	struct places before = *places;
	if (node->type == '!') {
		match_negated(match, node, places);
		return;
	}
	if (node->type != '*')
		*places = match_choices(match, node, places);
	if (node->type == '?')
		add_places(match, places, &before);
	if (node->type == '*' || node->type == '+')
		match_repeated(match, node, places);
}

/* Replace the places where a node may begin by those where it may end. */
static void match_node(struct match *match, const struct node *node, struct places *places) {
	struct places next = {0};
	size_t first = next_place(match, places, 0);
	if (first == SIZE_MAX)
		return;
	if (node->kind == CHOICE) {
		match_choice(match, node, places);
		return;
	}
	if (node->kind == STAR) {
		add_from(match, places, first);
		return;
	}
	for (size_t at = first; at < match->name.len; at = next_place(match, places, at + 1)) {
		size_t len = match_character(match, node, at);
		if (len > 0)
			add_place(&next, at + len);
	}
	*places = next;
}

static void find_characters(struct match *match) {
	for (size_t at = 0; at < match->name.len;) {
		uint32_t point;
		add_place(&match->starts, at);
		at += st_utf8_next(st_str_slice(match->name, at, match->name.len), &point);
	}
	add_place(&match->starts, match->name.len);
}

static bool matches_name(const struct part *part, struct st_str name) {
	if (part->literal)
		return st_str_eq(part->text, name);
	if (name.len > ST_GLOB_NAME_MAX)
		return false;
	struct match match;
	match.name = name;
	match.word_count = name.len / 64 + 1;
	match.starts = (struct places){0};
	memset(match.known, 0, part->nots * sizeof *match.known);
	memset(match.ruled_out, 0, part->nots * sizeof *match.ruled_out);
	find_characters(&match);
	struct places places = {0};
	add_place(&places, 0);
	match_sequence(&match, &part->names, 0, &places);
	return has_place(&places, name.len);
}

/* ---- matching a path ---- */

static struct st_str name_at(struct st_str path, size_t at) {
	const char *slash = memchr(path.ptr + at, '/', path.len - at);
	return st_str_slice(path, at, slash ? (size_t)(slash - path.ptr) : path.len);
}

/* On a mismatch only the last `**` takes one more name: it could take all that an earlier one could. */
static bool matches_path(const struct alternative *alt, struct st_str path) {
	size_t part = 0, at = 0, deep_part = SIZE_MAX, deep_at = 0;
	for (;;) {
		bool ended = at >= path.len;
		if (part < alt->count && alt->parts[part].deep) {
			/* A trailing `**` matches at least one name. */
			if (part + 1 == alt->count)
				return !ended;
			deep_part = ++part;
			deep_at = at;
			continue;
		}
		if (ended && part == alt->count)
			return true;
		struct st_str name = ended ? st_str("") : name_at(path, at);
		if (!ended && part < alt->count && matches_name(&alt->parts[part], name)) {
			part++;
			at += name.len + 1;
			continue;
		}
		if (deep_part == SIZE_MAX || deep_at >= path.len)
			return false;
		deep_at += name_at(path, deep_at).len + 1;
		at = deep_at;
		part = deep_part;
	}
}

bool st_glob_match(const struct st_glob *glob, struct st_str path, bool is_dir) {
	const char *slash = memrchr(path.ptr, '/', path.len);
	struct st_str base =
		slash ? st_str_slice(path, (size_t)(slash + 1 - path.ptr), path.len) : path;
	for (size_t i = 0; i < glob->count; i++) {
		const struct alternative *alt = &glob->alternatives[i];
		if ((is_dir || !alt->dirs_only) && alt->count > 0 &&
		    matches_path(alt, alt->base ? base : path))
			return !glob->negated;
	}
	return glob->negated;
}
