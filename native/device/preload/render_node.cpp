// The render nodes of software devices, for programs that ask libdrm which GPUs exist: profilers do so in addition to reading
// the topology. Calls that do not concern a render node of the model's topology are passed to libdrm.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "preload/visible.h"

namespace {

// Declarations from libdrm's amdgpu.h, which is not needed otherwise.
struct amdgpu_device;
struct amdgpu_gpu_info {
  uint32_t asic_id;
  uint32_t chip_rev;
  uint32_t chip_external_rev;
  uint32_t family_id;  // further members follow; they remain unchanged
};

constexpr uint32_t kDriverMajor = 3, kDriverMinor = 64;

// The folder of a GPU in the model's topology.
class Node {
 public:
  explicit Node(std::string folder) : folder_(std::move(folder)) {}

  std::optional<uint64_t> property(const std::string& wanted) const {
    std::ifstream file(folder_ + "/properties");
    std::string name;
    for (uint64_t value; file >> name >> value;)
      if (name == wanted) return value;
    return std::nullopt;
  }
  std::string product() const {
    std::string name;
    std::getline(std::ifstream(folder_ + "/product_name") >> std::ws, name);
    return name;
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

std::string nodes_folder() {
  const char* const model = std::getenv("HSA_MODEL_TOPOLOGY");
  return model && *model ? std::string(model) + "/nodes/" : "";
}

std::optional<Node> node_of_minor(uint64_t minor) {
  const std::string nodes = nodes_folder();
  for (int number = 0; !nodes.empty(); ++number) {
    const Node node(nodes + std::to_string(number));
    const auto render_minor = node.property("drm_render_minor");
    if (!render_minor) return std::nullopt;
    if (minor != 0 && *render_minor == minor) return node;
  }
  return std::nullopt;
}

// The node that an open descriptor refers to; empty if it is not one of the model's nodes. A render node is opened by opening
// its node's folder, so the descriptor's path tells which node it is.
std::optional<Node> node_of_descriptor(int descriptor) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor), nodes = nodes_folder();
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  if (nodes.empty() || length <= 0) return std::nullopt;
  char* const resolved = realpath(nodes.c_str(), nullptr);
  const std::string real = resolved ? std::string(resolved) + "/" : nodes;
  std::free(resolved);
  const std::string target(path, static_cast<size_t>(length));
  if (!target.starts_with(real)) return std::nullopt;
  return Node(target);
}

struct OpenDevice {
  Node node;
  std::string product = node.product();
};

// The open devices, by handle.
struct OpenDevices {
  std::mutex mutex;
  std::map<const amdgpu_device*, OpenDevice> devices;

  OpenDevice* find(const amdgpu_device* handle) {
    const std::lock_guard lock(mutex);
    const auto entry = devices.find(handle);
    return entry == devices.end() ? nullptr : &entry->second;
  }
};

OpenDevices& opened() {
  static auto* all = new OpenDevices;
  return *all;
}

// libdrm's own function with this name; null if libdrm is not loaded.
template <class Function>
Function* next(const char* name, Function* /*this*/) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

RPD_VISIBLE int drmOpenRender(int minor) {
  if (const auto node = node_of_minor(static_cast<uint64_t>(minor)))
    return open(node->folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  auto* const original = next("drmOpenRender", &drmOpenRender);
  return original ? original(minor) : -ENODEV;
}

RPD_VISIBLE int drmClose(int descriptor) {
  if (node_of_descriptor(descriptor)) return close(descriptor);
  auto* const original = next("drmClose", &drmClose);
  return original ? original(descriptor) : close(descriptor);
}

RPD_VISIBLE int amdgpu_device_initialize(int descriptor, uint32_t* major, uint32_t* minor, amdgpu_device** handle) {
  auto node = node_of_descriptor(descriptor);
  if (!node) {
    auto* const original = next("amdgpu_device_initialize", &amdgpu_device_initialize);
    return original ? original(descriptor, major, minor, handle) : -ENODEV;
  }
  *major = kDriverMajor;
  *minor = kDriverMinor;
  *handle = static_cast<amdgpu_device*>(std::malloc(1));
  const std::lock_guard lock(opened().mutex);
  opened().devices.emplace(*handle, OpenDevice{std::move(*node)});
  return 0;
}

RPD_VISIBLE int amdgpu_device_deinitialize(amdgpu_device* handle) {
  if (!opened().find(handle)) {
    auto* const original = next("amdgpu_device_deinitialize", &amdgpu_device_deinitialize);
    return original ? original(handle) : -EINVAL;
  }
  const std::lock_guard lock(opened().mutex);
  opened().devices.erase(handle);
  std::free(handle);
  return 0;
}

RPD_VISIBLE const char* amdgpu_get_marketing_name(amdgpu_device* handle) {
  if (const OpenDevice* const device = opened().find(handle)) return device->product.c_str();
  auto* const original = next("amdgpu_get_marketing_name", &amdgpu_get_marketing_name);
  return original ? original(handle) : nullptr;
}

RPD_VISIBLE int amdgpu_query_gpu_info(amdgpu_device* handle, amdgpu_gpu_info* info) {
  const OpenDevice* const device = opened().find(handle);
  if (!device) {
    auto* const original = next("amdgpu_query_gpu_info", &amdgpu_query_gpu_info);
    return original ? original(handle, info) : -EINVAL;
  }
  info->family_id = static_cast<uint32_t>(device->node.property("family_id").value_or(0));
  return 0;
}
