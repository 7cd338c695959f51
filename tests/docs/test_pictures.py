"""The pictures in the documents can be taken again."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

import needs

PICTURES = Path(__file__).parents[2] / "docs" / "images"


def size(picture: Path) -> tuple[int, int]:
    """In pixels, from the header of the PNG file."""
    return struct.unpack(">2I", picture.read_bytes()[16:24])


@pytest.mark.slow
def test_both_pictures_are_taken_at_their_present_sizes(tmp_path):
    needs.program("chromium")
    subprocess.run([sys.executable, PICTURES / "take.py", tmp_path], check=True, capture_output=True)
    assert sorted(made.name for made in tmp_path.iterdir()) == ["report.png", "source.png"]
    assert all(size(made) == size(PICTURES / made.name) for made in tmp_path.iterdir())
