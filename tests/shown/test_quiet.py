"""Warnings are shown as stable lines; only what is proven noise is silenced, and by name."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from course_utils.shown.quiet import NOISE

ROOT = Path(__file__).parents[2]
SOURCES = [*ROOT.glob("course_utils/**/*.py"), *ROOT.glob("solutions/*.py")]

# A filter without a message, or a whole library turned down to its errors.
BLANKET = re.compile(
    r"""filterwarnings\(\s*["']ignore["']\s*(,\s*category=\w+\s*)?\)|simplefilter\(\s*["']ignore"""
    r"""|setLevel\(\s*(logging\.)?(ERROR|CRITICAL)|set_verbosity_error|VERBOSITY["']:\s*["']error"""
    r"""|["']?log_level["']?\s*[:=]\s*["'](error|critical)"""
)


def printed(code: str) -> subprocess.CompletedProcess:
    lines = ["from course_utils.shown.quiet import quiet_libraries", "quiet_libraries()", code]
    command = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_nothing_is_silenced_wholesale():
    assert [source for source in SOURCES if BLANKET.search(source.read_text())] == []


@pytest.mark.parametrize(
    "blanket",
    [
        "warnings.filterwarnings('ignore')",
        "warnings.simplefilter('ignore')",
        'warnings.filterwarnings("ignore", category=UserWarning)',
        "logger.setLevel(logging.ERROR)",
        'os.environ |= {"TRANSFORMERS_VERBOSITY": "error"}',
    ],
)
def test_a_blanket_filter_would_be_found(blanket):
    assert BLANKET.search(blanket)


def test_a_warning_is_one_line_of_stdout_once():
    done = printed("import warnings\nfor _ in range(3): warnings.warn('look\\nhere')")
    assert done.stdout == "Python warns: look\n" and not done.stderr


def test_a_librarys_own_warning_is_shown_and_its_handler_adds_nothing():
    get = "from transformers.utils import logging\nlogging.get_logger('transformers.x')"
    done = printed(f"{get}.warning('mind')")
    assert done.stdout == "transformers warns: mind\n" and not done.stderr


@pytest.mark.parametrize("noise", NOISE)
def test_proven_noise_is_not_shown(noise):
    done = printed(f"import warnings\nwarnings.warn({noise!r})")
    assert not done.stdout and not done.stderr
