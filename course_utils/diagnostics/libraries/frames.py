"""Names of a library's own functions, by which a stack is read."""

BACKWARD = "_engine_run_backward"  # of torch 2.13: below it autograd runs in native code
