#include "lib/legacy.h"

struct entry {
	uint64_t checksum;
	uint32_t size, flags;
	int64_t at, undoes;
	struct st_hash before, after;
	uint64_t dev, ino, bytes;
	int64_t mtime_ns, ctime_ns;
};

void legacy_begin(struct st_buf *out, int64_t id) {
	st_buf_add(out, st_strn("stetday1", 8));
	st_buf_add(out, st_strn((const char *)&id, sizeof id));
}

static uint32_t flags_of(const struct st_file_event *event) {
	const bool flags[] = {
		event->kind != ST_EVENT_READ, event->before.exists,    event->after.exists, event->foreign,
		st_file_event_is_dir(event),  event->after.stamp.racy, event->moved_to,     event->who};
	uint32_t all = 0;
	for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
		all |= (uint32_t)flags[i] << i;
	return all;
}

static struct st_str with_nul(const char *text) {
	return text ? st_strn(text, strlen(text) + 1) : st_strn("", 0);
}

void legacy_add(struct st_buf *out, const struct st_file_event *event) {
	const struct st_stamp *stamp = &event->after.stamp;
	struct st_str texts[] = {with_nul(event->path), with_nul(event->moved_to),
	                         with_nul(event->who)};
	struct entry entry = {
		.size = (uint32_t)(sizeof entry + texts[0].len + texts[1].len + texts[2].len),
		.flags = flags_of(event),
		.at = event->at,
		.undoes = event->undoes,
		.before = event->before.hash,
		.after = event->after.hash,
		.dev = stamp->dev,
		.ino = stamp->ino,
		.bytes = stamp->size,
		.mtime_ns = stamp->mtime_ns,
		.ctime_ns = stamp->ctime_ns,
	};
	size_t start = out->len;
	st_buf_add(out, st_strn((const char *)&entry, sizeof entry));
	for (size_t i = 0; i < 3; i++)
		st_buf_add(out, texts[i]);
	struct st_str summed = st_str_slice(st_buf_str(out), start + sizeof entry.checksum, out->len);
	entry.checksum = st_str_sum(ST_STR_SUM, summed);
	memcpy(out->ptr + start, &entry.checksum, sizeof entry.checksum);
}
