// Memory shared between processes: each process maps the same pages, from a file that the owning process has open.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "runtime/device.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/memory_declarations.h"

namespace rpd {
namespace {

constexpr uint32_t kMark = 0x72706d69;

// The contents of a handle.
struct IpcHandle {
  uint32_t mark;
  int32_t process;
  int32_t file;
  int32_t owner;  // a device's number, the same in both processes
  uint64_t offset;
  uint64_t size;
};
static_assert(sizeof(IpcHandle) <= sizeof(hsa_amd_ipc_memory_t));

struct Location {
  uint64_t inode = 0, offset = 0;
};

// The file that this process has mapped at the address; inode 0 if no single mapping contains the whole range.
Location location_of(uint64_t address, size_t size) {
  Location location;
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return location;
  uint64_t begin, end, offset, inode;
  while (std::fscanf(maps, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64 "%*[^\n]", &begin, &end, &offset, &inode) ==
         4) {
    if (address < begin || address + size > end) continue;
    location = {inode, offset + (address - begin)};
    break;
  }
  std::fclose(maps);
  return location;
}

int file_of(uint64_t inode) {
  DIR* folder = opendir("/proc/self/fd");
  if (!folder) return -1;
  int match = -1;
  while (const dirent* entry = readdir(folder)) {
    struct stat facts{};
    const int file = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fstat(file, &facts) == 0 && facts.st_ino == inode && S_ISREG(facts.st_mode)) match = file;
  }
  closedir(folder);
  return match;
}

hsa_status_t create(void* address, size_t size, hsa_amd_ipc_memory_t* handle) {
  const auto list = devices();
  if (!address || !handle || size == 0 || list.empty()) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto number = reinterpret_cast<uint64_t>(address);
  // Located through the aperture of the device that owns the memory, where it is certain to be mapped.
  const Owner owner = list.front()->allocations().owner(number);
  const AddressSpace& memory = list[owner == kHost ? 0 : static_cast<size_t>(owner)]->memory();
  const Location location = location_of(reinterpret_cast<uint64_t>(memory.at(number)), size);
  const int file = location.inode ? file_of(location.inode) : -1;
  if (file < 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;  // not a device's memory, or it spans several allocations
  const IpcHandle shared{kMark, getpid(), file, owner, location.offset, size};
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &shared, sizeof shared);
  return HSA_STATUS_SUCCESS;
}

struct AttachedMemory {
  std::mutex mutex;
  std::map<void*, size_t> size;
};
AttachedMemory& attached() {
  static auto* all = new AttachedMemory;
  return *all;
}

hsa_status_t attach(const hsa_amd_ipc_memory_t* handle, size_t size, uint32_t, const hsa_agent_t*, void** address) {
  IpcHandle shared;
  if (!handle || !address) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  std::memcpy(&shared, handle, sizeof shared);
  if (shared.mark != kMark || size != shared.size) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const std::string path = "/proc/" + std::to_string(shared.process) + "/fd/" + std::to_string(shared.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  void* mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(shared.offset));
  close(file);
  if (mapping == MAP_FAILED) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  for (Device* device : devices()) {
    device->allocations().add(reinterpret_cast<uint64_t>(mapping), size, static_cast<Owner>(shared.owner));
    device->allocations().name(reinterpret_cast<uint64_t>(mapping), size);
  }
  writable_memory().add(reinterpret_cast<uint64_t>(mapping), size);
  const std::lock_guard lock(attached().mutex);
  attached().size[mapping] = size;
  *address = mapping;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t detach(void* address) {
  const std::lock_guard lock(attached().mutex);
  const auto entry = attached().size.find(address);
  if (entry == attached().size.end()) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  writable_memory().remove(reinterpret_cast<uint64_t>(address));
  for (Device* device : devices()) {
    device->allocations().forget_name(reinterpret_cast<uint64_t>(address));
    device->memory_freed(reinterpret_cast<uint64_t>(address), entry->second);
  }
  munmap(address, entry->second);
  for (Device* device : devices()) device->allocations().forget_host_ranges();
  attached().size.erase(entry);
  return HSA_STATUS_SUCCESS;
}

// Exports a buffer of the driver's graphics half for other kinds of devices; not available here.
hsa_status_t export_buffer(const void*, size_t, int*, uint64_t*) { return HSA_STATUS_ERROR_INVALID_AGENT; }
hsa_status_t export_buffer_v2(const void*, size_t, int*, uint64_t*, uint64_t) { return HSA_STATUS_ERROR_INVALID_AGENT; }

}  // namespace

void hook_ipc_memory(AmdExtTable& amd) {
  amd.hsa_amd_ipc_memory_create_fn = create;
  amd.hsa_amd_ipc_memory_attach_fn = attach;
  amd.hsa_amd_ipc_memory_detach_fn = detach;
  amd.hsa_amd_portable_export_dmabuf_fn = export_buffer;
  amd.hsa_amd_portable_export_dmabuf_v2_fn = export_buffer_v2;
}

}  // namespace rpd
