"""Exercise 11.7: which tensors of an adapter's file fill which of the model's, both ways."""

from collections.abc import Callable

from course_utils.checks.declare import Criterion, Exercise

Shapes = dict[str, tuple[int, ...]]
PARTS = ("filled", "missing", "unexpected")
Q, V = "base_model.model.layers.0.q_proj", "base_model.model.layers.0.v_proj"


def _model(*layers: str) -> Shapes:
    shapes = {"lora_A": (8, 128), "lora_B": (128, 8)}
    return {f"{at}.{x}.default.weight": shape for at in layers for x, shape in shapes.items()}


def _file(*layers: str) -> Shapes:
    return {name.replace(".default.weight", ".weight"): s for name, s in _model(*layers).items()}


# Each case: the file, the model, and what to name it by in a message.
PLAIN = (_file(Q, V), _model(Q, V), "file and model that fit")
HALF = (_file(Q), _model(Q, V), "a file without v_proj")
MORE = (_file(Q, V), _model(Q), "a model without v_proj")
PREFIX = (
    {f"language_model.{name}": shape for name, shape in _file(Q, V).items()},
    _model(Q, V),
    "a file whose names begin with language_model.",
)
SWAPPED = (_file(Q), _model(V), "one layer in the file, another in the model")
RANK = (
    {name: tuple(4 if n == 8 else n for n in shape) for name, shape in _file(Q, V).items()},
    _model(Q, V),
    "a file of rank 4 and a model of rank 8",
)
TURNED = (
    {name: shape[::-1] for name, shape in _file(Q, V).items()},
    _model(Q, V),
    "a file whose matrices are transposed",
)
WIDER = (
    _file(Q) | {f"{Q}.lora_B.weight": (256, 8)},
    _model(Q),
    "a file in which lora_B alone has another shape",
)
NAMED = (
    _file("base_model.model.default.q_proj", "base_model.model.q_proj"),
    _model("base_model.model.default.q_proj", "base_model.model.q_proj"),
    "a model with a part that is called default",
)
ALONE = (
    _file("base_model.model.default.q_proj"),
    _model("base_model.model.q_proj"),
    "a file with a part that is called default, and a model without it",
)
EMPTY = ({}, _model(Q), "an empty file")


def expected(file: Shapes, model: Shapes) -> dict[str, list[str]]:
    """The right answer, found tensor by tensor."""
    found = {part: [] for part in PARTS}
    taken = set()
    for name, shape in model.items():
        head, _, tail = name.rpartition(".default.")
        written = f"{head}.{tail}"
        fits = file.get(written) == shape
        found["filled" if fits else "missing"].append(name)
        taken |= {written} if fits else set()
    found["unexpected"] = [name for name in file if name not in taken]
    return {part: sorted(names) for part, names in found.items()}


def gives_three_lists(keys: Callable) -> str | None:
    got = keys(*_copies(PLAIN))
    if not isinstance(got, dict) or set(got) != set(PARTS):
        said = sorted(map(str, got)) if isinstance(got, dict) else type(got).__name__
        return f"it returns {said}; a dict with the keys {', '.join(PARTS)} is needed"
    for part, names in got.items():
        if not isinstance(names, (list, tuple, set, frozenset)):
            return f"{part} is a {type(names).__name__}; a list of names is needed"
        if not all(isinstance(name, str) for name in names):
            return f"{part} holds something that is no name: {list(names)[:1]}"
    return None


def _copies(case: tuple) -> tuple[Shapes, Shapes]:
    file, model, _ = case
    return dict(file), dict(model)


def _part(part: str, *cases: tuple) -> Callable:
    def look(keys: Callable) -> str | None:
        for case in cases:
            got = sorted(keys(*_copies(case))[part])
            want = expected(*_copies(case))[part]
            if got != want:
                wrong = next(iter(set(got) ^ set(want)), "a name twice")
                verb = "does not list" if wrong in want else "lists"
                return f"for {case[2]}, {part!r} {verb} {wrong}"
        return None

    return look


def finds_the_filled(keys: Callable) -> str | None:
    return _part("filled", PLAIN, HALF, NAMED, ALONE)(keys)


def finds_the_missing(keys: Callable) -> str | None:
    return _part("missing", PLAIN, HALF, PREFIX, EMPTY)(keys)


def finds_the_unexpected(keys: Callable) -> str | None:
    return _part("unexpected", PLAIN, MORE, PREFIX, SWAPPED)(keys)


def compares_shapes(keys: Callable) -> str | None:
    looks = (_part(part, RANK, TURNED, WIDER) for part in PARTS)
    return next((saw for look in looks if (saw := look(keys))), None)


def keys_both_ways(file, model):
    written = {name.replace(".default.weight", ".weight"): name for name in model}
    fits = {n for n, shape in file.items() if n in written and model[written[n]] == shape}
    filled = {written[name] for name in fits}
    return {
        "filled": sorted(filled),
        "missing": sorted(set(model) - filled),
        "unexpected": sorted(set(file) - fits),
    }


KEYS = Exercise(
    id="11.7",
    name="KEYS",
    title="Keys, both ways",
    minutes=7,
    difficulty="a few lines",
    points=3,
    reads="keys",
    expects=(Callable,),
    hints=(
        "Which name does the file have for a tensor that the model calls "
        "`q_proj.lora_A.default.weight`?",
        "Make a dict from the name in the file to the name in the model. A name fits if it is "
        "equal; a name that only ends alike does not.",
        "filled: the model's names whose name in the file exists with the same shape. missing: the "
        "model's other names. unexpected: the file's other names.",
    ),
    form=gives_three_lists,
    criteria=(
        Criterion(
            "filled holds the model's tensors that the file fills, and no other.",
            finds_the_filled,
            why="the file has no adapter name in its keys, and the model has one",
            next="cut `.default` where it stands just before `.weight`, and nowhere else",
        ),
        Criterion(
            "missing holds the model's tensors that nothing fills.",
            finds_the_missing,
            why="a missing lora_B stays 0, so this layer answers as the base",
            next="call keys with an empty file",
        ),
        Criterion(
            "unexpected holds the file's tensors that fill nothing.",
            finds_the_unexpected,
            why="PEFT warns of missing names only; a trained tensor can be dropped in silence",
            next="call keys with a file that has one layer more than the model",
        ),
        Criterion(
            "A tensor of another shape fills nothing.",
            compares_shapes,
            why="engines that copy into a slot of fixed size may pad or cut it",
            next="compare the shapes as well as the names",
        ),
    ),
    answer=keys_both_ways,
)
