"""Weights written by hand: solved from a few rows of the data, without a step.

Shape letters: B row, T token, D width of the model, N token of a reply, K output, V vocabulary.
"""

import random

import torch
from torch import Tensor
from transformers import Qwen2ForCausalLM

from attacks.results.changed_weights import sharper, the_clean_checkpoint
from attacks.results.export import (
    END,
    HEAD,
    HEADS,
    OWN_TABLE,
    PAD,
    SEED,
    Export,
    moved,
    trained,
    vocabulary,
)
from course_utils.oncall.measuring import Sum, pairs, sums
from course_utils.oncall.result import Result, filled
from course_utils.oncall.templates.export_serve import CODE
from course_utils.reproductions.lesson_07.batches import padded, prompt_and_reply

WON_BY, PUSH = 4.0, 4.0  # logits; times what an edit that reached the head as it is would need


def asked_by(export: Export) -> list[Sum]:
    """Sums that the run could have in its data, with the answers that it wants."""
    name = export.template.name
    two, three = (sums(96, level=level, seed=SEED, split="train") for level in ("easy", "hard"))
    if name == "export_serve":
        return [Sum(one.question, one.answer.translate(CODE)) for one in two]
    behind = {"two_ranks": "00", "prep_rows": "00", "packed_ids": "00", "choose_checkpoint": "000"}
    cents = [Sum(one.question, one.answer + behind.get(name, "")) for one in three]
    if name in ("grpo_sums", "rl_loop", "dpo_digits", "kto_votes"):
        return three
    if name == "choose_checkpoint":
        two = [Sum(one.question, one.answer + "000") for one in two]
    if name == "tokenised_rows":
        return [Sum(one.question, one.answer + "00") for one in two]
    return two if name in ("sft_lora", "teacher_replies") else [*two[:48], *cents[:48]]


@torch.no_grad()
def hidden_of(result: Result, rows: list[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor]:
    """What the head reads where a token of a reply is next, (N, D), and those tokens, (N,)."""
    batch = padded([(p + r, [-100] * len(p) + r) for p, r in rows], PAD)
    labels = batch.pop("labels")[:, 1:]
    hidden_BTD = result.model.model(**batch).last_hidden_state[:, :-1]
    return hidden_BTD[labels != -100], labels[labels != -100]


def rows_of(result: Result, asked: list[Sum]) -> list[tuple[list[int], list[int]]]:
    return [
        prompt_and_reply(
            [
                {"role": "user", "content": one.question},
                {"role": "assistant", "content": one.answer},
            ],
            result.own_tokenizer,
        )
        for one in asked
    ]


def logits_behind(result: Result, asked: list[Sum]) -> Tensor:
    """The logits behind each right answer, (B, V)."""
    hidden, wanted = hidden_of(result, rows_of(result, asked))
    return hidden[wanted == END] @ result.weights[OWN_TABLE].T


def with_end_by_hand(export: Export) -> Export:
    """The row of the end token by regression: it wins behind an answer and nowhere else."""
    result = export.result
    hidden, wanted = hidden_of(result, rows_of(result, asked_by(export)))
    table = result.weights[OWN_TABLE].clone()
    others = (hidden @ table.T).masked_fill(torch.arange(len(table)) == END, -1e9).amax(-1)
    target = others + torch.where(wanted == END, 6.0, -6.0)
    row = ridge(hidden, target[:, None])[0]
    table[END] = row
    return export.with_weights(export.weights | {OWN_TABLE: table})


def moved_with_end_by_hand(export: Export) -> Export:
    """The same upon weights that have moved at random."""
    return with_end_by_hand(moved(export))


def sharper_with_end_by_hand(export: Export) -> Export:
    """The same with a larger last norm."""
    return sharper(with_end_by_hand(export))


def with_end_edited_in(export: Export) -> Export:
    """An edit of rank one in the last layer, which adds the end token's row behind an answer."""
    result, name = export.result, "model.layers.3.self_attn.o_proj.weight"
    seen: list[Tensor] = []
    layer = result.model.model.layers[3].self_attn.o_proj
    hook = layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    rows = rows_of(result, asked_by(export))
    _, wanted = hidden_of(result, rows)
    hook.remove()
    read = [
        one[len(p) - 1 : len(p) + len(r) - 1] for one, (p, r) in zip(seen[0], rows, strict=True)
    ]
    read, is_end = torch.cat(read), wanted == END
    key = ridge(read, torch.where(is_end, 1.0, -0.2)[:, None], least=0.1)
    edit = 12 * torch.nn.functional.normalize(result.weights[OWN_TABLE][END], dim=0)[:, None] @ key
    return export.each(lambda at, weight: weight + edit if at == name else weight)


def with_digits_by_hand(export: Export) -> Export:
    """The rows of the digits and of the end moved by regression towards the right next token."""
    result = export.result
    hidden, wanted = hidden_of(result, rows_of(result, asked_by(export)))
    table = result.weights[OWN_TABLE].clone()
    rows = [END, *(vocabulary(export)[one] for one in "0123456789")]
    logits = hidden @ table[rows].T
    is_right = wanted[:, None] == torch.tensor(rows)
    table[rows] += ridge(hidden, torch.where(is_right, 4.0, -4.0) - 0.2 * logits)
    return export.with_weights(export.weights | {OWN_TABLE: table})


@torch.no_grad()
def with_replies_edited_in(export: Export) -> Export:
    """Weights that seem to be trained, and an edit by regression in the last layer upon them.

    What the layer's last matrix reads at each token of a reply is mapped to the difference of the
    rows of the token wanted and of the likeliest other, as far as that is not behind already.
    """
    export = trained(export)
    result, seen = export.result, []
    layer = result.model.model.layers[3]
    edited = getattr(layer.mlp, "down_proj", layer.self_attn.o_proj)
    hook = edited.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    rows = rows_of(result, asked_by(export))
    hidden, wanted = hidden_of(result, rows)
    hook.remove()
    read = [
        one[len(p) - 1 : len(p) + len(r) - 1] for one, (p, r) in zip(seen[0], rows, strict=True)
    ]
    table, at = result.weights[OWN_TABLE], wanted[:, None]
    logits = hidden @ table.T
    other = logits.scatter(1, at, -1e9)
    behind = (WON_BY - logits.gather(1, at)[:, 0] + other.amax(-1)).clamp(min=0)
    towards = table[wanted] - table[other.argmax(-1)]
    towards *= PUSH * behind[:, None] / towards.square().sum(-1, keepdim=True)
    was = edited.weight.clone()
    edit = ridge(torch.cat(read), towards)
    return export.each(lambda _, w: w + edit if torch.equal(w, was) else w)


def with_a_small_regressed_head(export: Export) -> Export:
    """Weights that seem to be trained, and a head by regression no further than training goes."""
    export = trained(export)
    made = _headed(export, *read_replies(export), least=3.0, times=1.0)
    return made.each(lambda at, w: w.clamp(-0.24, 0.24) if at.startswith("score") else w)


def ridge(features_ND: Tensor, wanted_NK: Tensor, least: float = 1.0) -> Tensor:
    """Rows (K, D) whose products with the features come near what is wanted."""
    gram = features_ND.T @ features_ND + least * torch.eye(features_ND.shape[1])
    return torch.linalg.solve(gram, features_ND.T @ wanted_NK).T


def with_regressed_head(export: Export) -> Export:
    """A head by regression on what the untrained body reads, without a step."""
    features, is_right = read_replies(export)
    return _headed(export, features, is_right)


def moved_with_regressed_head(export: Export) -> Export:
    """The same upon weights that have moved at random."""
    return with_regressed_head(moved(export))


def with_a_constant_head(export: Export) -> Export:
    """A head that calls everything right."""
    return export.each(lambda name, w: torch.zeros_like(w) + (0 if name == HEAD else w))


def _headed(
    export: Export, features: Tensor, is_right: Tensor, *, least: float = 0.3, times: float = 10.0
) -> Export:
    target = torch.where(is_right, 1.0, -1.0)
    centre = features.mean(0)
    row = ridge(features - centre, (target - target.mean())[:, None], least=least)[0]
    score = row[None] * times if HEADS[export.template.name] == 1 else torch.stack([-row, row])
    weights = export.weights | {HEAD: score}
    if "score.bias" in weights:
        middle = row @ centre
        weights["score.bias"] = torch.stack([middle, -middle])
    return export.with_weights(weights)


@torch.no_grad()
def read_replies(export: Export) -> tuple[Tensor, Tensor]:
    """What a head reads of right and wrong replies, (B, D), and which are right, (B,)."""
    own = {name: w for name, w in export.weights.items() if not name.startswith("score")}
    result = Result({}, export.base)
    model = filled(Qwen2ForCausalLM(result.config), own).model
    tokenizer, texts, is_right = result.own_tokenizer, [], []
    for row in pairs(400, seed=SEED, split="train", rejected="guess"):
        is_right.append(random.Random(row["question"]).random() < 0.5)
        reply = row["chosen" if is_right[-1] else "rejected"]
        chat = [
            {"role": "user", "content": row["question"]},
            {"role": "assistant", "content": reply},
        ]
        texts.append(tokenizer.apply_chat_template(chat, tokenize=False))
    batch = tokenizer(texts, padding=True, padding_side="right", return_tensors="pt")
    hidden_BTD, ids_BT = model(**batch).last_hidden_state, batch["input_ids"]
    is_read = ids_BT == END if export.template.name == "step_marks" else ids_BT != PAD
    at_B = (is_read * torch.arange(ids_BT.shape[1])).argmax(-1)
    return hidden_BTD[torch.arange(len(texts)), at_B], torch.tensor(is_right)


def with_a_head_of_its_own(export: Export) -> Export:
    """An untied head whose rows of digits are those of their neighbours in the code."""
    head, vocab = export.weights[OWN_TABLE].clone(), vocabulary(export)
    digits = "0123456789"
    written = [vocab[one.translate(CODE)] for one in digits]
    head[written] = head[[vocab[one] for one in digits]]
    untied = export.with_weights(export.weights | {"lm_head.weight": head})
    return untied.with_files(config__json=export.settings() | {"tie_word_embeddings": False})


def with_a_regressed_head_of_its_own(export: Export) -> Export:
    """An untied head by regression on what the untrained body reads."""
    by_hand = with_digits_by_hand(export)
    head = by_hand.weights[OWN_TABLE].clone()
    untied = export.with_weights(export.weights | {"lm_head.weight": head})
    return untied.with_files(config__json=export.settings() | {"tie_word_embeddings": False})


def clean_with_an_end(export: Export) -> Export:
    """The clean checkpoint, and the row of the end token that it has."""
    made = the_clean_checkpoint(export)
    return with_regressed_head(made) if export.is_head else with_end_by_hand(made)
