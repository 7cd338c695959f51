"""What `rocm-perf autotune --triton --json` prints."""

from __future__ import annotations

from pydantic import Field

from rocm_perf_lab.autotune.autotune_document import AutotuneDocument
from rocm_perf_lab.autotune.results import document
from rocm_perf_lab.autotune.triton_kernel.configuration_list import best_configurations
from rocm_perf_lab.autotune.triton_kernel.tune import TunedFunction
from rocm_perf_lab.json_model import JsonModel, Scalar


class TunedSizeSection(JsonModel):
    """One problem size."""

    key: dict[str, Scalar] = Field(description="the launch arguments that identify the size")
    compiled: int = Field(description="number of configurations compiled before the first ran; 0 for spaces too large for that")
    compile_seconds: float = Field(description="wall time spent compiling these")
    search_seconds: float = Field(description="wall time of the search after that")
    search: AutotuneDocument = Field(description="the search, as without --triton")


class ConfigurationSection(JsonModel):
    """A configuration for `@triton.autotune`."""

    configuration: dict[str, Scalar] = Field(description="value of each parameter")
    best_for: list[dict[str, Scalar]] = Field(description="the keys of all sizes for which it is the best")


class TritonTuningDocument(JsonModel):
    """The best configurations of a Triton function."""

    kernel: str = Field(description="name of the function")
    device: str = Field(description="the device that ran the configurations")
    exit_status: int = Field(description="exit status of the script, which used the best configurations in the end")
    configurations: list[ConfigurationSection] = Field(description="the best configurations for all sizes, each listed once")
    sizes: list[TunedSizeSection] = Field(description="one object per problem size, in the order of the script")


def tuning_document(tuned: TunedFunction) -> TritonTuningDocument:
    return TritonTuningDocument(
        kernel=tuned.kernel,
        device=tuned.device,
        exit_status=tuned.exit_status,
        configurations=[
            ConfigurationSection(configuration=values, best_for=keys) for values, keys in best_configurations(tuned)
        ],
        sizes=[
            TunedSizeSection(
                key=size.key,
                compiled=size.compiled,
                compile_seconds=size.compile_seconds,
                search_seconds=size.search_seconds,
                search=document(size.result),
            )
            for size in tuned.sizes
        ],
    )
