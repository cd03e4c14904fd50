# Make a C source of src/cli/setup/opencode.js: each line a string literal, without trigraphs.
s/[\\"]/\\&/g
s/??/?\\?/g
s/.*/	"&\\n"/
1i\
#include "cli/setup/clients.h"\
\
const char opencode_plugin[] =
$a\
	;
