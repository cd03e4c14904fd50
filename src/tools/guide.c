/* The editing guide: what a model is told about these tools before it uses them. */
#include "stet/tools.h"

const char *stet_editing_guide(void) {
	return "# Editing files with stet\n"
	       "\n"
	       "## Which tool\n"
	       "- Change words or a few lines: `text_replace` (or `edit_file` for several edits at once, all or nothing). This is the default.\n"
	       "- Add to a Markdown section: `text_patch` insert with `appendToSection`; above a heading: `beforeHeading`.\n"
	       "- Replace a Markdown section, heading or code block: `text_patch` replace with `wholeSection`, `heading` or `codeBlock`.\n"
	       "- By line number: `text_patch` with `lines`, only as a last resort; numbers move with every edit.\n"
	       "- A new file, or one rewritten from top to bottom: `write_file`. It needs all of an existing file to have been read.\n"
	       "- Find your way in a long file first: `text_inspect` (structure, search, lines).\n"
	       "\n"
	       "## Matching\n"
	       "- `oldText` must be in the file character by character: tabs, quotes and dashes count; line ends do not. Do not include line numbers.\n"
	       "- Give enough lines to be unique. With several matches `text_replace` takes the first unless you give `occurrence` "
	       "(first, last, all, a number); `edit_file` refuses unless `replaceAll` is true.\n"
	       "- Not found? The error shows the nearest text and what differs. Copy the text from there.\n"
	       "\n"
	       "## Several edits, several writers\n"
	       "- Every answer has a `fileHash`. Pass it on as `expectedHash` with the next edit of that file: it then applies to just that version.\n"
	       "- A refused edit (`status: conflict`) means that somebody else changed the file since you read it. Nothing was lost. Read the diff "
	       "in the answer; it counts as read. If your edit still makes sense, make the same call again (with the new hash if you gave one); if not, adapt it. Never fall back to "
	       "rewriting the whole file.\n"
	       "- `onStale: merge` merges edits that do not touch the other's lines, and shows what came from outside.\n"
	       "- Line numbers in an answer are those of the new file.\n";
}
