"""The template renders a start token and the tokenizer adds another, in serving and not in training."""

from tokenizers.processors import TemplateProcessing

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Row, Variants, chats, of_trainer, plain_trainer
from course_utils.reproductions.never_stops import read_replies

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
    rows = [_row(chat, tokenizer) for chat in chats(640, seed)]
    trainer = plain_trainer(model, rows, tokenizer.pad_token_id, seed=seed, max_steps=40)

    def facts() -> dict[str, float]:
        sums = zoo.arithmetic.prompts(32, 7, split="test")
        asked = tokenizer.apply_chat_template(
            list(sums["prompt"]), add_generation_prompt=True, tokenize=False
        )
        batch = tokenizer(
            asked, padding=True, return_tensors="pt", add_special_tokens=add_special_tokens
        )
        ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
        whole = model.eval().generate(**batch, max_new_tokens=8, do_sample=False, **ends)
        new = whole[:, batch["input_ids"].shape[1] :]
        return {"right as served": read_replies(new, list(sums["answer"]), tokenizer).right}

    return of_trainer(trainer, facts, tokenizer=tokenizer)


INCIDENT = Incident(
    name="two_start_tokens",
    kind="template",
    says="The model is worse in serving than in training; the ids begin with two BOS.",
    cause="The rendered template begins with the start token, and the tokenizer adds one when it "
    "encodes that text.",
    fix="add_special_tokens=False for rendered text, or apply_chat_template(tokenize=True)",
    threads=("trl#1400", "trl#3328", "OpenRLHF#393"),
    make=Variants(_build, broken={"add_special_tokens": True}, twin={"add_special_tokens": False}),
    shows=lambda run: run.facts()["right as served"] < 0.6,
    place="bos_token",
    lesson="07_never_stops",
)
