/* Hashes that a thread computes beside other work: always the right one, whoever computes it. */
#include "fs/hasher.h"

#include <sys/wait.h>

#include "base/buf.h"
#include "lib/gen.h"
#include "lib/test.h"

static void fill(struct st_buf *bytes, size_t len, uint64_t seed) {
	struct gen gen = gen_new(seed);
	st_buf_clear(bytes);
	while (bytes->len < len) {
		uint64_t word = gen_next(&gen);
		size_t left = len - bytes->len;
		st_buf_add(bytes, st_strn((const char *)&word, left < sizeof word ? left : sizeof word));
	}
	assert_false(bytes->failed);
}

static bool is_right(struct st_hashing *hashing, struct st_str bytes) {
	struct st_hash hash, real;
	return st_hashing_end(hashing, &hash, NULL) == 0 && st_hash_of(bytes, &real, NULL) == 0 &&
	       st_hash_eq(&hash, &real);
}

/* With one core there is no thread, and nothing to be seen of it. */
static void need_two_cores(void) {
	cpu_set_t cores;
	if (sched_getaffinity(0, sizeof cores, &cores) < 0 || CPU_COUNT(&cores) < 2)
		skip_because("it takes two cores");
}

static void a_hash_is_the_same_by_whomever(void **state) {
	(void)state;
	need_two_cores();
	static const size_t sizes[] = {0, 1, ST_HASHER_MIN - 1, ST_HASHER_MIN, 1 << 20};
	struct st_hasher hasher;
	st_hasher_init(&hasher);
	for (int i = 0; i < 50; i++) {
		st_auto(st_buf) bytes = ST_BUF_INIT;
		struct st_hashing hashing;
		fill(&bytes, sizes[i % 5], (uint64_t)i);
		st_hashing_begin(&hashing, &hasher, st_buf_str(&bytes));
		/* At times the thread has it when it is asked for, at times it has not even begun. */
		if (i % 3 == 0)
			sleep_ms(2);
		assert_true(is_right(&hashing, st_buf_str(&bytes)));
		assert_true(is_right(&hashing, st_buf_str(&bytes)));
		st_hashing_release(&hashing);
	}
	st_hasher_release(&hasher);
}

static void a_hash_need_not_be_asked_for(void **state) {
	(void)state;
	struct st_hasher hasher;
	st_hasher_init(&hasher);
	for (int i = 0; i < 50; i++) {
		struct st_buf bytes = ST_BUF_INIT;
		struct st_hashing hashing;
		fill(&bytes, 200000, (uint64_t)i);
		st_hashing_begin(&hashing, &hasher, st_buf_str(&bytes));
		if (i % 2)
			sleep_ms(1);
		st_hashing_release(&hashing);
		/* Nobody reads them any more. */
		st_buf_release(&bytes);
	}
	st_hasher_release(&hasher);
}

static void *hash_often(void *data) {
	struct st_hasher *hasher = data;
	st_auto(st_buf) bytes = ST_BUF_INIT;
	for (uint64_t i = 0; i < 100; i++) {
		struct st_hashing hashing;
		fill(&bytes, ST_HASHER_MIN + i, i + (uint64_t)(uintptr_t)pthread_self());
		st_hashing_begin(&hashing, hasher, st_buf_str(&bytes));
		bool right = is_right(&hashing, st_buf_str(&bytes));
		st_hashing_release(&hashing);
		if (!right)
			return hasher;
	}
	return NULL;
}

/* It keeps to the cores of who asks, whatever those were before. */
static void the_thread_runs_where_who_asks_may_run(void **state) {
	(void)state;
	need_two_cores();
	struct st_hasher hasher;
	struct st_hashing hashing;
	cpu_set_t all, one;
	st_auto(st_buf) bytes = ST_BUF_INIT;
	fill(&bytes, ST_HASHER_MIN, 1);
	st_hasher_init(&hasher);
	st_hashing_begin(&hashing, &hasher, st_buf_str(&bytes));
	assert_non_null(hashing.hasher);
	st_hashing_release(&hashing);

	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	st_hashing_begin(&hashing, &hasher, st_buf_str(&bytes));
	assert_null(hashing.hasher);
	assert_true(is_right(&hashing, st_buf_str(&bytes)));
	st_hashing_release(&hashing);
	assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
	st_hasher_release(&hasher);
}

static void several_may_ask_at_once(void **state) {
	(void)state;
	struct st_hasher hasher;
	pthread_t threads[4];
	st_hasher_init(&hasher);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hash_often, &hasher), 0);
	for (int i = 0; i < 4; i++) {
		void *wrong = NULL;
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	st_hasher_release(&hasher);
}

static void a_forked_child_does_without_the_thread(void **state) {
	(void)state;
	struct st_hasher hasher;
	struct st_hashing hashing;
	st_auto(st_buf) bytes = ST_BUF_INIT;
	st_hasher_init(&hasher);
	fill(&bytes, 1 << 20, 1);
	st_hashing_begin(&hashing, &hasher, st_buf_str(&bytes));
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct st_hashing own;
		alarm(20);
		st_hashing_begin(&own, &hasher, st_buf_str(&bytes));
		bool right = is_right(&own, st_buf_str(&bytes));
		st_hashing_release(&own);
		st_hasher_release(&hasher);
		_exit(right ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(is_right(&hashing, st_buf_str(&bytes)));
	st_hashing_release(&hashing);
	st_hasher_release(&hasher);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hash_is_the_same_by_whomever),
		cmocka_unit_test(a_hash_need_not_be_asked_for),
		cmocka_unit_test(the_thread_runs_where_who_asks_may_run),
		cmocka_unit_test(several_may_ask_at_once),
		cmocka_unit_test(a_forked_child_does_without_the_thread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
