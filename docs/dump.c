/* What the library says about itself, for tools/make-docs: its tools as a JSON array, or "guide". */
#include <stdio.h>
#include <string.h>

#include <stet/stet.h>

static int dump_tools(void) {
	putchar('[');
	for (size_t i = 0; i < stet_tool_count(); i++) {
		char *json = stet_tool_json(i);
		if (!json)
			return 1;
		printf("%s%s", i ? ",\n" : "", json);
		stet_free(json);
	}
	puts("]");
	return 0;
}

int main(int argc, char **argv) {
	if (argc == 2 && strcmp(argv[1], "guide") == 0)
		return fputs(stet_editing_guide(), stdout) < 0;
	return dump_tools();
}
