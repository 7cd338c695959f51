"""PyTorch for CPUs whose "cuda" is the software device."""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def double(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def doubled(x):
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 256),)](out, x, x.numel(), BLOCK=256)
    return out


x = torch.rand(1000, device="cuda")
assert torch.cuda.is_available() and x.is_cuda and x.device == DEVICE == torch.device("cuda", 0)
assert (x + 1).is_cuda and x[3:].view(-1).is_cuda and torch.zeros(3, device=x.device).is_cuda and torch.empty_like(x).is_cuda
assert not x.cpu().is_cuda and not torch.rand(3).is_cuda and x.cpu().device.type == "cpu"
assert torch.equal(doubled(x), 2 * x) and torch.equal(doubled(x[8:108]), 2 * x[8:108])
print("devices")

# A tensor moved between devices becomes another tensor; one that stays is the same.
host = torch.arange(300.0)
there = host.cuda()
there.zero_()
back = there.cpu()
there.fill_(5)
assert host[7] == 7 and not back.any() and there.cuda() is there and host.cpu() is host
assert host.to(DEVICE).is_cuda and not there.to("cpu", torch.float64).is_cuda and there.to(torch.float16).is_cuda
host.copy_(there)
assert not host.is_cuda and host[7] == 5 and there.add_(1).is_cuda
print("copies")

with torch.device("cuda"):
    assert torch.ones(4).is_cuda
first, second = (torch.rand(9, device="cuda", generator=torch.Generator("cuda").manual_seed(7)) for _ in range(2))
assert first.is_cuda and torch.equal(first, second)
layer = torch.nn.Linear(8, 8).to("cuda")
assert layer.weight.is_cuda and layer(torch.ones(2, 8, device="cuda")).is_cuda
x16, weight, bias = (torch.rand(shape, dtype=torch.float16, device="cuda") for shape in ((2000, 8), 8, 8))
torch.nn.functional.layer_norm(x16, (8,), weight, bias.requires_grad_()).backward(gradient := torch.rand_like(x16))
assert bias.grad.is_cuda and torch.equal(bias.grad, gradient.double().sum(0).half())
print("modules")


class Double(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return doubled(x)

    @staticmethod
    def backward(context, gradient):
        return doubled(gradient.contiguous())


weight = torch.ones(500, device="cuda", requires_grad=True)
Double.apply(weight * 3).sum().backward()
assert weight.grad.is_cuda and torch.equal(weight.grad, torch.full((500,), 6.0, device="cuda"))
print("gradients")


@triton.jit
def fill(addresses, BLOCK: tl.constexpr):
    where = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(where + tl.arange(0, BLOCK), 1.0 * tl.program_id(0))


tensors = [torch.full((64,), -1.0, device="cuda") for _ in range(3)]
fill[(3,)](torch.tensor([tensor.data_ptr() for tensor in tensors], device="cuda"), BLOCK=64)
assert [tensor.unique().tolist() for tensor in tensors] == [[0.0], [1.0], [2.0]]
print("pointers")

torch.manual_seed(1)
random = torch.cuda.default_generators[0]
seed, offset = words = random.get_state().view(torch.int64)
assert (seed, offset) == (torch.cuda.initial_seed(), 0) == (1, 0)
words += torch.tensor([-3, 8])
random.set_state(words.view(torch.uint8))
assert (random.initial_seed(), random.get_offset()) == (2**64 - 2, 8)
print("random numbers")

start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
doubled(x)
end.record()
torch.cuda.synchronize()
assert start.elapsed_time(end) > 0 == start.elapsed_time(start)
with torch.cuda._DeviceGuard(0), torch.cuda.device(0):
    from torch._C import _cuda_getCurrentRawStream

    assert _cuda_getCurrentRawStream(0) == torch.cuda.current_stream().cuda_stream
assert torch._C._dynamo.guards._empty_strided_cuda((2, 3), (1, 2), torch.float32).is_cuda
print("events")

from triton._C.libtriton import amd  # noqa: E402 - what scripts take hipBLASLt from

if hasattr(amd, "hipblas"):
    a, b, c = torch.rand(8, 16, device="cuda"), torch.rand(4, 16, device="cuda"), torch.empty(8, 4, device="cuda")
    amd.hipblas.HipblasLt(torch.empty(32, device="cuda")).matmul(a, b, c)
    assert torch.allclose(c, a @ b.T) and c.is_cuda
print("matrix products")
