/* Batches, which only protocol version 2025-03-26 has: several messages, one array of answers. */
#include <assert.h>

#include "mcp/protocol/protocol_state.h"

struct batch {
	struct st_mcp_sink *sink;
	/* The number of messages that are not done. */
	size_t pending;
	struct st_buf answers;
	struct item {
		struct st_mcp_sink sink;
		struct batch *batch;
	} items[];
};

static void forward_event(struct st_mcp_sink *sink, struct st_buf *message) {
	struct batch *batch = ((struct item *)sink)->batch;
	batch->sink->event(batch->sink, message);
}

static void collect_answer(struct st_mcp_sink *sink, struct st_buf *message, int status) {
	struct batch *batch = ((struct item *)sink)->batch;
	st_buf_addc(&batch->answers, batch->answers.len == 0 ? '[' : ',');
	st_buf_add(&batch->answers, st_buf_str(message));
}

static void item_done(struct st_mcp_sink *sink) {
	struct batch *batch = ((struct item *)sink)->batch;
	assert(batch->pending > 0);
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

/* Copy a part to a message of its own, which may outlive the batch. */
static struct st_mcp_message *part_of(yyjson_val *value, bool repaired) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_mcp_wire_value(&text, value);
	struct st_mcp_message *message = text.failed ? NULL : st_mcp_message_new(st_buf_str(&text));
	if (message && message->kind == ST_MCP_BATCH)
		st_mcp_refuse(message, ST_MCP_INVALID_REQUEST, "A message must be a JSON object.");
	if (message)
		message->repaired = repaired;
	return message;
}

static void dispatch_part(struct st_mcp_peer *peer, yyjson_val *value, bool repaired,
                          struct item *item, struct st_mcp_sink *outer) {
	struct st_mcp_message *message = part_of(value, repaired);
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
	/* One more for this function, so that the batch does not end before all parts have begun. */
	batch->pending = count + 1;
	struct item own = {.batch = batch};
	yyjson_arr_iter all = yyjson_arr_iter_with(message->root);
	for (size_t i = 0; i < count; i++) {
		struct item *item = &batch->items[i];
		item->batch = batch;
		item->sink = (struct st_mcp_sink){
			.event = forward_event, .answer = collect_answer, .done = item_done};
		dispatch_part(peer, yyjson_arr_iter_next(&all), message->repaired, item, sink);
	}
	pthread_mutex_lock(&peer->lock);
	item_done(&own.sink);
	pthread_mutex_unlock(&peer->lock);
	st_mcp_message_free(message);
}
