#include "rocpd/identity.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <random>

namespace rpd::rocpd {
namespace {

uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  std::ifstream file("/etc/machine-id");
  if (!(file >> machine.id)) {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    machine.id = name;
  }
  machine.hash = fnv1a(machine.id) % INT64_MAX;
  machine.node_id = machine.hash % UINT32_MAX;
  return machine;
}

std::string guid_of(const spool::Process& process, const Machine& machine) {
  const uint64_t ms = process.start_ns / 1'000'000;
  std::mt19937_64 random(fnv1a(machine.id + "|" + std::to_string(process.pid) + "|" + std::to_string(process.ppid) + "|" +
                               std::to_string(process.start_ns)));
  const uint64_t tail = (random() & 0x3fffffffffffffff) | 0x8000000000000000;
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-7%03x-%04x-%012llx", static_cast<unsigned>(ms >> 16 & 0xffffffff),
                static_cast<unsigned>(ms & 0xffff), static_cast<unsigned>(ms & 0xfff), static_cast<unsigned>(tail >> 48),
                static_cast<unsigned long long>(tail & 0xffffffffffff));
  return text;
}

}  // namespace rpd::rocpd
