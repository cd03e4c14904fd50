/**
 * The key `project` of the configuration: the names that a user gives to
 * repositories, for forks, whose remotes differ, and for repositories without a
 * remote. core/places uses them.
 *
 * The names are a list with commas: "FROM=NAME", or "NAME" for any repository.
 * FROM is a remote in any spelling, or the absolute path of a checkout. The first
 * that fits counts.
 */
#ifndef STET_CORE_WORKSPACE_PROJECT_H
#define STET_CORE_WORKSPACE_PROJECT_H

#include "base/str.h"

/** The most bytes of a name. */
enum { ST_PROJECT_MAX = 200 };

/** One name of the list; `from` is empty if it is for any repository. */
struct st_project {
	struct st_str from, name;
};

/** Cut the first name off a list. False at its end, or if there is none before a "=". */
bool st_project_next(struct st_str *rest, struct st_project *project);

/** Whether a list is correct; an empty one is. */
bool st_project_is_list(const char *names);

#endif
