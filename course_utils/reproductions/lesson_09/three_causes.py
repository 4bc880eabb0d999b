"""One run in which engine and trainer disagree for three reasons at once, each a setting.

Nothing here is judged.
"""

from course_utils.diagnostics.policies.decoding import Decoding
from course_utils.reproductions.lesson_09.engine import Engine
from course_utils.reproductions.lesson_09.two_policies import TwoPolicies, with_system_prompt
from course_utils.reproductions.lesson_09.two_policies_runs import (
    scored_as,
    sequence_weights,
    token_weights,
)

AS_REPORTED = {
    "temperature": 0.7,  # of the engine
    "logits_divided_by": 1.0,  # in the trainer
    "sync_every": 3,  # rollouts
    "chat_template": "default",  # of the trainer, with its system prompt; "bare" has none
    "weights": "none",  # "token", "sequence"
    "old_log_probs": "trainer",  # "engine"
    "clip_ratio": 0.2,
    "kl_loss_coef": 0.0,
    "learning_rate": 1e-4,
}
TEMPLATES = {"default": with_system_prompt, "bare": None}
WEIGHTS = {"none": None, "token": token_weights, "sequence": sequence_weights}


def run(seed: int, **changes: object) -> TwoPolicies:
    """The run from its start, with some settings changed."""
    s = AS_REPORTED | changes
    return TwoPolicies(
        Engine(Decoding(temperature=float(s["temperature"]))),
        score=scored_as(Decoding(temperature=float(s["logits_divided_by"]))),
        weigh=WEIGHTS[s["weights"]],
        sync_every=s["sync_every"],
        old=s["old_log_probs"],
        view=TEMPLATES[s["chat_template"]],
        keep=3,
        seed=seed,
        clip_ratio=s["clip_ratio"],
        num_prompts=4,
        n=4,
        use_kl_loss=s["kl_loss_coef"] > 0,
        kl_loss_coef=s["kl_loss_coef"],
        learning_rate=s["learning_rate"],
    )
