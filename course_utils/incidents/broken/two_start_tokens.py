"""The template renders a start token, and at serving the tokenizer adds another."""

import torch
from tokenizers.processors import TemplateProcessing

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Row, Variants, batches, chats, of_trainer, plain_trainer

START = "<|endoftext|>"


def _tokenizer():
    """As Llama's: its template begins with the start token, and so does whatever it encodes."""
    tokenizer = zoo.load_tokenizer("tiny")
    tokenizer.bos_token = START
    tokenizer.chat_template = "{{ bos_token }}" + tokenizer.chat_template
    start = (START, tokenizer.bos_token_id)
    adds_start = TemplateProcessing(single=f"{START} $A", special_tokens=[start])
    tokenizer.backend_tokenizer.post_processor = adds_start
    return tokenizer


def _row(chat: list[dict], tokenizer) -> Row:
    asked = tokenizer.apply_chat_template(chat[:-1], add_generation_prompt=True)["input_ids"]
    said = chat[-1]["content"] + tokenizer.eos_token
    said = tokenizer(said, add_special_tokens=False)["input_ids"]
    return asked + said, [-100] * len(asked) + said


def _build(*, seed: int, add_special_tokens: bool) -> Run:
    tokenizer, model = _tokenizer(), zoo.load_policy("tiny", device="cpu")
    rows = [_row(chat, tokenizer) for chat in chats(672, seed)]
    *rows, held_out = rows[:640], rows[640:]
    trainer = plain_trainer(
        model, rows[0], tokenizer.pad_token_id, seed=seed, learning_rate=5e-4, max_steps=40
    )

    @torch.no_grad()
    def facts() -> dict[str, float]:
        """The loss of held-out replies with the start that training had, and that serving has."""
        as_text = tokenizer("", add_special_tokens=add_special_tokens)["input_ids"]
        served = [(as_text + ids, [-100] * len(as_text) + said) for ids, said in held_out]
        found = {}
        for name, part in {"trained": held_out, "served": served}.items():
            (batch,) = batches(part, len(part), tokenizer.pad_token_id)
            found[f"loss as {name}"] = model.eval()(**batch).loss.item()
        return found

    return of_trainer(trainer, facts, tokenizer=tokenizer)


INCIDENT = Incident(
    name="two_start_tokens",
    title="two start tokens",
    kind="template",
    says="The model is worse in serving than in training; the ids begin with two BOS tokens.",
    cause="The rendered template begins with the start token, and the tokenizer adds another "
    "when it encodes that text.",
    fix="Set add_special_tokens=False for rendered text, or use "
    "apply_chat_template(tokenize=True).",
    threads=("trl#1400", "trl#3328", "OpenRLHF#393"),
    make=Variants(_build, broken={"add_special_tokens": True}, twin={"add_special_tokens": False}),
    shows=lambda run: run.facts()["loss as served"] > 1.5 * run.facts()["loss as trained"],
    place="bos_token",
    lesson="07_never_stops",
)
