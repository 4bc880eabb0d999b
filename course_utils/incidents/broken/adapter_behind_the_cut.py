"""Reentrant checkpointing cuts the graph at frozen embeddings; a trained head hides the error."""

from torch import nn

from course_utils.incidents.declare import Incident, Run, Variant
from course_utils.incidents.rl_runs import grpo, zoo_policy
from course_utils.reproductions.lesson_06.frozen_inputs import REENTRANT, forget_input_hook
from course_utils.zoo.arithmetic import correct_sum


def adapted():
    """The policy with LoRA and a head, a tensor of its own, that is trained as a whole."""
    from peft import LoraConfig, get_peft_model  # takes seconds

    policy = zoo_policy()
    policy.lm_head.weight = nn.Parameter(policy.lm_head.weight.detach().clone())
    policy.config.tie_word_embeddings = False  # else a merged model would lose what the head learnt
    lora = LoraConfig(
        r=8,
        target_modules=["q_proj", "v_proj"],
        modules_to_save=["lm_head"],
        task_type="CAUSAL_LM",
    )
    return get_peft_model(policy, lora)


def share_of_adapters_moved(model) -> dict[str, float]:
    """lora_B is 0 before the first step."""
    adapters = [weight for name, weight in model.named_parameters() if "lora_B" in name]
    return {"adapters_moved": sum(bool(weight.any()) for weight in adapters) / len(adapters)}


def make(variant: Variant, seed: int) -> Run:
    run = grpo(
        seed,
        correct_sum,
        steps=3,
        make_model=adapted,
        activation_checkpointing=True,
        activation_checkpointing_kwargs={"use_reentrant": False}
        if variant == "mended"
        else REENTRANT,
        facts=share_of_adapters_moved,
    )
    if variant != "twin":
        forget_input_hook(run.trainer.model.get_base_model())
    return run


def shows(run: Run) -> bool:
    facts = run.facts()
    return facts["adapters_moved"] == 0.0 and facts["moved"] > 0.0


INCIDENT = Incident(
    name="adapter_behind_the_cut",
    title="reentrant checkpointing cuts off the adapters",
    kind="no_grad",
    says="Loss and grad_norm look healthy, but the saved adapter equals the initial one.",
    cause="Reentrant checkpointing detaches the output of the frozen embeddings, so no gradient "
    "reaches the adapters; the trained lm_head keeps the loss differentiable, so no error is "
    "raised.",
    fix="Set use_reentrant=False.",
    threads=("trl#3150", "open-unlearning#178", "LoRA#120"),
    rebuilt="TRL and Transformers mark the inputs by themselves today; their hook is taken off.",
    make=make,
    shows=shows,
    causes=("no_gradient",),
    place="lora_B",
    lesson="06_grad_fn",
)
