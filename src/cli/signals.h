/** The signals that end a program, as something to wait for beside other descriptors. */
#ifndef STET_CLI_SIGNALS_H
#define STET_CLI_SIGNALS_H

/**
 * A descriptor that can be read once SIGINT or SIGTERM has come; both are
 * blocked from then on. A reader of our output that went away is no signal
 * any more.
 *
 * @return -1, after saying why, if it cannot be had.
 */
int open_signals(void);

#endif
