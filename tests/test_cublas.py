"""The verdict on a machine follows from which cuBLAS is loaded and on which GPU."""

import pytest

from course_utils.diagnostics import cublas
from course_utils.diagnostics.cublas import CublasEnvironment, diagnose_cublas

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


def test_a_system_library_wins_over_a_good_wheel():
    found = diagnose_cublas(environment(wheel=GOOD, on_library_path=BAD))
    assert found.verdict == "affected" and found.loaded_from == "LD_LIBRARY_PATH"
    assert "LD_LIBRARY_PATH" in found.fix and "pip install" not in found.fix


def test_a_good_system_library_saves_a_bad_wheel():
    assert verdict(on_library_path="12.5.2.13") == "not affected"


def test_a_file_name_with_three_numbers_is_recognised_as_the_faulty_version():
    assert verdict(wheel=GOOD, on_library_path="12.1.3") == "affected"


def test_a_system_library_of_another_major_version_is_not_loaded():
    found = diagnose_cublas(environment(wheel=GOOD, on_library_path="11.6.5.2"))
    assert (found.verdict, found.loaded_from) == ("not affected", "wheel")


def test_a_cu121_build_without_a_wheel_bundles_the_faulty_version():
    found = diagnose_cublas(environment(wheel=None))
    assert found.verdict == "affected" and "[inferred]" in found.loaded_from
    assert "LD_LIBRARY_PATH" in found.fix  # a wheel alone does not replace a bundled file


def test_a_cu118_build_and_builds_without_cuda_or_gpu_are_not_affected():
    assert verdict(cuda="11.8", torch_version="2.5.1+cu118", wheel=None) == "not affected"
    assert verdict(cuda=None, torch_version="2.13.0+cpu") == "not affected"
    assert verdict(gpus=()) == "not affected"


@pytest.mark.parametrize(
    "unknown",
    [{"wheel": "12.2.5.6"}, {"on_library_path": "unknown"}, {"wheel": None, "cuda": "12.2"}],
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


def test_this_machine_can_be_read_and_judged():
    found = diagnose_cublas(cublas.read_cublas_environment())
    assert found.verdict in ("affected", "not affected", "cannot tell")
    assert found.headline and found.to_dict()["environment"]["torch_version"]
