/**
 * Copies of messages in which texts that do not fit are cut, with a mark that
 * says how much is missing.
 *
 * A copy stays a valid message: ids, names, types and signatures are never cut,
 * arguments in JSON stay JSON, and a call stays where its result stays.
 *
 *     struct st_cut cut = {.doc = doc, .archive = ""};
 *     yyjson_mut_val *array = st_cut_fit(&cut, &list, &list.units[i], 800);
 */
#ifndef STET_CORE_PROMPT_CUT_H
#define STET_CORE_PROMPT_CUT_H

#include "base/buf.h"
#include "core/prompt/messages.h"

/** No text is cut to fewer tokens: a few words and the mark. */
enum { ST_CUT_MIN = 48 };

/** The outcome for one call or result. */
struct st_cut_part {
	yyjson_val *value;
	/** A note replaces the result, as a later call supersedes it. */
	bool superseded;
	/** It is left out. A call and its result have this in common. */
	bool dropped;
};

struct st_cut {
	/** Where the copies are made. */
	yyjson_mut_doc *doc;
	/** The name under which the original is stored, for the marks; "" if it is not. */
	const char *archive;
	/** The most tokens of a tool's result, beside the limit of a text; 0 for no other limit. */
	size_t result_tokens;
	/** Leave out the marks of Anthropic's cache. */
	bool strip_marks;
	/** A text was cut. */
	bool happened;
	/** Memory ran out. */
	bool failed;
	/** The ids of calls that are dropped with their results, sorted. */
	struct st_str *dropped;
	size_t dropped_count;
	/** Sorted by address. */
	struct st_cut_part *parts;
	size_t part_count;
	/** Inside of a superseded result. */
	bool collapse;
};

/** Free the lists of dropped calls and of parts. */
void st_cut_release(struct st_cut *cut);

/** Drop a call with its result from all copies. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_cut_drop(struct st_cut *cut, struct st_str id, struct stet_error *err);
bool st_cut_is_dropped(const struct st_cut *cut, struct st_str id);

/** The outcome for a call or a result; NULL for nothing special. */
struct st_cut_part *st_cut_part_of(const struct st_cut *cut, const yyjson_val *value);

/** Append a text cut to so many tokens: its beginning, a mark, and its end. */
void st_cut_text(struct st_cut *cut, struct st_buf *out, struct st_str text, size_t tokens);

/** Copy a value, with each text in it cut to so many tokens; NULL if out of memory. */
yyjson_mut_val *st_cut_value(struct st_cut *cut, yyjson_val *value, size_t tokens);

/** Copy the messages of a unit into an array, with each text cut to so many tokens; NULL likewise. */
yyjson_mut_val *st_cut_unit(struct st_cut *cut, const struct st_messages *list,
                            const struct st_unit *unit, size_t tokens);

/**
 * Copy a unit with texts as long as a limit for the whole unit allows.
 *
 * @return  An array, empty if even the shortest texts are too long; NULL if out
 *          of memory.
 */
yyjson_mut_val *st_cut_fit(struct st_cut *cut, const struct st_messages *list,
                           const struct st_unit *unit, size_t limit);

/** The tokens of a value as JSON; 0 for NULL. */
size_t st_cut_count(struct st_cut *cut, yyjson_mut_val *value);

#endif
