"""click's base class for option types, made to accept a type parameter; click's own is generic only since click 8.4."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click import ParamType
else:

    class ParamType(click.ParamType):
        def __class_getitem__(cls, _values: object) -> type:
            return cls


__all__ = ["ParamType"]
