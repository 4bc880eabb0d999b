"""Recorded servings of adapters on five seeds; run this module with `python -m` to make them again.

Each record says what share of held-out completions is right, and what else was measured. No
judgement is here.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import click

FILE = Path(__file__).with_suffix(".json")
SEEDS = range(5)
Record = dict[str, float]


@cache
def _file() -> dict[str, dict[str, list[Record]]]:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def recorded(table: str) -> dict[str, list[Record]]:
    """The rows of a table by name; each has one record per seed.

    >>> len(recorded("four jobs")["A"])
    5
    """
    return _file()[table]


def shares(table: str, row: str, column: str) -> str:
    """One column of a row over the seeds, in percent.

    >>> shares("four jobs", "A", "served")
    '0 0 0 0 0'
    """
    return " ".join(f"{100 * one[column]:.0f}" for one in recorded(table)[row])


# --- how they are made --------------------------------------------------------------------------


def four_jobs(seed: int) -> Iterator[tuple[str, Record]]:
    """Each job of the lesson: its log's ends, and the share that is right at four stages."""
    from course_utils.reproductions.lesson_11 import jobs, servings
    from course_utils.reproductions.lesson_11.adapter_life import right

    for name in jobs.JOBS:
        job = jobs.run(name, seed)
        ways = {
            "live": job.model,
            "reloaded": servings.reloaded(job),
            "merged": servings.merged(job),
            "served": servings.SERVERS[name](job),
        }
        yield name, {w: right(m, job.task) for w, m in ways.items()} | _log(job)


def experts(seed: int) -> Iterator[tuple[str, Record]]:
    """Adapters on a mixture: which parts they reached, and what they learned."""
    from course_utils.diagnostics import adapter_reach
    from course_utils.diagnostics.reach.groups import EXPERTS as OF_EXPERTS
    from course_utils.diagnostics.reach.groups import ROUTER
    from course_utils.reproductions.lesson_11 import adapter_life as life

    named = {"target_modules": life.ATTENTION, "target_parameters": life.EXPERTS}
    router = {"target_parameters": [*life.EXPERTS, "mlp.gate.weight"]}
    for name, lora in {
        "seven names, r 8": {},
        "seven names, r 32": {"r": 32, "lora_alpha": 64},
        "seven names, twice the steps": {"steps": 2.0},
        "all-linear, r 8": {"target_modules": "all-linear"},
        "attention and experts, r 2": named | {"r": 2, "lora_alpha": 4},
        "attention and experts, r 8": named,
        "the same and the router": named | router,
    }.items():
        run = life.train("mixture", task="neighbours", seed=seed, **lora)
        groups = adapter_reach(run.model).groups
        sizes = [p.numel() for p in run.model.parameters() if p.requires_grad]
        total = sum(p.numel() for p in run.model.get_base_model().parameters())
        yield (
            name,
            {
                "experts": groups[OF_EXPERTS].num_adapted,
                "router": groups[ROUTER].num_adapted,
                "trainable": round(sum(sizes) / total, 4),
                "right": life.right(run.model, "neighbours"),
            }
            | _log(run),
        )


def head(seed: int) -> Iterator[tuple[str, Record]]:
    """A tied head: ways to train it, and ways to merge it."""
    from course_utils.reproductions.lesson_11 import servings
    from course_utils.reproductions.lesson_11.adapter_life import HEAD, logits_apart, right, train

    rest = HEAD | {"target_modules": HEAD["target_modules"][:2]}
    one, two = ({"modules_to_save": names} for names in (["lm_head"], ["lm_head", "embed_tokens"]))
    tying = {"ensure_weight_tying": True}
    for name, lora in {
        "q and v only": rest,
        "lm_head": HEAD,
        "lm_head, ensure_weight_tying": HEAD | tying,
        "modules_to_save": rest | one,
        "modules_to_save, ensure_weight_tying": rest | one | tying,
        "modules_to_save, embedding too": rest | two,
        "modules_to_save, embedding too, ensure_weight_tying": rest | two | tying,
    }.items():
        run = train(seed=seed, **lora)
        merged = servings.merged(run)
        loaded = servings.saved_and_loaded(merged)
        yield (
            name,
            {
                "live": right(run.model, run.task),
                "reloaded": right(servings.reloaded(run), run.task),
                "served": right(loaded, run.task),
                "apart": round(logits_apart(run.model, loaded), 5),
            },
        )
        if name in ("lm_head", "lm_head, ensure_weight_tying"):
            late = servings.untie(merged)
            early = servings.untie(servings.reloaded(run)).merge_and_unload().eval()
            for when, model in (("untied after the merge", late), ("untied before it", early)):
                yield (
                    f"{name}, {when}",
                    {
                        "live": right(run.model, run.task),
                        "served": right(servings.saved_and_loaded(model), run.task),
                        "apart": round(logits_apart(run.model, model), 5),
                    },
                )


def grid(seed: int) -> Iterator[tuple[str, Record]]:
    """Four merges of an adapter that was trained on a 4-bit base."""
    from course_utils.reproductions.lesson_11 import four_bits
    from course_utils.reproductions.lesson_11.adapter_life import right, train

    for name, lora in {
        "as it was": {},
        "r 2": {"r": 2, "lora_alpha": 4},
        "r 32": {"r": 32, "lora_alpha": 64},
        "twice the rate": {"rate": 2.0},
        "twice the steps": {"steps": 2.0},
    }.items():
        run = train("4-bit", seed=seed, **lora)
        merges = four_bits.four_merges(run.model)
        found = {way: right(model, run.task) for way, model in merges.items()}
        yield (
            name,
            found | four_bits.of_half_a_step(run.model) | {"live": right(run.model, run.task)},
        )


def edits(seed: int) -> Iterator[tuple[str, Record]]:
    """One adapter, its folder edited; `warnings` counts what PEFT said."""
    from peft import PeftModel

    from course_utils.reproductions.lesson_11 import servings
    from course_utils.reproductions.lesson_11.adapter_life import base_model, offsets, train

    run = train(seed=seed)
    other = servings.merged(train(seed=seed + 100, task="full stop"))
    no_mlp = {"keep": lambda name: "mlp" not in name}
    with servings.saved(run.model) as folder:
        for name, edit, base in (
            ("as saved", {}, None),
            *((f"alpha {alpha} for 16", {"lora_alpha": alpha}, None) for alpha in (0, 8, 24, 32)),
            ("rank-stabilised, not trained so", {"use_rslora": True}, None),
            ("q and v only in the config", {"target_modules": ["q_proj", "v_proj"]}, None),
            ("file without its MLP half", no_mlp, None),
            ("on another base of equal shapes", {}, other),
            ("twice: merged, then on top", {}, servings.merged(run)),
        ):
            with ExitStack() as stack:
                there = stack.enter_context(servings.edited(folder, **edit))
                caught = stack.enter_context(warnings.catch_warnings(record=True))
                stack.enter_context(redirect_stdout(StringIO()))
                warnings.simplefilter("always")
                model = PeftModel.from_pretrained(base or base_model(), there)
                said = [w for w in caught if "key" in str(w.message) or "peft" in str(w.message)]
            yield name, _offsets(offsets(model)) | {"warnings": len(said)}


def scale(seed: int) -> Iterator[tuple[str, Record]]:
    """One adapter, served at k times its scale."""
    from course_utils.reproductions.lesson_11.adapter_life import offsets, train
    from course_utils.reproductions.lesson_11.scaling import scaled

    run = train(seed=seed)
    for k in (0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, -1):
        with scaled(run.model, k) as model:
            yield f"{k:g}", _offsets(offsets(model))


def stages(seed: int) -> Iterator[tuple[str, Record]]:
    """Two stages of training; and a run that is resumed in three ways."""
    from course_utils.reproductions.lesson_11 import two_stages as two

    yield "second stage", two.second_stage(seed)
    for name, losses in two.resumed(seed).items():
        yield f"resumed: {name}", {f"loss {n}": round(one, 4) for n, one in enumerate(losses)}


def _log(run) -> Record:
    half = len(run.losses) // 2
    ends = {"first": run.losses[0], "half": run.losses[half], "last": run.losses[-1]}
    return {name: round(loss, 4) for name, loss in ends.items()}


def _offsets(found: dict[int | None, float]) -> Record:
    return {"none" if away is None else f"{away:+d}": share for away, share in found.items()}


TABLES: dict[str, Callable[[int], Iterator[tuple[str, Record]]]] = {
    "four jobs": four_jobs,
    "experts": experts,
    "head": head,
    "grid": grid,
    "edits": edits,
    "scale": scale,
    "stages": stages,
}


@click.command()
@click.argument("tables", nargs=-1, type=click.Choice(list(TABLES)))
def main(tables: tuple[str, ...]) -> None:
    """Record the named tables again, or all of them: some ten minutes of CPU."""
    kept = dict(_file())
    for table in tables or TABLES:
        rows: dict[str, list[Record]] = {}
        for seed in SEEDS:
            for name, record in TABLES[table](seed):
                rows.setdefault(name, []).append(record)
        kept[table] = rows
        FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        click.echo(f"{table}: {len(rows)} rows")


if __name__ == "__main__":
    main()
