/**
 * A passage: one message of a prompt, with what the measure asks of it. It has
 * the message's tokens, its text with each line trimmed and freed of line numbers,
 * and the identifiers in that text.
 *
 *     struct st_passage passage = {0};
 *     int code = st_passage_read(&passage, message, err);
 *     if (code == 0 && st_passage_has(&passage, text))
 *             puts("in view");
 *     st_passage_release(&passage);
 */
#ifndef STET_EVAL_PASSAGE_H
#define STET_EVAL_PASSAGE_H

#include "base/buf.h"
#include "core/prompt/messages.h"

/** The sums of different identifiers, in ascending order. */
struct st_words {
	uint64_t *sums;
	size_t count;
};

struct st_passage {
	/** Equal for equal messages. */
	uint64_t sum;
	size_t tokens;
	enum st_role role;
	/** All texts of the message, arguments of calls too, one below the other. */
	struct st_buf text;
	/** The text of a reply beside its calls. */
	struct st_buf said;
	struct st_words words;
};

/** Read a message of chat completions. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_passage_read(struct st_passage *passage, yyjson_val *message,
                                  struct stet_error *err);

/** The end of a passage, as a passage of at most so many tokens. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_passage_end(const struct st_passage *from, size_t tokens,
                                 struct st_passage *to, struct stet_error *err);
void st_passage_release(struct st_passage *passage);

/** Whether a passage has a text, which st_passage_plain() made. */
bool st_passage_has(const struct st_passage *passage, struct st_str text);

/** Append a text with each line trimmed and freed of its number ("12:", "12\t", "12→"). */
void st_passage_plain(struct st_str text, struct st_buf *out);

/** Append all texts in a value, and in the JSON that these hold, one below the other. */
void st_passage_texts(yyjson_val *value, struct st_buf *out);

/** Find the identifiers of a text: words of 5 to 64 letters, digits and "_". */
[[nodiscard]] int st_words_find(struct st_words *words, struct st_str text, struct stet_error *err);
bool st_words_has(const struct st_words *words, uint64_t sum);
void st_words_release(struct st_words *words);

#endif
