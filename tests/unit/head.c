/* The head of a request and the chunks of a body, read strictly. */
#include "net/head.h"

#include "base/buf.h"
#include "lib/test.h"
#include "net/chunks.h"

/* The status for a complete head; -1 if the head has no end. */
static int read_head(const char *text, struct st_head *head) {
	const char *problem = NULL;
	size_t scanned = 0;
	ssize_t end = st_head_end(st_str(text), &scanned);
	if (end <= 0)
		return end < 0 ? 400 : -1;
	int status = st_head_read(head, st_strn(text, (size_t)end), &problem);
	assert_int_equal(problem != NULL, status != 0);
	return status;
}

static void a_head_is_taken_apart(void **state) {
	st_auto(st_head) head = {0};
	assert_int_equal(
		read_head("POST /mcp?x=1 HTTP/1.1\r\nHost: localhost:80\r\n"
	              "content-LENGTH:  12\t\r\nX-Empty:\r\nConnection: x, Close\r\n\r\nrest",
	              &head),
		0);
	assert_int_equal(head.method, ST_METHOD_POST);
	assert_string_equal(head.path, "/mcp");
	assert_string_equal(st_head_field(&head, "host"), "localhost:80");
	assert_string_equal(st_head_field(&head, "X-Empty"), "");
	assert_null(st_head_field(&head, "Origin"));
	assert_int_equal(head.length, 12);
	assert_true(head.close);
	assert_false(head.chunked || head.old || head.expects);
}

static void what_the_grammar_has_is_accepted(void **state) {
	static const char *const heads[] = {
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"BREW / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://X:80/mcp HTTP/1.1\r\nHost: x:80\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nAccept: a\r\nAccept: b\r\nX: \xc3\xa4\r\n\r\n",
	};
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		st_auto(st_head) head = {0};
		if (read_head(heads[i], &head) != 0)
			fail_msg("refused: %s", heads[i]);
	}
}

static void what_could_be_read_in_two_ways_is_refused(void **state) {
	static const char *const heads[] = {
		"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1 \r\nHost: x\r\n\r\n",
		"GET / x HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
		"GET / http/1.1\r\nHost: x\r\n\r\n",
		"GET /\r\n\r\n",
		"GET /\x7f HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET mcp HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET * HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://y/mcp HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://x.y/mcp HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://u@x/mcp HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
		"GET / HTTP/1.1\r\n Host: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n y\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nX: a\x01\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\n\r\n",
		"GET / HTTP/1.1\nHost: x\n\n",
		"GET / HTTP/1.1\r\nHost: x\r\r\n\r\n",
		"GET / HTTP/1.1\rHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x3\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
		"POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
	};
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		st_auto(st_head) head = {0};
		if (read_head(heads[i], &head) != 400)
			fail_msg("not refused: %s", heads[i]);
	}
	size_t scanned = 0;
	assert_int_equal(st_head_end(ST_STR("GET / HTTP/1.1\r\nHost: x\0\r\n\r\n"), &scanned), -1);
}

static void there_are_only_so_many_fields(void **state) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_head) head = {0}, more = {0};
	st_buf_adds(&text, "GET / HTTP/1.1\r\nHost: x\r\n");
	for (int i = 1; i < ST_HEAD_FIELDS_MAX; i++)
		st_buf_addf(&text, "X-%d: y\r\n", i);
	size_t len = text.len;
	st_buf_adds(&text, "\r\n");
	assert_int_equal(read_head(st_buf_cstr(&text), &head), 0);
	st_buf_truncate(&text, len);
	st_buf_adds(&text, "One: more\r\n\r\n");
	assert_int_equal(read_head(st_buf_cstr(&text), &more), 400);
}

static void an_end_is_found_however_the_bytes_come(void **state) {
	static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET";
	size_t scanned = 0;
	ssize_t end = 0;
	for (size_t len = 1; len < sizeof text && end == 0; len++)
		end = st_head_end(st_strn(text, len), &scanned);
	assert_int_equal(end, sizeof text - 1 - 3);
}

/* 1 when the body is complete, 0 if more has to come, -1 if it is refused. */
static int take_chunks(const char *text, size_t step, struct st_buf *body) {
	struct st_chunks chunks = {0};
	for (size_t at = 0; at < strlen(text) && !st_chunks_done(&chunks); at += step) {
		size_t left = strlen(text) - at;
		struct st_str bytes = st_strn(text + at, left < step ? left : step), data;
		while (bytes.len > 0 && !st_chunks_done(&chunks)) {
			if (!st_chunks_decode(&chunks, &bytes, &data))
				return -1;
			st_buf_add(body, data);
		}
	}
	return st_chunks_done(&chunks);
}

static void chunks_become_a_body(void **state) {
	for (size_t step = 1; step < 40; step++) {
		st_auto(st_buf) body = ST_BUF_INIT;
		assert_int_equal(take_chunks("5\r\nhello\r\n00C\r\n, wide world\r\n0\r\n\r\n", step, &body),
		                 1);
		assert_string_equal(st_buf_cstr(&body), "hello, wide world");
	}
}

static void odd_chunks_are_refused(void **state) {
	static const char *const bodies[] = {
		"\r\n\r\n",
		"0x5\r\nhello\r\n",
		"+5\r\nhello\r\n",
		" 5\r\nhello\r\n",
		"5 \r\nhello\r\n",
		"-1\r\n",
		"5;x=y\r\nhello\r\n",
		"5\nhello\n",
		"5\r\nhelloX\r\n",
		"5\r\nhello\n0\r\n",
		"0\r\nTrailer: x\r\n\r\n",
		"000000005\r\nhello\r\n",
		"g\r\n",
		"5\rhello",
		"0\r\n\n",
	};
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		st_auto(st_buf) body = ST_BUF_INIT;
		if (take_chunks(bodies[i], 1, &body) != -1)
			fail_msg("not refused: %s", bodies[i]);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_is_taken_apart),
		cmocka_unit_test(what_the_grammar_has_is_accepted),
		cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
		cmocka_unit_test(there_are_only_so_many_fields),
		cmocka_unit_test(an_end_is_found_however_the_bytes_come),
		cmocka_unit_test(chunks_become_a_body),
		cmocka_unit_test(odd_chunks_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
