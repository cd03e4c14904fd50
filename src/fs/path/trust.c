#include "fs/path/trust.h"

#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

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
