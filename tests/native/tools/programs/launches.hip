// launches HOW [MODULE]: launches a kernel of 7 work-items in one of the ways that HIP offers, on the second of two
// streams. MODULE is the code object of module.hip. Exits with 0 if the kernel has run as often as it should have.
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#define CHECK(call)                                                             \
  if (const hipError_t error = (call); error != hipSuccess) {                   \
    std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));          \
    std::exit(1);                                                               \
  }

__global__ void mark(int* value) {
  if (threadIdx.x == 0) *value += 1;
}

__global__ void other(int* value) {
  if (threadIdx.x == 0) *value += 1;
}

static void launch_graph(hipGraph_t graph, hipStream_t stream, int times) {
  hipGraphExec_t executable;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < times; ++i) CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
}

// mark, then other; returns the number of kernels run.
static int captured_graph(int* value, hipStream_t stream) {
  hipGraph_t graph;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  mark<<<1, 7, 0, stream>>>(value);
  other<<<1, 7, 0, stream>>>(value);
  CHECK(hipStreamEndCapture(stream, &graph));
  launch_graph(graph, stream, 3);
  return 6;
}

static int explicit_graph(int* value, hipStream_t stream) {
  hipGraph_t graph;
  hipGraphNode_t first, second;
  void* arguments[] = {&value};
  hipKernelNodeParams node{};
  node.blockDim = dim3(7), node.gridDim = dim3(1), node.kernelParams = arguments;
  CHECK(hipGraphCreate(&graph, 0));
  node.func = reinterpret_cast<void*>(mark);
  CHECK(hipGraphAddKernelNode(&first, graph, nullptr, 0, &node));
  node.func = reinterpret_cast<void*>(other);
  CHECK(hipGraphAddKernelNode(&second, graph, &first, 1, &node));
  launch_graph(graph, stream, 3);
  return 6;
}

int main(int argc, char** argv) {
  const std::string how = argv[1];
  hipStream_t unused, stream;
  CHECK(hipStreamCreateWithFlags(&unused, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  int* value;
  CHECK(hipMalloc(&value, sizeof *value));
  CHECK(hipMemset(value, 0, sizeof *value));
  CHECK(hipDeviceSynchronize());
  hipModule_t module;
  hipFunction_t function = nullptr;
  if (argc > 2) {
    CHECK(hipModuleLoad(&module, argv[2]));
    CHECK(hipModuleGetFunction(&function, module, "from_module"));
  }
  void* arguments[] = {&value};
  const void* const kernel = reinterpret_cast<const void*>(mark);
  int expected = 1;
  if (how == "captured graph") {
    expected = captured_graph(value, stream);
  } else if (how == "explicit graph") {
    expected = explicit_graph(value, stream);
  } else if (how == "hipModuleLaunchKernel") {
    CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 7, 1, 1, 0, stream, arguments, nullptr));
  } else if (how == "hipExtModuleLaunchKernel") {
    CHECK(hipExtModuleLaunchKernel(function, 7, 1, 1, 7, 1, 1, 0, stream, arguments, nullptr));
  } else if (how == "hipModuleLaunchCooperativeKernel") {
    CHECK(hipModuleLaunchCooperativeKernel(function, 1, 1, 1, 7, 1, 1, 0, stream, arguments));
  } else if (how == "hipDrvLaunchKernelEx") {
    HIP_LAUNCH_CONFIG config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 7, config.hStream = stream;
    CHECK(hipDrvLaunchKernelEx(&config, function, arguments, nullptr));
  } else if (how == "hipLaunchKernelExC") {
    hipLaunchConfig_t config{};
    config.gridDim = dim3(1), config.blockDim = dim3(7), config.stream = stream;
    CHECK(hipLaunchKernelExC(&config, kernel, arguments));
  } else if (how == "hipExtLaunchKernel") {
    CHECK(hipExtLaunchKernel(kernel, dim3(1), dim3(7), arguments, 0, stream, nullptr, nullptr, 0));
  } else if (how == "hipLaunchCooperativeKernel") {
    CHECK(hipLaunchCooperativeKernel(kernel, dim3(1), dim3(7), arguments, 0, stream));
  } else if (how == "null stream") {
    mark<<<1, 7>>>(value);
    CHECK(hipStreamSynchronize(nullptr));
  } else {
    return 64;
  }
  CHECK(hipDeviceSynchronize());
  int ran = 0;
  CHECK(hipMemcpy(&ran, value, sizeof ran, hipMemcpyDeviceToHost));
  return ran == expected ? 0 : 1;
}
