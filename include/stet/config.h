/**
 * Configuration: what applies to a workspace, and who said so.
 *
 * In rising weight: what stet does by itself, the user's file
 * ($XDG_CONFIG_HOME/stet/config.json, or ~/.config/stet/config.json), the
 * workspace's own stet.json, the environment (STET_REQUIRE_READ for
 * requireRead), and what the program was told. Both files are JSON, in which
 * comments and a comma behind the last member are fine.
 *
 * A workspace is not trusted: its stet.json may tighten what the user allows,
 * never widen it. What it may not set is left out, with a notice; so are keys
 * that do not exist.
 *
 *     struct stet_config *config = NULL;
 *     if (stet_config_load(ws, &config, err) == 0 && stet_config_apply(config, ws, err) == 0)
 *             puts(stet_config_value(config, "requireRead"));
 *     stet_config_free(config);
 */
#ifndef STET_CONFIG_H
#define STET_CONFIG_H

#include "stet/workspace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_config;

/**
 * Read the files and the environment.
 *
 * @return 0, STET_E_INVALID (the user's file or a variable is wrong), or why
 *         the user's file cannot be read. A wrong stet.json is a notice.
 */
STET_API STET_NODISCARD int stet_config_load(struct stet_workspace *ws, struct stet_config **out,
                                             struct stet_error *err);

/** Free a configuration; NULL is fine. */
STET_API void stet_config_free(struct stet_config *config);

/**
 * Set a key, with more weight than everything that was loaded.
 *
 * @value   As in the environment: "true", "65536", ".md,.txt", "merge", "nested".
 * @source  Who says so, for stet_config_source(); copied.
 * @return  0, STET_E_INVALID (no such key, no such value), STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_config_set(struct stet_config *config, const char *key,
                                            const char *value, const char *source,
                                            struct stet_error *err);

/** Set the options of a workspace by it, before sessions are at work. */
STET_API STET_NODISCARD int stet_config_apply(const struct stet_config *config,
                                              struct stet_workspace *ws, struct stet_error *err);

/** The n-th key (from 0), what it is about, and its value by default; NULL beyond the last. */
STET_API const char *stet_config_key(size_t n);
STET_API const char *stet_config_description(size_t n);
STET_API const char *stet_config_default(size_t n);

/**
 * What a workspace's stet.json may do to the n-th key: nothing ("user"), or
 * tighten it: switch it "on" or "off", make it "lower", or name "fewer".
 * NULL beyond the last.
 */
STET_API const char *stet_config_rule(size_t n);

/** The value of a key as text, and who said so, such as "default" or the path of a file. NULL: no such key. */
STET_API const char *stet_config_value(const struct stet_config *config, const char *key);
STET_API const char *stet_config_source(const struct stet_config *config, const char *key);

/** The n-th notice (from 0): a sentence on something that was left out; NULL beyond the last. */
STET_API const char *stet_config_notice(const struct stet_config *config, size_t n);

#ifdef __cplusplus
}
#endif

#endif
