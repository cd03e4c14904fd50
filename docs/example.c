/*
 * Two writers, one file: an edit is refused because somebody else changed the
 * file since it was read; it says what changed, and made again it succeeds.
 */
#include <stdio.h>
#include <stet/stet.h>

/* Somebody else: an editor, a formatter, another agent. Knows nothing of stet. */
static void somebody_writes(const char *mode, const char *text) {
	FILE *file = fopen("list.txt", mode);
	if (file) {
		fputs(text, file);
		fclose(file);
	}
}

static int edit(struct stet_session *session, struct stet_error *err) {
	struct stet_answer *answer = NULL;
	int code = stet_session_edit(session, "list.txt", "milk", 4, "oat milk", 8, NULL, &answer, err);
	if (code == STET_E_CONFLICT)
		printf("Error: %s\n\n%s\n", stet_answer_message(answer), stet_answer_diff(answer, NULL));
	else if (code == 0)
		printf("Done. The file is now version %s.\n", stet_answer_hash(answer));
	stet_answer_free(answer);
	return code;
}

int main(void) {
	struct stet_error err = {0};
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct stet_answer *answer = NULL;

	somebody_writes("w", "bread\nmilk\n");
	int code = stet_workspace_open(".", &ws, &err);
	if (code == 0)
		code = stet_session_open(ws, "example", &session, &err);
	if (code == 0)
		code = stet_session_read(session, "list.txt", 0, 0, &answer, &err);
	if (code == 0) {
		printf("Read:\n%s\n", stet_answer_content(answer, NULL));
		somebody_writes("a", "butter\n");
		code = edit(session, &err);
	}
	if (code == STET_E_CONFLICT)
		code = edit(session, &err);
	if (code < 0)
		fprintf(stderr, "%s: %s\n", stet_error_name(code), stet_error_message(&err));
	stet_answer_free(answer);
	stet_session_close(session);
	stet_workspace_close(ws);
	return stet_error_exit(code);
}
