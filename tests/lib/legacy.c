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

static uint32_t flags_of(const struct st_deed *deed, const char *session) {
	const bool flags[] = {deed->wrote, deed->had,        deed->has, deed->foreign,
	                      deed->below, deed->stamp.racy, deed->to,  session};
	uint32_t all = 0;
	for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
		all |= (uint32_t)flags[i] << i;
	return all;
}

static struct st_str with_nul(const char *text) {
	return text ? st_strn(text, strlen(text) + 1) : st_strn("", 0);
}

void legacy_add(struct st_buf *out, const struct st_deed *deed, const char *session) {
	struct st_str texts[] = {with_nul(deed->path), with_nul(deed->to), with_nul(session)};
	struct entry entry = {
		.size = (uint32_t)(sizeof entry + texts[0].len + texts[1].len + texts[2].len),
		.flags = flags_of(deed, session),
		.at = deed->at,
		.undoes = deed->undoes,
		.before = deed->before,
		.after = deed->after,
		.dev = deed->stamp.dev,
		.ino = deed->stamp.ino,
		.bytes = deed->stamp.size,
		.mtime_ns = deed->stamp.mtime_ns,
		.ctime_ns = deed->stamp.ctime_ns,
	};
	size_t start = out->len;
	st_buf_add(out, st_strn((const char *)&entry, sizeof entry));
	for (size_t i = 0; i < 3; i++)
		st_buf_add(out, texts[i]);
	struct st_str summed = st_str_slice(st_buf_str(out), start + sizeof entry.checksum, out->len);
	entry.checksum = st_str_sum(ST_STR_SUM, summed);
	memcpy(out->ptr + start, &entry.checksum, sizeof entry.checksum);
}
