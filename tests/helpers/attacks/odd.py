"""Unusual but honest answers to 00.1, with the verdict and the words that each must get.

Above, below: cells of her own, above the answer, and between it and its check.
"""

RIGHT = "def mean_of(a, b):\n    return ((a.float() + b.float()) / 2).to(a.dtype)\n"
WRONG = "def mean_of(a, b):\n    return (a + b) / 2\n"
NO_PROCESS = "the box lets no cell start a process; write the answer out"

# name: (cells above, the answer, cells below, outcome, what is said)
ALL = {
    "figures in the notebook": ((), f"%matplotlib inline\n{RIGHT}", (), "passed", ""),
    "other magics of the page": (
        (),
        f"%config InlineBackend.figure_format = 'svg'\n%load_ext autoreload\n{RIGHT}",
        (),
        "passed",
        "",
    ),
    "a module of its own": (
        ("%%writefile mine.py\ndef wide(x):\n    return x.float()",),
        f"from mine import wide\n{RIGHT}",
        (),
        "passed",
        "",
    ),
    "timed": ((), f"%%time\n{RIGHT}", (), "passed", ""),
    "mended below": ((), "def mean_of(a, b: syntax", (RIGHT,), "passed", ""),
    "spoilt below": ((), RIGHT, (WRONG,), "wrong", ""),
    "a command of the system": ((), f"!ls\n{RIGHT}", (), "not graded", NO_PROCESS),
    "packages": ((), f"%pip list\n{RIGHT}", (), "not graded", NO_PROCESS),
    "a type of a known name": (
        (),
        "class Tensor:\n    pass\nmean_of = Tensor()",
        (),
        "wrong",
        "",
    ),
    "a large result": (
        (),
        "def mean_of(a, b):\n    return list(range(3_000_000))",
        (),
        "raised",
        "What your code gave cannot be read: it is larger than 4 MiB",
    ),
    "a name that is missing": (
        ("concepts.course_map()",),
        f"{RIGHT}\nprint(missing)",
        (),
        "raised",
        "its answer cell: NameError: name 'missing' is not defined",
    ),
}
