"""The verdict on a machine follows from which cuBLAS is loaded and on which GPU."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_utils.diagnostics.processes import cublas
from course_utils.diagnostics.processes.cublas import CublasEnvironment, diagnose_cublas
from course_utils.diagnostics.processes.elf import read_dynamic
from course_utils.errors import BadRequest

H20 = ("NVIDIA H20",)
BAD, GOOD = "12.1.3.1", "12.4.5.8"


def environment(**changes):
    """The reported machine, with changes."""
    reported = dict(torch_version="2.5.1+cu121", cuda="12.1", wheel=BAD, gpus=H20)
    return CublasEnvironment(**(reported | changes))


def verdict(**changes):
    return diagnose_cublas(environment(**changes)).verdict


def test_the_reported_machine_is_affected_and_told_what_to_install():
    found = diagnose_cublas(environment())
    assert found.verdict == "affected" and f"nvidia-cublas-cu12=={GOOD}" in found.fix


@pytest.mark.parametrize("wheel", ["12.3.4.1", "12.4.5.8", "12.5.2.13"])
def test_versions_reported_to_work_are_not_affected(wheel):
    assert verdict(wheel=wheel) == "not affected"


def test_a_newer_version_is_not_affected_and_marked_as_inferred():
    found = diagnose_cublas(environment(cuda="13.0", torch_version="2.13.0", wheel="13.1.0.3"))
    assert found.verdict == "not affected" and "[inferred]" in found.why


@pytest.mark.parametrize("gpu", ["NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA GeForce RTX 3060"])
def test_the_faulty_version_on_another_gpu_cannot_be_told(gpu):
    assert verdict(gpus=(gpu,)) == "cannot tell"


@pytest.mark.parametrize("gpu", ["NVIDIA H20", "H20", "NVIDIA H20 96GB"])
def test_one_h20_among_other_gpus_is_enough(gpu):
    assert verdict(gpus=("NVIDIA H100", gpu)) == "affected"


def test_a_library_on_the_path_is_not_loaded_where_torchs_own_folders_go_first():
    good = diagnose_cublas(environment(wheel=GOOD, on_library_path=BAD))
    bad = diagnose_cublas(environment(on_library_path=GOOD))
    assert (good.verdict, good.loaded_from) == ("not affected", "wheel")
    assert (bad.verdict, bad.loaded_from) == ("affected", "wheel") and "pip install" in bad.fix
    assert "torch's own folders, then LD_LIBRARY_PATH (DT_RPATH)" in bad.text()


def test_with_a_runpath_a_library_on_the_path_wins_over_a_good_wheel():
    found = diagnose_cublas(environment(wheel=GOOD, on_library_path=BAD, search="RUNPATH"))
    assert found.verdict == "affected" and found.loaded_from == "LD_LIBRARY_PATH"
    assert "LD_LIBRARY_PATH" in found.fix and "pip install" not in found.fix
    assert "LD_LIBRARY_PATH, then torch's own folders" in found.text()


def test_with_a_runpath_a_good_library_on_the_path_saves_a_bad_wheel():
    assert verdict(on_library_path="12.5.2.13", search="RUNPATH") == "not affected"


def test_an_order_that_was_not_read_decides_nothing_unless_both_are_the_same():
    assert verdict(wheel=GOOD, on_library_path=BAD, search="unknown") == "cannot tell"
    assert verdict(on_library_path=BAD, search="unknown") == "affected"
    with pytest.raises(BadRequest, match="search='rpath'"):
        verdict(search="rpath")


def test_a_file_name_with_three_numbers_is_recognised_as_the_faulty_version():
    assert verdict(wheel=GOOD, on_library_path="12.1.3", search="RUNPATH") == "affected"


def test_a_system_library_of_another_major_version_is_not_loaded():
    found = diagnose_cublas(environment(wheel=GOOD, on_library_path="11.6.5.2"))
    assert (found.verdict, found.loaded_from) == ("not affected", "wheel")


def test_a_cu121_build_without_a_wheel_bundles_the_faulty_version():
    found = diagnose_cublas(environment(wheel=None))
    assert found.verdict == "affected" and "[inferred]" in found.loaded_from
    assert "install torch anew" in found.fix  # neither wheel nor path replaces a bundled file
    older = diagnose_cublas(environment(wheel=None, search="RUNPATH"))
    assert "LD_LIBRARY_PATH" in older.fix  # LlamaFactory#2750


def test_a_cu118_build_and_builds_without_cuda_or_gpu_are_not_affected():
    assert verdict(cuda="11.8", torch_version="2.5.1+cu118", wheel=None) == "not affected"
    assert verdict(cuda=None, torch_version="2.13.0+cpu") == "not affected"
    assert verdict(gpus=()) == "not affected"


@pytest.mark.parametrize(
    "unknown",
    [
        {"wheel": "12.2.5.6"},
        {"on_library_path": "unknown", "search": "RUNPATH"},
        {"wheel": None, "cuda": "12.2"},
    ],
)
def test_what_nobody_reported_on_cannot_be_told_and_still_has_a_way_out(unknown):
    found = diagnose_cublas(environment(**unknown))
    assert found.verdict == "cannot tell" and GOOD in found.fix


def test_the_library_path_is_read_in_order_and_through_links(tmp_path):
    for name, file in {"a": "libcudart.so.12", "b": "libcublas.so.12.1.3.1"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / file).touch()
    (tmp_path / "b" / "libcublas.so.12").symlink_to("libcublas.so.12.1.3.1")
    path = f"{tmp_path / 'a'}:{tmp_path / 'b'}:/no/such/folder"
    assert cublas._library_path_version(path, "12.1") == BAD
    assert cublas._library_path_version(path, "11.8") is None
    (tmp_path / "a" / "libcublas.so.12").touch()  # a file that does not say its version
    assert cublas._library_path_version(path, "12.1") == "unknown"


@pytest.fixture
def linked(tmp_path):
    """A library linked as torch's is, with a wheel's library in its own folder."""
    if not shutil.which("gcc"):
        pytest.skip("needs a linker")

    def link(name, *, needs="", dtags):
        source = ["gcc", "-shared", "-nostdlib", "-o", str(tmp_path / name), "-x", "c", "-"]
        source += [f"-Wl,-soname,{Path(name).name}"]
        if needs:
            source += [
                "-x",
                "none",
                "-Wl,--no-as-needed",
                str(tmp_path / needs),
                f"-Wl,--{dtags}-new-dtags",
            ]
            source += ["-Wl,-rpath,$ORIGIN/../nvidia/lib:$ORIGIN"]
        subprocess.run(source, input="int f(void){return 1;}", text=True, check=True)
        return tmp_path / name

    for folder in ("nvidia/lib", "torch", "system"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("nvidia/lib", "system"):
        link(f"{folder}/libcublas.so.12", dtags="enable")
    return lambda dtags: link("torch/libtorch_cuda.so", needs="system/libcublas.so.12", dtags=dtags)


@pytest.mark.skipif(sys.platform != "linux", reason="ELF")
@pytest.mark.parametrize(
    ("dtags", "search", "loaded"),
    [("disable", "RPATH", "nvidia/lib"), ("enable", "RUNPATH", "system")],
)
def test_the_order_read_from_the_file_is_the_one_in_which_the_loader_searches(
    linked, tmp_path, dtags, search, loaded
):
    library = linked(dtags)
    assert cublas._search(library, "12.1") == search
    assert read_dynamic(library).needed[0] == "libcublas.so.12"
    told = subprocess.run(
        ["ldd", library],
        env={"LD_LIBRARY_PATH": str(tmp_path / "system")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{loaded}/libcublas.so.12" in told.stdout
    (tmp_path / "nvidia/lib/libcublas.so.12").unlink()  # then its own folders have none to give
    assert cublas._search(library, "12.1") == "RUNPATH"


def test_a_file_that_is_no_library_is_not_read(tmp_path):
    (tmp_path / "text.so").write_text("no library")
    assert read_dynamic(tmp_path / "text.so") is None
    assert cublas._search(tmp_path / "absent.so", "12.1") == "unknown"


def test_this_machine_can_be_read_and_judged():
    found = diagnose_cublas(cublas.read_cublas_environment())
    assert found.verdict in ("affected", "not affected", "cannot tell")
    assert found.headline and found.to_dict()["environment"]["torch_version"]
