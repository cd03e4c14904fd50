#include "tools/state/run_args.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/quote.h"
#include "tools/route.h"

#define SECOND ((int64_t)1000000000)

/* "10m": a number and a unit. False if it is none. */
static bool parse_age(const char *text, int64_t *ns) {
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > 7 || text[digits] == '\0' || text[digits + 1] != '\0')
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (text[digits] == units[i].unit) {
			*ns = st_wall_ns() - strtoll(text, NULL, 10) * units[i].seconds * SECOND;
			return true;
		}
	}
	return false;
}

/* What follows the minutes: ":SS", ".fff". False if something else does. */
static bool parse_seconds(const char **text, struct tm *tm) {
	int used = 0;
	if (**text != ':')
		return true;
	if (sscanf(*text, ":%2d%n", &tm->tm_sec, &used) != 1 || tm->tm_sec > 60)
		return false;
	*text += used;
	if (**text == '.')
		*text += 1 + strspn(*text + 1, "0123456789");
	return true;
}

/* "Z", "+02:00" or nothing. False for anything else. */
static bool parse_offset(const char *text, int64_t *seconds) {
	int hours = 0, minutes = 0, used = 0;
	*seconds = 0;
	if (*text == '\0' || strcmp(text, "Z") == 0)
		return true;
	if ((*text != '+' && *text != '-') ||
	    sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || text[1 + used] != '\0' ||
	    hours > 14 || minutes > 59)
		return false;
	*seconds = (*text == '-' ? -60 : 60) * (int64_t)(hours * 60 + minutes);
	return true;
}

static bool parse_date(const char *text, int64_t *ns) {
	struct tm tm = {0};
	int used = 0;
	int64_t offset = 0;
	if (sscanf(text, "%4d-%2d-%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &used) != 3 ||
	    tm.tm_year < 1970 || tm.tm_year > 2200 || tm.tm_mon < 1 || tm.tm_mon > 12 ||
	    tm.tm_mday < 1 || tm.tm_mday > 31)
		return false;
	text += used;
	if (*text == 'T' || *text == ' ') {
		if (sscanf(text + 1, "%2d:%2d%n", &tm.tm_hour, &tm.tm_min, &used) != 2 || tm.tm_hour > 23 ||
		    tm.tm_min > 59)
			return false;
		text += 1 + used;
		if (!parse_seconds(&text, &tm))
			return false;
	}
	if (!parse_offset(text, &offset))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	*ns = ((int64_t)timegm(&tm) - offset) * SECOND;
	return true;
}

int st_moment_parse(struct st_str text, int64_t *ns, struct stet_error *err) {
	char copy[64];
	snprintf(copy, sizeof copy, "%.*s", (int)(text.len < 60 ? text.len : 60), text.ptr);
	if (parse_age(copy, ns) || parse_date(copy, ns))
		return 0;
	return st_fail(err, STET_E_INVALID,
	               "since takes a time such as 10m, 2h, 1d or 2026-01-31T12:00:00Z, not %s.",
	               st_quoted(copy));
}

int st_call_run_query(struct st_call *call, struct st_place *place, struct st_run_query *query,
                      bool *named, struct stet_error *err) {
	const char *path = st_arg(call, "path") ? st_call_path(call, "path", err) : NULL;
	if (st_arg(call, "path") && !path)
		return err->code;
	int code = path ? st_root_locate(&call->session->ws->root, st_str(path), place, err) : 0;
	if (code == 0 && path)
		code = st_workspace_check_type(call->session->ws, place->path, err);
	if (code == 0 && st_arg(call, "since"))
		code = st_moment_parse(st_arg_str(call, "since"), &query->since, err);
	query->path = path ? place->path : NULL;
	query->of = st_arg(call, "of") ? st_arg_str(call, "of").ptr : NULL;
	query->story = st_arg(call, "story") ? st_arg_str(call, "story").ptr : NULL;
	query->id = st_arg_int(call, "id", 0);
	if (code == 0 && query->id < 0)
		return st_fail(err, STET_E_INVALID, "id takes the number of a write, as the log has it.");
	if (!path && (query->of || query->story || query->since || query->id || query->any))
		st_call_note_roots(call);
	*named = query->of || query->story || query->since || query->id;
	return code;
}
