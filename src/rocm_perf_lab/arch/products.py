"""The products in products.toml."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

from rocm_perf_lab.toml import tomllib


@dataclass(frozen=True)
class Product:
    """key: the table's name in products.toml. figures: its entries, with units and sources as documented in the file."""

    key: str
    name: str
    family: str
    gfx_target: str
    pci_id: int
    figures: dict[str, Any] = field(repr=False)

    def figure(self, key: str) -> float | None:
        """A number such as 'hbm_gbps'; None if no source for it was found."""
        return self.figures.get(key)


@lru_cache(maxsize=1)
def products() -> tuple[Product, ...]:
    """All known products, in file order."""
    text = files("rocm_perf_lab.arch").joinpath("products.toml").read_text(encoding="utf-8")
    return tuple(
        Product(key, entry["name"], entry["family"], entry["gfx_target"], entry["pci_id"], entry)
        for key, entry in _completed(tomllib.loads(text)["product"]).items()
    )


def _completed(entries: dict[str, Any]) -> dict[str, Any]:
    """The entries; a topology that names another product as `like` inherits any missing values from that product."""
    for entry in entries.values():
        if like := entry.get("topology", {}).pop("like", None):
            entry["topology"] = entries[like]["topology"] | entry["topology"]
    return entries


def product_of(pci_id: int | None) -> Product | None:
    """The product with this PCI device id, either physical or as seen by a guest; None if unknown."""
    return next((p for p in products() if pci_id in (p.pci_id, *p.figures.get("virtual_pci_ids", ()))), None)
