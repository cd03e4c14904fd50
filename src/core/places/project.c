/* The name that the user's configuration has for the repository of a checkout. */
#include "core/places/checkout.h"
#include "core/workspace/project.h"

/* The path of the main checkout that a common git directory belongs to. */
static struct st_str main_checkout(struct st_str common) {
	static const char dir[] = "/.git";
	return st_str_ends(common, st_str(dir)) ? st_str_slice(common, 0, common.len - strlen(dir))
	                                        : common;
}

/* Normalise a remote or a path; other texts stay as they are. */
static int normalize(struct st_str text, struct st_buf *out, struct stet_error *err) {
	st_remote_normalize(text, out);
	while (out->len > 1 && out->ptr[out->len - 1] == '/')
		st_buf_truncate(out, out->len - 1);
	if (out->len == 0)
		st_buf_add(out, text);
	return out->failed ? st_fail_nomem(err) : 0;
}

static bool is_of(const struct st_checkout *checkout, struct st_str from) {
	struct st_str common = st_str(checkout->common);
	return from.len == 0 || st_str_eq(from, st_str(checkout->repository)) ||
	       st_str_eq(from, st_str(checkout->top)) || st_str_eq(from, common) ||
	       st_str_eq(from, main_checkout(common));
}

int st_checkout_rename(struct st_checkout *checkout, const char *projects, struct stet_error *err) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_str rest = st_str(projects);
	struct st_project project;
	while (st_project_next(&rest, &project)) {
		int code = normalize(project.from, &text, err);
		if (code < 0)
			return code;
		if (!is_of(checkout, st_buf_str(&text)))
			continue;
		code = normalize(project.name, &text, err);
		char *name = code == 0 ? strdup(text.ptr) : NULL;
		if (!name)
			return st_fail_nomem(err);
		free(checkout->repository);
		checkout->repository = name;
		return 0;
	}
	return 0;
}
