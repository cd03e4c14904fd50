#include "core/workspace/project.h"

#include "base/quote.h"

bool st_project_next(struct st_str *rest, struct st_project *project) {
	if (rest->len == 0)
		return false;
	const char *comma = memchr(rest->ptr, ',', rest->len);
	size_t len = comma ? (size_t)(comma - rest->ptr) : rest->len;
	struct st_str text = st_str_slice(*rest, 0, len);
	const char *sign = memrchr(text.ptr, '=', len);
	size_t from = sign ? (size_t)(sign - text.ptr) : 0;
	project->from = st_str_trim(st_str_slice(text, 0, from));
	project->name = st_str_trim(st_str_slice(text, from + (sign != NULL), len));
	*rest = st_str_slice(*rest, comma ? len + 1 : len, rest->len);
	return !sign || project->from.len > 0;
}

/* A path would be a repository without a name; what must be quoted can look like another name. */
static bool is_name(struct st_str name) {
	return name.len > 0 && name.len <= ST_PROJECT_MAX && *name.ptr != '/' && !st_quote_needed(name);
}

bool st_project_is_list(const char *names) {
	struct st_str rest = st_str(names);
	struct st_project project;
	while (rest.len > 0) {
		if (!st_project_next(&rest, &project) || !is_name(project.name))
			return false;
	}
	return true;
}
