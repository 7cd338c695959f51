"""The settings needed to read a source a second time, as kept in a journal."""

from __future__ import annotations

from rocm_perf_lab.json_model import TOLERANT, JsonModel, Text


class UnitSettings(JsonModel):
    """Like hip_source.source.OtherUnit."""

    main: Text
    command: list[Text]
    folder: Text
    includes: bool
    files: list[Text]
    linked: bool = True


class SourceSettings(JsonModel):
    """build: the words of the compiler's command. folder: its working directory. main: the file that is compiled."""

    model_config = TOLERANT

    build: list[Text]
    folder: Text
    main: Text
    units: list[UnitSettings]
