"""What `rocm-perf autotune --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab.json_model import JsonModel, Scalar, SparseModel, Text


class EvaluationSection(JsonModel):
    """One configuration and its result."""

    configuration: dict[str, Scalar] = Field(description="value of each parameter")
    status: str = Field(description="ok, build-failed, failed, timeout, wrong-output or lost")
    reason: Text | None = Field(description="why it failed; null if it did not")
    ms: float | None = Field(description="median of the runs, in ms; null if it failed")
    cv: float | None = Field(description="standard deviation / mean of the runs; null with fewer than two, or if it failed")
    runs: list[float] = Field(description="time of each run, in ms")
    measure: str | None = Field(description="gpu, wall or recorded; null if it failed")
    modelled: bool = Field(description="whether times come from the software device's timing model")
    unstable: bool = Field(description="whether its runs vary too much")
    resources: dict[str, int] | None = Field(
        description="vgprs, lds_bytes and workgroup_size of the kernel that took longest; null if not known"
    )
    reused: bool = Field(description="whether it came from the cache")


class Confidence(JsonModel):
    """Confidence interval of the best configuration."""

    low_ms: float = Field(description="lower end of the 95 % confidence interval of the mean of its runs, in ms")
    high_ms: float = Field(description="upper end of the interval, in ms")
    ahead_of_next: bool | None = Field(
        description="whether the interval ends below the next best configuration's; null if not known"
    )


class BestProfile(JsonModel):
    """The profile of the best configuration."""

    run_directory: Text = Field(description="folder of the documents and the traces")
    runtime_ms: float | None = Field(description="as in profile.json; null if not known")
    cv: float | None = Field(description="as in profile.json; null if not known")
    timing: Literal["measured", "modelled"] = Field(description="measured or modelled")
    kernel: str = Field(description="demangled name of the kernel that profile.json is about")
    bottleneck: str | None = Field(description="its bottleneck, as in analysis.json; null if not known")


class ModelSection(SparseModel):
    """The quality of the strategy's model, for configurations that it had not seen."""

    r2: float | None = Field(default=None, description="coefficient of determination; null with too few results")
    residual: float | None = Field(
        default=None, description="root mean square error of the logarithm of time; null with too few results"
    )
    warning: str | None = Field(default=None, description="why the model may be unreliable; absent if there is no reason")


class AutotuneDocument(JsonModel):
    """What a search found."""

    strategy: str = Field(description="search strategy")
    seed: int = Field(description="random seed")
    budget: int = Field(description="maximum number of evaluations allowed")
    device: Text = Field(description="the device that ran the configurations")
    evaluated: int = Field(description="number of configurations with a result")
    reused: int = Field(description="number of these that came from the cache")
    failed: int = Field(description="number of these that failed")
    unstable: int = Field(description="number of these whose runs vary too much")
    total: int | None = Field(description="number of valid configurations that can be launched; null if too many to count")
    unlaunchable: int | None = Field(description="number of valid configurations that cannot be launched; null if not counted")
    best: EvaluationSection | None = Field(description="the best configuration; null if none ran")
    confidence: Confidence | None = Field(
        description="confidence interval of the best; null if times are modelled, or if it ran only once"
    )
    profile: BestProfile | None = Field(description="profile of the best; null without --profile")
    speedup_over_default: float | None = Field(
        description="speed-up of the best over the defaults; null if the defaults were not measured"
    )
    model: ModelSection | None = Field(description="the strategy's model; null if it has none")
    importance: dict[str, float] | None = Field(
        description="per parameter: how much worse decision trees predict the times if its values are shuffled, as a share of "
        "the sum over all parameters; null if not known"
    )
    fixed: dict[str, Scalar] = Field(description="values that the space does not vary")
    evaluations: list[EvaluationSection] = Field(description="one object per evaluation, in order")
    reasons: dict[str, str] = Field(description="field -> why it is null")
