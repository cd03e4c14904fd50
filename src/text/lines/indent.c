#include "text/lines/indent.h"

struct st_str st_indent_of(struct st_str line) {
	size_t len = 0;
	while (len < line.len && (line.ptr[len] == ' ' || line.ptr[len] == '\t'))
		len++;
	return st_strn(line.ptr, len);
}

size_t st_indent_shared(struct st_str a, struct st_str b) {
	size_t len = 0;
	while (len < a.len && len < b.len && a.ptr[len] == b.ptr[len])
		len++;
	return len;
}

bool st_indent_common(const struct st_lines *lines, size_t first, size_t last,
                      struct st_str *indent) {
	bool any = false;
	*indent = st_str("");
	for (size_t n = first; n <= last; n++) {
		struct st_str line = st_lines_body(lines, n);
		if (n == 1)
			line = st_str_slice(line, st_bom_len(line), line.len);
		struct st_str own = st_indent_of(line);
		if (own.len == line.len)
			continue;
		own.len = any ? st_indent_shared(own, *indent) : own.len;
		*indent = own;
		any = true;
	}
	return any;
}

void st_indent_shift(struct st_buf *out, const struct st_lines *lines, size_t cut,
                     struct st_str indent) {
	for (size_t n = 1; n <= lines->count; n++) {
		struct st_str line = st_lines_body(lines, n);
		if (st_indent_of(line).len < line.len) {
			st_buf_add(out, indent);
			line = st_str_slice(line, cut, line.len);
		}
		st_buf_add(out, line);
		st_buf_addc(out, '\n');
	}
}
