/**
 * Configuration: the settings that apply to a workspace, and their sources.
 *
 * A setting comes from one of these sources; later ones override earlier ones:
 * the built-in default, the user's file ($XDG_CONFIG_HOME/stet/config.json, or
 * ~/.config/stet/config.json), the workspace's stet.json, the environment
 * (STET_REQUIRE_READ for requireRead), and stet_config_set(). Both files are
 * JSON; comments and trailing commas are allowed.
 *
 * stet does not trust a workspace: its stet.json can only restrict what the
 * user allows. Settings that it may not change, and unknown keys, are ignored,
 * and a notice says so.
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
 * @return 0, STET_E_INVALID (the user's file or a variable has an invalid
 *         value), or the reason why the user's file cannot be read. Errors in
 *         stet.json only cause notices.
 */
STET_API STET_NODISCARD int stet_config_load(struct stet_workspace *ws, struct stet_config **out,
                                             struct stet_error *err);

/** Free a configuration; NULL is fine. */
STET_API void stet_config_free(struct stet_config *config);

/**
 * Set a key, overriding every loaded value.
 *
 * @value   As in the environment: "true", "65536", ".md,.txt", "merge", "nested".
 * @source  The name of this source, for stet_config_source(); copied.
 * @return  0, STET_E_INVALID (unknown key, invalid value), STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_config_set(struct stet_config *config, const char *key,
                                            const char *value, const char *source,
                                            struct stet_error *err);

/** Set a workspace's options from the configuration. Call it before sessions use the workspace. */
STET_API STET_NODISCARD int stet_config_apply(const struct stet_config *config,
                                              struct stet_workspace *ws, struct stet_error *err);

/** The name, description and default value of the n-th key (from 0); NULL beyond the last. */
STET_API const char *stet_config_key(size_t n);
STET_API const char *stet_config_description(size_t n);
STET_API const char *stet_config_default(size_t n);

/**
 * The right of a workspace's stet.json to set the n-th key: none ("user"), only to
 * turn it "on" or "off", only to set a "lower" number, or only to name "fewer"
 * values. NULL beyond the last.
 */
STET_API const char *stet_config_rule(size_t n);

/** The value of a key as text, and its source ("default", or the path of a file); NULL for an unknown key. */
STET_API const char *stet_config_value(const struct stet_config *config, const char *key);
STET_API const char *stet_config_source(const struct stet_config *config, const char *key);

/** The n-th notice (from 0), a sentence about an ignored setting; NULL beyond the last. */
STET_API const char *stet_config_notice(const struct stet_config *config, size_t n);

#ifdef __cplusplus
}
#endif

#endif
