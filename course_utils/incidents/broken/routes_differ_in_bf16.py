"""The engine's router works in bfloat16: a few tokens go to other experts than in the trainer."""

from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.rl_runs import values
from course_utils.incidents.runs import Variants

NUM_STEPS = 16
LARGEST = "sampling/sampling_logp_difference/max"


def _build(*, seed: int, replays: bool) -> Run:
    from course_utils.incidents.routes import RecordingEngine, policy, replay
    from course_utils.incidents.two_engines import run_with

    engine = RecordingEngine()
    run = run_with(engine, seed, steps=NUM_STEPS, make_model=policy, level="easy")
    if replays:
        replay(run.model, engine)
    return run


INCIDENT = Incident(
    name="routes_differ_in_bf16",
    title="router of the engine chooses other experts",
    kind="routing",
    says="With a mixture of experts sampling_logp_difference/mean is small, and its max is "
    "now and then above 0.5, up to 3; with a dense model of the same size it is not.",
    cause="The engine computes in bfloat16 and the trainer in float32: where two experts are "
    "nearly equally likely, the routers choose differently, and such a token gets another answer.",
    fix="Record the engine's routes and replay them in the trainer (rollout routing replay).",
    threads=("Megatron-LM#4168", "Megatron-LM#4256"),
    rebuilt="The engine is a second copy of the policy, a Qwen2-MoE of 16 experts made of the "
    "tiny model, and the replay is two hooks on its routers.",
    make=Variants(_build, broken={"replays": False}, twin={"replays": True}),
    shows=lambda run: max(values(run, LARGEST)) > 0.5,
    causes=("routing_flips",),
    place="gate",
)
