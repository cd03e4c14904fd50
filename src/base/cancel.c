#include "base/cancel.h"

static _Thread_local struct st_cancel *waiting;

struct st_cancel *st_cancel_set(struct st_cancel *cancel) {
	struct st_cancel *before = waiting;
	waiting = cancel;
	return before;
}

static bool is_over(struct st_cancel *cancel, size_t work) {
	cancel->work += work;
	if (!cancel->over && cancel->work >= ST_CANCEL_STEP) {
		cancel->longest = cancel->work > cancel->longest ? cancel->work : cancel->longest;
		cancel->work = 0;
		cancel->asked++;
		cancel->over = cancel->cancelled(cancel);
	}
	return cancel->over;
}

int st_cancel_check(size_t work, struct stet_error *err) {
	if (!waiting || !is_over(waiting, work))
		return 0;
	return st_fail(err, STET_E_CANCELLED, "The call was cancelled.");
}
