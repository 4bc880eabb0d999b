from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

from course_utils.diagnostics import watch

initialize = FSDPEngine.initialize


def initialize_and_watch(engine):
    initialize(engine)
    if not engine.engine_config.forward_only:
        watch(engine.module).__enter__()


FSDPEngine.initialize = initialize_and_watch
