#include "lib/gen.h"

#include "lib/test.h"

struct gen gen_new(uint64_t seed) {
	return (struct gen){seed};
}

/* Sebastiano Vigna's splitmix64. */
uint64_t gen_next(struct gen *gen) {
	uint64_t z = gen->state += 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

size_t gen_below(struct gen *gen, size_t bound) {
	return (size_t)(gen_next(gen) % bound);
}

bool gen_one_in(struct gen *gen, size_t times) {
	return gen_below(gen, times) == 0;
}

/* A part of the flags, by chance. */
static unsigned take_some(struct gen *gen, unsigned flags) {
	return flags & (unsigned)gen_next(gen);
}

/* Word number n always reads the same, so that it can repeat. */
static void add_word(struct st_buf *out, size_t n, unsigned flags) {
	static const char *const common[] = {"", "}", "\t\tbreak;", "    return 0;", "the end"};
	static const char *const foreign[] = {"\xC3\xA9t\xC3\xA9", "\xE6\x97\xA5\xE6\x9C\xAC",
	                                      "\xF0\x9F\x98\x80 ok", "\xE2\x80\x9Cquoted\xE2\x80\x9D"};
	static const char *const garbage[] = {"\xFF\xFE", "caf\xE9", "\x01\x1B[0m", "\xC3", "\x80\x80"};

	if (n % 3 == 1 && (flags & GEN_UTF8))
		st_buf_addf(out, "%s %zu", foreign[n % 4], n);
	else if (n % 3 == 2 && (flags & GEN_GARBAGE))
		st_buf_addf(out, "%s%zu", garbage[n % 5], n);
	else if (n < 5)
		st_buf_adds(out, common[n]);
	else
		st_buf_addf(out, "\tline %zu of them;", n);
}

static void add_line(struct gen *gen, const struct gen_style *style, unsigned flags,
                     struct st_buf *out) {
	if (style->common && gen_one_in(gen, style->common))
		add_word(out, gen_below(gen, 2), 0);
	else
		add_word(out, gen_below(gen, style->words), flags);
	if ((flags & GEN_CR) && gen_one_in(gen, 8))
		st_buf_adds(out, gen_one_in(gen, 2) ? "\r" : "\rx");
	st_buf_adds(out, (flags & GEN_CRLF) && !gen_one_in(gen, 10) ? "\r\n" : "\n");
}

static void open_end(struct st_buf *out) {
	if (st_str_ends(st_buf_str(out), ST_STR("\r\n")))
		st_buf_truncate(out, out->len - 2);
	else if (st_str_ends(st_buf_str(out), ST_STR("\n")))
		st_buf_truncate(out, out->len - 1);
}

void gen_text(struct gen *gen, const struct gen_style *style, struct st_buf *out) {
	unsigned flags = take_some(gen, style->flags);
	size_t lines = gen_below(gen, style->max_lines + 1);

	st_buf_clear(out);
	if (flags & GEN_BOM)
		st_buf_adds(out, "\xEF\xBB\xBF");
	for (size_t i = 0; i < lines; i++)
		add_line(gen, style, flags, out);
	if (flags & GEN_OPEN_END)
		open_end(out);
}

/* How many lines a text has that end at LF, or at its end. */
static size_t count_lines(struct st_str text) {
	size_t count = 0;
	for (size_t i = 0; i < text.len; i++)
		count += text.ptr[i] == '\n' || i + 1 == text.len;
	return count;
}

/* Where a line starts; the end of the text for the one after the last. */
static size_t line_start(struct st_str text, size_t line) {
	size_t at = 0;
	for (; line > 0 && at < text.len; at++)
		line -= text.ptr[at] == '\n';
	return at;
}

static struct st_str some_lines(struct st_str text, size_t first, size_t end) {
	return st_str_slice(text, line_start(text, first), line_start(text, end));
}

/* One change to some lines; `out` is empty before. */
static void change_once(struct gen *gen, const struct gen_style *style, struct st_str text,
                        struct st_buf *out) {
	enum { INSERT, DELETE, REPLACE, REPEAT, MOVE, KINDS };
	unsigned flags = take_some(gen, style->flags);
	size_t lines = count_lines(text);
	size_t first = gen_below(gen, lines + 1);
	size_t end = first + gen_below(gen, 4);
	size_t kind = gen_below(gen, KINDS);

	if (end > lines || kind == INSERT)
		end = kind == INSERT ? first : lines;
	struct st_str block = some_lines(text, first, end);
	st_buf_add(out, some_lines(text, 0, first));
	if (kind == REPEAT)
		st_buf_add(out, block);
	if (kind == INSERT || kind == REPLACE) {
		for (size_t i = 0; i <= gen_below(gen, 3); i++)
			add_line(gen, style, flags, out);
	}
	size_t later = kind == MOVE ? end + gen_below(gen, lines - end + 1) : end;
	st_buf_add(out, some_lines(text, end, later));
	if (kind == MOVE || kind == REPEAT)
		st_buf_add(out, block);
	st_buf_add(out, some_lines(text, later, lines));
}

void gen_edit(struct gen *gen, const struct gen_style *style, struct st_str text, size_t changes,
              struct st_buf *out) {
	st_auto(st_buf) now = ST_BUF_INIT;

	st_buf_add(&now, text);
	for (size_t i = 0; i < changes; i++) {
		st_auto(st_buf) next = ST_BUF_INIT;
		change_once(gen, style, st_buf_str(&now), &next);
		st_buf_move(&now, &next);
	}
	if ((style->flags & GEN_OPEN_END) && gen_one_in(gen, 6))
		open_end(&now);
	st_buf_move(out, &now);
}

uint64_t gen_seed(void) {
	const char *seed = getenv("STET_SEED");
	return seed ? strtoull(seed, NULL, 0) : 1;
}

size_t gen_rounds(size_t ordinary, size_t torture) {
	return getenv("STET_TORTURE") ? torture : ordinary;
}

/* Try the texts without some lines of one of them. Keeps it so if that still fails. */
static bool drop_lines(struct st_buf *texts, size_t which, size_t first, size_t end,
                       bool (*fails)(const struct st_buf *texts, void *arg), void *arg) {
	struct st_buf whole = texts[which];
	struct st_buf less = ST_BUF_INIT;
	struct st_str text = st_buf_str(&whole);

	st_buf_add(&less, some_lines(text, 0, first));
	st_buf_add(&less, some_lines(text, end, count_lines(text)));
	texts[which] = less;
	bool still = fails(texts, arg);
	texts[which] = still ? less : whole;
	st_buf_release(still ? &whole : &less);
	return still;
}

void gen_shrink(struct st_buf *texts, size_t count,
                bool (*fails)(const struct st_buf *texts, void *arg), void *arg) {
	bool shrunk;
	do {
		shrunk = false;
		for (size_t which = 0; which < count; which++) {
			for (size_t part = count_lines(st_buf_str(&texts[which])); part > 0; part /= 2) {
				for (size_t at = 0; at < count_lines(st_buf_str(&texts[which]));) {
					if (drop_lines(texts, which, at, at + part, fails, arg))
						shrunk = true;
					else
						at += part;
				}
			}
		}
	} while (shrunk);
}

void gen_show(const char *name, struct st_str text) {
	print_message("%s =\n\t\"", name);
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (c == '\n')
			print_message(i + 1 < text.len ? "\\n\"\n\t\"" : "\\n");
		else if (c < ' ' || c >= 0x7F || c == '"' || c == '\\')
			print_message("\\%03o", c);
		else
			print_message("%c", c);
	}
	print_message("\"\n");
}
