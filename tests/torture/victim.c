#include "torture/victim.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "torture/fight.h"

bool editor_open(struct editor *editor, const struct dir *dir, bool durable) {
	return stet_workspace_open(dir->path, &editor->ws, NULL) == 0 &&
	       stet_workspace_set(editor->ws, STET_OPTION_DURABLE, durable, NULL) == 0 &&
	       stet_session_open(editor->ws, NULL, &editor->session, NULL) == 0;
}

void editor_close(struct editor *editor) {
	stet_session_close(editor->session);
	stet_workspace_close(editor->ws);
}

void *shared_alloc(size_t size) {
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	return memory;
}

void shared_free(void *memory, size_t size) {
	munmap(memory, size);
}

pid_t victim_start(void (*function)(void *arg), void *arg) {
	fflush(stdout);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		function(arg);
	}
	return pid;
}

bool victim_end(pid_t pid) {
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(status == SIGKILL || status == 0);
	return status == SIGKILL;
}

void hear_notices(struct editor *editor, hear_notice *hear, void *arg) {
	stet_workspace_drain(editor->ws, 0);
	for (char *notice; (notice = stet_workspace_notice(editor->ws)); stet_free(notice))
		hear(arg, notice);
}

void next_write(const struct dir *dir, const char *name, hear_notice *hear, void *arg) {
	struct editor editor;
	struct stet_answer *answer = NULL;
	assert_true(editor_open(&editor, dir, false));
	assert_int_equal(stet_session_write(editor.session, name, "", 0, NULL, &answer, NULL), 0);
	for (size_t i = 0; stet_answer_notice(answer, i); i++)
		hear(arg, stet_answer_notice(answer, i));
	stet_answer_free(answer);
	hear_notices(&editor, hear, arg);
	editor_close(&editor);
}

bool load_rescued(const struct dir *dir, const char *notice, struct st_buf *copy) {
	static const char start[] = ".stet/rescued/";
	char path[1024];
	const char *at = strstr(notice, start);
	if (!at)
		return false;
	at += strlen(start);
	snprintf(path, sizeof path, "%s/%s%.*s", dir->path, start, (int)strcspn(at, " .;"), at);
	assert_true(file_load(path, copy));
	return true;
}
