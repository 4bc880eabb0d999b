"""Whether a bf16 matrix product dies with "Floating point exception" on this machine.

A pure verdict on a description of the machine, and a reader for the real one. Nothing is
multiplied here: on an affected machine that would end the process.

float16 products die as well: vllm#2798, vllm#4392, pytorch#152017.

Which of two libraries is loaded is decided by how torch's own library names its folders: DT_RPATH
goes before LD_LIBRARY_PATH, DT_RUNPATH after it (ld.so(8)). Read in the wheels on the package
index: torch 2.1.2, 2.4.1, 2.5.1 and 2.13.0 carry DT_RPATH, on purpose (pytorch/builder#1150), so
there a library on LD_LIBRARY_PATH is not loaded. Others do not: torch 1.12 for CUDA 11.3
(pytorch#80637), conda's of 2019 (pytorch#19309), ROCm's of 2023 (pytorch/builder#1468), and most
built from source.

Sources: huggingface/trl#2906; pytorch#133548 and #152017; vllm#2798 and #4392; Paddle#66921;
LlamaFactory#2750 and #6741; Seed-Coder#11; EasyAnimate#32; diffusers#11241. All of them on H20.
"""

import os
import subprocess
import sysconfig
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shutil import which

from course_utils.diagnostics.processes.elf import read_dynamic
from course_utils.errors import BadRequest
from course_utils.shown.report import Report, Table

KNOWN_BAD = "12.1.3.1"
# LlamaFactory#2750; diffusers#11241, lmdeploy#3342, Seed-Coder#11; vllm#4392.
KNOWN_GOOD = ("12.3.4.1", "12.4.5.8", "12.5.2.13")
RECOMMENDED = "12.4.5.8"
GOOD_CUDA = "11.8"  # EasyAnimate#32, HunyuanVideo#11
AFFECTED_GPU = "H20"
# [inferred] CUDA 12.1 builds of torch pin or bundle 12.1.3.1; read for torch 2.4.1's metadata.
PINNED = {"12.1": KNOWN_BAD}
SEARCHED = {
    "RPATH": "torch's own folders, then LD_LIBRARY_PATH (DT_RPATH)",
    "RUNPATH": "LD_LIBRARY_PATH, then torch's own folders (DT_RUNPATH)",
    "unknown": "in an order that could not be read",
}
WHEELS = {"11": "nvidia-cublas-cu11", "12": "nvidia-cublas-cu12", "13": "nvidia-cublas"}


@dataclass(frozen=True)
class CublasEnvironment:
    """The facts that decide which cuBLAS runs on which GPU.

    Attributes:
        torch_version: as torch says it, such as "2.5.1+cu121".
        cuda: CUDA that torch was built for, such as "12.1"; None for a build without CUDA.
        wheel: version of the installed nvidia-cublas wheel; None if there is none.
        on_library_path: version of the libcublas that LD_LIBRARY_PATH finds first; "unknown" if
            its file name does not say; None if there is none. One of another major version than
            `cuda` has another name, and is not looked at.
        gpus: names of the GPUs; empty if there is none.
        search: how libtorch_cuda.so names the folders of its libraries. "RPATH", as in torch's
            own CUDA wheels: before LD_LIBRARY_PATH. "RUNPATH": after it. "unknown": not read.
    """

    torch_version: str
    cuda: str | None
    wheel: str | None = None
    on_library_path: str | None = None
    gpus: tuple[str, ...] = ()
    search: str = "RPATH"


@dataclass(frozen=True)
class CublasDiagnosis(Report):
    """The verdict ("affected", "not affected", "cannot tell"), why, and what to install."""

    environment: CublasEnvironment
    verdict: str
    why: str
    fix: str = ""
    version: str | None = None  # of the cuBLAS that is loaded, as far as known
    loaded_from: str = ""

    @property
    def headline(self) -> str:
        return f"bf16 SIGFPE of trl#2906: {self.verdict}; {self.why}"

    def table(self) -> Table:
        env = self.environment
        rows = [
            ("torch", f"{env.torch_version}, CUDA {env.cuda or 'none'}"),
            ("GPU", ", ".join(env.gpus) or "none"),
            ("cuBLAS", f"{self.version} ({self.loaded_from})" if self.version else "not known"),
        ]
        rows += [("searched", SEARCHED[env.search])] if env.on_library_path else []
        rows += [("what to do", self.fix)] if self.fix else []
        return Table(columns=("item", "found"), rows=rows)

    def to_dict(self) -> dict:
        return asdict(self)


def diagnose_cublas(environment: CublasEnvironment) -> CublasDiagnosis:
    """Say whether bf16 matrix products can die of SIGFPE on this machine.

    "Not affected" is said only with a reason; other Hopper GPUs with the bad version, and versions
    nobody reported on, give "cannot tell".

    >>> h20 = CublasEnvironment("2.5.1+cu121", "12.1", wheel="12.1.3.1", gpus=("NVIDIA H20",))
    >>> print(diagnose_cublas(h20).headline)
    bf16 SIGFPE of trl#2906: affected; cuBLAS 12.1.3.1 on an H20 is the reported pair
    """
    _check_search(environment.search)
    loaded, loaded_from = _loaded(environment)

    def verdict(word: str, why: str, fix: str = "") -> CublasDiagnosis:
        return CublasDiagnosis(environment, word, why, fix, loaded, loaded_from)

    if environment.cuda is None:
        return verdict("not affected", "this torch has no CUDA, so no cuBLAS is loaded")
    if not environment.gpus:
        return verdict("not affected", "there is no GPU, so no cuBLAS is called")
    if environment.cuda == GOOD_CUDA:
        return verdict("not affected", f"torch built for CUDA {GOOD_CUDA} is reported to work")
    if loaded in (None, "unknown"):
        fix = f"unset LD_LIBRARY_PATH, and install nvidia-cublas-cu12=={RECOMMENDED}"
        return verdict("cannot tell", "the version of the cuBLAS that is loaded is not known", fix)
    if loaded in KNOWN_GOOD:
        return verdict("not affected", f"cuBLAS {loaded} is reported to work")
    if _numbers(loaded) > _numbers(KNOWN_GOOD[0]):
        why = f"cuBLAS {loaded} is newer than {KNOWN_GOOD[0]}, which works [inferred]"
        return verdict("not affected", why)
    fix = _replace(environment, loaded_from)
    if not _is_version(loaded, KNOWN_BAD):
        return verdict("cannot tell", f"nobody reported on cuBLAS {loaded}, either way", fix)
    if any(AFFECTED_GPU in gpu.split() for gpu in environment.gpus):
        pair = f"cuBLAS {loaded} on an {AFFECTED_GPU} is the reported pair"
        return verdict("affected", pair, fix)
    why = f"cuBLAS {loaded} is the faulty one, but every report is from an {AFFECTED_GPU}"
    return verdict("cannot tell", why, fix)


def read_cublas_environment() -> CublasEnvironment:
    """Describe this machine, without starting CUDA in this process.

    >>> read_cublas_environment().torch_version.split(".")[0]
    '2'
    """
    import torch  # takes seconds, and the verdict on a description does not need it

    cuda = torch.version.cuda
    return CublasEnvironment(
        torch_version=torch.__version__,
        cuda=cuda,
        wheel=_wheel_version(cuda),
        on_library_path=_library_path_version(os.environ.get("LD_LIBRARY_PATH", ""), cuda),
        gpus=_gpu_names(),
        search=_search(Path(torch.__file__).parent / "lib" / "libtorch_cuda.so", cuda),
    )


def _check_search(search: str) -> None:
    if search not in SEARCHED:
        raise BadRequest(
            f"search={search!r}",
            why="it says whether torch's own folders are searched before LD_LIBRARY_PATH",
            fix=f"give one of {', '.join(map(repr, SEARCHED))}",
        )


def _loaded(env: CublasEnvironment) -> tuple[str | None, str]:
    """Version of the cuBLAS that wins, and where it comes from."""
    found, own = env.on_library_path, _own(env)
    fits = found and (found == "unknown" or found.split(".")[0] == _major(env.cuda))
    if fits and env.search == "unknown" and own[0] not in (None, found):
        return "unknown", "LD_LIBRARY_PATH or torch's own folders"
    if fits and (env.search == "RUNPATH" or own[0] is None):
        return found, "LD_LIBRARY_PATH"
    return own


def _own(env: CublasEnvironment) -> tuple[str | None, str]:
    """Version of the cuBLAS in torch's own folders, and what put it there."""
    if env.wheel:
        return env.wheel, "wheel"
    if env.cuda in PINNED:
        return PINNED[env.cuda], f"bundled with torch for CUDA {env.cuda} [inferred]"
    return None, ""


def _replace(env: CublasEnvironment, loaded_from: str) -> str:
    wheel = f"pip install nvidia-cublas-cu12=={RECOMMENDED}"
    if loaded_from == "LD_LIBRARY_PATH":
        first = "take the folder with this libcublas off LD_LIBRARY_PATH: it wins over any wheel"
        return first if env.wheel in KNOWN_GOOD else f"{first}; then {wheel}"
    if loaded_from == "wheel":
        return f"{wheel} (or a torch built for CUDA {GOOD_CUDA})"
    if env.search == "RPATH":  # neither a wheel nor LD_LIBRARY_PATH replaces a bundled file
        return f"install torch anew with pip, so that its cuBLAS is a wheel; then {wheel}"
    # LlamaFactory#2750: a wheel does not replace a bundled file, but LD_LIBRARY_PATH goes first.
    return f"{wheel}, and put its folder nvidia/cublas/lib on LD_LIBRARY_PATH"


def _major(cuda: str | None) -> str | None:
    return cuda.split(".")[0] if cuda else None


def _numbers(version: str) -> list[int]:
    """The parts of a version of cuBLAS: numbers, which sort otherwise than their text."""
    return [int(part) for part in version.split(".")]


def _is_version(version: str, reference: str) -> bool:
    """File names often end after three numbers: 12.1.3 may be 12.1.3.1."""
    return reference.split(".")[: len(version.split("."))] == version.split(".")


def _wheel_version(cuda: str | None) -> str | None:
    try:
        return version(WHEELS.get(_major(cuda), WHEELS["12"]))
    except PackageNotFoundError:
        return None


def _library_path_version(library_path: str, cuda: str | None) -> str | None:
    for folder in filter(None, library_path.split(os.pathsep)):
        for library in sorted(Path(folder).glob(f"libcublas.so.{_major(cuda)}*")):
            file = library.resolve()
            if file.is_relative_to(Path(sysconfig.get_path("purelib")).resolve()):
                return _wheel_version(cuda) or "unknown"  # the wheel's own, put first by hand
            number = file.name.removeprefix("libcublas.so.")
            return number if "." in number else "unknown"
    return None


def _search(library: Path, cuda: str | None) -> str:
    """How torch's library finds cuBLAS; its own folders count only if cuBLAS lies in one."""
    dynamic = read_dynamic(library)
    if dynamic is None:
        return "RPATH" if cuda is None else "unknown"  # without CUDA nothing is looked for
    name = f"libcublas.so.{_major(cuda)}"
    holds = any(Path(folder, name).exists() for folder in dynamic.rpath)
    return dynamic.search if holds else "RUNPATH"


def _gpu_names() -> tuple[str, ...]:
    if not which("nvidia-smi"):
        return ()
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return tuple(found.stdout.splitlines()) if found.returncode == 0 else ()
