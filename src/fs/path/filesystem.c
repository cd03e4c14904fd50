#include "fs/path/filesystem.h"

#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <strings.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/unicode.h"

/* ---- trust ---- */

struct filesystem {
	/** As in statfs.f_type; linux/magic.h lacks most of them. */
	uint32_t magic;
	enum st_trust trust;
	const char *name;
};

/*
 * overlayfs is not listed: its bytes and times are those of its layers, and the
 * kernel's documentation forbids writing to a layer directly. Cluster
 * filesystems that lock between their machines are not listed either.
 */
static const struct filesystem filesystems[] = {
	{0x65735546, ST_TRUST_NONE, "fuse"},     {0x00006969, ST_TRUST_NONE, "nfs"},
	{0xFF534D42, ST_TRUST_NONE, "cifs"},     {0xFE534D42, ST_TRUST_NONE, "smb2"},
	{0x0000517B, ST_TRUST_NONE, "smb"},      {0x01021997, ST_TRUST_NONE, "9p"},
	{0x6B414653, ST_TRUST_NONE, "afs"},      {0x5346414F, ST_TRUST_NONE, "afs"},
	{0x73757245, ST_TRUST_NONE, "coda"},     {0x00C36400, ST_TRUST_NONE, "ceph"},
	{0x20030528, ST_TRUST_NONE, "orangefs"}, {0x786F4256, ST_TRUST_NONE, "vboxsf"},
	{0xBACBACBC, ST_TRUST_NONE, "vmhgfs"},   {0x7C7C6673, ST_TRUST_NONE, "prl_fs"},
	{0x00C0FFEE, ST_TRUST_NONE, "hostfs"},   {0x0000F15F, ST_TRUST_NONE, "ecryptfs"},
	{0x61756673, ST_TRUST_NONE, "aufs"},     {MSDOS_SUPER_MAGIC, ST_TRUST_COARSE, "vfat"},
	{0x2011BAB0, ST_TRUST_COARSE, "exfat"},
};

static const struct filesystem *find_filesystem(int fd) {
	struct statfs fs;
	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof filesystems / sizeof *filesystems; i++) {
		if (filesystems[i].magic == (uint32_t)fs.f_type)
			return &filesystems[i];
	}
	return NULL;
}

static enum st_trust trust_of_fd(int fd) {
	const struct filesystem *filesystem = find_filesystem(fd);
	return filesystem ? filesystem->trust : ST_TRUST_FULL;
}

/*
 * fstatfs costs a system call, so each thread remembers its last device. Only
 * block devices keep their number for as long as they are mounted; the kernel
 * reuses the numbers of all others (major 0).
 */
enum st_trust st_trust_of(int fd, dev_t dev) {
	static _Thread_local dev_t last;
	static _Thread_local bool is_known;
	static _Thread_local enum st_trust trust;
	if (major(dev) == 0)
		return trust_of_fd(fd);
	if (!is_known || last != dev) {
		trust = trust_of_fd(fd);
		is_known = fd >= 0;
		last = dev;
	}
	return trust;
}

const char *st_trust_name(int fd) {
	const struct filesystem *filesystem = find_filesystem(fd);
	return filesystem && filesystem->trust == ST_TRUST_NONE ? filesystem->name : NULL;
}

/* ---- protected names ---- */

/* FAT and SMB ignore dots and spaces at the end of a name. */
static struct st_str without_tail(struct st_str name) {
	while (name.len > 1 && (name.ptr[name.len - 1] == '.' || name.ptr[name.len - 1] == ' '))
		name.len--;
	return name;
}

/* NTFS and SMB take what follows a colon for a stream of the file: `.git::$INDEX_ALLOCATION` is `.git`. */
static struct st_str without_stream(struct st_str name) {
	const char *colon = memchr(name.ptr, ':', name.len);
	return colon ? st_strn(name.ptr, (size_t)(colon - name.ptr)) : name;
}

static bool is_ascii(struct st_str name) {
	for (size_t i = 0; i < name.len; i++) {
		if ((unsigned char)name.ptr[i] >= 0x80)
			return false;
	}
	return true;
}

/* Compare as a filesystem does that folds case, normalises and ignores invisible characters. */
static bool is_folded_equal(struct st_str name, struct st_str wanted) {
	st_auto(st_buf) one = ST_BUF_INIT, other = ST_BUF_INIT;
	st_unicode_fold_name(&one, name);
	st_unicode_fold_name(&other, wanted);
	/* Out of memory: the safe answer is that the name is protected. */
	return one.failed || other.failed ||
	       st_str_eq(without_tail(st_buf_str(&one)), st_buf_str(&other));
}

/* FAT's short name: the first six letters without the dot, and a number, as in GIT~1. */
static bool is_short_form(struct st_str name, struct st_str wanted) {
	struct st_str stem = st_str_slice(wanted, 1, wanted.len < 7 ? wanted.len : 7);
	return name.len == stem.len + 2 && strncasecmp(name.ptr, stem.ptr, stem.len) == 0 &&
	       name.ptr[stem.len] == '~' && name.ptr[stem.len + 1] >= '1' &&
	       name.ptr[stem.len + 1] <= '9';
}

static bool is_spelling_of(struct st_str name, struct st_str wanted) {
	name = without_tail(without_stream(name));
	if (is_ascii(name) && is_ascii(wanted))
		return (name.len == wanted.len && strncasecmp(name.ptr, wanted.ptr, name.len) == 0) ||
		       (wanted.ptr[0] == '.' && is_short_form(name, wanted));
	return is_folded_equal(name, wanted);
}

static bool is_state_dir(struct st_str name, const char *state_dir, bool first) {
	return is_spelling_of(name, ST_STR(ST_STATE_DIR)) ||
	       ((first || state_dir[0] == '.') && is_spelling_of(name, st_str(state_dir)));
}

bool st_path_is_protected(const char *path, const char *state_dir) {
	for (bool first = true; *path; first = false) {
		struct st_str name = st_strn(path, strcspn(path, "/\\"));
		if (is_spelling_of(name, ST_STR(".git")) || is_state_dir(name, state_dir, first))
			return true;
		path += name.len;
		path += strspn(path, "/\\");
	}
	return false;
}
