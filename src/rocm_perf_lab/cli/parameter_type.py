"""click's base class for option types. From click 8.4 on, it takes the type of the values as a type parameter."""

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
