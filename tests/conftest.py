"""Set-up for all tests."""

import os
import signal

import hypothesis

# A shell that starts the tests in the background ignores SIGINT for them, and so for the commands
# that the tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# ONNX Runtime, imported by the tests directly, is not to upload events either.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# Hypothesis's deadline of 200 ms per example measures how busy the machine is.
hypothesis.settings.register_profile("komadori", deadline=None)
hypothesis.settings.load_profile("komadori")
