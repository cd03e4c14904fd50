/* The checkouts of the repository in which agents work, and what merging them would do. */
#include "core/page/page.h"
#include "core/places/answers.h"

int st_page_places(struct st_page *page, struct stet_error *err) {
	return st_who_fill(page->ws->places, page->reach, page->doc,
	                   st_json_add_object(page->doc, page->root, "who"), err);
}

int st_page_forecast(struct st_page *page, struct stet_error *err) {
	const struct st_forecast_request request = {.all = true, .reach = page->reach};
	return st_forecast_fill(page->ws->places, &request, page->doc,
	                        st_json_add_object(page->doc, page->root, "forecast"), err);
}
