/* The editing guide, which tells a model how to use the tools. MCP clients get it as the server's instructions. */
#include "stet/tools.h"

/*
 * The first sentence says why to use these tools. Keep the guide below 2 KB:
 * Claude Code shows its model only that much of a server's instructions.
 */
const char *stet_editing_guide(void) {
	return "Use these tools instead of your built-in ones to read, edit and write files in this "
		   "workspace: people and other agents change the same files, and only these tools check "
		   "at the moment of writing that nobody's change is overwritten, show you the diff if "
		   "somebody was faster, and can undo.\n"
		   "\n"
		   "Which tool:\n"
		   "- Change words or lines: `text_replace`, or `edit_file` for several edits at once, all "
		   "or nothing.\n"
		   "- Add to a Markdown section: `text_patch` insert with `appendToSection`; above a "
		   "heading: `beforeHeading`.\n"
		   "- Replace a section, heading or code block: `text_patch` replace with `wholeSection`, "
		   "`heading` or `codeBlock`; with `lines` only as a last resort.\n"
		   "- A new file: `write_file`. To replace a file, read all of it first.\n"
		   "- A long file: `text_inspect` shows its structure, a search or lines.\n"
		   "\n"
		   "Matching: `oldText` must be in the file character by character, without line numbers; "
		   "line ends do not matter. With several matches `text_replace` takes the first unless "
		   "you give `occurrence` (first, last, all, a number); `edit_file` refuses unless "
		   "`replaceAll` is true. If nothing matches, the error shows the nearest text: copy from "
		   "there.\n"
		   "\n"
		   "Refused because the file was modified? Nothing was lost. The diff in the answer counts "
		   "as read: if your edit still makes sense, make the same call again. Do not rewrite the "
		   "whole file instead. `onStale: merge` merges at the first attempt. A `fileHash` from an "
		   "answer, passed as `expectedHash`, pins an edit to that version.\n";
}
