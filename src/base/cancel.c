#include "base/cancel.h"

#include <assert.h>

#include "base/clock.h"

static _Thread_local struct st_cancel *current;

struct st_cancel *st_cancel_set(struct st_cancel *cancel) {
	struct st_cancel *before = current;
	current = cancel;
	return before;
}

static bool must_stop(struct st_cancel *cancel, size_t amount) {
	cancel->amount += amount;
	if (cancel->amount >= ST_CANCEL_STEP) {
		cancel->longest = cancel->amount > cancel->longest ? cancel->amount : cancel->longest;
		cancel->amount = 0;
		cancel->asked++;
		cancel->over |= cancel->cancelled(cancel);
	}
	return cancel->over && cancel->held == 0;
}

int st_cancel_check(size_t amount, struct stet_error *err) {
	if (!current || !must_stop(current, amount))
		return 0;
	return st_fail(err, STET_E_CANCELLED, "The call was cancelled.");
}

void st_cancel_hold(void) {
	if (current)
		current->held++;
}

void st_cancel_release(void) {
	if (!current)
		return;
	assert(current->held > 0);
	current->held--;
}

void st_cancel_progress(size_t amount) {
	st_cancel_hold();
	(void)!st_cancel_check(amount, NULL);
	st_cancel_release();
}

int st_cancel_check_now(struct stet_error *err) {
	return st_cancel_check(ST_CANCEL_STEP, err);
}

int st_cancel_sleep(int64_t ms, struct stet_error *err) {
	st_sleep_ms(ms);
	return st_cancel_check_now(err);
}
