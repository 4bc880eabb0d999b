"""Which weights LoRA reaches in each causal language model of Transformers: `make lora-reach`.

    python -m benchmarks.diagnostics.lora_reach [--write] [FAMILY ...]

Trains nothing: each family is made from its default configuration on the meta device, where only
names and shapes exist, 40 CPU seconds for all. `--write` writes docs/lora_reach.md.
"""

import argparse
import re
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import torch
import transformers
from peft import LoraConfig
from torch import nn
from transformers import CONFIG_MAPPING, AutoModelForCausalLM
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from benchmarks.markdown import table
from course_utils.diagnostics import adapter_reach
from course_utils.diagnostics.reach.groups import (
    ATTENTION,
    EXPERTS,
    RECURRENT,
    ROUTER,
    VECTORS,
)
from course_utils.diagnostics.reach.report import BODY, AdapterReach
from course_utils.errors import BadRequest

PAGE = Path(__file__).parents[2] / "docs" / "lora_reach.md"
SEVEN = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
TARGETS = {"the seven names": SEVEN, "all-linear": "all-linear", "PEFT's defaults": LoraConfig()}
SET = re.compile(r"\{('[^{}]*')\}")  # as Python writes one of texts
NO_DEFAULTS, NO_MATCH = "no defaults", "no module has such a name"
MOE, HYBRID, STATE, DENSE = "mixture of experts", "hybrid", "state space", "dense"
SHORT = {RECURRENT: "linear", "dense MLP": "MLP", "shared experts": "shared"}


@dataclass(frozen=True)
class Family:
    """One family: its parts at full size, and what each way to target reached."""

    name: str
    kind: str
    shares: dict[str, float]  # part of the model -> share of its weights
    reached: dict[str, AdapterReach | str]  # a string is why PEFT refused

    def of(self, targets: str) -> AdapterReach | None:
        found = self.reached[targets]
        return None if isinstance(found, str) else found


def families(names: Iterable[str] = ()) -> tuple[list[Family], dict[str, str]]:
    """All families by the auto-mapping, and why others could not be made; a class counts once."""
    transformers.logging.set_verbosity_error()
    found, failed, seen = [], {}, set()
    for name, of_class in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items():
        if of_class in seen or (names and name not in names):
            continue
        try:
            found.append(family(name))
            seen.add(of_class)
        except Exception as error:  # a default configuration of which no model can be made
            first = " ".join(str(error).split())[:110]
            failed[name] = f"{type(error).__name__}: {first}"
    made = {family.name for family in found}
    return found, {name: why for name, why in failed.items() if name not in made}


def family(name: str) -> Family:
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        model = AutoModelForCausalLM.from_config(CONFIG_MAPPING[name]())
    shares = {group.name: group.share for group in adapter_reach(model).groups.values()}
    keep_one_of_each_layer(model)
    reached = {title: _reached(model, targets) for title, targets in TARGETS.items()}
    return Family(name, _kind(shares), shares, reached)


def keep_one_of_each_layer(model: nn.Module) -> None:
    """Leave one of all layers that have the same classes, names and shapes: a name matches all."""
    for module in list(model.modules()):
        if isinstance(module, nn.ModuleList):
            kept = {_shape_of(layer): layer for layer in reversed(module)}
            module._modules = {str(at): layer for at, layer in enumerate(reversed(kept.values()))}


def _shape_of(layer: nn.Module) -> tuple:
    classes = tuple((name, type(module)) for name, module in layer.named_modules())
    return classes, tuple((name, weight.shape) for name, weight in layer.named_parameters())


def _kind(shares: dict[str, float]) -> str:
    if EXPERTS in shares:
        return MOE
    if RECURRENT in shares:
        return HYBRID if ATTENTION in shares else STATE
    return DENSE


def _sorted(written: re.Match) -> str:
    """A set of names in one order: Python writes it in another order each time."""
    return f"{{{', '.join(sorted(written[1].split(', ')))}}}"


def _reached(model: nn.Module, targets: object) -> AdapterReach | str:
    try:
        return adapter_reach(model, targets)
    except BadRequest as error:
        said = str(error).split("\n")[0].split("on the model: ")[-1]
        said = SET.sub(_sorted, said)
        if "specify `target_modules`" in said or "No `target_modules` passed" in said:
            return NO_DEFAULTS
        return NO_MATCH if "not found in the base model" in said else said


# --- the page ---------------------------------------------------------------------------------


def cell(found: AdapterReach | str) -> str:
    """The parts that have an adapter; of one in part, how many of its kinds of matrices."""
    if isinstance(found, str):
        return f"*{found.split(':')[0]}*"
    parts = [group for group in found.groups.values() if group.name != VECTORS]
    said = ["**no experts**"] if found.misses_experts else []
    for group in parts:
        name = SHORT.get(group.name, group.name)
        count = "" if group.is_whole else f" {group.num_adapted} of {group.num_matrices}"
        if group.num_adapted:
            said.append(f"**router**{count}" if name == ROUTER else name + count)
        elif group.name in BODY:
            said.append(f"no {name}")
    return ", ".join(said)


def versions() -> str:
    return ", ".join(f"{name} {version(name)}" for name in ("transformers", "peft"))


def moe_row(family: Family) -> tuple[str, ...]:
    name = f"{family.name} (hybrid)" if RECURRENT in family.shares else family.name
    return (name, f"{family.shares[EXPERTS]:.0%}", *map(cell, family.reached.values()))


def page(found: list[Family], failed: dict[str, str]) -> str:
    """docs/lora_reach.md."""
    experts = sorted((one for one in found if one.kind == MOE), key=lambda one: one.name)
    other = [one for one in found if one.kind != MOE]
    return "\n".join(
        [
            "# Which weights does your LoRA reach?",
            "",
            f"Made by `make lora-reach` with {versions()}. {len(found)} causal language models, "
            "each from its default configuration, on the meta device: nothing is trained or "
            "downloaded. For your own model: `course_utils.diagnostics.adapter_reach(model)`, or "
            "`adapter_reach(model, targets)` before there is an adapter.",
            "",
            *_summary(experts, other),
            "",
            f"The seven names are {', '.join(f'`{name}`' for name in SEVEN)}. A cell lists the "
            "parts that have an adapter. *attention 1 of 5* means that one of five kinds of "
            "matrices has one. *linear* is a state space or linear attention, *MLP* a dense one, "
            "*shared* the shared experts with their gate. Shares are of all weights.",
            "",
            "## Mixtures of experts",
            "",
            *table(("family", "experts", *TARGETS), map(moe_row, experts)),
            "",
            "Where a cell says *no experts*, they are stacked in one parameter per layer, which is "
            "no `nn.Linear`. Name the parameters: `target_parameters` of LoraConfig (PEFT 0.17 and "
            "later); `adapter_reach` prints them. For the families where the seven names do reach "
            "the experts, PEFT rewrites `gate_proj`, `up_proj` and `down_proj` to parameters of "
            "the experts, and the same names then leave the dense MLP and the shared experts "
            "without an adapter.",
            "",
            "## Dense, hybrid and state-space models",
            "",
            "Families with the same result share a row.",
            "",
            *table(("kind", *TARGETS, "families"), _rows_of(other)),
            "",
            "## Not made or refused",
            "",
            *(f"* {name}: {why}" for name, why in [*failed.items(), *_refused(found)]),
            "",
        ]
    )


def _summary(experts: list[Family], other: list[Family]) -> list[str]:
    lines = []
    for title in TARGETS:
        done = [one for one in experts if one.of(title)]
        bare = [one for one in done if one.of(title).misses_experts]
        routed = sum(one.of(title).adapts_router for one in done)
        ends = [f"{end(one.shares[EXPERTS] for one in bare):.0%}" for end in (min, max) if bare]
        where = f" (experts are {' to '.join(dict.fromkeys(ends))} of the weights)"
        lines.append(
            f"* **{title}** on {len(experts)} mixtures of experts: PEFT makes an adapter for "
            f"{len(done)}. In **{len(bare)}** of them no expert has one{where if bare else ''}. "
            f"In **{routed}** the router has one."
        )
    named = [one for one in other if one.of("the seven names")]
    lines.append(
        f"* **the seven names** on {len(other)} models without experts: in {_same(other)} they "
        f"reach all that `all-linear` reaches, in {len(named) - _same(other)} a part of it, and in "
        f"{len(other) - len(named)} nothing, and PEFT raises an error."
    )
    return lines


def _same(other: list[Family]) -> int:
    """In how many the seven names reach what `all-linear` does."""

    def adapted(found: AdapterReach) -> list[str]:
        return found.to_dict()["adapted"]

    pairs = [(one.of("the seven names"), one.of("all-linear")) for one in other]
    return sum(bool(a and b and adapted(a) == adapted(b)) for a, b in pairs)


def _rows_of(other: list[Family]) -> list[tuple[str, ...]]:
    rows: dict[tuple[str, ...], list[str]] = {}
    for one in sorted(other, key=lambda one: ((DENSE, HYBRID, STATE).index(one.kind), one.name)):
        rows.setdefault((one.kind, *map(cell, one.reached.values())), []).append(one.name)
    return [(*key, ", ".join(names)) for key, names in rows.items()]


def _refused(found: list[Family]) -> Iterable[tuple[str, str]]:
    for one in found:
        for title, why in one.reached.items():
            if isinstance(why, str) and why not in (NO_DEFAULTS, NO_MATCH):
                yield f"{one.name}, {title}", why


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    made = page(*families(args.names))
    if args.write and not args.names:
        PAGE.write_text(made, encoding="utf-8")
    else:
        print(made)


if __name__ == "__main__":
    sys.exit(main())
