"""The native parts are found where the documentation says, in that order."""

import pytest

from rocm_perf_lab import native
from rocm_perf_lab.errors import UnavailableError


@pytest.mark.parametrize("layout", ["", "lib"])
def test_the_environment_names_a_build_folder_or_a_flat_one(tmp_path, monkeypatch, layout):
    library = tmp_path / layout / native.DEVICE
    library.parent.mkdir(exist_ok=True)
    library.touch()
    monkeypatch.setenv(native.NATIVE_DIR_VARIABLE, str(tmp_path))
    assert native.device_library() == library


def test_a_wrong_setting_is_an_error_even_where_a_build_exists(tmp_path, monkeypatch):
    monkeypatch.setenv(native.NATIVE_DIR_VARIABLE, str(tmp_path))
    with pytest.raises(UnavailableError, match=f"{native.TRACER}.*{tmp_path}.*cmake"):
        native.tracer_library()


def test_an_editable_install_finds_the_build_in_the_repository(monkeypatch, repository):
    monkeypatch.delenv(native.NATIVE_DIR_VARIABLE, raising=False)
    assert native.search_folders()[-1] == repository / "build"
