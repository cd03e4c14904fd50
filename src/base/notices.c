#include "base/notices.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"

void st_notice_release(struct st_notice *notice) {
	free(notice->text);
	free(notice->about);
	*notice = (struct st_notice){0};
}

void st_notices_init(struct st_notices *notices) {
	*notices = (struct st_notices){0};
	pthread_mutex_init(&notices->lock, NULL);
}

void st_notices_release(struct st_notices *notices) {
	for (size_t i = 0; i < notices->count; i++)
		st_notice_release(&notices->queue[i]);
	pthread_mutex_destroy(&notices->lock);
}

static void add_text(struct st_notices *notices, const char *about, const char *format,
                     va_list args) {
	struct st_notice notice = {.about = about ? strdup(about) : NULL};
	if (vasprintf(&notice.text, format, args) < 0)
		notice.text = NULL;
	pthread_mutex_lock(&notices->lock);
	bool fits = notice.text && notices->count < ST_NOTICES_MAX;
	if (fits)
		notices->queue[notices->count++] = notice;
	else
		notices->dropped++;
	notices->any = true;
	pthread_mutex_unlock(&notices->lock);
	if (!fits)
		st_notice_release(&notice);
}

void st_notices_add(struct st_notices *notices, const char *format, ...) {
	va_list args;
	va_start(args, format);
	add_text(notices, NULL, format, args);
	va_end(args);
}

void st_notices_add_about(struct st_notices *notices, const char *about, const char *format, ...) {
	va_list args;
	va_start(args, format);
	add_text(notices, about, format, args);
	va_end(args);
}

bool st_notices_take(struct st_notices *notices, struct st_notice *notice) {
	*notice = (struct st_notice){0};
	pthread_mutex_lock(&notices->lock);
	if (notices->count > 0) {
		*notice = notices->queue[0];
		notices->count--;
		memmove(notices->queue, notices->queue + 1, notices->count * sizeof *notices->queue);
	} else if (notices->dropped > 0) {
		if (asprintf(&notice->text, "%zu more %s did not fit.", notices->dropped,
		             st_plural(notices->dropped, "notice", "notices")) < 0)
			notice->text = NULL;
		notices->dropped = 0;
	}
	notices->any = notices->count > 0 || notices->dropped > 0;
	pthread_mutex_unlock(&notices->lock);
	return notice->text != NULL;
}
