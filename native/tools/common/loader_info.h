// Attributes of code objects and their symbols, as reported by ROCr's loader.
#pragma once

#include <string>

#include "common/hsa.h"

namespace rpd {

template <class T>
T info(hsa_loaded_code_object_t object, hsa_ven_amd_loader_loaded_code_object_info_t attribute) {
  T value{};
  hsa.loader.hsa_ven_amd_loader_loaded_code_object_get_info(object, attribute, &value);
  return value;
}

template <class T>
T info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute) {
  T value{};
  hsa.core.hsa_executable_symbol_get_info_fn(symbol, attribute, &value);
  return value;
}

inline std::string uri_of(hsa_loaded_code_object_t object) {
  std::string uri(info<uint32_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH), '\0');
  hsa.loader.hsa_ven_amd_loader_loaded_code_object_get_info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI, uri.data());
  return uri;
}

inline std::string name_of(hsa_executable_symbol_t symbol) {
  std::string name(info<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH), '\0');
  hsa.core.hsa_executable_symbol_get_info_fn(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data());
  return name;
}

}  // namespace rpd
