/* The checkouts of the repository in which agents work. */
#include "core/page/page.h"
#include "core/places/answers.h"

int st_page_places(struct st_page *page, struct stet_error *err) {
	char *json = NULL;
	size_t len = 0;
	yyjson_doc *who = NULL;
	int code = st_who(page->ws, page->reach, &json, &len, err);
	if (code == 0)
		code = st_json_parse(st_strn(json, len), "The places", &who, err);
	if (code == 0)
		st_json_add(page->doc, page->root, "who",
		            yyjson_val_mut_copy(page->doc, yyjson_doc_get_root(who)));
	yyjson_doc_free(who);
	stet_free(json);
	return code;
}
