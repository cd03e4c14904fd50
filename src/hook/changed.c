/*
 * After an edit, a write or a patch: log it like a write of stet, and compare
 * what the tool replaced with what the session had seen. If another program
 * wrote in between, its bytes are stored, and the model is told.
 */
#include "base/utf8.h"
#include "fs/versions/versions.h"
#include "hook/change.h"
#include "hook/loss.h"
#include "text/diff/unified.h"
#include "text/lines/lines.h"

/* The most bytes of a diff beside the answer of a tool. */
enum { DIFF_MAX = 8 << 10 };

/* One changed file: before, as the tool says; seen, by the session; now, on the disk. */
struct changed {
	struct st_hook_call *call;
	const struct st_hook_change *change;
	struct st_place place;
	struct st_file now;
	bool gone;
	/* The version that the session had seen; NULL if its bytes are not known. */
	struct st_blob *seen;
	struct st_hash seen_hash;
	/* What the tool replaced: hash and bytes; `known` if either is certain. */
	struct st_buf before;
	struct st_version before_version;
	bool known;
	/* The version that a witness saw the tool replace; empty if there was none. */
	struct st_buf replaced;
	/* Another program wrote while the tool did: the witness may not have seen all of it. */
	bool overlapped;
	struct st_version replaced_version;
};

static void changed_release(struct changed *changed) {
	st_place_release(&changed->place);
	st_file_release(&changed->now);
	st_blob_put(changed->seen);
	st_buf_release(&changed->before);
	st_buf_release(&changed->replaced);
}

static struct st_str seen_text(const struct changed *changed) {
	return st_strn(changed->seen->bytes, changed->seen->len);
}

/* Agents drop the byte order mark and make every line end an LF. */
static void add_plain(struct st_buf *out, struct st_str text) {
	size_t bom = st_bom_len(text);
	st_eol_convert(out, st_str_slice(text, bom, text.len), ST_EOL_LF);
}

static bool same_text(struct st_str a, struct st_str b) {
	st_auto(st_buf) one = ST_BUF_INIT;
	st_auto(st_buf) two = ST_BUF_INIT;
	add_plain(&one, a);
	add_plain(&two, b);
	return !one.failed && !two.failed && st_str_eq(st_buf_str(&one), st_buf_str(&two));
}

/* ---- what the tool replaced ---- */

/* The text that the tool says it replaced; NULL if it does not say. */
static yyjson_val *original_of(const struct st_hook_event *event) {
	yyjson_val *display = yyjson_obj_get(event->response, "returnDisplay");
	yyjson_val *text = yyjson_obj_get(event->response, "originalFile");
	if (!yyjson_is_str(text))
		text = yyjson_obj_get(display, "originalContent");
	return yyjson_is_str(text) ? text : NULL;
}

static void set_before(struct changed *changed, struct st_str bytes) {
	st_buf_add(&changed->before, bytes);
	changed->before_version.exists = true;
	changed->known =
		!changed->before.failed && st_hash_of(bytes, &changed->before_version.hash, NULL) == 0;
	if (changed->known)
		st_bases_put(&changed->call->session->ws->bases, &changed->before_version.hash, bytes);
}

/* If the tool's old text is the seen version but for line ends, that version is what it replaced. */
static void find_before(struct changed *changed) {
	yyjson_val *original = changed->change->hunks_only ? NULL : original_of(changed->call->event);
	if (!original && !changed->seen)
		return;
	if (!original || (changed->seen && same_text(seen_text(changed), st_json_str(original))))
		set_before(changed, seen_text(changed));
	else
		set_before(changed, st_json_str(original));
}

/* What the tool makes of a text. False if only the agent can tell. */
static bool make_of(const struct changed *changed, struct st_str old, struct st_buf *out) {
	const struct st_hook_change *change = changed->change;
	if (!change->hunks_only)
		return st_hook_change_make(change, old, out, NULL) == 0;
	return changed->call->event->tool == ST_HOOK_PATCH &&
	       (change->removes || st_hook_patch_make(changed->call, change, old, out));
}

/*
 * Whether a version is what another program wrote to a file that the tool had truncated and was about to
 * write: the tool's text went over it.
 */
static bool is_fragment(const struct changed *changed, struct st_str version) {
	struct st_str seen = seen_text(changed);
	return !st_str_eq(st_line_body(version, 0), st_line_body(seen, 0)) &&
	       !st_str_starts(version, seen);
}

/*
 * The last version that a witness saw before the tool's write: it lacks the tool's change, and is no
 * beginning of what the file has now, as a write in progress is.
 */
static void find_replaced(struct changed *changed, const struct st_testimony *testimony) {
	st_auto(st_buf) made = ST_BUF_INIT;
	st_auto(st_buf) fragments = ST_BUF_INIT;
	struct st_hook_texts texts = {.now = st_buf_str(&changed->now.bytes)};
	struct st_str full = st_str("");
	if (!changed->seen || !make_of(changed, seen_text(changed), &made))
		return;
	texts.seen = full = seen_text(changed);
	texts.made = st_buf_str(&made);
	bool found = false;
	for (size_t i = testimony->count; i-- > 0 && !found;) {
		const struct st_witnessed *version = &testimony->items[i];
		texts.replaced = st_buf_str(&version->bytes);
		if (strcmp(version->path, changed->place.path) != 0 ||
		    st_str_starts(texts.now, texts.replaced) || st_hook_has_change(&texts))
			continue;
		found = !is_fragment(changed, texts.replaced);
		if (found)
			full = texts.replaced;
		else
			st_buf_add(&fragments, texts.replaced);
	}
	changed->overlapped = testimony->overlapped;
	/* Nothing that the session had not seen: the tool's own word may say more. */
	if (fragments.len == 0 && (!found || st_str_eq(full, texts.seen)))
		return;
	st_buf_add(&changed->replaced, full);
	st_buf_add(&changed->replaced, st_buf_str(&fragments));
}

/* Store it, so that the log has it and an undo can bring it back. */
static void store_replaced(struct changed *changed) {
	struct stet_workspace *ws = changed->call->session->ws;
	struct st_hash hash;
	struct st_str bytes = st_buf_str(&changed->replaced);
	if (bytes.len == 0 || changed->replaced.failed || st_hash_of(bytes, &hash, NULL) < 0)
		return;
	changed->replaced_version = (struct st_version){.exists = true, .hash = hash};
	(void)st_versions_put(&ws->writes.versions, &hash, bytes);
}

static bool load_changed(struct changed *changed) {
	struct stet_session *session = changed->call->session;
	int code =
		st_session_find(session, changed->change->path, &changed->place, &changed->now, NULL);
	changed->gone = code == STET_E_NOT_FOUND;
	if ((code < 0 && !changed->gone) || !changed->place.path)
		return false;
	const struct st_seen *seen = st_tracker_find(&session->tracker, changed->place.path);
	if (seen) {
		changed->seen_hash = seen->version.hash;
		changed->seen = st_workspace_base(session->ws, &seen->version.hash);
	}
	find_before(changed);
	return true;
}

/* ---- the log and the record ---- */

static void report_event(struct changed *changed) {
	struct stet_session *session = changed->call->session;
	struct st_file_event event = {
		.path = changed->place.path,
		.kind = changed->gone ? ST_EVENT_REMOVED : ST_EVENT_WRITTEN,
		.before =
			changed->replaced_version.exists ? changed->replaced_version : changed->before_version,
		.after = changed->gone ? (struct st_version){0} : st_file_version(&changed->now),
	};
	if (!changed->gone)
		st_workspace_wrote(session->ws, &changed->now.hash, st_session_who(session));
	/* As far as known nothing changed; but the session knows these bytes, whatever others did before. */
	if (st_version_eq(&event.before, &event.after))
		event.kind = ST_EVENT_READ;
	st_session_report(session, &event);
}

/* The text that the tool meant to leave in the file. False if only the disk tells. */
static bool make_expected(const struct changed *changed, struct st_buf *out) {
	const struct st_hook_change *change = changed->change;
	if (change->hunks_only || (!change->whole && !changed->known))
		return false;
	return make_of(changed, st_buf_str(&changed->before), out);
}

/* Carry what the session has seen over to the version that it wrote. */
static void record_version(struct changed *changed, const struct st_version *version,
                           struct st_str text) {
	struct stet_session *session = changed->call->session;
	struct st_tracker *tracker = &session->tracker;
	struct st_seen *seen = st_tracker_find(tracker, changed->place.path);
	struct st_intervals lines = {0};
	st_bases_put(&session->ws->bases, &version->hash, text);
	if (seen && changed->seen) {
		st_seen_follow(seen, seen_text(changed), text, NULL, ST_CHANGED_PARTLY);
		lines = seen->lines;
		seen->lines = (struct st_intervals){0};
	}
	seen = st_tracker_record(tracker, changed->place.path, version, st_line_count(text));
	if (!seen) {
		st_intervals_release(&lines);
		return;
	}
	st_intervals_release(&seen->lines);
	seen->lines = lines;
	st_seen_clear_refusals(seen);
	seen->wrote = version->hash;
	if (changed->change->whole && !changed->change->hunks_only)
		st_seen_add(seen, 1, seen->total);
	st_session_add_link(session, changed->change->path, changed->place.path);
}

/* If the file is not what the tool wrote, another program changed it since: record the tool's text. */
static void record_written(struct changed *changed) {
	st_auto(st_buf) expected = ST_BUF_INIT;
	struct st_version version = st_file_version(&changed->now);
	struct st_str now = st_buf_str(&changed->now.bytes);
	if (!make_expected(changed, &expected) || same_text(st_buf_str(&expected), now)) {
		record_version(changed, &version, now);
		return;
	}
	version.stamp.racy = true;
	if (st_hash_of(st_buf_str(&expected), &version.hash, NULL) == 0)
		record_version(changed, &version, st_buf_str(&expected));
}

/* ---- lost updates ---- */

/* The version that the tool replaced, as far as known. */
static struct st_str replaced_text(const struct changed *changed) {
	return st_buf_str(changed->replaced_version.exists ? &changed->replaced : &changed->before);
}

/* Whether changes of others were lost by the tool's write. */
static bool is_lossy(const struct changed *changed) {
	st_auto(st_buf) made = ST_BUF_INIT;
	if (!make_of(changed, seen_text(changed), &made))
		return changed->change->whole;
	const struct st_hook_texts texts = {
		.seen = seen_text(changed),
		.made = st_buf_str(&made),
		.replaced = replaced_text(changed),
		.now = st_buf_str(&changed->now.bytes),
	};
	return st_hook_loses(&texts);
}

/* Say what others had changed before the tool ran, without the session having seen it. */
static void tell_unseen(struct changed *changed) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) diff = ST_BUF_INIT;
	st_auto(st_diff_report) report = {0};
	struct st_diff_opts opts = ST_DIFF_OPTS(changed->change->path);
	opts.max_bytes = DIFF_MAX;
	if (!(changed->known || changed->replaced_version.exists) || !changed->seen ||
	    st_diff_unified(seen_text(changed), replaced_text(changed), &opts, &diff, &report, NULL) <
	        0 ||
	    diff.len == 0)
		return;
	const char *path = st_quoted(changed->change->path);
	if (is_lossy(changed)) {
		(void)st_versions_put(&changed->call->session->ws->writes.versions, &changed->seen_hash,
		                      seen_text(changed));
		st_buf_addf(&text,
		            "Lost update: %s was changed by others just before this %s, which replaced "
		            "their change. Put it back with an edit, or undo the write: stet undo %s. Both "
		            "versions are stored. Their change was:\n\n%s",
		            path, changed->change->whole ? "write" : "edit", path, st_buf_cstr(&diff));
	} else if (!changed->change->whole) {
		st_buf_addf(&text,
		            "%s was changed by others just before this edit. Their change is in the "
		            "file:\n\n%s",
		            path, st_buf_cstr(&diff));
	}
	st_hook_say(changed->call->decision, st_buf_str(&text));
}

static void tell_overlap(struct changed *changed) {
	st_auto(st_buf) text = ST_BUF_INIT;
	if (!changed->overlapped)
		return;
	st_buf_addf(&text,
	            "Another program wrote to %s at the same moment as this %s, and its write may be "
	            "lost: read the file again, and look whether something is missing.",
	            st_quoted(changed->change->path), changed->change->whole ? "write" : "edit");
	st_hook_say(changed->call->decision, st_buf_str(&text));
}

/* ---- one file ---- */

/* Whether the file has what the tool was to make of it. */
static bool has_change(const struct changed *changed) {
	st_auto(st_buf) made = ST_BUF_INIT;
	struct st_hook_texts texts = {
		.seen = changed->seen ? seen_text(changed) : st_str(""),
		.replaced = st_buf_str(&changed->now.bytes),
	};
	if (!make_of(changed, texts.seen, &made))
		return false;
	texts.made = st_buf_str(&made);
	if (changed->gone || changed->change->removes)
		return changed->gone && changed->change->removes;
	return st_hook_has_change(&texts) &&
	       (!same_text(texts.made, texts.seen) || same_text(texts.made, texts.replaced));
}

/* Claude Code, for one, writes the file and then finds it changed by somebody else: its tool fails. */
static void tell_made(struct changed *changed) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_addf(&text, "In spite of the error, %s has the change. Do not repeat the call.",
	            st_quoted(changed->change->path));
	st_hook_say(changed->call->decision, st_buf_str(&text));
}

static void follow_change(struct st_hook_call *call, const struct st_hook_change *change,
                          const struct st_testimony *testimony) {
	st_auto(changed) changed = {
		.call = call,
		.change = change,
		.place = ST_PLACE_INIT,
		.now = ST_FILE_INIT,
		.before = ST_BUF_INIT,
		.replaced = ST_BUF_INIT,
	};
	if (!load_changed(&changed))
		return;
	if (call->event->failed) {
		if (!has_change(&changed))
			return;
		tell_made(&changed);
	}
	find_replaced(&changed, testimony);
	store_replaced(&changed);
	report_event(&changed);
	tell_unseen(&changed);
	tell_overlap(&changed);
	if (changed.gone)
		st_tracker_forget(&call->session->tracker, changed.place.path);
	else
		record_written(&changed);
	st_hook_instruct(call, change->path);
	if (!changed.gone)
		st_hook_tell(call, change->path);
}

void st_hook_after_change(struct st_hook_call *call) {
	st_auto(st_hook_changes) changes = {0};
	st_auto(st_testimony) testimony = {0};
	if (!st_hook_changes_read(call, &changes))
		return;
	st_witness_ask(call->session, changes.items[0].path, &testimony);
	for (size_t i = 0; i < changes.count; i++)
		follow_change(call, &changes.items[i], &testimony);
}
