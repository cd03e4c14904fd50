/*
 * For the self-contained library: Debian compiles libevent's archive for programs, whose code reaches
 * `stderr` of libc without the global offset table. Inside a shared object the linker cannot resolve
 * that. It renames the symbol to this hidden variable instead (--wrap=stderr).
 */
#include <stdio.h>

#undef stderr
extern FILE *stderr;
extern FILE *__real_stderr;
__attribute__((visibility("hidden"))) FILE *__wrap_stderr;

__attribute__((constructor)) static void set_stderr(void) {
	__wrap_stderr = __real_stderr;
}
