/* get_file_info: show the metadata of a file or directory. */
#include <fcntl.h>
#include <time.h>

#include "base/quote.h"
#include "fs/path/nearby.h"
#include "fs/path/sys.h"
#include "tools/files/listing.h"

/* Add a time in the form "2026-11-16T02:30:00.123Z". */
static void render_time(struct st_call *call, const char *key, int64_t seconds, uint32_t nanos) {
	struct tm parts;
	char text[64] = "unknown";
	time_t time = (time_t)seconds;
	if (gmtime_r(&time, &parts)) {
		size_t len = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
		snprintf(text + len, sizeof text - len, ".%03uZ", (unsigned)(nanos / 1000000));
	}
	st_json_add_text(call->doc, call->result, key, st_str(text));
	st_buf_addf(&call->text, "%s: %s\n", key, text);
}

static int render_stat(struct st_call *call, const struct st_place *place, struct stet_error *err) {
	struct statx st;
	unsigned wanted = STATX_BASIC_STATS | STATX_BTIME;
	if (st_retry(statx(place->dirfd, place->name, AT_SYMLINK_NOFOLLOW, wanted, &st)) < 0)
		return st_fail_errno(err, errno, "Cannot read the metadata of %s", st_quoted(place->path));
	char mode[16];
	snprintf(mode, sizeof mode, "%03o", st.stx_mode & 07777U);
	st_json_add_text(call->doc, call->result, "type", st_str(st_kind_name(st.stx_mode)));
	st_json_add_size(call->doc, call->result, "size", st.stx_size);
	st_buf_addf(&call->text, "type: %s\nsize: %llu\n", st_kind_name(st.stx_mode),
	            (unsigned long long)st.stx_size);
	if (st.stx_mask & STATX_BTIME)
		render_time(call, "created", st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
	render_time(call, "modified", st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec);
	render_time(call, "accessed", st.stx_atime.tv_sec, st.stx_atime.tv_nsec);
	if (st_call_is_parsed(call))
		st_buf_addf(&call->text, "isDirectory: %s\nisFile: %s\n",
		            S_ISDIR(st.stx_mode) ? "true" : "false",
		            S_ISREG(st.stx_mode) ? "true" : "false");
	st_json_add_text(call->doc, call->result, "permissions", st_str(mode));
	st_buf_addf(&call->text, "permissions: %s\n", mode);
	return 0;
}

static int render_hash(struct st_call *call, const char *path, struct stet_error *err) {
	struct stet_session *session = call->session;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_file_load_known(&session->ws->root, st_str(path), session->ws->max_file, NULL,
	                              &place, &file, err);
	if (code == STET_E_TOO_BIG || code == STET_E_ACCESS || code == STET_E_BUSY) {
		st_buf_addf(&call->remark, "[There is no fileHash. %s]\n", err->message);
		*err = (struct stet_error){0};
		return 0;
	}
	if (code < 0)
		return code;
	char hash[ST_HASH_SHORT + 1];
	st_hash_hex(&file.hash, hash, ST_HASH_SHORT);
	st_json_add_text(call->doc, call->result, "fileHash", st_str(hash));
	st_buf_addf(&call->text, "fileHash: %s\n", hash);
	return 0;
}

static int run_get_file_info(struct st_call *call, struct stet_error *err) {
	const char *path = st_call_path(call, "path", err);
	if (!path)
		return err->code;
	st_auto(st_place) place = ST_PLACE_INIT;
	int code =
		st_root_locate_as(&call->session->ws->root, st_str(path), ST_LOCATE_DIR, &place, err);
	if (code < 0)
		return code;
	if (!place.exists) {
		code =
			st_fail(err, STET_E_NOT_FOUND, "File not found: %s. Check the path.", st_quoted(path));
		st_nearby_suggest(&call->session->ws->root, path, call->session->ws->writes.state_dir, err);
		return code;
	}
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "path", *place.path ? place.path : ".");
	code = render_stat(call, &place, err);
	if (code == 0 && S_ISREG(place.st.st_mode))
		code = render_hash(call, place.path, err);
	return code;
}

static const struct st_param params[] = {
	{.name = "path",
     .aliases = "filePath file_path",
     .required = true,
     .description = "The file or directory."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_get_file_info = {
	.name = "get_file_info",
	.title = "Show a file's metadata",
	.description = "Show type, size, times, permissions and fileHash of a file, without its text.",
	.params = params,
	.output_schema = ST_OUTPUT(
		"\"path\":{\"type\":\"string\"},\"type\":{\"type\":\"string\"},\"size\":{\"type\":"
		"\"integer\"},\"created\":{\"type\":\"string\"},\"modified\":{\"type\":\"string\"},"
		"\"accessed\":{\"type\":\"string\"},\"permissions\":{\"type\":\"string\"},\"fileHash\":{"
		"\"type\":\"string\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.run = run_get_file_info,
};
