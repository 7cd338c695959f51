#include "exec/wave.h"

#include <limits>

#include "exec/memory_guard.h"

namespace rpd {

// Sets `around` to the accessible range around the address.
Wave::Refusal Wave::refusal(uint64_t address, uint32_t bytes, bool writes, AccessWindow& around) const {
  around = memory->window(address, writes);
  if (!around.holds(address, bytes)) return {"memory access fault"};
  if (!guard) return {};
  if (!guard->confines()) {
    if (memory->is_device(address)) return {};
    around = guard->pinned(address, bytes, around);
    if (around.holds(address, bytes)) return {};
    return {"access to host memory that is not registered (hipHostRegister), with page faults off (HSA_XNACK=1 enables them)"};
  }
  around = writes ? guard->writable(address, around) : guard->readable(address, around);
  if (around.holds(address, bytes) || guard->may_signal(address, bytes, writes)) return {};
  return {writes ? "the kernel writes memory that is not its program's" : "the kernel reads memory that is not its program's",
          FaultKind::ForeignAccess};
}

bool Wave::look_up(uint64_t address, uint32_t bytes, bool writes, int lane, AccessWindow& window) {
  const Refusal refused = refusal(address, bytes, writes, window);
  if (refused.why) raise(refused.why, address, refused.kind, lane);
  return refused.why == nullptr;
}

bool Wave::find(uint64_t address, uint64_t bytes, bool writes, AccessWindow& window) const {
  if (bytes > std::numeric_limits<uint32_t>::max()) return false;
  AccessWindow around;
  const Refusal refused = refusal(address, static_cast<uint32_t>(bytes), writes, around);
  if (refused.why || !around.holds(address, bytes)) return false;
  window = around;
  return true;
}

}  // namespace rpd
