/**
 * Epochs: a list of messages grows until it has H tokens, then it is cut once,
 * to L tokens, and grows again. Between two cuts the host only appends, so the
 * provider's cache holds.
 *
 * Below H the list comes back byte for byte. Above, the prompt has the system
 * prompt, the user's earlier requests, our own message (snapshot, what was left
 * out, files that the messages name, a table of contents), then in their order:
 * what the model said before the user's last request, that request, errors that
 * are still open, the newest exchanges, texts of files from older ones
 * (working_set.h), and as many older exchanges as fit. Old results are capped,
 * results of calls that were made again are collapsed. What one part does not
 * need goes to the next, nothing of ours stands behind the user's last words, and
 * the prompt is never larger than the list.
 *
 *     struct st_epoch_options options = {.above = 24000, .to = 6000};
 *     int code = st_epoch(messages, &options, &out, &report, err);
 */
#ifndef STET_CORE_PROMPT_EPOCH_H
#define STET_CORE_PROMPT_EPOCH_H

#include "core/prompt/compact.h"

/** The defaults of H and L, and the smallest L. */
enum { ST_EPOCH_ABOVE = 24000, ST_EPOCH_TO = 6000, ST_EPOCH_TO_MIN = 1000 };

struct st_epoch_options {
	/** Cut above so many tokens, to so many; 0 for the defaults. */
	size_t above;
	size_t to;
	/** Snapshot, template, request, additional text, percent, shape, archived: as compact.h says. */
	struct st_compact_options prompt;
	/** Paths in the messages, one a line, that the snapshot knows. */
	struct st_str verified;
	/** Tokens of the host's tool definitions, which count, too. */
	size_t overhead;
	/** Do not place marks for Anthropic's cache. */
	bool no_marks;
};

/**
 * Cut a list if it is too long.
 *
 * @messages  An array of messages, or a request that contains one, as JSON.
 * @out       Receives the same JSON, with a shorter list if it was cut.
 * @report    Receives the figures; its `archive` is empty if nothing was cut. May
 *            be NULL.
 * @return    1 if the list was cut, 0 if not; STET_E_INVALID or STET_E_NOMEM.
 */
[[nodiscard]] int st_epoch(struct st_str messages, const struct st_epoch_options *options,
                           struct st_buf *out, struct st_compact_report *report,
                           struct stet_error *err);

/** The tokens of the messages and the system prompt of a list, as JSON. */
size_t st_epoch_tokens(const struct st_messages *list);

#endif
