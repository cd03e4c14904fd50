/* How long ago, as people say it: "5 minutes ago". */
#include "base/plural.h"
#include "core/places/answers.h"

void st_add_ago(struct st_buf *out, int64_t seconds) {
	static const struct {
		int64_t seconds;
		const char *one, *many;
	} units[] = {{86400, "day", "days"}, {3600, "hour", "hours"}, {60, "minute", "minutes"}};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		int64_t count = seconds / units[i].seconds;
		if (count > 0) {
			st_buf_addf(out, "%lld %s ago", (long long)count,
			            st_plural((size_t)count, units[i].one, units[i].many));
			return;
		}
	}
	st_buf_adds(out, "just now");
}
