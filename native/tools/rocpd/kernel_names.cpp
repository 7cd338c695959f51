#include "rocpd/kernel_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <string_view>

namespace rpd::rocpd {
namespace {

constexpr std::string_view kSuffix = ".kd";

// The bare name of a demangled function, without its return type, scopes, template arguments and parameters.
std::string base_name(std::string_view function) {
  size_t begin = 0, end = function.size();
  int depth = 0;
  for (size_t i = 0; i < function.size(); ++i) {
    const char c = function[i];
    if (c == '<' && depth++ == 0) end = std::min(end, i);
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == '(' && function.substr(i).starts_with("(anonymous namespace)")) {
      i += std::string_view("(anonymous namespace)").size() - 1;
    } else if (c == '(') {
      end = std::min(end, i);
      break;
    } else if (c == ' ' || c == ':') {
      begin = i + 1;
      end = function.size();
    }
  }
  return std::string(function.substr(begin, end - begin));
}

}  // namespace

KernelNames kernel_names(const std::string& symbol) {
  std::string mangled = symbol;
  if (mangled.ends_with(kSuffix)) mangled.resize(mangled.size() - kSuffix.size());
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (status != 0 || !mangled.starts_with("_Z")) {
    std::free(text);
    return {mangled, symbol, symbol};
  }
  const std::string formatted = text;
  std::free(text);
  return {formatted, mangled == symbol ? formatted : formatted + " [clone .kd]", base_name(formatted)};
}

}  // namespace rpd::rocpd
