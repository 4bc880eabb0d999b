"""Exercise 02.5: six machines, which of them die, and what each needs."""

from course_utils.checks.declare import Criterion, Exercise
from course_utils.diagnostics.processes.cublas import CublasEnvironment, diagnose_cublas
from course_utils.shown.report import Table

LISTINGS = {
    "A": CublasEnvironment("2.5.1+cu121", "12.1", wheel="12.1.3.1", gpus=("NVIDIA H20",)),
    "B": CublasEnvironment("2.5.1", "12.4", wheel="12.4.5.8", gpus=("NVIDIA H20",)),
    "C": CublasEnvironment("2.5.1", "12.4", "12.4.5.8", "12.1.3.1", ("NVIDIA H20",)),
    "D": CublasEnvironment("2.5.1+cu121", "12.1", "12.1.3.1", "12.4.5.8", ("NVIDIA H20",)),
    "E": CublasEnvironment("2.5.1+cu121", "12.1", wheel="12.1.3.1", gpus=("NVIDIA H100",)),
    "F": CublasEnvironment("2.5.1+cu118", "11.8", "11.11.3.6", "12.1.3.1", ("NVIDIA H20",)),
}
PIP_INSTALL = "pip install nvidia-cublas-cu12==12.4.5.8"
NEEDS = {
    "nothing": "not affected",
    "wheel": f"affected: {PIP_INSTALL}",
    "path": "affected: take a folder off LD_LIBRARY_PATH",
    "unknown": "no report says, either way",
}


def need_of(environment: CublasEnvironment) -> str:
    """What the machine needs, as a key of NEEDS."""
    found = diagnose_cublas(environment)
    if found.verdict == "affected":
        return "path" if found.loaded_from == "LD_LIBRARY_PATH" else "wheel"
    return "nothing" if found.verdict == "not affected" else "unknown"


RIGHT = {letter: need_of(environment) for letter, environment in LISTINGS.items()}


def listings_table() -> Table:
    """The six machines as their owners would list them."""
    rows = [
        (letter, env.torch_version, env.cuda, env.wheel, env.on_library_path or "-", env.gpus[0])
        for letter, env in LISTINGS.items()
    ]
    columns = ("machine", "torch", "its CUDA", "nvidia-cublas", "on LD_LIBRARY_PATH", "GPU")
    return Table(columns=columns, rows=rows)


def word_for(needs: dict, letter: str) -> str:
    return str(needs.get(letter, needs.get(letter.lower(), "nothing at all"))).strip().lower()


def has_a_word_for_each_machine(needs: dict) -> str | None:
    strangers = [key for key in needs if str(key).upper() not in LISTINGS]
    if strangers:
        return f"there is no machine {strangers[0]!r}; they are {', '.join(LISTINGS)}"
    given = {str(key).upper() for key in needs}
    if missing := [letter for letter in LISTINGS if letter not in given]:
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    for letter in LISTINGS:
        if (word := word_for(needs, letter)) not in NEEDS:
            return f"for {letter} it says {word!r}, where one of {', '.join(NEEDS)} is asked"
    return None


def first_other_word(needs: dict, letters: str) -> str | None:
    """The first of `letters` whose word is not the tool's."""
    other = [letter for letter in letters if word_for(needs, letter) != RIGHT[letter]]
    return f"for {other[0]} it says {word_for(needs, other[0])!r}" if other else None


def the_wheel_decides(needs) -> str | None:
    return first_other_word(needs, "AB")


def torchs_own_folders_go_first(needs) -> str | None:
    return first_other_word(needs, "CD")


def only_what_is_known(needs) -> str | None:
    return first_other_word(needs, "E")


def another_major_is_not_loaded(needs) -> str | None:
    if word_for(needs, "F") == "unknown":
        return "for F it says 'unknown', and there is a report about such a torch on this GPU"
    return first_other_word(needs, "F")


MACHINES = Exercise(
    id="02.5",
    name="MACHINES",
    title="Six machines",
    minutes=5,
    difficulty="six words",
    points=4,
    reads="needs",
    expects=(dict,),
    hints=(
        "For each machine: which cuBLAS is loaded? Is it 12.1.3.1? Is the GPU one of the reports?",
        "All six are torch's own wheels. In which order does DT_RPATH let the loader search?",
        "libcublas.so.11 and libcublas.so.12 are two libraries: a torch built for CUDA 11.8 loads "
        "the first. And every report is from an H20.",
    ),
    form=has_a_word_for_each_machine,
    criteria=(
        Criterion(
            "A and B: the wheel that came with torch decides.",
            the_wheel_decides,
            why="torch 2.5.1 exists with both; the version of torch alone says nothing",
            next="compare the column nvidia-cublas with the versions above",
        ),
        Criterion(
            "C and D: the library that the loader finds first decides.",
            torchs_own_folders_go_first,
            why="an export in a start script changes only what the loader has not found before",
            next="read the order of the loader again; which of the two libraries is loaded in C, "
            "and which in D?",
        ),
        Criterion(
            "E: the answer says no more than the reports do.",
            only_what_is_known,
            why="a missing report proves neither that a GPU is safe nor that it is not",
            next="look at the GPUs of the reports",
        ),
        Criterion(
            "F: only the cuBLAS that this torch loads counts, and the reports about it.",
            another_major_is_not_loaded,
            why="torch asks for libcublas.so.11 or .so.12 by name",
            next="which does a torch built for CUDA 11.8 ask for, and what is reported of it?",
        ),
    ),
    answer=RIGHT,
)
