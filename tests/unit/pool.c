/* The loop and the worker pool: order, keys, and what is stuck. */
#include "net/pool.h"

#include <pthread.h>

#include "base/clock.h"
#include "lib/test.h"

/* A job that notes when it ran, and may wait at a gate. */
struct step {
	struct st_pool_task task;
	struct scene *scene;
	int number;
	bool gated;
};

struct scene {
	struct st_loop *loop;
	struct st_pool *pool;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool open;
	/* The numbers of the tasks, in the order in which they ran, and in which they were reported. */
	int began[64], reported[64];
	size_t began_count, reported_count, expected;
};

static void begin(struct st_pool_task *task) {
	struct step *step = (struct step *)task;
	struct scene *scene = step->scene;
	pthread_mutex_lock(&scene->lock);
	scene->began[scene->began_count++] = step->number;
	while (step->gated && !scene->open)
		pthread_cond_wait(&scene->moved, &scene->lock);
	pthread_mutex_unlock(&scene->lock);
}

static void note(struct st_pool_task *task) {
	struct step *step = (struct step *)task;
	struct scene *scene = step->scene;
	scene->reported[scene->reported_count++] = step->number;
	if (scene->reported_count == scene->expected)
		st_loop_stop(scene->loop);
}

static void open_gate(struct scene *scene) {
	pthread_mutex_lock(&scene->lock);
	scene->open = true;
	pthread_cond_broadcast(&scene->moved);
	pthread_mutex_unlock(&scene->lock);
}

static void set_up(struct scene *scene, size_t threads) {
	*scene = (struct scene){0};
	pthread_mutex_init(&scene->lock, NULL);
	pthread_cond_init(&scene->moved, NULL);
	assert_int_equal(st_loop_new(&scene->loop, NULL), 0);
	assert_int_equal(st_pool_new(scene->loop, threads, &scene->pool, NULL), 0);
}

static void tear_down(struct scene *scene) {
	st_pool_free(scene->pool);
	st_loop_free(scene->loop);
	pthread_cond_destroy(&scene->moved);
	pthread_mutex_destroy(&scene->lock);
}

static void give(struct scene *scene, struct step *step, int number, uint64_t key, uint64_t other) {
	step->task = (struct st_pool_task){.run = begin, .done = note, .keys = {key, other}};
	step->scene = scene;
	step->number = number;
	assert_true(st_pool_submit(scene->pool, &step->task));
}

static void run_until(struct scene *scene, size_t reported) {
	scene->expected = reported;
	if (scene->reported_count < reported)
		st_loop_run(scene->loop);
}

static void jobs_of_one_key_run_in_the_order_they_came(void **state) {
	struct scene scene;
	struct step steps[50] = {0};
	set_up(&scene, 4);
	for (int i = 0; i < 50; i++)
		give(&scene, &steps[i], i, 7, (uint64_t)i + 100);
	run_until(&scene, 50);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(scene.began[i], i);
		assert_int_equal(scene.reported[i], i);
	}
	tear_down(&scene);
}

static void a_stuck_job_holds_up_only_those_that_share_a_key(void **state) {
	struct scene scene;
	struct step stuck = {.gated = true}, same_session = {0}, same_file = {0}, behind = {0};
	struct step free_ones[8] = {0};
	set_up(&scene, 2);
	give(&scene, &stuck, 1, 10, 20);
	give(&scene, &same_session, 2, 10, 21);
	give(&scene, &same_file, 3, 11, 20);
	give(&scene, &behind, 4, 12, 21);
	for (int i = 0; i < 8; i++)
		give(&scene, &free_ones[i], 100 + i, 13, (uint64_t)i + 30);
	run_until(&scene, 8);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(scene.reported[i], 100 + i);

	open_gate(&scene);
	run_until(&scene, 12);
	assert_int_equal(scene.reported[8], 1);
	tear_down(&scene);
}

static void tend(evutil_socket_t fd, short what, void *arg) {
	st_pool_tick(arg);
}

static void threads_are_added_when_all_are_stuck(void **state) {
	struct scene scene;
	struct step stuck[4] = {{.gated = true}, {.gated = true}, {.gated = true}, {.gated = true}};
	struct step urgent = {0};
	set_up(&scene, 2);
	struct event *timer = event_new(st_loop_base(scene.loop), -1, EV_PERSIST, tend, scene.pool);
	event_add(timer, &(struct timeval){.tv_usec = 5000});
	for (int i = 0; i < 4; i++)
		give(&scene, &stuck[i], i, (uint64_t)i + 1, 0);
	give(&scene, &urgent, 9, 9, 0);
	run_until(&scene, 1);
	assert_int_equal(scene.reported[0], 9);
	assert_int_equal(st_pool_load(scene.pool).running, 4);
	assert_true(st_pool_load(scene.pool).threads >= 4);

	open_gate(&scene);
	run_until(&scene, 5);
	event_free(timer);
	for (int i = 0; i < 500 && st_pool_load(scene.pool).threads > 2; i++)
		st_sleep_ms(10);
	assert_int_equal(st_pool_load(scene.pool).threads, 2);
	tear_down(&scene);
}

static void do_nothing(struct st_pool_task *task) {
	assert_non_null(task);
}

static void more_than_the_limit_is_refused(void **state) {
	struct scene scene;
	struct step stuck = {.gated = true}, last = {0};
	struct st_pool_task *jobs = calloc(ST_POOL_TASKS_MAX, sizeof *jobs);
	assert_non_null(jobs);
	set_up(&scene, 1);
	give(&scene, &stuck, 0, 1, 0);
	for (size_t i = 1; i < ST_POOL_TASKS_MAX; i++) {
		jobs[i] = (struct st_pool_task){.run = do_nothing, .done = do_nothing, .keys = {1}};
		assert_true(st_pool_submit(scene.pool, &jobs[i]));
	}
	jobs[0] = (struct st_pool_task){.run = do_nothing, .done = do_nothing};
	assert_false(st_pool_submit(scene.pool, &jobs[0]));

	open_gate(&scene);
	run_until(&scene, 1);
	give(&scene, &last, 1, 1, 0);
	run_until(&scene, 2);
	tear_down(&scene);
	free(jobs);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_of_one_key_run_in_the_order_they_came),
		cmocka_unit_test(a_stuck_job_holds_up_only_those_that_share_a_key),
		cmocka_unit_test(threads_are_added_when_all_are_stuck),
		cmocka_unit_test(more_than_the_limit_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
