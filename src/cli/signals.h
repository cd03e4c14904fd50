/** Wait for SIGINT and SIGTERM beside other descriptors. */
#ifndef STET_CLI_SIGNALS_H
#define STET_CLI_SIGNALS_H

/**
 * Open a descriptor that becomes readable on SIGINT or SIGTERM. Blocks both
 * signals from now on, and ignores SIGPIPE.
 *
 * @return The descriptor, or -1 after reporting an error.
 */
int open_signals(void);

#endif
