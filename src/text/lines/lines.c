#include "text/lines/lines.h"

#include "base/cancel.h"

#include <assert.h>
#include <stdint.h>

enum {
	/* Check for cancellation after so many lines. */
	STEP = 1 << 14,
	/* What indexing one line costs, in the bytes that st_cancel_check() counts. */
	LINE_WORK = 16,
};

/* Count sixteen bytes at a time: line numbers in a big file must not cost more than the search. */
#define LANES 16
typedef unsigned char lanes __attribute__((vector_size(LANES)));

static lanes load_lanes(const char *from) {
	lanes bytes;
	memcpy(&bytes, from, sizeof bytes);
	return bytes;
}

static size_t sum(lanes counts) {
	size_t total = 0;
	for (int i = 0; i < LANES; i++)
		total += counts[i];
	return total;
}

/*
 * Count the endings among the first `offset` bytes, as far as whole vectors reach; *at receives
 * where they end. Reads one byte past the offset to tell a lone CR from a CRLF.
 */
static struct st_eols count_lanes(struct st_str text, size_t offset, size_t *at) {
	const lanes lf = (lanes){0} + '\n';
	const lanes cr = (lanes){0} + '\r';
	struct st_eols eols = {0};
	size_t limit = offset < text.len ? offset : text.len - (text.len > 0);
	size_t i = 0;

	while (i + LANES <= limit) {
		lanes lfs = {0}, crs = {0}, crlfs = {0};
		/* Each lane counts in one byte, so it overflows after 255 rounds. */
		for (int rounds = 0; rounds < 255 && i + LANES <= limit; rounds++, i += LANES) {
			lanes here = load_lanes(text.ptr + i);
			lanes is_cr = (lanes)(here == cr);
			lfs -= (lanes)(here == lf);
			crs -= is_cr;
			crlfs -= is_cr & (lanes)(load_lanes(text.ptr + i + 1) == lf);
		}
		eols.lf += sum(lfs);
		eols.cr += sum(crs);
		eols.crlf += sum(crlfs);
	}
	*at = i;
	return eols;
}

size_t st_lf_count(struct st_str text) {
	const lanes lf = (lanes){0} + '\n';
	size_t count = 0, i = 0;
	while (i + 2 * LANES <= text.len) {
		lanes lfs = {0};
		for (int rounds = 0; rounds < 255 / 2 && i + 2 * LANES <= text.len;
		     rounds++, i += 2 * LANES) {
			lfs -= (lanes)(load_lanes(text.ptr + i) == lf);
			lfs -= (lanes)(load_lanes(text.ptr + i + LANES) == lf);
		}
		count += sum(lfs);
	}
	for (; i < text.len; i++)
		count += text.ptr[i] == '\n';
	return count;
}

/* Count every LF, every CR, and every CR that an LF follows, among the first `offset` bytes. */
static struct st_eols count_bytes(struct st_str text, size_t offset) {
	/* Most texts have no CR, and memchr() finds that out faster than counting. */
	if (offset == 0 || !memchr(text.ptr, '\r', offset))
		return (struct st_eols){.lf = st_lf_count(st_str_slice(text, 0, offset))};

	size_t i;
	struct st_eols eols = count_lanes(text, offset, &i);
	for (; i < offset; i++) {
		bool is_cr = text.ptr[i] == '\r';
		eols.lf += text.ptr[i] == '\n';
		eols.cr += is_cr;
		eols.crlf += is_cr && i + 1 < text.len && text.ptr[i + 1] == '\n';
	}
	return eols;
}

size_t st_line_ends(struct st_str text, size_t offset) {
	struct st_eols eols = count_bytes(text, offset);
	return eols.lf + eols.cr - eols.crlf;
}

size_t st_line_count(struct st_str text) {
	if (text.len == 0)
		return 0;
	st_cancel_progress(text.len);
	char last = text.ptr[text.len - 1];
	return st_line_ends(text, text.len) + (last != '\n' && last != '\r');
}

/*
 * st_line_start() and st_line_end() scan a small window first and then double it. Scanning up to
 * the next LF at once would take quadratic time over all lines of a file that has only CRs.
 */
#define WINDOW 256

size_t st_line_start(struct st_str text, size_t offset) {
	size_t end = offset;
	if (end > 0 && end < text.len && text.ptr[end] == '\n' && text.ptr[end - 1] == '\r')
		end--;
	for (size_t window = WINDOW; end > 0; window *= 2) {
		size_t from = window < end ? end - window : 0;
		const char *lf = memrchr(text.ptr + from, '\n', end - from);
		size_t start = lf ? (size_t)(lf + 1 - text.ptr) : from;
		const char *cr = memrchr(text.ptr + start, '\r', end - start);
		if (cr)
			return (size_t)(cr + 1 - text.ptr);
		if (lf)
			return start;
		end = from;
	}
	return 0;
}

size_t st_line_end(struct st_str text, size_t offset) {
	for (size_t window = WINDOW; offset < text.len; window *= 2) {
		const char *from = text.ptr + offset;
		size_t len = window < text.len - offset ? window : text.len - offset;
		const char *lf = memchr(from, '\n', len);
		const char *cr = memchr(from, '\r', lf ? (size_t)(lf - from) : len);
		if (cr) {
			size_t end = (size_t)(cr + 1 - text.ptr);
			return end < text.len && text.ptr[end] == '\n' ? end + 1 : end;
		}
		if (lf)
			return (size_t)(lf + 1 - text.ptr);
		offset += len;
	}
	return text.len;
}

struct st_str st_line_body(struct st_str text, size_t at) {
	struct st_str line = st_str_slice(text, at, st_line_end(text, at));
	line.len -= st_eol_bytes(st_eol_of(line)).len;
	return line;
}

/* st_line_offset() counts endings block by block, and steps line by line only in the last block. */
#define BLOCK 4096

size_t st_line_offset(struct st_str text, size_t n) {
	size_t at = 0, left = n > 0 ? n - 1 : 0;
	while (left > 0 && at < text.len) {
		size_t len = BLOCK < text.len - at ? BLOCK : text.len - at;
		size_t ends = st_line_ends(st_str_slice(text, at, text.len), len);
		if (ends >= left)
			break;
		left -= ends;
		at += len;
	}
	for (; left > 0 && at < text.len; left--)
		at = st_line_end(text, at);
	return at;
}

size_t st_lf_next(struct st_str text, size_t at) {
	const char *lf = memchr(text.ptr + at, '\n', text.len - at);
	return lf ? (size_t)(lf + 1 - text.ptr) : text.len;
}

/* The end of the line that starts at `at`; `lf` is the offset just after the next LF. */
static size_t line_end(struct st_str text, size_t at, size_t lf) {
	const char *cr = memchr(text.ptr + at, '\r', lf - at);
	if (!cr)
		return lf;
	size_t end = (size_t)(cr + 1 - text.ptr);
	return end < lf && text.ptr[end] == '\n' ? lf : end;
}

static int check_cancelled(size_t count, struct stet_error *err) {
	return count % STEP == 0 ? st_cancel_check(LINE_WORK * STEP, err) : 0;
}

/* Index the lines of a text with at most `ends` endings. `lone`: a lone CR ends a line. */
static int index_lines(struct st_lines *lines, struct st_str text, size_t ends, bool lone,
                       struct stet_error *err) {
	size_t *starts = malloc((ends + 2) * sizeof *starts);
	if (!starts)
		return st_fail_nomem(err);

	size_t count = 0, lf = 0;
	for (size_t at = 0; at < text.len;) {
		if (check_cancelled(count, err) < 0) {
			free(starts);
			return STET_E_CANCELLED;
		}
		starts[count++] = at;
		/* Keep the next LF for all lone CRs before it: a file full of them would take quadratic time. */
		if (lf <= at || count == 1)
			lf = st_lf_next(text, at);
		at = lone ? line_end(text, at, lf) : lf;
	}
	assert(count <= ends + 1);
	starts[count] = text.len;
	*lines = (struct st_lines){text, starts, count};
	return 0;
}

int st_lines_init(struct st_lines *lines, struct st_str text, struct stet_error *err) {
	struct st_eols eols = st_eols_count(text);
	return index_lines(lines, text, eols.lf + eols.crlf + eols.cr, eols.cr > 0, err);
}

int st_lines_init_lf(struct st_lines *lines, struct st_str text, struct stet_error *err) {
	return index_lines(lines, text, st_lf_count(text), false, err);
}

int st_lines_init_near(struct st_lines *lines, struct st_str text, const struct st_lines *known,
                       size_t head, size_t tail, struct stet_error *err) {
	assert(head + tail <= known->count);
	size_t tail_at = known->starts[known->count - tail];
	size_t end = text.len - (known->text.len - tail_at);
	struct st_str between = st_str_slice(text, known->starts[head], end);
	size_t *starts = malloc((head + st_lf_count(between) + tail + 2) * sizeof *starts);
	if (!starts)
		return st_fail_nomem(err);

	size_t count = 0;
	int code = 0;
	for (; count < head && code == 0; code = check_cancelled(++count, err))
		starts[count] = known->starts[count];
	for (size_t at = known->starts[head]; at < end && code == 0;
	     code = check_cancelled(count, err)) {
		starts[count++] = at;
		at = st_lf_next(text, at);
	}
	for (size_t i = known->count - tail; i < known->count && code == 0;
	     i++, code = check_cancelled(count, err))
		starts[count++] = known->starts[i] - tail_at + end;
	if (code < 0) {
		free(starts);
		return code;
	}
	starts[count] = text.len;
	*lines = (struct st_lines){text, starts, count};
	return 0;
}

void st_lines_release(struct st_lines *lines) {
	free(lines->starts);
	/* free() of a hundred megabytes takes noticeable time. */
	st_cancel_progress(lines->count * sizeof *lines->starts);
	*lines = (struct st_lines){0};
}

struct st_str st_lines_range(const struct st_lines *lines, size_t first, size_t last) {
	if (last < first)
		return st_str("");
	assert(first > 0 && last <= lines->count);
	return st_str_slice(lines->text, lines->starts[first - 1], lines->starts[last]);
}

struct st_str st_lines_whole(const struct st_lines *lines, size_t n) {
	return st_lines_range(lines, n, n);
}

struct st_str st_lines_body(const struct st_lines *lines, size_t n) {
	struct st_str line = st_lines_whole(lines, n);
	line.len -= st_eol_bytes(st_eol_of(line)).len;
	return line;
}

size_t st_lines_number(const struct st_lines *lines, size_t offset) {
	size_t low = 0, high = lines->count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (lines->starts[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return low + 1;
}

enum st_eol st_eol_of(struct st_str line) {
	if (line.len == 0)
		return ST_EOL_NONE;
	if (line.ptr[line.len - 1] == '\r')
		return ST_EOL_CR;
	if (line.ptr[line.len - 1] != '\n')
		return ST_EOL_NONE;
	return line.len > 1 && line.ptr[line.len - 2] == '\r' ? ST_EOL_CRLF : ST_EOL_LF;
}

struct st_str st_eol_bytes(enum st_eol eol) {
	static const struct st_str bytes[] = {
		[ST_EOL_NONE] = {"", 0},
		[ST_EOL_LF] = {"\n", 1},
		[ST_EOL_CRLF] = {"\r\n", 2},
		[ST_EOL_CR] = {"\r", 1},
	};
	return bytes[eol];
}

struct st_eols st_eols_count(struct st_str text) {
	struct st_eols eols = count_bytes(text, text.len);
	eols.lf -= eols.crlf;
	eols.cr -= eols.crlf;
	return eols;
}

enum st_eol st_eol_of_text(struct st_str text) {
	struct st_eols eols = st_eols_count(text);
	if (eols.lf >= eols.crlf && eols.lf >= eols.cr)
		return ST_EOL_LF;
	return eols.crlf >= eols.cr ? ST_EOL_CRLF : ST_EOL_CR;
}

void st_eol_convert(struct st_buf *buf, struct st_str text, enum st_eol eol) {
	for (size_t at = 0; at < text.len;) {
		const char *lf = memchr(text.ptr + at, '\n', text.len - at);
		if (!lf) {
			st_buf_add(buf, st_str_slice(text, at, text.len));
			return;
		}
		size_t end = (size_t)(lf - text.ptr);
		bool crlf = end > at && lf[-1] == '\r';
		st_buf_add(buf, st_str_slice(text, at, end - crlf));
		st_buf_add(buf, st_eol_bytes(eol));
		st_cancel_progress(end - at + LINE_WORK);
		at = end + 1;
	}
}

size_t st_bom_len(struct st_str text) {
	return st_str_starts(text, ST_STR("\xEF\xBB\xBF")) ? 3 : 0;
}
