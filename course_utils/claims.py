"""What the articles claim about each failure, and the verdicts that a lesson reaches.

Holds the claims; the verdicts come from the lesson, each with the evidence it rests on.
"""

from course_utils.errors import BadRequest, DidNotFail
from course_utils.report import Table

# Ids and order are those of the fact-check; the wording is the article's, shortened.
CLAIMS = {
    "reward": (
        "SEQ_CLS with LoRA logs 1.19e34, grad_norm nan, then 0",
        "torch_dtype half loses precision in the gradient computation",
        "the default LoRA task type does not fit; it must be set to SEQ_CLS",
        "32 accumulation steps amplify the precision problem",
        "fix: torch_dtype auto",
        "fix: --lora_task_type SEQ_CLS",
        "watch loss and gradient norm early",
        "start with a small batch and few accumulation steps",
        "consider mixed precision (AMP)",
        "LoRA needs a smaller learning rate than full fine-tuning",
        "float16 overflows beyond 65504 during accumulation; the softmax amplifies it",
        "SEQ_CLS puts LoRA matrices into the classification weights",
    ),
    "sigfpe": (
        "the detailed configuration dies of SIGFPE, the short one runs",
        "setting: torch 2.5.1+cu121, TRL 0.14.0, one H20, bf16",
        "the combination of parameters is numerically unstable in bf16",
        "4 accumulation steps overflow while gradients are added up",
        "lr 5e-6 with warmup 0.1 and cosine computes an abnormal learning rate",
        "max_grad_norm 0.1 is too strict and breaks the clipped gradient",
        "fix: simplify, then add parameters back one at a time",
        "check value ranges in bf16",
        "monitor gradients early",
        "5e-6 may be too small for a 0.5B model; start at 1e-5 to 5e-5",
        "do not accumulate too many steps",
        "watch loss and gradients in bf16",
        "relax max_grad_norm to 1.0",
        "the default betas (0.9, 0.999) are safe",
        "it is RL's sensitivity to parameters",
    ),
    "gradfn": (
        "the error means that parameters were not set trainable",
        "setting: LoRA, bf16, gradient checkpointing, DeepSpeed ZeRO, batch 16, 8 generations",
        "only tensors with requires_grad=True take part in the graph",
        "PEFT freezes the base; only the adapters train",
        "the path from the loss to the trainable parameters must be complete",
        "bf16 gradients need special care",
        "fix: enable_input_require_grads() before get_peft_model",
        "fix: gradient_checkpointing=False, it may be incompatible with LoRA",
        "check that parameters are trainable",
        "check that the loss has a gradient after the forward pass",
        "debug on a small batch first",
        "check that the TRL, PEFT and PyTorch versions fit",
        "mind the numerical stability of bf16",
        "(the article does not say) fix: use_reentrant=False",
    ),
    "gemma": (
        "float32 trains; float16 logs loss 0, grad_norm 0, reward nan",
        "float16 cannot hold the parameter updates, above all with a sensitive loss such as DPO's",
        "bfloat16 has 8 exponent bits, float16 has 5: it reaches 3.39e38",
        "bfloat16 has 7 mantissa bits, float16 has 10: here range matters more than precision",
        "modern devices run bfloat16 natively, as fast as float16",
        "recipe: bf16=True, gradient checkpointing, fused AdamW, max_grad_norm 1.0",
        "check the range of each layer's output at the start",
        "watch the distribution of the updates",
        "raise LoRA's alpha from 32 to 64",
        "consider gradient scaling",
        "attention's dot products give the large values",
        "layer norm amplifies the error",
        "the exponentials of the reward model are sensitive",
        "the updates of the policy gradient accumulate all of it",
        "one link out of range and the whole computation collapses; bfloat16 is the buffer",
    ),
    "verl": (
        "the completions become !!!! and kl_loss is nan",
        "the root is old_log_prob turning nan",
        "it is sudden: the step before is normal",
        "it happens at any step, without a pattern",
        "several data sets; REINFORCE++ too",
        "probabilities overflow or underflow",
        "a gradient explosion",
        "improper initialisation or updates",
        "fix: use_kl_loss=False",
        "fix: kl_loss_coef=0.001",
        "fix: kl_loss_type=low_var_kl",
        "the right name is kl_coef, not kl_loss_coef",
        "check that gradients are clipped",
        "put a clip into the probability computation",
        "check the initialisation",
        "re-examine the KL loss",
        "no root fix exists",
    ),
}


class Verdicts:
    """The claims about one failure, judged one by one.

    >>> verdicts = Verdicts("reward")
    >>> verdicts.judge("C4", "wrong", "it dies with G = 1 too", holds=True)
    reward/C4, '32 accumulation steps amplify the precision problem': wrong
    >>> print(verdicts.table().rows[3][2])
    wrong
    """

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._claims = {f"C{n}": text for n, text in enumerate(CLAIMS[topic], start=1)}
        self._verdicts: dict[str, tuple[str, str]] = {}

    def suspects(self, *claims: str) -> Table:
        """The named claims as they were made, without a verdict."""
        rows = [(f"{self.topic}/{claim}", self._claims[claim]) for claim in claims]
        return Table(columns=("claim", "what the article says"), rows=rows)

    def judge(self, claim: str, verdict: str, evidence: str, *, holds: bool) -> None:
        """Record a verdict that rests on something the lesson has just computed.

        Raises:
            BadRequest: there is no such claim.
            DidNotFail: `holds` is false, so the evidence is not there.
        """
        if not holds:
            raise DidNotFail(
                f"{self.topic}/{claim} was to be judged {verdict!r}, but the evidence is not there",
                why="a verdict of this course rests on what its cells compute",
                fix="look at the values above; run `course doctor` if you changed nothing",
            )
        self._record(claim, verdict, evidence)

    def cite(self, claim: str, verdict: str, source: str) -> None:
        """Record a verdict that no cell can show: it rests on what was read, and says so.

        Raises:
            BadRequest: there is no such claim.
        """
        self._record(claim, verdict, f"read, not run: {source}")

    def _record(self, claim: str, verdict: str, evidence: str) -> None:
        if claim not in self._claims:
            raise BadRequest(
                f"there is no claim {self.topic}/{claim}",
                why="a verdict belongs to a claim of the article",
                fix=f"use one of {', '.join(self._claims)}",
            )
        self._verdicts[claim] = (verdict, evidence)
        print(f"{self.topic}/{claim}, {self._claims[claim]!r}: {verdict}")

    def table(self) -> Table:
        """Every claim with its verdict; an open one says so."""
        rows = [
            (f"{self.topic}/{claim}", text, *self._verdicts.get(claim, ("open", "")))
            for claim, text in self._claims.items()
        ]
        return Table(columns=("claim", "what the article says", "verdict", "shown by"), rows=rows)
