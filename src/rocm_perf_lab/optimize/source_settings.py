"""What has to be known to read a source again, as a journal keeps it."""

from __future__ import annotations

from rocm_perf_lab.json_model import TOLERANT, JsonModel, Text


class UnitSettings(JsonModel):
    """As hip_source.OtherUnit."""

    main: Text
    command: list[Text]
    folder: Text
    includes: bool
    files: list[Text]


class SourceSettings(JsonModel):
    """build: words of the compiler's command. folder: where it runs. main: the file that is compiled."""

    model_config = TOLERANT

    build: list[Text]
    folder: Text
    main: Text
    units: list[UnitSettings]
