#include "core/instructions/cache.h"

struct st_instructions_file *st_instructions_file_keep(struct st_instructions_file *file) {
	__atomic_add_fetch(&file->references, 1, __ATOMIC_RELAXED);
	return file;
}

void st_instructions_file_put(struct st_instructions_file *file) {
	if (file && __atomic_sub_fetch(&file->references, 1, __ATOMIC_ACQ_REL) == 0)
		free(file);
}

static void put_value(void *file) {
	st_instructions_file_put(file);
}

void st_instructions_cache_init(struct st_instructions_cache *cache) {
	pthread_mutex_init(&cache->lock, NULL);
	st_lru_init(&cache->lru, ST_INSTRUCTIONS_CACHE_COUNT, ST_INSTRUCTIONS_CACHE_BYTES, put_value);
}

void st_instructions_cache_release(struct st_instructions_cache *cache) {
	st_lru_release(&cache->lru);
	pthread_mutex_destroy(&cache->lock);
}

static struct st_instructions_file *find_unchanged(struct st_instructions_cache *cache,
                                                   const char *path, const struct stat *st) {
	struct st_stamp now = st_stamp_of(st);
	pthread_mutex_lock(&cache->lock);
	struct st_instructions_file *file = st_lru_get(&cache->lru, st_str(path));
	if (file && !file->stamp.racy && st_stamp_eq(&file->stamp, &now))
		st_instructions_file_keep(file);
	else
		file = NULL;
	pthread_mutex_unlock(&cache->lock);
	return file;
}

static struct st_instructions_file *file_new(const struct st_file *read) {
	struct st_instructions_file *file = malloc(sizeof *file + read->bytes.len);
	if (!file)
		return NULL;
	*file = (struct st_instructions_file){
		.references = 1, .hash = read->hash, .stamp = read->stamp, .len = read->bytes.len};
	file->stamp.racy |= !read->stamped;
	if (file->len > 0)
		memcpy(file->bytes, read->bytes.ptr, file->len);
	return file;
}

int st_instructions_cache_load(struct st_instructions_cache *cache, const struct st_root *root,
                               const char *path, const struct stat *st,
                               struct st_instructions_file **out, struct stet_error *err) {
	*out = find_unchanged(cache, path, st);
	if (*out)
		return 0;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) read = ST_FILE_INIT;
	int code = st_file_load(root, st_str(path), ST_INSTRUCTIONS_FILE_MAX, &place, &read, err);
	if (code < 0)
		return code;
	struct st_instructions_file *file = file_new(&read);
	if (!file)
		return st_fail_nomem(err);
	*out = st_instructions_file_keep(file);
	pthread_mutex_lock(&cache->lock);
	st_lru_put(&cache->lru, st_str(path), file, file->len);
	pthread_mutex_unlock(&cache->lock);
	return 0;
}

bool st_instructions_cache_forget(struct st_instructions_cache *cache, const char *path) {
	pthread_mutex_lock(&cache->lock);
	bool found = st_lru_remove(&cache->lru, st_str(path));
	pthread_mutex_unlock(&cache->lock);
	return found;
}
