"""Python's signal module without its enumerations of signal numbers, which take milliseconds to build."""

TYPE_CHECKING = False  # like typing.TYPE_CHECKING, but typing is slow to import
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

__all__ = ["signal"]
