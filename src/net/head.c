#include "net/head.h"

#include <assert.h>
#include <stdlib.h>
#include <strings.h>

void st_head_release(struct st_head *head) {
	free(head->text);
	*head = (struct st_head){0};
}

/* Whether there is a NUL, or a CR or LF that is not part of CR LF. */
static bool is_misplaced(struct st_str bytes, size_t at) {
	bool bare_cr = at > 0 && bytes.ptr[at - 1] == '\r' && bytes.ptr[at] != '\n';
	bool bare_lf = bytes.ptr[at] == '\n' && (at == 0 || bytes.ptr[at - 1] != '\r');
	return bare_cr || bare_lf || bytes.ptr[at] == '\0';
}

ssize_t st_head_end(struct st_str bytes, size_t *scanned) {
	for (size_t at = *scanned; at < bytes.len; at++) {
		if (is_misplaced(bytes, at))
			return -1;
		if (bytes.ptr[at] == '\n' && (at < 2 || bytes.ptr[at - 2] == '\n'))
			return (ssize_t)at + 1;
	}
	*scanned = bytes.len;
	return 0;
}

/* The characters of a token (RFC 9110): field names and methods. */
static bool is_token_char(char c) {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token_len(const char *text) {
	size_t len = 0;
	while (is_token_char(text[len]))
		len++;
	return len;
}

static const struct {
	const char *name;
	enum st_method method;
} methods[] = {
	{"GET", ST_METHOD_GET},
	{"HEAD", ST_METHOD_HEAD},
	{"POST", ST_METHOD_POST},
	{"DELETE", ST_METHOD_DELETE},
};

static enum st_method method_of(const char *name) {
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		if (strcmp(name, methods[i].name) == 0)
			return methods[i].method;
	}
	return ST_METHOD_OTHER;
}

const char *st_method_name(enum st_method method) {
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		if (methods[i].method == method)
			return methods[i].name;
	}
	return "-";
}

/* Parse "METHOD target HTTP/1.1". Returns NULL or the problem. */
static const char *read_request_line(struct st_head *head, char *line, char **target) {
	size_t len = token_len(line);
	if (len == 0 || line[len] != ' ')
		return "The request line does not begin with a method and a space.";
	line[len] = '\0';
	head->method = method_of(line);
	*target = line + len + 1;
	len = 0;
	while ((*target)[len] > ' ' && (*target)[len] <= '~' && (*target)[len] != '#')
		len++;
	if (len == 0 || (*target)[len] != ' ')
		return "The target of the request is not a path.";
	(*target)[len] = '\0';
	const char *version = *target + len + 1;
	head->old = strcmp(version, "HTTP/1.0") == 0;
	if (!head->old && strcmp(version, "HTTP/1.1") != 0)
		return "The request line does not end with HTTP/1.1.";
	return NULL;
}

static bool is_value_char(char c) {
	return (unsigned char)c >= ' ' ? c != 0x7f : c == '\t';
}

static const char *read_field(struct st_head *head, char *line) {
	size_t len = token_len(line);
	if (*line == ' ' || *line == '\t')
		return "A header field is folded over several lines.";
	if (len == 0 || line[len] != ':')
		return "A header field is not a name, a colon and a value.";
	if (head->field_count == ST_HEAD_FIELDS_MAX)
		return "There are too many header fields.";
	line[len] = '\0';
	char *value = line + len + 1, *end = value + strlen(value);
	for (const char *at = value; at < end; at++) {
		if (!is_value_char(*at))
			return "A header field holds a control character.";
	}
	while (*value == ' ' || *value == '\t')
		value++;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	head->fields[head->field_count].name = line;
	head->fields[head->field_count++].value = value;
	return NULL;
}

const char *st_head_field(const struct st_head *head, const char *name) {
	for (size_t i = 0; i < head->field_count; i++) {
		if (strcasecmp(head->fields[i].name, name) == 0)
			return head->fields[i].value;
	}
	return NULL;
}

/* The fields that the server uses and that may occur only once. */
static bool is_single(const char *name) {
	static const char *const names[] = {
		"Authorization",        "Content-Length", "Content-Type", "Expect",         "Host",
		"MCP-Protocol-Version", "Mcp-Method",     "Mcp-Name",     "Mcp-Session-Id", "Origin",
		"Transfer-Encoding"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcasecmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static const char *check_repetitions(const struct st_head *head) {
	for (size_t i = 0; i < head->field_count; i++) {
		const char *name = head->fields[i].name;
		if (is_single(name) && st_head_field(head, name) != head->fields[i].value)
			return "A header field that may occur only once is repeated.";
	}
	return NULL;
}

static bool read_length(const char *text, uint64_t *out) {
	enum { DIGITS_MAX = 18 };
	size_t len = strlen(text);
	*out = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*out = *out * 10 + (uint64_t)(text[i] - '0');
		if (i >= DIGITS_MAX)
			return false;
	}
	return len > 0;
}

static const char *read_framing(struct st_head *head) {
	const char *length = st_head_field(head, "Content-Length");
	const char *coding = st_head_field(head, "Transfer-Encoding");
	const char *expect = st_head_field(head, "Expect");
	if (length && !read_length(length, &head->length))
		return "The Content-Length is not a number.";
	if (coding && length)
		return "Content-Length and Transfer-Encoding must not be combined.";
	if (coding && (head->old || strcasecmp(coding, "chunked") != 0))
		return "Transfer-Encoding must be \"chunked\", and needs HTTP/1.1.";
	if (expect && strcasecmp(expect, "100-continue") != 0)
		return "Expect must be \"100-continue\".";
	head->chunked = coding != NULL;
	head->expects = expect && !head->old;
	return NULL;
}

/* Whether a comma-separated list has a member. */
static bool has_member(const char *list, const char *member) {
	size_t len = strlen(member);
	while (*list) {
		list += strspn(list, ", \t");
		size_t here = strcspn(list, ", \t");
		if (here == len && strncasecmp(list, member, len) == 0)
			return true;
		list += here;
	}
	return false;
}

static void read_connection(struct st_head *head) {
	for (size_t i = 0; i < head->field_count; i++) {
		if (strcasecmp(head->fields[i].name, "Connection") == 0)
			head->close |= has_member(head->fields[i].value, "close");
	}
	head->close |= head->old;
}

/* Get the path of a target: a path, or a URL with the same host as the field Host. */
static const char *read_target(struct st_head *head, char *target) {
	static const char scheme[] = "http://";
	const char *host = st_head_field(head, "Host");
	if (!host && !head->old)
		return "The header field Host is missing.";
	if (strncasecmp(target, scheme, sizeof scheme - 1) == 0) {
		target += sizeof scheme - 1;
		size_t len = strcspn(target, "/?");
		if (!host || strlen(host) != len || strncasecmp(target, host, len) != 0)
			return "The target of the request and its Host field name different hosts.";
		target += len;
	}
	if (*target != '/')
		return "The target of the request is not a path.";
	char *mark = strchr(target, '?');
	if (mark) {
		*mark = '\0';
		head->query = mark + 1;
	}
	head->path = target;
	return NULL;
}

/* Cut the next line off. st_head_end() has verified that CR LF ends it. */
static char *next_line(char **rest) {
	char *line = *rest, *end = strchr(line, '\r');
	assert(end && end[1] == '\n');
	*end = '\0';
	*rest = end + 2;
	return line;
}

static const char *parse_head(struct st_head *head) {
	char *rest = head->text, *target = NULL;
	const char *problem = read_request_line(head, next_line(&rest), &target);
	while (!problem && *rest != '\r')
		problem = read_field(head, next_line(&rest));
	if (!problem)
		problem = check_repetitions(head);
	if (!problem)
		problem = read_framing(head);
	if (!problem)
		problem = read_target(head, target);
	if (!problem)
		read_connection(head);
	return problem;
}

int st_head_read(struct st_head *head, struct st_str bytes, const char **problem) {
	*head = (struct st_head){.text = strndup(bytes.ptr, bytes.len)};
	if (!head->text) {
		*problem = "The server is out of memory.";
		return 503;
	}
	*problem = parse_head(head);
	return *problem ? 400 : 0;
}
