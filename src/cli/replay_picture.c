/* The picture of a run: tokens of context over its turns, readable on light and on dark ground. */
#include <errno.h>
#include <string.h>

#include "cli/replay.h"

/* The plot's frame in the picture. */
enum { LEFT = 80, RIGHT = 780, TOP = 70, BOTTOM = 370, WIDTH = 800, HEIGHT = 430 };

struct plot {
	FILE *svg;
	const struct run *run;
	double scale;
};

static double y_of(const struct plot *plot, double tokens) {
	return BOTTOM - (BOTTOM - TOP) * tokens / plot->scale;
}

static double x_of(const struct plot *plot, size_t turn) {
	size_t last = plot->run->count;
	return last > 1 ? LEFT + (RIGHT - LEFT) * (double)(turn - 1) / (double)(last - 1) : LEFT;
}

/* A step of 1, 2 or 5 times a power of ten that makes about five ticks. */
static size_t tick_step(size_t most) {
	static const size_t factors[] = {1, 2, 5};
	for (size_t power = 1;; power *= 10) {
		for (size_t i = 0; i < 3; i++) {
			if (factors[i] * power * 6 >= most)
				return factors[i] * power;
		}
	}
}

static void draw_head(const struct plot *plot) {
	fprintf(plot->svg,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
	        "font-family=\"system-ui, sans-serif\" font-size=\"12\">\n"
	        "<style>\n"
	        "svg { --ground: #fff; --ink: #222; --faint: #ddd; --full: #c22; --epochs: #06c; "
	        "--last: #383; }\n"
	        "@media (prefers-color-scheme: dark) { svg { --ground: #161616; --ink: #ddd; "
	        "--faint: #3a3a3a; --full: #f76; --epochs: #6bf; --last: #8c8; } }\n"
	        "text { fill: var(--ink); }\n"
	        "path, polyline { fill: none; }\n"
	        ".over { paint-order: stroke; stroke: var(--ground); stroke-width: 3; }\n"
	        "</style>\n"
	        "<rect width=\"%d\" height=\"%d\" style=\"fill: var(--ground)\"/>\n",
	        WIDTH, HEIGHT, WIDTH, HEIGHT);
	fprintf(plot->svg, "<text x=\"%d\" y=\"26\" font-size=\"16\" font-weight=\"600\">", LEFT);
	for (const char *at = plot->run->name; *at; at++) {
		if (strchr("<>&\"", *at) || (unsigned char)*at < ' ')
			fprintf(plot->svg, "&#%d;", (unsigned char)*at < ' ' ? '?' : *at);
		else
			fputc(*at, plot->svg);
	}
	fprintf(plot->svg, "</text>\n");
}

static void draw_axes(const struct plot *plot) {
	size_t step = tick_step((size_t)plot->scale);
	for (size_t tokens = 0; (double)tokens <= plot->scale; tokens += step) {
		double y = y_of(plot, (double)tokens);
		fprintf(plot->svg,
		        "<path d=\"M%d %.1fH%d\" style=\"stroke: var(--faint)\"/>\n"
		        "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		        LEFT, y, RIGHT, LEFT - 8, y + 4, group_digits(tokens).text);
	}
	step = tick_step(plot->run->count);
	for (size_t turn = 1; turn <= plot->run->count;
	     turn = turn == 1 && step > 1 ? step : turn + step)
		fprintf(plot->svg, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
		        x_of(plot, turn), BOTTOM + 18, group_digits(turn).text);
	fprintf(plot->svg,
	        "<path d=\"M%d %dV%dH%d\" style=\"stroke: var(--ink)\"/>\n"
	        "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">turn</text>\n"
	        "<text transform=\"translate(16 %d) rotate(-90)\" text-anchor=\"middle\">tokens of "
	        "context</text>\n",
	        LEFT, TOP, BOTTOM, RIGHT, (LEFT + RIGHT) / 2, BOTTOM + 38, (TOP + BOTTOM) / 2);
}

/* A dashed line at a number of tokens, with its value, which stays legible over the curves. */
static void draw_limit(const struct plot *plot, size_t tokens, const char *what) {
	double y = y_of(plot, (double)tokens);
	fprintf(plot->svg,
	        "<path d=\"M%d %.1fH%d\" stroke-dasharray=\"4 4\" style=\"stroke: var(--ink)\"/>\n"
	        "<text class=\"over\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s %s</text>\n",
	        LEFT, y, RIGHT, RIGHT, y - 4, what, group_digits(tokens).text);
}

static size_t tokens_of(const struct turn *turn, int line) {
	return line == 0 ? turn->full : line == 1 ? turn->epochs : turn->small;
}

static void draw_line(const struct plot *plot, int line) {
	static const char *const names[] = {"full history", "epochs", "last exchange"};
	static const char *const colors[] = {"--full", "--epochs", "--last"};
	fprintf(plot->svg, "<polyline style=\"stroke: var(%s)\" stroke-width=\"2\" points=\"",
	        colors[line]);
	for (size_t i = 0; i < plot->run->count; i++)
		fprintf(plot->svg, "%s%.1f,%.1f", i ? " " : "", x_of(plot, i + 1),
		        y_of(plot, (double)tokens_of(&plot->run->turns[i], line)));
	fprintf(plot->svg,
	        "\"/>\n<path d=\"M%d 46h24\" stroke-width=\"3\" style=\"stroke: var(%s)\"/>\n"
	        "<text x=\"%d\" y=\"50\">%s</text>\n",
	        LEFT + 160 * line, colors[line], LEFT + 160 * line + 30, names[line]);
}

int replay_draw(const struct run *run, const char *file) {
	size_t most = replay_most(run, true);
	most = most > run->limits.budget ? most : run->limits.budget;
	struct plot plot = {.run = run, .svg = fopen(file, "we")};
	for (size_t i = 0; i < run->count; i++)
		most = run->turns[i].epochs > most ? run->turns[i].epochs : most;
	plot.scale = (double)most * 1.05;
	if (!plot.svg)
		return report_as(STET_E_IO, "Cannot write %s: %s.", file, strerror(errno));
	draw_head(&plot);
	draw_axes(&plot);
	for (int line = 0; line < 3; line++)
		draw_line(&plot, line);
	draw_limit(&plot, run->limits.budget, "budget");
	if (run->limits.above <= most)
		draw_limit(&plot, run->limits.above, "cut above");
	fprintf(plot.svg, "</svg>\n");
	bool good = !ferror(plot.svg);
	good &= fclose(plot.svg) == 0;
	return good ? DONE : report_as(STET_E_IO, "Cannot write %s.", file);
}
