/* read_media_file: send an image or a sound as such, any other file as an embedded resource. */
#include <strings.h>

#include "base/base64.h"
#include "base/uri.h"
#include "tools/render.h"

/* In base64, this stays well below the message size that clients accept. */
#define MEDIA_MAX ((size_t)5 << 20)

static const struct {
	const char *ending;
	const char *mime;
} kinds[] = {
	{".png", "image/png"},       {".jpg", "image/jpeg"},  {".jpeg", "image/jpeg"},
	{".gif", "image/gif"},       {".webp", "image/webp"}, {".bmp", "image/bmp"},
	{".svg", "image/svg+xml"},   {".mp3", "audio/mpeg"},  {".wav", "audio/wav"},
	{".ogg", "audio/ogg"},       {".flac", "audio/flac"}, {".m4a", "audio/mp4"},
	{".pdf", "application/pdf"},
};

static const char *mime_of(const char *path) {
	const char *dot = strrchr(path, '.');
	for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++) {
		if (strcasecmp(dot, kinds[i].ending) == 0)
			return kinds[i].mime;
	}
	return "application/octet-stream";
}

static void add_uri(struct st_buf *out, const char *root, const char *path) {
	st_auto(st_buf) whole = ST_BUF_INIT;
	st_buf_addf(&whole, "%s/%s", strcmp(root, "/") == 0 ? "" : root, path);
	st_buf_adds(out, "file://");
	st_uri_add_path(out, st_buf_str(&whole));
	out->failed |= whole.failed;
}

static int add_media(struct st_call *call, const char *path, struct st_str bytes,
                     struct stet_error *err) {
	st_auto(st_buf) data = ST_BUF_INIT, uri = ST_BUF_INIT;
	const char *mime = mime_of(path);
	bool image = strncmp(mime, "image/", 6) == 0, audio = strncmp(mime, "audio/", 6) == 0;
	st_base64_add(&data, bytes);
	add_uri(&uri, call->session->ws->root.path, path);
	if (data.failed || uri.failed)
		return st_fail_nomem(err);

	yyjson_mut_val *block = yyjson_mut_obj(call->doc), *holder = block;
	st_json_add_text(call->doc, block, "type",
	                 st_str(image   ? "image"
	                        : audio ? "audio"
	                                : "resource"));
	if (!image && !audio) {
		holder = st_json_add_object(call->doc, block, "resource");
		st_json_add_text(call->doc, holder, "uri", st_buf_str(&uri));
	}
	st_json_add_text(call->doc, holder, image || audio ? "data" : "blob", st_buf_str(&data));
	st_json_add_text(call->doc, holder, "mimeType", st_str(mime));
	st_call_block_of(call, block);
	return 0;
}

static int run_read_media_file(struct st_call *call, struct stet_error *err) {
	const char *path = st_call_path(call, "path", err);
	if (!path)
		return err->code;
	struct stet_session *session = call->session;
	size_t max = session->ws->max_file < MEDIA_MAX ? session->ws->max_file : MEDIA_MAX;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_workspace_load(session->ws, st_str(path), max, &place, &file, err);
	if (code == 0)
		code = add_media(call, place.path, st_buf_str(&file.bytes), err);
	if (code < 0)
		return code;
	struct st_seen *seen = st_session_record(session, path, place.path, &file);
	if (!seen)
		return st_fail_nomem(err);
	/* A binary file counts as seen now. A text does not: the model has to read it as text. */
	if (memchr(file.bytes.ptr, '\0', file.bytes.len))
		st_seen_add(seen, 1, seen->total);

	char hash[ST_HASH_SHORT + 1];
	st_hash_hex(&file.hash, hash, ST_HASH_SHORT);
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "path", place.path);
	st_json_add_text(call->doc, call->result, "mimeType", st_str(mime_of(place.path)));
	st_json_add_size(call->doc, call->result, "size", file.bytes.len);
	st_json_add_text(call->doc, call->result, "fileHash", st_str(hash));
	call->mirrors = st_call_is_parsed(call);
	return 0;
}

static const struct st_param params[] = {
	ST_PARAM_PATH,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_read_media_file = {
	.name = "read_media_file",
	.title = "Read an image or a sound",
	.description = "Read an image, a sound or another binary file of up to 5 MiB, in base64.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"path\":{\"type\":\"string\"},\"mimeType\":{\"type\":\"string\"},"
                  "\"size\":{\"type\":\"integer\"},\"fileHash\":{\"type\":\"string\"}"),
	/* Programs get only the block, as from the reference server. */
	.listed_schema =
		"{\"type\":\"object\",\"properties\":{\"content\":{\"type\":\"array\",\"items\":{\"type\":"
		"\"object\",\"properties\":{\"type\":{\"enum\":[\"image\",\"audio\",\"resource\",\"text\"]}"
		"}}}},"
		"\"required\":[\"content\"]}",
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.run = run_read_media_file,
};
