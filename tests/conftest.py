"""Pins one thread, quiets the libraries, shares the tests out, and offers JupyterLab to them.

At the end it prints what the tests left to `make prove`, which `whole.py` decides.
"""

import contextlib
import gc
import json
import os
import signal
import subprocess
from collections import defaultdict
from pathlib import Path

import by_lesson
import pytest
from lab_server import browser_page, fresh_course, lab_on
from site_server import served, site_in
from whole import IS_WHOLE, RUNS_OF_LESSONS, SECONDS, SLOW, measured, slow_ones
from xdist.workermanage import NodeManager

from course_utils.commands import main as course
from course_utils.diagnostics.preflight import script
from course_utils.notebook.warm import LIBRARIES, Warm, warm_process
from course_utils.shown.quiet import quiet_libraries

quiet_libraries()
# A job that a shell started in the background ignores Ctrl-C, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that every fixture still cleans up
NodeManager.EXIT_TIMEOUT = 60  # seconds to clean up in, before xdist kills a worker

collect_ignore = [
    "answers",
    "prove/traced",
    "helpers/scripts",
]  # imported as tests.answers, and by every process

LEFT: dict[str, int] = {}  # how many cases each test leaves to `make prove`
TOOK: dict[str, float] = defaultdict(float)  # seconds of each test of this run
RAN: set[str] = set()  # the tests that ran, and their files


def pytest_xdist_make_scheduler(config, log):
    from sharing_out import FilesAndLessons  # what is proved alone does not depend on it

    return FilesAndLessons(config, log)


def pytest_addoption(parser):
    parser.addoption("--lesson", help="only the tests of this lesson; none: those of no lesson")
    parser.addoption(
        "--measure",
        choices=("all", "rest"),
        help="keep the seconds of slow tests: of all, or of what would be run",
    )


def pytest_configure(config):
    gc.disable()  # until all is collected: it would go through what is read again and again
    by_lesson.only = config.getoption("lesson", None) or ""


@pytest.hookimpl(trylast=True)  # when -k and -m have chosen
def pytest_collection_modifyitems(config, items):
    if wanted := by_lesson.only:
        items[:] = [item for item in items if by_lesson.lesson_of(item.nodeid) == wanted]
    # One worker takes all tests of the site: begun last, they would keep the other waiting.
    items.sort(key=lambda item: not item.nodeid.startswith("tests/site/"))
    for item in items:
        for given in (given for mark in item.iter_markers("parametrize") for given in mark.args):
            if num_left := getattr(given, "num_left", 0):
                LEFT[item.nodeid.partition("[")[0]] = num_left
    if not IS_WHOLE and config.getoption("measure", None) != "all":
        _leave_slow_ones(config, items)


def _leave_slow_ones(config, items):
    """Of whole files: who asks for a test by its name gets it."""
    if any("::" in argument for argument in config.args):
        return
    may_leave = [item.nodeid for item in items if not item.get_closest_marker("kept")]
    left = slow_ones(may_leave, measured())
    for nodeid in left:
        test = nodeid.partition("[")[0]
        LEFT[test] = LEFT.get(test, 0) + 1
    items[:] = [item for item in items if item.nodeid not in left]


def pytest_runtest_logreport(report):
    RAN.update((report.nodeid, report.nodeid.partition("::")[0]))
    may_be_left = report.nodeid.startswith(RUNS_OF_LESSONS) and report.when == "setup"
    if report.nodeid.startswith("tests/") and (report.when == "call" or may_be_left):
        TOOK[report.nodeid] += report.duration


def pytest_collection_finish():
    """What collection made stays: the collector of garbage need not go through it again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_sessionfinish(session):
    getattr(session.config, "workeroutput", {})["left"] = LEFT
    wanted = session.config.getoption("measure", None)
    if wanted and not hasattr(session.config, "workerinput"):
        _keep_seconds(of_rest=wanted == "rest", is_part=bool(session.config.option.keyword))


def _keep_seconds(*, of_rest: bool, is_part: bool) -> None:
    """Write the slow tests of this run; those of the rest stand beside all that is known."""
    slow = {nodeid: round(took, 1) for nodeid, took in TOOK.items() if took > SLOW}
    files = {nodeid: nodeid.partition("::")[0] for nodeid in measured()}
    known = {n: s for n, s in measured().items() if Path(files[n]).exists()}
    if of_rest:
        found = slow | known
    else:  # of a part of each file the other tests keep theirs
        found = {n: s for n, s in known.items() if (n if is_part else files[n]) not in RAN} | slow
    SECONDS.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")


def pytest_testnodedown(node):
    LEFT.update(getattr(node, "workeroutput", {}).get("left", {}))


def pytest_terminal_summary(terminalreporter):
    if LEFT:
        terminalreporter.section("cases left to make prove (tests/helpers/whole.py)")
    for test, num_left in sorted(LEFT.items()):
        terminalreporter.write_line(f"{num_left:6,} more of {test}")


@pytest.fixture(scope="session")
def warm():
    """A process that has imported the libraries: the one of all kernels, or one of its own."""
    kernels = Warm(Path(os.environ.get("JUPYTER_PATH", "").partition(os.pathsep)[0]))
    with contextlib.nullcontext(kernels) if kernels.is_there else warm_process(LIBRARIES) as warm:
        yield warm


@pytest.fixture
def course_preflight(warm, monkeypatch, capfd):
    """The command, called here, in a folder; its child has the libraries of its start."""
    monkeypatch.setattr(script, "python_command", lambda _m, *module: warm.command(*module))

    def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
        monkeypatch.chdir(folder)
        with pytest.raises(SystemExit) as ended:
            course(["preflight", *arguments])
        return subprocess.CompletedProcess(arguments, ended.value.code, *capfd.readouterr())

    return call


@pytest.fixture(scope="module")
def lab_course(tmp_path_factory):
    """A reader's copy of the course; it is not trusted, as nothing that was downloaded is."""
    return fresh_course(tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="module")
def lab(lab_course):
    """The address of JupyterLab on that copy."""
    with lab_on(lab_course) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    with browser_page() as page:
        yield page


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site, the same for all workers."""
    for name in ("sphinx", "myst_nb", "sphinx_book_theme"):
        pytest.importorskip(name, reason=f"no {name} here: the site is not built")
    own = tmp_path_factory.getbasetemp()
    return site_in(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(scope="module")
def server(site):
    with served(site) as server:
        yield server


@pytest.fixture(scope="module")
def watched(browser):
    """The page, with what it asked of the network and what its console complained of."""
    browser.asked, browser.complaints = [], []
    browser.emulate_media(reduced_motion="reduce")  # or a side bar slides while it is looked at
    browser.on("request", lambda request: browser.asked.append(request))
    browser.on("pageerror", lambda error: browser.complaints.append(str(error)))
    browser.on(
        "console", lambda said: said.type == "error" and browser.complaints.append(said.text)
    )
    return browser


@pytest.fixture
def page(watched):
    """Its console has to stay silent in every test."""
    watched.complaints.clear()
    yield watched
    assert watched.complaints == []
