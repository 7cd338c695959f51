"""Shared by the tests of packages: a wheel without native parts."""

import zipfile
from pathlib import Path

import pytest

from packaging_build import build


@pytest.fixture(scope="session")
def wheel(repository, tmp_path_factory) -> Path:
    return build(repository, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def unpacked(wheel, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder
