"""The generation prompt contains what the finished chat lacks, so the cut removes the reply."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.preferring import PAIRS, STEPS, dpo_run
from course_utils.incidents.runs import Variants, logged

ASK = "{{ '<|im_start|>assistant\n' }}"


def _as_text(row: dict, tokenizer) -> dict[str, str]:
    """A pair as bare text: the replies are what the finished chats have behind the prompt."""
    prompt = tokenizer.apply_chat_template(
        row["prompt"], add_generation_prompt=True, tokenize=False
    )
    whole = {
        kind: tokenizer.apply_chat_template(row["prompt"] + row[kind], tokenize=False)
        for kind in ("chosen", "rejected")
    }
    return {"prompt": prompt} | {kind: text[len(prompt) :] for kind, text in whole.items()}


def _build(*, seed: int, thinking: str) -> Run:
    tokenizer = zoo.load_tokenizer("tiny")
    ask = ASK.replace("assistant\n", f"assistant\n{thinking}")
    tokenizer.chat_template = tokenizer.chat_template.replace(ASK, ask)
    pairs = zoo.arithmetic.preferences(STEPS * PAIRS, seed)
    pairs = pairs.map(lambda row: _as_text(row, tokenizer))
    return dpo_run(seed=seed, pairs=pairs, learning_rate=1e-4)


INCIDENT = Incident(
    name="prompt_is_no_prefix",
    title="prompt is not a prefix of the chat",
    kind="preference",
    says="'Mismatch between tokenized prompt and the start of tokenized prompt+completion', and "
    "DPO stays at 0.6931.",
    cause="The generation prompt ends in an empty <think> that the finished chat lacks, so "
    "cutting the reply at the prompt's length removes the tokens in which the pair differs.",
    fix="Use a template that renders the same start for a prompt and for the finished chat.",
    threads=("trl#5213", "trl#6105"),
    make=Variants(_build, broken={"thinking": "<think></think>"}, twin={"thinking": ""}),
    shows=lambda run: max(abs(loss - 0.6931) for loss in logged(run)) < 1e-3,
    rebuilt="TRL 1.16 looks for the place where the two part; the cut by length that it made "
    "before is made on the text here.",
    causes=("at_chance", "policy_is_reference"),
    place="chat_template",
)
