#include "exec/wave.h"

#include "exec/write_guard.h"

namespace rpd {

bool Wave::look_up(uint64_t address, uint32_t bytes, bool writes, int lane, AccessWindow& known) {
  known = memory->window(address, writes);
  if (!known.holds(address, bytes)) {
    raise("memory access fault", address, FaultKind::MemoryFault, lane);
    return false;
  }
  if (!writes || !guard) return true;
  known = guard->window(address, known);
  if (known.holds(address, bytes) || guard->may_signal(address, bytes)) return true;
  raise("the kernel writes memory that is not its program's", address, FaultKind::ForeignWrite, lane);
  return false;
}

}  // namespace rpd
