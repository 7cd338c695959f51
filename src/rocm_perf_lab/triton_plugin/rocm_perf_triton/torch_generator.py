"""`torch.cuda.default_generators[0]`: the seed and the offset that programs pass to kernels that draw Philox random numbers.

PyTorch's own operations draw random numbers from the CPU's generator.
"""

from __future__ import annotations

from typing import Any

_INITIAL_SEED = 67280421310721  # PyTorch's own initial seed
_WORD = 1 << 64


class CudaGenerator:
    """Holds one state, in PyTorch's GPU format: 16 bytes, the seed followed by the offset."""

    def __init__(self, torch: Any):
        self._torch, self.device = torch, torch.device("cuda", 0)
        self._seed, self._offset = _INITIAL_SEED, 0

    def manual_seed(self, seed: int) -> CudaGenerator:
        self._seed, self._offset = int(seed) % _WORD, 0
        return self

    def seed(self) -> int:
        """Set and return a seed that differs from process to process."""
        return self.manual_seed(self._torch.Generator().seed()).initial_seed()

    def initial_seed(self) -> int:
        return self._seed

    def get_offset(self) -> int:
        return self._offset

    def set_offset(self, offset: int) -> None:
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        self._offset = offset

    def get_state(self) -> Any:
        words = [word - _WORD if word >= _WORD // 2 else word for word in (self._seed, self._offset)]
        return self._torch.tensor(words, dtype=self._torch.int64).view(self._torch.uint8)

    def set_state(self, state: Any) -> CudaGenerator:
        seed, offset = state.cpu().view(self._torch.int64).tolist()
        self._seed, self._offset = seed % _WORD, offset
        return self


def install(torch: Any) -> None:
    """`torch.manual_seed` calls `torch.cuda.manual_seed_all`."""
    generator = CudaGenerator(torch)
    torch.cuda.default_generators = (generator,)
    torch.cuda.manual_seed = torch.cuda.manual_seed_all = generator.manual_seed
    torch.cuda.seed = torch.cuda.seed_all = generator.seed
    torch.cuda.initial_seed = generator.initial_seed
    torch.cuda.get_rng_state = lambda device=None: generator.get_state()
    torch.cuda.set_rng_state = lambda state, device=None: generator.set_state(state)
