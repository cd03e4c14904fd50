/** Showing an address in the user's browser. */
#ifndef STET_CLI_BROWSER_H
#define STET_CLI_BROWSER_H

#include <stdbool.h>
#include <sys/types.h>

/** A file that leads the browser to an address; to be removed when the browser has read it. */
struct browser_file {
	char path[512];
	/** The program that shows it; 0 for none. */
	pid_t opener;
};

/**
 * Open an address in the browser. The address holds a token, and every user of
 * the machine sees the arguments of a program; so the browser gets a private
 * file that leads to the address.
 *
 * @return False if that is not possible. The opener may run on.
 */
bool browser_open(struct browser_file *file, const char *address);

/** Remove the file. */
void browser_close(struct browser_file *file);

#endif
