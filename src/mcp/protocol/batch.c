/* Batches, which protocol version 2025-03-26 alone has: many messages, one array of answers. */
#include "mcp/protocol/protocol_state.h"
#include "mcp/protocol/wire.h"

struct batch {
	struct st_mcp_sink *sink;
	/* How many of its messages are not done. */
	size_t pending;
	struct st_buf answers;
	struct item {
		struct st_mcp_sink sink;
		struct batch *batch;
	} items[];
};

static void pass_on(struct st_mcp_sink *sink, struct st_buf *message) {
	struct batch *batch = ((struct item *)sink)->batch;
	batch->sink->event(batch->sink, message);
}

static void collect(struct st_mcp_sink *sink, struct st_buf *message, int status) {
	struct batch *batch = ((struct item *)sink)->batch;
	st_buf_addc(&batch->answers, batch->answers.len == 0 ? '[' : ',');
	st_buf_add(&batch->answers, st_buf_str(message));
}

static void item_done(struct st_mcp_sink *sink) {
	struct batch *batch = ((struct item *)sink)->batch;
	if (--batch->pending > 0)
		return;
	struct st_mcp_sink *outer = batch->sink;
	if (batch->answers.len > 0) {
		st_buf_addc(&batch->answers, ']');
		if (!batch->answers.failed)
			outer->answer(outer, &batch->answers, 200);
	}
	st_buf_release(&batch->answers);
	free(batch);
	outer->done(outer);
}

/* Each message gets a document of its own, and goes its own way from here. */
static struct st_mcp_message *part_of(yyjson_val *value, bool mended) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_mcp_wire_value(&text, value);
	struct st_mcp_message *message = text.failed ? NULL : st_mcp_message_new(st_buf_str(&text));
	if (message && message->kind == ST_MCP_BATCH)
		st_mcp_refuse(message, ST_MCP_INVALID_REQUEST, "A message is a JSON object.");
	if (message)
		message->mended = mended;
	return message;
}

static void dispatch_part(struct st_mcp_peer *peer, yyjson_val *value, bool mended,
                          struct item *item, struct st_mcp_sink *outer) {
	struct st_mcp_message *message = part_of(value, mended);
	if (!message) {
		pthread_mutex_lock(&peer->lock);
		item_done(&item->sink);
		pthread_mutex_unlock(&peer->lock);
	} else if (message->kind == ST_MCP_REQUEST) {
		st_mcp_pending_begin(peer, message, &item->sink, outer);
	} else {
		st_mcp_dispatch(peer, message, &item->sink);
	}
}

void st_mcp_batch(struct st_mcp_peer *peer, struct st_mcp_message *message,
                  struct st_mcp_sink *sink) {
	size_t count = yyjson_arr_size(message->root);
	struct batch *batch = calloc(1, sizeof *batch + count * sizeof *batch->items);
	if (!batch) {
		st_mcp_refuse(message, ST_MCP_INTERNAL_ERROR, "Out of memory.");
		st_mcp_dispatch(peer, message, sink);
		return;
	}
	batch->sink = sink;
	/* One more for this function, so that it is not over before all have begun. */
	batch->pending = count + 1;
	struct item own = {.batch = batch};
	yyjson_arr_iter all = yyjson_arr_iter_with(message->root);
	for (size_t i = 0; i < count; i++) {
		struct item *item = &batch->items[i];
		item->batch = batch;
		item->sink = (struct st_mcp_sink){.event = pass_on, .answer = collect, .done = item_done};
		dispatch_part(peer, yyjson_arr_iter_next(&all), message->mended, item, sink);
	}
	pthread_mutex_lock(&peer->lock);
	item_done(&own.sink);
	pthread_mutex_unlock(&peer->lock);
	st_mcp_message_free(message);
}
