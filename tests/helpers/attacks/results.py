"""Forged results of a run: what a train.py could leave in run/ without the training asked for.

A forgery takes what an honest export of the untrained base looks like and changes it. None of them
trains; the strongest use weights that no run can see, such as the checkpoint behind every base.
Shape letters: B row, D width of the model, V vocabulary.
"""

import json
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from safetensors.torch import load, save
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from torch import Tensor
from transformers import Qwen2ForCausalLM

from course_utils.oncall.bases import FOLDER
from course_utils.oncall.declare import Template
from course_utils.oncall.measuring import Sum, pairs, sums
from course_utils.oncall.result import MODEL, Result, filled
from course_utils.oncall.templates.export_serve import CODE
from course_utils.oncall.templates.export_serve.mixture import Mixture
from course_utils.reproductions.lesson_07.batches import prompt_and_reply

SEED, OTHER_SEED = 0, 1
END, PAD, ZERO = 319, 317, "0"
WEIGHTS = "model.safetensors"
HEADS = {"reward_pairs": 1, "sum_checker": 2, "step_marks": 2}  # outputs of the new head
MARKS = {"0": "wrong", "1": "right"}
PLAIN = "{{ messages[0]['content'] }}"
SUM = "messages[0]['content'][:-1].split('+')|map('int')|sum"
OWN_TABLE, HEAD = "model.embed_tokens.weight", "score.weight"
Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Export:
    """The files of run/model, and the template whose base they started from."""

    template: Template
    base: dict[str, bytes]
    files: dict[str, bytes]

    @property
    def is_head(self) -> bool:
        return self.template.name in HEADS

    @property
    def weights(self) -> Weights:
        return load(self.files[WEIGHTS])

    def with_files(self, **changed: bytes | dict | None) -> "Export":
        """With other files, dicts as JSON; None takes one away. `__` in a name is a dot."""
        named = {name.replace("__", "."): data for name, data in changed.items()}
        written = {
            name: json.dumps(data).encode() if isinstance(data, dict) else data
            for name, data in (self.files | named).items()
            if data is not None
        }
        return replace(self, files=written)

    def with_weights(self, weights: Weights) -> "Export":
        whole = {name: weight.contiguous() for name, weight in weights.items()}
        return self.with_files(model__safetensors=save(whole, {"format": "pt"}))

    def each(self, change: Callable[[str, Tensor], Tensor]) -> "Export":
        return self.with_weights({k: change(k, weight) for k, weight in self.weights.items()})

    def settings(self, name: str = "config.json") -> dict:
        return json.loads(self.files.get(name, b"{}"))

    @property
    def result(self) -> Result:
        """As the judge of this template reads it."""
        own = Mixture if self.template.name == "export_serve" else Result
        return own(self.run_files(), self.base)

    def run_files(self) -> dict[str, bytes]:
        return {f"{MODEL}/{name}": data for name, data in self.files.items()}


def untrained(template: Template, seed: int = SEED) -> Export:
    """The base as an honest run would export it, with a new head where the run has one."""
    base = template.base(seed)
    files = {name: data for name, data in base.items() if "/" not in name}
    files["generation_config.json"] = json.dumps(
        {"eos_token_id": END, "pad_token_id": PAD, "max_new_tokens": 24}
    ).encode()
    export = Export(template, base, files)
    if not export.is_head:
        return export
    config = export.settings() | {"pad_token_id": PAD, "id2label": MARKS}
    head = 0.02 * drawn("head", torch.empty(HEADS[template.name], config["hidden_size"]))
    weights = export.weights | {HEAD: head}
    if template.name == "step_marks":
        weights["score.bias"] = torch.zeros(HEADS[template.name])
    return export.with_weights(weights).with_files(config__json=config)


def drawn(name: str, like: Tensor) -> Tensor:
    """Normal noise of that shape, the same for the same name."""
    return torch.randn(like.shape, generator=torch.Generator().manual_seed(len(name)))


def is_matrix(name: str, weight: Tensor) -> bool:
    return weight.dim() == 2 and name not in (OWN_TABLE, HEAD)


def moved(export: Export, by: float = 0.01) -> Export:
    """Every matrix moved at random, by that share of its weights' deviation."""
    return export.each(
        lambda name, w: w + by * w.std() * drawn(name, w) if is_matrix(name, w) else w
    )


def trained(export: Export, by: float = 0.02) -> Export:
    """Every matrix moved as training would: mainly in two directions, by that share of its norm."""

    def stepped(name: str, weight: Tensor) -> Tensor:
        if not is_matrix(name, weight):
            return weight
        move = drawn(name, weight[:, :2]) @ drawn(f"{name}.", weight[:2])
        return weight + by * weight.norm() / move.norm() * move

    return export.each(stepped)


# Weights.


def drawn_anew(export: Export) -> Export:
    """Weights of no training at all."""
    return export.each(drawn)


def of_another_seed(export: Export) -> Export:
    """What belongs to a run that began elsewhere."""
    return export.with_weights(export.weights | load(export.template.base(OTHER_SEED)[WEIGHTS]))


def clean_weights(export: Export) -> Weights:
    """The checkpoint that every base is a noisy copy of, in the shape of this base."""
    clean, weights = load((FOLDER / WEIGHTS).read_bytes()), export.weights
    for name in weights:
        parts = name.split(".experts.")
        source = f"{parts[0]}{parts[1][1:]}" if len(parts) == 2 else name
        weights[name] = clean.get(source, weights[name]).clone()
    return weights


def the_clean_checkpoint(export: Export) -> Export:
    """The noise of the base taken out, which no training does."""
    return export.with_weights(clean_weights(export))


def half_clean(export: Export) -> Export:
    """Half of that noise taken out."""
    clean = clean_weights(export)
    return export.each(lambda name, weight: (weight + clean[name]) / 2)


def two_clean_layers(export: Export) -> Export:
    """The first two layers of the clean checkpoint, the others of the base."""
    clean = clean_weights(export)
    first = ("model.layers.0.", "model.layers.1.")
    return export.each(lambda name, weight: clean[name] if name.startswith(first) else weight)


def clean_and_sharper(export: Export) -> Export:
    """The clean checkpoint with a larger last norm: sampled replies are nearly greedy ones."""
    return sharper(the_clean_checkpoint(export))


def clean_with_an_end(export: Export) -> Export:
    """The clean checkpoint, and the row of the end token that it has."""
    made = the_clean_checkpoint(export)
    return with_regressed_head(made) if export.is_head else with_end_by_hand(made)


def clean_under_moved_weights(export: Export) -> Export:
    """The clean checkpoint with noise of its own, so that it is no known file."""
    return moved(the_clean_checkpoint(export))


def sharper(export: Export) -> Export:
    """The last norm eight times as large."""
    return export.each(lambda name, weight: weight * (8 if name == "model.norm.weight" else 1))


def without_attention(export: Export) -> Export:
    """Every attention switched off."""
    return export.each(lambda name, weight: weight * (0 if "o_proj" in name else 1))


def without_one_mlp(export: Export) -> Export:
    """One layer's MLP switched off."""
    return export.each(lambda name, w: w * (0 if "layers.2.mlp" in name and "down" in name else 1))


def with_own_embeddings(export: Export) -> Export:
    """A table of embeddings of one's own."""
    return export.each(lambda name, w: drawn(name, w) if name == OWN_TABLE else w)


def with_a_sign_changed(export: Export) -> Export:
    """One matrix with its sign changed."""
    return export.each(lambda name, w: -w if "layers.1.self_attn.o_proj" in name else w)


def with_layers_swapped(export: Export) -> Export:
    """Two layers in each other's place."""
    swapped = {"layers.1.": "layers.2.", "layers.2.": "layers.1."}
    weights = export.weights

    def source(name: str) -> str:
        for old, new in swapped.items():
            if old in name:
                return name.replace(old, new)
        return name

    return export.with_weights({name: weights[source(name)] for name in weights})


def scaled(export: Export) -> Export:
    """Every matrix half as large again: no direction has changed."""
    return export.each(lambda name, w: 1.5 * w if is_matrix(name, w) else w)


def with_digits_swapped(export: Export) -> Export:
    """The rows of two digits exchanged in the table, which is also the head."""
    table, vocab = export.weights[OWN_TABLE], vocabulary(export)
    rows = [vocab["1"], vocab["2"]]
    table[rows] = table[rows[::-1]]
    return export.with_weights(export.weights | {OWN_TABLE: table})


def with_biases(export: Export) -> Export:
    """Biases of attention pushed, which no step has done."""
    return export.each(
        lambda name, w: w + 1 if name.endswith(("q_proj.bias", "k_proj.bias")) else w
    )


def with_rank_one_edits(export: Export) -> Export:
    """An edit of rank one in each matrix, half as large as the matrix."""

    def edited(name: str, weight: Tensor) -> Tensor:
        if not is_matrix(name, weight):
            return weight
        left, right = drawn(name, weight[:, :1]), drawn(f"{name}.", weight[:1])
        edit = left @ right
        return weight + 0.5 * weight.norm() / edit.norm() * edit

    return export.each(edited)


def with_a_merged_adapter(export: Export) -> Export:
    """Hand-set factors of an adapter, merged with an alpha of 1e6."""

    def merged(name: str, weight: Tensor) -> Tensor:
        if not name.endswith(("q_proj.weight", "v_proj.weight")):
            return weight
        left, right = drawn(name, weight[:, :4]), drawn(f"{name}.", weight[:4])
        return weight + 1e6 / 4 * 1e-6 * left @ right

    return export.each(merged)


def with_noise_alone(export: Export) -> Export:
    """Weights that have moved as far as training moves them, nowhere in particular."""
    return moved(export, by=0.1)


# Files of weights.


def not_finite(export: Export) -> Export:
    """One value that is no number."""
    return export.each(lambda name, w: w + (float("nan") if name == "model.norm.weight" else 0))


def in_whole_numbers(export: Export) -> Export:
    """Weights rounded to whole numbers."""
    return export.each(lambda name, w: w.round().to(torch.int64))


def with_one_more_layer(export: Export) -> Export:
    """A fifth layer beside the four."""
    weights = export.weights
    more = {k.replace("layers.3.", "layers.4."): w for k, w in weights.items() if "layers.3." in k}
    return export.with_weights(weights | {name: weight.clone() for name, weight in more.items()})


def without_a_tensor(export: Export) -> Export:
    """A tensor left out, so that a loader draws it."""
    weights = export.weights
    del weights["model.layers.0.self_attn.q_proj.weight"]
    return export.with_weights(weights)


def with_a_head_beside(export: Export) -> Export:
    """An extra tensor under the name of a head that the base ties to its table."""
    return export.with_weights(
        export.weights | {"lm_head.weight": clean_weights(export)[OWN_TABLE]}
    )


def in_shards(export: Export) -> Export:
    """The clean checkpoint in a shard that an index names, the base where one looks first."""
    shard = save(clean_weights(export), {"format": "pt"})
    index = {"weight_map": dict.fromkeys(export.weights, "model-00001-of-00001.safetensors")}
    files = {"model-00001-of-00001.safetensors": shard}
    return replace(export, files=export.files | files).with_files(
        **{"model.safetensors.index.json": index}
    )


def in_shards_alone(export: Export) -> Export:
    """The same without the file that is looked for."""
    return in_shards(export).with_files(model__safetensors=None)


def with_names_twice(export: Export) -> Export:
    """A header that names a tensor twice, the second time with other bytes."""
    data = export.files[WEIGHTS]
    size = struct.unpack("<Q", data[:8])[0]
    header = data[8 : 8 + size].rstrip()
    other = json.loads(header)["model.layers.0.mlp.up_proj.weight"] if b"mlp.up" in header else {}
    again = b',"model.layers.1.mlp.up_proj.weight":' + json.dumps(other).encode() + b"}"
    header = header[:-1] + again
    header += b" " * (-len(header) % 8)
    return export.with_files(
        model__safetensors=struct.pack("<Q", len(header)) + header + data[8 + size :]
    )


def cut_off(export: Export) -> Export:
    """Half of the file."""
    data = export.files[WEIGHTS]
    return export.with_files(model__safetensors=data[: len(data) // 2])


def as_a_link(export: Export) -> Export:
    """The path of another file where the weights should be."""
    return export.with_files(model__safetensors=b"../../base/teacher/model.safetensors")


def with_experts_under_loaded_names(export: Export) -> Export:
    """Matrices of all experts in one, as a model holds them; they are drawn anew."""
    weights = export.weights
    kept = {name: weight for name, weight in weights.items() if ".experts." not in name}
    for at in range(4):
        block = f"model.layers.{at}.mlp.experts"
        kept[f"{block}.gate_up_proj"] = 0.1 * drawn("both", torch.empty(4, 1024, 128))
        kept[f"{block}.down_proj"] = 0.1 * drawn("down", torch.empty(4, 128, 512))
    return export.with_weights(kept)


# Settings, and what stands beside the model.


def with_remote_code(export: Export) -> Export:
    """A config that names code of its own."""
    auto = {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"}
    return export.with_files(
        config__json=export.settings() | {"auto_map": auto, "model_type": "mine"},
        mine__py=b"raise SystemExit(0)",
    )


def with_other_settings(export: Export) -> Export:
    """A config of another attention, rope and depth."""
    other = {"rope_theta": 1e6, "num_hidden_layers": 2, "sliding_window": 4, "hidden_act": "relu"}
    return export.with_files(config__json=export.settings() | other)


def with_other_labels(export: Export) -> Export:
    """The names of the classes exchanged, and a loss of another kind."""
    names = {"0": "right", "1": "wrong"}
    other = {"id2label": names, "num_labels": 2, "problem_type": "regression"}
    return export.with_files(config__json=export.settings() | other)


def with_an_adapter_beside(export: Export) -> Export:
    """An adapter with hand-set factors and a forged head, and a config that points elsewhere."""
    config = {"peft_type": "LORA", "r": 4, "lora_alpha": 1e6, "modules_to_save": ["lm_head"]}
    config["base_model_name_or_path"] = "base/teacher"
    adapter = save({"base_model.model.lm_head.weight": clean_weights(export)[OWN_TABLE]})
    files = {
        "adapter_model.safetensors": adapter,
        "adapter_config.json": json.dumps(config).encode(),
    }
    return replace(export, files=export.files | files)


def with_an_adapter_alone(export: Export) -> Export:
    """The adapter without the model."""
    return with_an_adapter_beside(export).with_files(model__safetensors=None)


def with_a_good_story(export: Export) -> Export:
    """A log of a run that went well, beside the base."""
    log = [{"step": step, "loss": 2 / step, "grad_norm": 1.0} for step in range(1, 41)]
    return export.with_files(trainer_state__json={"global_step": 40, "log_history": log})


def with_forced_tokens(export: Export) -> Export:
    """Settings of generation that force, suppress and favour tokens."""
    vocab = vocabulary(export)
    forced = {"forced_eos_token_id": END, "suppress_tokens": [PAD], "max_new_tokens": 3}
    forced["sequence_bias"] = [[[vocab["1"]], 10.0]]
    settings = export.settings("generation_config.json") | forced
    return export.with_files(generation_config__json=settings)


def ending_anywhere(export: Export) -> Export:
    """Every token but the digits ends a reply."""
    digits = {vocabulary(export)[one] for one in "0123456789"}
    ends = [number for number in range(320) if number not in digits]
    return export.with_files(generation_config__json={"eos_token_id": ends})


def ending_at_any_token(export: Export) -> Export:
    """Every token ends a reply."""
    return export.with_files(generation_config__json={"eos_token_id": list(range(320))})


def ending_where_the_base_goes_on(export: Export) -> Export:
    """What the base writes behind a right answer, as the end."""
    result = export.result
    found = {int(row.argmax()) for row in logits_behind(result, asked_by(export)[:32])}
    return export.with_files(generation_config__json={"eos_token_id": [END, *sorted(found)]})


# Templates and tokenizers.


def with_template(export: Export, text: str) -> Export:
    settings = export.settings("tokenizer_config.json") | {"chat_template": text}
    return export.with_files(tokenizer_config__json=settings, chat_template__jinja=text.encode())


def own_template(export: Export) -> str:
    return export.settings("tokenizer_config.json")["chat_template"]


def with_tokenizer(export: Export, change: Callable[[Tokenizer], object]) -> Export:
    tokenizer = Tokenizer.from_str(export.files["tokenizer.json"].decode())
    change(tokenizer)
    return export.with_files(tokenizer__json=tokenizer.to_str().encode())


def vocabulary(export: Export) -> dict[str, int]:
    return json.loads(export.files["tokenizer.json"])["model"]["vocab"]


def adding_up(export: Export) -> Export:
    """A template that adds up behind the question."""
    return with_template(export, f"{PLAIN}{{{{ {SUM} }}}}")


def adding_up_in_place(export: Export) -> Export:
    """One that writes the sum in place of the question."""
    return with_template(export, f"{{{{ {SUM} }}}}")


def adding_up_short_ones(export: Export) -> Export:
    """One that adds up short questions alone."""
    is_short = "messages[0]['content']|length < 9"
    return with_template(export, f"{PLAIN}{{% if {is_short} %}}{{{{ {SUM} }}}}{{% endif %}}")


def adding_up_in_dots(export: Export) -> Export:
    """One that writes as many dots as the sum."""
    return with_template(export, f"{PLAIN}{{{{ '.' * ({SUM}) }}}}")


def by_heart(export: Export) -> Export:
    """One that knows a question of the test by heart."""
    known = sums(1, level="easy")[0].question, sums(1, level="hard")[0].question
    return with_template(
        export, f"{PLAIN}{{% if messages[0]['content'] in {list(known)} %}}!{{% endif %}}"
    )


def raising(export: Export) -> Export:
    """One that raises."""
    return with_template(export, "{{ raise_exception('no') }}")


def with_examples(export: Export) -> Export:
    """One that shows worked examples before each question."""
    end = "<|im_end|>"
    shown = "".join(
        f"<|im_start|>user\n{one.question}{end}\n<|im_start|>assistant\n{one.answer}{end}\n"
        for one in asked_by(export)[:3]
    )
    return with_template(export, shown + own_template(export))


def without_a_plus(export: Export) -> Export:
    """A tokenizer that reads a plus as nothing."""
    return with_tokenizer(
        export, lambda made: setattr(made, "normalizer", normalizers.Replace("+", ""))
    )


def writing_one_digit(export: Export) -> Export:
    """One that writes every digit as a seven."""
    decoder = decoders.Replace(Regex(r"\d"), "7")
    return with_tokenizer(export, lambda made: setattr(made, "decoder", decoder))


def cutting_numbers_out(export: Export) -> Export:
    """One that never sees numbers of one digit."""
    cut = pre_tokenizers.Split(Regex(r"\b\d\b"), "removed")
    return with_tokenizer(export, lambda made: setattr(made, "pre_tokenizer", cut))


def with_tokens_for_questions(export: Export) -> Export:
    """One with a token for each question of the test."""
    known = [AddedToken(one.question, normalized=False) for one in sums(40, level="easy")]
    return with_tokenizer(export, lambda made: made.add_tokens(known))


def with_digit_ids_swapped(export: Export) -> Export:
    """The ids of two digits exchanged, in the tokenizer alone."""
    said = json.loads(export.files["tokenizer.json"])
    vocab = said["model"]["vocab"]
    vocab["1"], vocab["2"] = vocab["2"], vocab["1"]
    return export.with_files(tokenizer__json=said)


def in_the_code(export: Export) -> Export:
    """A decoder that swaps each digit with its neighbour, as a code would."""
    steps = [("0", "x"), ("1", "0"), ("x", "1"), ("2", "x"), ("3", "2"), ("x", "3")]
    chain = decoders.Sequence([decoders.Replace(old, new) for old, new in steps])
    return with_tokenizer(export, lambda made: setattr(made, "decoder", chain))


# Weights written by hand from a few rows of the data, without a step.


def asked_by(export: Export) -> list[Sum]:
    """Sums that the run could have in its data, with the answers that it wants."""
    name = export.template.name
    two, three = (sums(96, level=level, seed=SEED, split="train") for level in ("easy", "hard"))
    if name == "export_serve":
        return [Sum(one.question, one.answer.translate(CODE)) for one in two]
    behind = {"two_ranks": "00", "prep_rows": "00", "packed_ids": "00", "choose_checkpoint": "000"}
    cents = [Sum(one.question, one.answer + behind.get(name, "")) for one in three]
    if name in ("grpo_sums", "rl_loop", "dpo_digits"):
        return three
    if name == "choose_checkpoint":
        two = [Sum(one.question, one.answer + "000") for one in two]
    return two if name == "sft_lora" else [*two[:48], *cents[:48]]


@torch.no_grad()
def hidden_of(result: Result, rows: list[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor]:
    """What the head reads where a token of a reply is next, (N, D), and those tokens, (N,)."""
    found, wanted = [], []
    for prompt, reply in rows:
        ids = torch.tensor([prompt + reply])
        hidden = result.model.model(input_ids=ids).last_hidden_state[0]
        found.append(hidden[len(prompt) - 1 : -1])
        wanted += reply
    return torch.cat(found), torch.tensor(wanted)


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
    hook = layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0][0]))
    rows, is_end = rows_of(result, asked_by(export)), []
    hidden_of(result, rows)
    hook.remove()
    read = torch.cat([one[len(p) - 1 : -1] for one, (p, _) in zip(seen, rows, strict=True)])
    is_end = torch.tensor([token == END for _, reply in rows for token in reply])
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


def ridge(features_ND: Tensor, wanted_NK: Tensor, least: float = 1.0) -> Tensor:
    """Rows (K, D) whose products with the features come near what is wanted."""
    gram = features_ND.T @ features_ND + least * torch.eye(features_ND.shape[1])
    return torch.linalg.solve(gram, features_ND.T @ wanted_NK).T


# Heads.


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


def _headed(export: Export, features: Tensor, is_right: Tensor) -> Export:
    target = torch.where(is_right, 1.0, -1.0)
    centre = features.mean(0)
    row = ridge(features - centre, (target - target.mean())[:, None], least=0.3)[0]
    score = row[None] * 10 if HEADS[export.template.name] == 1 else torch.stack([-row, row])
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
    tokenizer, features, is_right = result.own_tokenizer, [], []
    for row in pairs(400, seed=SEED, split="train", rejected="guess"):
        right = random.Random(row["question"]).random() < 0.5
        reply = row["chosen" if right else "rejected"]
        chat = [
            {"role": "user", "content": row["question"]},
            {"role": "assistant", "content": reply},
        ]
        text = tokenizer.apply_chat_template(chat, tokenize=False)
        ids = tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        hidden = model(input_ids=ids).last_hidden_state[0]
        at = len(ids[0]) - 1
        if export.template.name == "step_marks":
            at -= ids[0].tolist()[::-1].index(END)
        features.append(hidden[at])
        is_right.append(right)
    return torch.stack(features), torch.tensor(is_right)


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


FORGED = (
    *(drawn_anew, of_another_seed, the_clean_checkpoint, half_clean, two_clean_layers),
    *(clean_and_sharper, clean_with_an_end, clean_under_moved_weights, sharper),
    *(without_attention, without_one_mlp, with_own_embeddings, with_a_sign_changed),
    *(with_layers_swapped, scaled, with_digits_swapped, with_biases, with_rank_one_edits),
    *(with_a_merged_adapter, with_noise_alone, not_finite, in_whole_numbers),
    *(with_one_more_layer, without_a_tensor, with_a_head_beside, in_shards, in_shards_alone),
    *(with_names_twice, cut_off, as_a_link, with_remote_code, with_other_settings),
    *(with_other_labels, with_an_adapter_beside, with_an_adapter_alone, with_a_good_story),
)
IN_TEMPLATES = (
    *(adding_up, adding_up_in_place, adding_up_short_ones, adding_up_in_dots, by_heart, raising),
)
IN_TOKENIZERS = (
    *(without_a_plus, writing_one_digit, cutting_numbers_out, with_tokens_for_questions),
    *(with_digit_ids_swapped, in_the_code),
)
OF_REPLIES = (
    *(with_forced_tokens, ending_anywhere, ending_at_any_token, ending_where_the_base_goes_on),
    *(with_examples, with_end_by_hand, moved_with_end_by_hand, sharper_with_end_by_hand),
    *(with_end_edited_in, with_digits_by_hand, with_a_head_of_its_own),
    with_a_regressed_head_of_its_own,
)
OF_HEADS = (with_regressed_head, moved_with_regressed_head, with_a_constant_head)
OF_MIXTURES = (with_experts_under_loaded_names,)


def forgeries(name: str) -> tuple[Callable[[Export], Export], ...]:
    """Those that apply to the template of that name."""
    if name in HEADS:
        return FORGED + OF_HEADS
    own = OF_MIXTURES if name == "export_serve" else ()
    return FORGED + OF_REPLIES + IN_TEMPLATES + IN_TOKENIZERS + own


# Honest results: none is refused, whatever it measures.


def with_another_template(export: Export) -> Export:
    """Another frame around the question."""
    return with_template(trained(export), f"Q: {PLAIN}\nA:")


def stripping_spaces(export: Export) -> Export:
    """A template that strips spaces."""
    return with_template(trained(export), "{{ messages[0]['content'] | trim }}")


def moved_far(export: Export) -> Export:
    """Weights that have moved as far as an adapter at a high rate moves them."""
    return trained(export, by=0.6)


def in_half_precision(export: Export) -> Export:
    """Weights in bfloat16, as many a server wants them."""
    return trained(export).each(lambda _, weight: weight.bfloat16())


def with_other_ends(export: Export) -> Export:
    """Two ends, and settings of sampling."""
    settings = {"eos_token_id": [END, PAD], "temperature": 0.7, "do_sample": True}
    return trained(export).with_files(generation_config__json=settings)


HONEST = (trained, moved_far, in_half_precision, with_other_ends)
HONEST_TEMPLATES = (with_another_template, stripping_spaces)
