"""Set-up for all tests."""

import signal

# A shell that starts the tests in the background ignores SIGINT for them, and so for the commands
# that the tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
