#include "exec/wave.h"

#include "exec/memory_guard.h"

namespace rpd {

bool Wave::look_up(uint64_t address, uint32_t bytes, bool writes, int lane, AccessWindow& known) {
  known = memory->window(address, writes);
  if (!known.holds(address, bytes)) {
    raise("memory access fault", address, FaultKind::MemoryFault, lane);
    return false;
  }
  if (!guard) return true;
  if (!guard->confines()) {
    if (memory->is_device(address)) return true;
    known = guard->pinned(address, bytes, known);
    if (known.holds(address, bytes)) return true;
    raise("access to host memory that is not registered (hipHostRegister), and the device has no page faults (HSA_XNACK=1)",
          address, FaultKind::MemoryFault, lane);
    return false;
  }
  known = writes ? guard->writable(address, known) : guard->readable(address, known);
  if (known.holds(address, bytes) || guard->may_signal(address, bytes, writes)) return true;
  raise(writes ? "the kernel writes memory that is not its program's" : "the kernel reads memory that is not its program's",
        address, FaultKind::ForeignAccess, lane);
  return false;
}

}  // namespace rpd
