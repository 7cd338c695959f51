#include "common/software_device_api.h"

#include <dlfcn.h>

#include <cstdlib>

namespace rpd {

const rpd_api* find_device() {
  static const rpd_api* const device = []() -> const rpd_api* {
    const char* path = std::getenv("HSA_MODEL_LIB");
    void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return nullptr;
    const auto get_api = reinterpret_cast<rpd_get_api_fn>(dlsym(library, "rpd_get_api"));
    const rpd_api* api = get_api == nullptr ? nullptr : get_api();
    return api != nullptr && api->version == RPD_API_VERSION ? api : nullptr;
  }();
  return device;
}

}  // namespace rpd
