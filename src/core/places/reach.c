#include "core/places/reach.h"

#include <string.h>

/* Whether a path is a directory, or begins with it: "/a" and "/a/b", not "/ab". */
static bool is_below(struct st_str path, struct st_str dir) {
	while (dir.len > 0 && dir.ptr[dir.len - 1] == '/')
		dir.len--;
	return st_str_starts(path, dir) && (path.len == dir.len || path.ptr[dir.len] == '/');
}

/* Whether CHECKOUT/PATH is below a directory, which may be below the checkout. */
static bool is_file_below(struct st_str checkout, struct st_str path, struct st_str dir) {
	if (is_below(checkout, dir))
		return true;
	if (!is_below(dir, checkout))
		return false;
	struct st_str rest = st_str_slice(dir, checkout.len, dir.len);
	while (rest.len > 0 && rest.ptr[0] == '/')
		rest = st_str_slice(rest, 1, rest.len);
	return is_below(path, rest);
}

bool st_reach_has(const struct st_reach *reach, struct st_str checkout, struct st_str path) {
	bool has = !reach;
	for (size_t i = 0; reach && i < reach->count && !has; i++)
		has = is_file_below(checkout, path, st_str(reach->dirs[i]));
	return has;
}

bool st_reach_meets(const struct st_reach *reach, struct st_str checkout, bool near) {
	bool meets = !reach;
	for (size_t i = 0; reach && near && i < reach->count && !meets; i++) {
		struct st_str dir = st_str(reach->dirs[i]);
		meets = is_below(checkout, dir) || is_below(dir, checkout);
	}
	return meets;
}
