#include "text/find/glob.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/unicode.h"
#include "base/utf8.h"
#include "text/find/braces.h"

/* One pattern may take this much memory; that of all its alternatives is more than enough. */
#define GLOB_LIMIT ((size_t)64 << 20)

/* ---- what a pattern is ---- */

struct range {
	uint32_t first, last;
};

/* What is between brackets: characters, and classes of them as bits. */
struct set {
	bool negated;
	struct range *ranges;
	size_t count;
	unsigned classes;
};

enum kind {
	/* One byte, this one. */
	BYTE,
	/* One character, any. */
	ANY,
	/* One character of a set. */
	SET,
	/* Nothing at all: a set of nothing. */
	NEVER,
	/* Any run of characters. */
	STAR,
	/* Parentheses with what is before them: one of "?*+@!". */
	CHOICE,
};

struct node;

struct sequence {
	struct node *nodes;
	size_t count;
};

/* What follows a node up to the end of the name: the rest of its sequence, then what follows that. */
struct tail {
	const struct sequence *sequence;
	size_t from;
	const struct tail *up;
};

struct node {
	enum kind kind;
	unsigned char byte;
	const struct set *set;
	/* Of a choice. */
	char type;
	struct sequence *choices;
	size_t count;
	struct tail tail;
	/* Counts the `!(...)` of a name. */
	size_t number;
};

/* A part of a path: directories, a name, or names. */
struct part {
	bool deep;
	/* The name, if it is no pattern. */
	bool literal;
	struct st_str text;
	struct sequence names;
	size_t nots;
};

/* A pattern without braces. */
struct form {
	/* Only the last name is looked at. */
	bool base;
	bool dirs_only;
	struct part *parts;
	size_t count;
};

struct st_glob {
	bool negated;
	struct form *forms;
	size_t count;
	struct st_arena arena;
};

/* ---- reading ---- */

struct reader {
	struct st_arena *arena;
	/* Of the name that is read. */
	size_t nots;
	/* Why it is no pattern; NULL without memory. */
	const char *problem;
};

static bool fail(struct reader *reader, const char *problem) {
	reader->problem = problem;
	return false;
}

/* The class that a text begins with, as [:alpha:]; 0 if it is none. */
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

/* A character of a set, which may be escaped. How long it is; 0 at the end. */
static size_t set_point(struct st_str text, size_t at, uint32_t *point) {
	size_t escape = at < text.len && text.ptr[at] == '\\';
	if (at + escape >= text.len)
		return 0;
	return escape + st_utf8_next(st_str_slice(text, at + escape, text.len), point);
}

static void set_add(struct set *set, uint32_t first, uint32_t last) {
	/* One that ends before it begins holds nothing. */
	if (first <= last)
		set->ranges[set->count++] = (struct range){first, last};
}

/*
 * Read what is between brackets, at being behind the first. Where it ends; 0 if
 * it does not. A "]" that comes first, and a "-" that is no range, stand for
 * themselves.
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
		len = set_point(text, at, &point);
		if (len == 0)
			return 0;
		at += len;
		last = point;
		if (at + 1 < text.len && text.ptr[at] == '-' && text.ptr[at + 1] != ']') {
			*never |= class_at(st_str_slice(text, at + 1, text.len), &class) > 0;
			len = set_point(text, at + 1, &last);
			if (len == 0)
				return 0;
			at += 1 + len;
		}
		set_add(set, point, last);
	}
	*never |= set->count == 0 && set->classes == 0;
	return at < text.len ? at + 1 : 0;
}

/* Add a set to a sequence. Where it ends; 0 if it is none; SIZE_MAX without memory. */
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

/* Add a text without parentheses of its own to a sequence, which has room for it. */
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
		/* Two stars are as good as one. */
		bool again = byte == '*' && out->count > 0 && node[-1].kind == STAR;
		out->count += !again;
	}
	return true;
}

/* Where brackets end that open at a place, as far as parentheses are concerned: behind the text if they do not. */
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

static bool opens(struct st_str text, size_t at) {
	return at + 1 < text.len && text.ptr[at + 1] == '(' && text.ptr[at] &&
	       strchr("?*+@!", text.ptr[at]);
}

/* One step on: a character, one that is escaped, or all that is between brackets. */
static size_t step_over(struct st_str text, size_t at) {
	if (text.ptr[at] == '[')
		return skip_brackets(text, at);
	return at + 1 + (text.ptr[at] == '\\' && at + 1 < text.len);
}

/* The end of parentheses that open behind a place, and how many choices they have; 0 if they do not end. */
static size_t find_close(struct st_str text, size_t at, size_t *choices) {
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

/* Parentheses at a place, with the character before them. */
static bool read_choice(struct reader *reader, struct st_str text, size_t at, size_t close,
                        size_t choices, size_t depth, struct node *node) {
	if (depth == ST_GLOB_DEPTH_MAX)
		return fail(reader, "nests parentheses too deeply");
	*node = (struct node){.kind = CHOICE, .type = text.ptr[at]};
	if (node->type == '!' && reader->nots == ST_GLOB_NOTS_MAX)
		return fail(reader, "holds too many of \"!(...)\"");
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
		size_t close = find_close(text, at, &choices);
		/* What is not closed, and all behind it, stands for itself. */
		if (close == 0)
			break;
		if (!add_plain(reader, st_str_slice(text, start, at), out) ||
		    !read_choice(reader, text, at, close, choices, depth, &out->nodes[out->count++]))
			return false;
		start = at = close + 1;
	}
	return add_plain(reader, st_str_slice(text, start, text.len), out);
}

static void find_tails(struct sequence *sequence, const struct tail *up) {
	for (size_t i = 0; i < sequence->count; i++) {
		struct node *node = &sequence->nodes[i];
		node->tail = (struct tail){sequence, i + 1, up};
		for (size_t k = 0; k < node->count; k++)
			find_tails(&node->choices[k], &node->tail);
	}
}

/* A name without a pattern in it, its escapes undone; compared byte by byte. */
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
	find_tails(&part->names, NULL);
	return make_literal(reader, part);
}

/* `..` takes the part before it away; one of directories stands for all of them in a row. */
static bool add_part(struct reader *reader, struct form *form, struct st_str text) {
	struct part *before = form->count > 0 ? &form->parts[form->count - 1] : NULL;
	if (before && before->deep && st_str_eq(text, ST_STR("**")))
		return true;
	if (before && !before->deep && st_str_eq(text, ST_STR(".."))) {
		form->count--;
		return true;
	}
	form->parts[form->count] = (struct part){0};
	return read_part(reader, text, &form->parts[form->count++]);
}

static size_t count_slashes(struct st_str text) {
	size_t count = 0;
	for (size_t i = 0; i < text.len; i++)
		count += text.ptr[i] == '/';
	return count;
}

static bool read_form(struct reader *reader, struct st_str text, struct form *form) {
	while (st_str_starts(text, ST_STR("./")))
		text = st_str_slice(text, 2, text.len);
	while (text.len > 0 && text.ptr[text.len - 1] == '/') {
		form->dirs_only = true;
		text.len--;
	}
	form->parts = st_arena_array(reader->arena, count_slashes(text) + 1, sizeof *form->parts);
	if (!form->parts)
		return false;
	for (size_t start = 0; start < text.len;) {
		const char *slash = memchr(text.ptr + start, '/', text.len - start);
		size_t end = slash ? (size_t)(slash - text.ptr) : text.len;
		if (end > start && !add_part(reader, form, st_str_slice(text, start, end)))
			return false;
		start = end + 1;
	}
	form->base = form->count == 1 && text.ptr[0] != '/';
	return true;
}

/* ---- making ---- */

/* How many "!" stand before a pattern; not one that belongs to parentheses. */
static size_t count_nots(struct st_str pattern) {
	size_t count = 0;
	while (count < pattern.len && pattern.ptr[count] == '!' && !opens(pattern, count))
		count++;
	return count;
}

static int read_all(struct st_glob *glob, struct st_str pattern, struct stet_error *err) {
	struct reader reader = {.arena = &glob->arena};
	st_auto(st_braces) braces = {0};
	size_t nots = count_nots(pattern);
	glob->negated = nots % 2;
	int code = st_braces_expand(&braces, st_str_slice(pattern, nots, pattern.len), err);
	if (code < 0)
		return code;
	glob->forms = st_arena_array(&glob->arena, braces.count, sizeof *glob->forms);
	bool read = glob->forms != NULL;
	for (size_t i = 0; i < braces.count && read; i++)
		read = read_form(&reader, st_buf_str(&braces.list[i]), &glob->forms[glob->count++]);
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
	int code = read_all(glob, pattern, err);
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
 * Places in a name, one bit each: before its first byte, ..., behind its last.
 * A sequence goes from the places where it may begin to those where it may
 * end, all at once, so that nothing has to be tried again.
 */
enum { PLACE_WORDS = (ST_GLOB_NAME_MAX + 64) / 64 };

struct places {
	uint64_t bits[PLACE_WORDS];
};

struct match {
	struct st_str name;
	/* How many words have bits of this name. */
	size_t word_count;
	/* Where characters begin, and the end. */
	struct places starts;
	/* Which `!(...)` cannot begin at a place, as far as that is known. */
	struct places known[ST_GLOB_NOTS_MAX], ruled_out[ST_GLOB_NOTS_MAX];
};

static bool has(const struct places *places, size_t at) {
	return places->bits[at / 64] >> (at % 64) & 1;
}

static void add(struct places *places, size_t at) {
	places->bits[at / 64] |= (uint64_t)1 << (at % 64);
}

/* The first place from one on; SIZE_MAX if there is none. */
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

/* True if there are some that were not there. */
static bool join(const struct match *match, struct places *places, const struct places *more) {
	uint64_t new = 0;
	for (size_t i = 0; i < match->word_count; i++) {
		new |= more->bits[i] & ~places->bits[i];
		places->bits[i] |= more->bits[i];
	}
	return new != 0;
}

static void take_away(const struct match *match, struct places *places, const struct places *less) {
	for (size_t i = 0; i < match->word_count; i++)
		places->bits[i] &= ~less->bits[i];
}

/* Every start of a character from a place on. */
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

/* How many bytes a node takes at a place; 0 if it does not match there. */
static size_t take(const struct match *match, const struct node *node, size_t at) {
	uint32_t point;
	if (node->kind == BYTE)
		return (unsigned char)match->name.ptr[at] == node->byte;
	if (node->kind == NEVER)
		return 0;
	size_t len = st_utf8_next(st_str_slice(match->name, at, match->name.len), &point);
	return node->kind == ANY || set_has(node->set, point) ? len : 0;
}

static void go(struct match *match, const struct node *node, struct places *places);

static void go_on(struct match *match, const struct sequence *sequence, size_t from,
                  struct places *places) {
	for (size_t i = from; i < sequence->count; i++)
		go(match, &sequence->nodes[i], places);
}

/* Where one of the choices ends that begins at one of the places. */
static struct places choose(struct match *match, const struct node *node,
                            const struct places *from) {
	struct places all = {0};
	for (size_t i = 0; i < node->count; i++) {
		struct places ends = *from;
		go_on(match, &node->choices[i], 0, &ends);
		join(match, &all, &ends);
	}
	return all;
}

/* Add whatever can be reached by another of the choices, and another. */
static void repeat(struct match *match, const struct node *node, struct places *places) {
	struct places new = *places;
	for (;;) {
		struct places next = choose(match, node, &new);
		take_away(match, &next, places);
		if (!join(match, places, &next))
			return;
		new = next;
	}
}

/* Whether the choices, and what follows them, match from a place up to the end of the name. */
static bool leads_to_end(struct match *match, const struct node *node, size_t at) {
	struct places places = {0};
	add(&places, at);
	places = choose(match, node, &places);
	for (const struct tail *tail = &node->tail; tail; tail = tail->up)
		go_on(match, tail->sequence, tail->from, &places);
	return has(&places, match->name.len);
}

static bool is_ruled_out(struct match *match, const struct node *node, size_t at) {
	size_t number = node->number;
	if (!has(&match->known[number], at)) {
		add(&match->known[number], at);
		if (leads_to_end(match, node, at))
			add(&match->ruled_out[number], at);
	}
	return has(&match->ruled_out[number], at);
}

/* From the first place that is not ruled out, all others can be reached. */
static void go_not(struct match *match, const struct node *node, struct places *places) {
	size_t at = next_place(match, places, 0);
	bool nothing = node->count == 1 && node->choices[0].count == 0;
	/* `!()` is anything but nothing. */
	if (nothing && at != SIZE_MAX)
		at = next_place(match, &match->starts, at + 1);
	else
		while (at != SIZE_MAX && is_ruled_out(match, node, at))
			at = next_place(match, places, at + 1);
	*places = (struct places){0};
	if (at != SIZE_MAX)
		add_from(match, places, at);
}

static void go_choice(struct match *match, const struct node *node, struct places *places) {
	struct places before = *places;
	if (node->type == '!') {
		go_not(match, node, places);
		return;
	}
	if (node->type != '*')
		*places = choose(match, node, places);
	if (node->type == '?')
		join(match, places, &before);
	if (node->type == '*' || node->type == '+')
		repeat(match, node, places);
}

/* From the places where a node may begin to those where it may end. */
static void go(struct match *match, const struct node *node, struct places *places) {
	struct places next = {0};
	size_t first = next_place(match, places, 0);
	if (first == SIZE_MAX)
		return;
	if (node->kind == CHOICE) {
		go_choice(match, node, places);
		return;
	}
	if (node->kind == STAR) {
		add_from(match, places, first);
		return;
	}
	for (size_t at = first; at < match->name.len; at = next_place(match, places, at + 1)) {
		size_t len = take(match, node, at);
		if (len > 0)
			add(&next, at + len);
	}
	*places = next;
}

static void find_starts(struct match *match) {
	for (size_t at = 0; at < match->name.len;) {
		uint32_t point;
		add(&match->starts, at);
		at += st_utf8_next(st_str_slice(match->name, at, match->name.len), &point);
	}
	add(&match->starts, match->name.len);
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
	find_starts(&match);
	struct places places = {0};
	add(&places, 0);
	go_on(&match, &part->names, 0, &places);
	return has(&places, name.len);
}

/* ---- matching a path ---- */

static struct st_str name_at(struct st_str path, size_t at) {
	const char *slash = memchr(path.ptr + at, '/', path.len - at);
	return st_str_slice(path, at, slash ? (size_t)(slash - path.ptr) : path.len);
}

/* On a mismatch only the last `**` need reach further: what an earlier one could take, this one could too. */
static bool matches_path(const struct form *form, struct st_str path) {
	size_t part = 0, at = 0, deep_part = SIZE_MAX, deep_at = 0;
	for (;;) {
		bool ended = at >= path.len;
		if (part < form->count && form->parts[part].deep) {
			/* At the end it stands for something. */
			if (part + 1 == form->count)
				return !ended;
			deep_part = ++part;
			deep_at = at;
			continue;
		}
		if (ended && part == form->count)
			return true;
		struct st_str name = ended ? st_str("") : name_at(path, at);
		if (!ended && part < form->count && matches_name(&form->parts[part], name)) {
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
		const struct form *form = &glob->forms[i];
		if ((is_dir || !form->dirs_only) && form->count > 0 &&
		    matches_path(form, form->base ? base : path))
			return !glob->negated;
	}
	return glob->negated;
}
