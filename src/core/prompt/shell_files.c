#include "core/prompt/shell_files.h"

#include "base/buf.h"

enum { WORDS_MAX = 64 };

struct shell {
	st_file_use_fn *each;
	void *data;
	/** The directory of the last cd; empty for the one where it began. */
	struct st_buf dir;
	/** The words of a simple command, and the files it redirects to. */
	struct st_str argv[WORDS_MAX];
	size_t count;
	bool good;
};

static bool equals(struct st_str text, const char *word) {
	return st_str_eq(text, st_str(word));
}

/* Whether a word is a plain path: no expansion, no option, no device. */
static bool is_plain(struct st_str word) {
	if (word.len == 0 || word.len > 1024 || word.ptr[0] == '-' || word.ptr[0] == '&' ||
	    st_str_starts(word, ST_STR("/dev/")) || word.ptr[word.len - 1] == '/')
		return false;
	for (size_t i = 0; i < word.len; i++) {
		if (strchr("$*?[]{}()<>|&;`'\"\\~=!#", word.ptr[i]) || (unsigned char)word.ptr[i] <= ' ')
			return false;
	}
	return !equals(word, ".") && !equals(word, "..");
}

static void report_file(struct shell *shell, struct st_str word, enum st_file_use use) {
	if (!shell->good || !is_plain(word))
		return;
	if (word.ptr[0] == '/' || shell->dir.len == 0) {
		shell->good = shell->each(shell->data, word, use);
		return;
	}
	st_auto(st_buf) path = ST_BUF_INIT;
	st_buf_add(&path, st_buf_str(&shell->dir));
	if (path.len && path.ptr[path.len - 1] != '/')
		st_buf_addc(&path, '/');
	st_buf_add(&path, word);
	shell->good = !path.failed && shell->each(shell->data, st_buf_str(&path), use);
}

/* Report the operands of a command from the n-th on, without options. */
static void report_operands(struct shell *shell, size_t from, enum st_file_use use) {
	for (size_t i = from; i < shell->count; i++) {
		/* head -n 5: a number is no file. */
		bool is_number = shell->argv[i].len && shell->argv[i].ptr[0] >= '0' &&
		                 shell->argv[i].ptr[0] <= '9' && shell->argv[i].len < 7;
		if (!is_number)
			report_file(shell, shell->argv[i], use);
	}
}

static void run_sed(struct shell *shell) {
	bool in_place = false, has_script = false;
	for (size_t i = 1; i < shell->count; i++) {
		struct st_str word = shell->argv[i];
		in_place |= st_str_starts(word, ST_STR("-i"));
		if (word.len && word.ptr[0] == '-') {
			/* The word after -e is a script. */
			has_script |= equals(word, "-e");
			i += equals(word, "-e");
		} else if (!has_script) {
			has_script = true;
		} else {
			report_file(shell, word, in_place ? ST_USE_EDITED : ST_USE_READ);
		}
	}
}

static void change_dir(struct shell *shell) {
	struct st_str to = shell->count > 1 ? shell->argv[1] : ST_STR("~");
	if (to.len > 1 && to.ptr[to.len - 1] == '/')
		to.len--;
	if (!is_plain(to)) {
		/* Unknown from here on: no relative path can be named. */
		st_buf_clear(&shell->dir);
		st_buf_adds(&shell->dir, "$");
		return;
	}
	if (to.ptr[0] == '/')
		st_buf_clear(&shell->dir);
	else if (shell->dir.len)
		st_buf_addc(&shell->dir, '/');
	st_buf_add(&shell->dir, to);
}

/* Report what a simple command does to its operands. */
static void run_words(struct shell *shell) {
	static const char *const readers[] = {"cat", "head", "tail", "nl", "less", "more"};
	if (shell->count == 0)
		return;
	struct st_str name = shell->argv[0];
	if (equals(name, "cd"))
		change_dir(shell);
	bool unknown = shell->dir.len && shell->dir.ptr[0] == '$';
	for (size_t i = 0; !unknown && i < sizeof readers / sizeof *readers; i++) {
		if (equals(name, readers[i]))
			report_operands(shell, 1, ST_USE_READ);
	}
	if (unknown)
		return;
	if (equals(name, "sed"))
		run_sed(shell);
	else if (equals(name, "rm"))
		report_operands(shell, 1, ST_USE_DELETED);
	else if (equals(name, "tee") || equals(name, "touch"))
		report_operands(shell, 1, ST_USE_WROTE);
	else if (equals(name, "mv") && shell->count == 3) {
		report_file(shell, shell->argv[1], ST_USE_DELETED);
		report_file(shell, shell->argv[2], ST_USE_WROTE);
	} else if (equals(name, "cp") && shell->count == 3)
		report_file(shell, shell->argv[2], ST_USE_WROTE);
}

/* The end of the word at an offset; quotes hide blanks and signs. */
static size_t end_of_word(struct st_str text, size_t at) {
	char quote = 0;
	for (; at < text.len; at++) {
		char byte = text.ptr[at];
		if (quote)
			quote = byte == quote ? 0 : quote;
		else if (byte == '\'' || byte == '"')
			quote = byte;
		else if (strchr(" \t\n;|&<>()", byte))
			break;
	}
	return at;
}

static struct st_str unquote(struct st_str word) {
	bool quoted = word.len > 2 && (word.ptr[0] == '\'' || word.ptr[0] == '"') &&
	              word.ptr[word.len - 1] == word.ptr[0];
	return quoted ? st_str_slice(word, 1, word.len - 1) : word;
}

static struct st_str next_word(struct st_str text, size_t *at) {
	while (*at < text.len && (text.ptr[*at] == ' ' || text.ptr[*at] == '\t'))
		++*at;
	size_t from = *at;
	*at = end_of_word(text, from);
	return unquote(st_str_slice(text, from, *at));
}

/* Step over the lines of a here-document; `at` is behind its <<. */
static void skip_document(struct st_str text, size_t *at, struct st_str *rest) {
	*at += *at < text.len && text.ptr[*at] == '-';
	struct st_str word = next_word(text, at);
	const char *line = memchr(text.ptr + *at, '\n', text.len - *at);
	size_t end = line ? (size_t)(line - text.ptr) : text.len;
	*rest = st_str_slice(text, *at, end);
	while (line && end < text.len) {
		size_t from = end + 1;
		const char *next = from < text.len ? memchr(text.ptr + from, '\n', text.len - from) : NULL;
		end = next ? (size_t)(next - text.ptr) : text.len;
		if (st_str_eq(st_str_trim(st_str_slice(text, from < end ? from : end, end)), word))
			break;
	}
	*at = end;
}

static void redirect(struct shell *shell, struct st_str text, size_t *at) {
	bool append = *at + 1 < text.len && text.ptr[*at + 1] == '>';
	*at += append ? 2 : 1;
	if (*at < text.len && text.ptr[*at] == '&') {
		++*at;
		next_word(text, at);
		return;
	}
	struct st_str word = next_word(text, at);
	if (!shell->dir.len || shell->dir.ptr[0] != '$')
		report_file(shell, word, append ? ST_USE_EDITED : ST_USE_WROTE);
}

static void run_document(struct shell *shell, struct st_str text, size_t *at) {
	struct st_str rest;
	*at += 2;
	skip_document(text, at, &rest);
	/* What follows on the line: cat <<EOF > file */
	size_t place = 0;
	while (place < rest.len) {
		if (rest.ptr[place] == '>')
			redirect(shell, rest, &place);
		else
			place++;
	}
}

static void run_text(struct shell *shell, struct st_str text) {
	size_t at = 0;
	while (at < text.len && shell->good) {
		char byte = text.ptr[at];
		if (byte == '<' && at + 1 < text.len && text.ptr[at + 1] == '<') {
			run_document(shell, text, &at);
		} else if (byte == '>') {
			redirect(shell, text, &at);
		} else if (strchr("\n;|&()", byte)) {
			run_words(shell);
			shell->count = 0;
			at++;
		} else if (byte == ' ' || byte == '\t' || byte == '<') {
			at++;
		} else {
			struct st_str word = next_word(text, &at);
			if (shell->count < WORDS_MAX)
				shell->argv[shell->count++] = word;
		}
	}
	run_words(shell);
}

bool st_shell_files(struct st_str command, st_file_use_fn *each, void *data) {
	struct shell shell = {.each = each, .data = data, .good = true};
	run_text(&shell, command);
	st_buf_release(&shell.dir);
	return shell.good;
}
