/* stet top: the agents at work and their files, in a terminal. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/signals.h"

enum {
	/* How often the state is asked for changes, and after how long ages are printed anew. */
	POLL_MS = 250,
	REDRAW_POLLS = 8,
	/* Lines of the screen if the terminal does not tell how many it has. */
	LINES = 24,
	/* What is on the screen besides the rows of three sections: the first line; of each a blank line, a
	 * heading and how many more there are; the line of the cursor. */
	FRAME_LINES = 11,
	/* Once, everything is printed: the sections have at most 50 rows. */
	ALL_LINES = 1000,
};

/* The alternate screen, without a cursor and without wrapping; and back. */
static const char enter_screen[] = "\033[?1049h\033[?25l\033[?7l";
static const char leave_screen[] = "\033[?7h\033[?25h\033[?1049l";

/* One picture is shown at once, where the terminal can. */
static const char begin_picture[] = "\033[?2026h\033[H\033[J", end_picture[] = "\033[?2026l";

/* How much fits; no columns if it does not matter. */
struct screen {
	size_t lines, columns;
};

/* ---- members ---- */

static const char *text_of(const struct stet_json *now, const char *list, size_t n,
                           const char *key) {
	char pointer[64];
	snprintf(pointer, sizeof pointer, "/%s/%zu/%s", list, n, key);
	return stet_json_text(now, pointer, NULL);
}

static int64_t number_of(const struct stet_json *now, const char *list, size_t n, const char *key) {
	char pointer[64];
	snprintf(pointer, sizeof pointer, "/%s/%zu/%s", list, n, key);
	return stet_json_int(now, pointer, 0);
}

static void add_name_of(struct table *table, const struct stet_json *now, const char *list,
                        size_t n, const char *key) {
	const char *name = text_of(now, list, n, key);
	if (name)
		table_add_name(table, name, "");
	else
		table_add(table, "");
}

static void add_age(struct table *table, const struct stet_json *now, const char *list, size_t n) {
	int64_t seconds = (stet_json_int(now, "/now", 0) - number_of(now, list, n, "at")) / 1000;
	if (seconds < 2)
		table_add(table, "now");
	else if (seconds < 60)
		table_addf(table, "%" PRId64 " s", seconds);
	else if (seconds < 3600)
		table_addf(table, "%" PRId64 " min", seconds / 60);
	else
		table_addf(table, "%" PRId64 " h", seconds / 3600);
}

/* ---- sections ---- */

static void add_waiting(struct table *table, const struct stet_json *now, size_t n) {
	static const char list[] = "attention";
	const char *kind = text_of(now, list, n, "kind"), *agent = text_of(now, list, n, "agent");
	const char *what = text_of(now, list, n, "text");
	add_age(table, now, list, n);
	table_add(table, kind);
	if (what)
		table_add_name(table, what, "");
	else
		add_name_of(table, now, list, n, "path");
	if (agent)
		table_add_name(table, agent, " has not tried again");
	else
		table_add(table,
		          what ? "" : "another program wrote late; stet kept its bytes in .stet/rescued");
}

static void add_agent(struct table *table, const struct stet_json *now, size_t n) {
	static const char list[] = "agents";
	add_age(table, now, list, n);
	add_name_of(table, now, list, n, "agent");
	table_add(table, text_of(now, list, n, "tool"));
	add_name_of(table, now, list, n, "path");
}

static void add_file(struct table *table, const struct stet_json *now, size_t n) {
	static const char list[] = "files";
	char pointer[64], who[256] = "";
	snprintf(pointer, sizeof pointer, "/files/%zu/agents", n);
	size_t count = stet_json_count(now, pointer);
	for (size_t i = 0; i < count; i++) {
		snprintf(pointer, sizeof pointer, "/files/%zu/agents/%zu", n, i);
		size_t len = strlen(who);
		snprintf(who + len, sizeof who - len, "%s%s", i ? ", " : "",
		         stet_json_text(now, pointer, NULL));
	}
	add_age(table, now, list, n);
	table_add(table, text_of(now, list, n, "kind"));
	add_name_of(table, now, list, n, "path");
	if (*who)
		table_add_name(table, who, "");
	else
		table_add(table, "");
}

static int print_section(const struct stet_json *now, const char *list, const char *title,
                         size_t most, struct table table,
                         void (*add)(struct table *table, const struct stet_json *now, size_t n)) {
	char pointer[32];
	snprintf(pointer, sizeof pointer, "/%s", list);
	size_t count = stet_json_count(now, pointer), rows = count < most ? count : most;
	if (count == 0)
		return DONE;
	printf("\n%s%s%s\n", paint(stdout, BOLD), title, paint(stdout, PLAIN));
	for (size_t i = 0; i < rows; i++)
		add(&table, now, i);
	int status = table_print(&table);
	if (status == DONE && rows < count)
		printf("%s... and %zu more%s\n", paint(stdout, DIM), count - rows, paint(stdout, PLAIN));
	return status;
}

static int print_sections(const struct stet_workspace *ws, const struct stet_json *now,
                          const struct screen *screen) {
	size_t each = screen->lines > FRAME_LINES + 3 ? (screen->lines - FRAME_LINES) / 3 : 1;
	const struct table table = {
		.columns = 4, .right = 1u << 0, .screen = screen->columns, .cut = 2};
	struct table agents_table = table;
	agents_table.cut = 3;
	size_t waiting = stet_json_count(now, "/attention");
	size_t agents = stet_json_count(now, "/agents");
	put_name(stdout, stet_workspace_root(ws));
	printf(": %s%zu %s\n", stet_json_true(now, "/moreAgents") ? "more than " : "", agents,
	       plural(agents, "agent", "agents"));
	if (waiting + agents + stet_json_count(now, "/files") == 0)
		puts("No agent has used stet here in the last day. Connect one: stet setup claude");
	int status = print_section(now, "attention", "Needs you", each, table, add_waiting);
	if (status == DONE)
		status = print_section(now, "agents", "Agents", each, agents_table, add_agent);
	if (status == DONE)
		status = print_section(now, "files", "Recent files",
		                       2 * each - (waiting < each ? waiting : each), table, add_file);
	return status;
}

static int print_now(struct stet_workspace *ws, const struct screen *screen) {
	struct stet_error err = {0};
	struct stet_json *now = NULL;
	char *text = NULL;
	size_t len = 0;
	int code = stet_page(ws, "now", NULL, 0, &text, &len, &err);
	if (code == 0)
		code = stet_json_parse(text, len, 0, &now, &err);
	int status = code < 0 ? report(&err) : DONE;
	if (status == DONE && is_json())
		status = put_json(now);
	else if (status == DONE)
		status = print_sections(ws, now, screen);
	stet_json_free(now);
	stet_free(text);
	return status;
}

/* ---- the live screen ---- */

static struct screen measure_screen(void) {
	struct winsize size;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
		return (struct screen){.lines = LINES};
	return (struct screen){.lines = size.ws_row, .columns = size.ws_col};
}

static int draw(struct stet_workspace *ws) {
	struct screen screen = measure_screen();
	fputs(begin_picture, stdout);
	int status = print_now(ws, &screen);
	fputs(end_picture, stdout);
	return status == DONE ? done() : status;
}

/* Wait for a key or a signal. Returns whether to end. */
static bool wait_for_end(int signals) {
	struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
	                       {.fd = STDIN_FILENO, .events = POLLIN}};
	char key = 0;
	if (poll(fds, 2, POLL_MS) <= 0)
		return false;
	if (fds[1].revents && read(STDIN_FILENO, &key, 1) <= 0)
		return true;
	return fds[0].revents || key == 'q' || key == 'Q' || key == 3;
}

static int watch(struct stet_workspace *ws, int signals) {
	int64_t drawn = -1;
	for (unsigned polls = 0;; polls++) {
		int64_t changes = stet_page_changes(ws);
		int status = changes != drawn || polls % REDRAW_POLLS == 0 ? draw(ws) : DONE;
		drawn = changes;
		if (status != DONE || wait_for_end(signals))
			return status;
	}
}

static int watch_on_screen(struct stet_workspace *ws) {
	struct termios before, raw;
	int signals = open_signals();
	if (signals < 0)
		return SYSTEM;
	bool keys = tcgetattr(STDIN_FILENO, &before) == 0;
	if (keys) {
		raw = before;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	fputs(enter_screen, stdout);
	int status = watch(ws, signals);
	fputs(leave_screen, stdout);
	if (keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	close(signals);
	return status == DONE ? done() : status;
}

static int run_top(const struct options *options, const struct arguments *args) {
	struct cli cli;
	struct options own = *options;
	if (args->count > 0)
		own.root = operand(args, 0);
	int status = cli_open(&cli, &own);
	if (status != DONE)
		return status;
	bool live =
		isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && !is_json() && !has_option(args, "--once");
	const struct screen all = {.lines = ALL_LINES};
	status = live ? watch_on_screen(cli.ws) : print_now(cli.ws, &all);
	return cli_close(&cli, status == DONE ? done() : status);
}

static const struct option options[] = {
	{"--once", NULL, "print it once, as into a pipe"},
	OPTIONS_END,
};

const struct command top_command = {
	.name = "top",
	.summary = "watch in the terminal which agents work on which files",
	.synopsis = "[DIR]",
	.description =
		"Lists the agents that work on the files of DIR, or of the root, each with its last call; "
		"the files they read or write; and the conflicts that need you. Updates itself until you "
		"press q. Into a pipe, and with --json, it prints once.\n\n"
		"The list is that of the first view of stet page. Like the page, stet top reads the "
		"records "
		"of the agents' own stet processes.",
	.max = 1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet top", "watch the agents at work"},
			{"stet top --once src", "print it once"},
			{0},
		},
	.run = run_top,
};
