#include "core/workspace/file_type.h"

#include <stdlib.h>

struct known {
	const char *name;
	struct st_file_type type;
};

/* Files known by their whole name. Sorted bytewise. */
static const struct known names[] = {
	{".dockerignore", {"ignore", "ignore rules"}},
	{".editorconfig", {"editorconfig", "configuration"}},
	{".env", {"env", "environment"}},
	{".gitattributes", {"git", "git attributes"}},
	{".gitignore", {"ignore", "ignore rules"}},
	{".gitmodules", {"git", "git modules"}},
	{"AGENTS.md", {"md", "agent instructions"}},
	{"BUILD", {"bazel", "bazel rules"}},
	{"CMakeLists.txt", {"cmake", "cmake script"}},
	{"Cargo.lock", {"lock", "rust lock file"}},
	{"Cargo.toml", {"toml", "rust package"}},
	{"Containerfile", {"docker", "container build"}},
	{"Dockerfile", {"docker", "container build"}},
	{"GNUmakefile", {"make", "make rules"}},
	{"Gemfile", {"rb", "ruby dependencies"}},
	{"Gemfile.lock", {"lock", "ruby lock file"}},
	{"Jenkinsfile", {"groovy", "build pipeline"}},
	{"Justfile", {"just", "just rules"}},
	{"LICENSE", {"txt", "licence"}},
	{"Makefile", {"make", "make rules"}},
	{"Pipfile", {"toml", "python dependencies"}},
	{"Procfile", {"procfile", "process list"}},
	{"Rakefile", {"rb", "ruby rules"}},
	{"Vagrantfile", {"rb", "vagrant machine"}},
	{"WORKSPACE", {"bazel", "bazel workspace"}},
	{"build.gradle", {"gradle", "gradle build"}},
	{"composer.json", {"json", "php package"}},
	{"docker-compose.yml", {"yaml", "container services"}},
	{"go.mod", {"mod", "go module"}},
	{"go.sum", {"sum", "go checksums"}},
	{"go.work", {"work", "go workspace"}},
	{"justfile", {"just", "just rules"}},
	{"makefile", {"make", "make rules"}},
	{"meson.build", {"meson", "meson build"}},
	{"meson_options.txt", {"meson", "meson options"}},
	{"mix.exs", {"elixir", "elixir project"}},
	{"package-lock.json", {"json", "npm lock file"}},
	{"package.json", {"json", "npm package"}},
	{"pnpm-lock.yaml", {"yaml", "npm lock file"}},
	{"pom.xml", {"xml", "maven project"}},
	{"pyproject.toml", {"toml", "python project"}},
	{"requirements.txt", {"txt", "python dependencies"}},
	{"setup.py", {"py", "python setup"}},
	{"tsconfig.json", {"json", "typescript configuration"}},
	{"yarn.lock", {"lock", "npm lock file"}},
};

/* Files known by their extension, in lower case. Sorted. */
static const struct known endings[] = {
	{"adb", {"ada", "ada source"}},
	{"ads", {"ada", "ada source"}},
	{"asm", {"asm", "assembly source"}},
	{"astro", {"astro", "astro component"}},
	{"awk", {"awk", "awk script"}},
	{"bash", {"sh", "shell script"}},
	{"bat", {"bat", "batch script"}},
	{"bib", {"bib", "bibliography"}},
	{"bmp", {"bmp", "image"}},
	{"bzl", {"bazel", "bazel rules"}},
	{"c", {"c", "c source"}},
	{"cc", {"cpp", "c++ source"}},
	{"cfg", {"cfg", "configuration"}},
	{"cjs", {"js", "javascript source"}},
	{"clj", {"clojure", "clojure source"}},
	{"cljs", {"clojure", "clojure source"}},
	{"cmake", {"cmake", "cmake script"}},
	{"cmd", {"bat", "batch script"}},
	{"conf", {"conf", "configuration"}},
	{"cpp", {"cpp", "c++ source"}},
	{"cr", {"crystal", "crystal source"}},
	{"cs", {"cs", "c# source"}},
	{"csproj", {"csproj", "c# project"}},
	{"css", {"css", "stylesheet"}},
	{"csv", {"csv", "table"}},
	{"cts", {"ts", "typescript source"}},
	{"cu", {"cuda", "cuda source"}},
	{"cxx", {"cpp", "c++ source"}},
	{"d", {"d", "d source"}},
	{"dart", {"dart", "dart source"}},
	{"diff", {"diff", "patch"}},
	{"el", {"elisp", "emacs lisp source"}},
	{"elm", {"elm", "elm source"}},
	{"env", {"env", "environment"}},
	{"erl", {"erlang", "erlang source"}},
	{"ex", {"elixir", "elixir source"}},
	{"exs", {"elixir", "elixir script"}},
	{"f", {"fortran", "fortran source"}},
	{"f90", {"fortran", "fortran source"}},
	{"fish", {"fish", "fish script"}},
	{"fs", {"fs", "f# source"}},
	{"gd", {"gd", "gdscript source"}},
	{"gif", {"gif", "image"}},
	{"glsl", {"glsl", "shader"}},
	{"go", {"go", "go source"}},
	{"gradle", {"gradle", "gradle script"}},
	{"graphql", {"graphql", "graphql schema"}},
	{"groovy", {"groovy", "groovy source"}},
	{"gz", {"gz", "archive"}},
	{"h", {"h", "c header"}},
	{"hbs", {"hbs", "template"}},
	{"hcl", {"hcl", "terraform configuration"}},
	{"heex", {"heex", "elixir template"}},
	{"hh", {"hpp", "c++ header"}},
	{"hpp", {"hpp", "c++ header"}},
	{"hrl", {"erlang", "erlang header"}},
	{"hs", {"hs", "haskell source"}},
	{"htm", {"html", "web page"}},
	{"html", {"html", "web page"}},
	{"hxx", {"hpp", "c++ header"}},
	{"ico", {"ico", "image"}},
	{"ini", {"ini", "configuration"}},
	{"ipynb", {"ipynb", "notebook"}},
	{"j2", {"j2", "template"}},
	{"java", {"java", "java source"}},
	{"jl", {"jl", "julia source"}},
	{"jpeg", {"jpg", "image"}},
	{"jpg", {"jpg", "image"}},
	{"js", {"js", "javascript source"}},
	{"json", {"json", "json"}},
	{"json5", {"json", "json"}},
	{"jsonc", {"json", "json"}},
	{"jsonl", {"jsonl", "json lines"}},
	{"jsx", {"jsx", "react component"}},
	{"kt", {"kt", "kotlin source"}},
	{"kts", {"kt", "kotlin script"}},
	{"less", {"less", "stylesheet"}},
	{"lisp", {"lisp", "lisp source"}},
	{"lock", {"lock", "lock file"}},
	{"log", {"log", "log"}},
	{"lua", {"lua", "lua source"}},
	{"m", {"objc", "objective-c source"}},
	{"markdown", {"md", "markdown"}},
	{"md", {"md", "markdown"}},
	{"mdx", {"mdx", "markdown"}},
	{"mjs", {"js", "javascript source"}},
	{"mk", {"make", "make rules"}},
	{"ml", {"ml", "ocaml source"}},
	{"mli", {"ml", "ocaml interface"}},
	{"mm", {"objc", "objective-c++ source"}},
	{"mts", {"ts", "typescript source"}},
	{"mustache", {"mustache", "template"}},
	{"nim", {"nim", "nim source"}},
	{"nix", {"nix", "nix expression"}},
	{"org", {"org", "org document"}},
	{"pas", {"pas", "pascal source"}},
	{"patch", {"diff", "patch"}},
	{"pdf", {"pdf", "pdf document"}},
	{"php", {"php", "php source"}},
	{"pl", {"pl", "perl source"}},
	{"plist", {"plist", "property list"}},
	{"pm", {"pl", "perl module"}},
	{"png", {"png", "image"}},
	{"po", {"po", "translation"}},
	{"prisma", {"prisma", "prisma schema"}},
	{"properties", {"properties", "configuration"}},
	{"proto", {"proto", "protocol buffers"}},
	{"ps1", {"ps1", "powershell script"}},
	{"pug", {"pug", "template"}},
	{"pxd", {"cython", "cython header"}},
	{"py", {"py", "python source"}},
	{"pyi", {"py", "python interface"}},
	{"pyx", {"cython", "cython source"}},
	{"qml", {"qml", "qml source"}},
	{"r", {"r", "r source"}},
	{"rb", {"rb", "ruby source"}},
	{"rkt", {"racket", "racket source"}},
	{"rs", {"rs", "rust source"}},
	{"rst", {"rst", "restructuredtext"}},
	{"s", {"asm", "assembly source"}},
	{"sass", {"sass", "stylesheet"}},
	{"scala", {"scala", "scala source"}},
	{"scm", {"scheme", "scheme source"}},
	{"scss", {"scss", "stylesheet"}},
	{"sh", {"sh", "shell script"}},
	{"snap", {"snap", "test snapshot"}},
	{"sol", {"sol", "solidity source"}},
	{"sql", {"sql", "sql"}},
	{"sv", {"verilog", "systemverilog source"}},
	{"svelte", {"svelte", "svelte component"}},
	{"svg", {"svg", "vector image"}},
	{"swift", {"swift", "swift source"}},
	{"tcl", {"tcl", "tcl script"}},
	{"tex", {"tex", "tex document"}},
	{"tf", {"tf", "terraform configuration"}},
	{"tfvars", {"tf", "terraform configuration"}},
	{"tgz", {"tgz", "archive"}},
	{"tmpl", {"tmpl", "template"}},
	{"toml", {"toml", "toml"}},
	{"ts", {"ts", "typescript source"}},
	{"tsv", {"tsv", "table"}},
	{"tsx", {"tsx", "react component"}},
	{"twig", {"twig", "template"}},
	{"txt", {"txt", "text"}},
	{"v", {"verilog", "verilog source"}},
	{"vb", {"vb", "visual basic source"}},
	{"vhd", {"vhdl", "vhdl source"}},
	{"vim", {"vim", "vim script"}},
	{"vue", {"vue", "vue component"}},
	{"wasm", {"wasm", "webassembly"}},
	{"webp", {"webp", "image"}},
	{"wgsl", {"wgsl", "shader"}},
	{"xml", {"xml", "xml"}},
	{"xsd", {"xml", "xml schema"}},
	{"yaml", {"yaml", "yaml"}},
	{"yml", {"yaml", "yaml"}},
	{"zig", {"zig", "zig source"}},
	{"zip", {"zip", "archive"}},
	{"zsh", {"sh", "shell script"}},
};

static int compare_name(const void *key, const void *element) {
	return st_str_cmp(*(const struct st_str *)key, st_str(((const struct known *)element)->name));
}

static const struct known *find_name(struct st_str name, const struct known *list, size_t count) {
	return bsearch(&name, list, count, sizeof *list, compare_name);
}

static struct st_str base_name(struct st_str path) {
	const char *slash = memrchr(path.ptr, '/', path.len);
	return slash ? st_str_slice(path, (size_t)(slash - path.ptr) + 1, path.len) : path;
}

/* Look up the extension; no known one has a dozen letters. */
static const struct known *find_ending(struct st_str name) {
	char lower[12];
	const char *dot = memrchr(name.ptr, '.', name.len);
	size_t len = dot ? name.len - (size_t)(dot - name.ptr) - 1 : sizeof lower;
	if (len >= sizeof lower)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		char byte = dot[1 + i];
		lower[i] = byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
	}
	return find_name(st_strn(lower, len), endings, sizeof endings / sizeof *endings);
}

struct st_file_type st_file_type(struct st_str path) {
	struct st_str name = base_name(path);
	const struct known *known = find_name(name, names, sizeof names / sizeof *names);
	if (!known)
		known = find_ending(name);
	return known ? known->type : (struct st_file_type){"file", "file"};
}
