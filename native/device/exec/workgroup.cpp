#include "exec/workgroup.h"

#include <algorithm>
#include <span>

#include "exec/dispatched_kernel.h"
#include "exec/initial_values.h"
#include "exec/private_segment.h"
#include "isa/target.h"

namespace rpd {
namespace {

// Sets the user SGPRs, in the order that AMDGPUUsage ("Initial Kernel Execution State") specifies.
unsigned set_user_sgprs(const DispatchedKernel& kernel, Wave& wave) {
  const KernelDescriptor& descriptor = kernel.descriptor;
  const DispatchRequest& request = kernel.request;
  unsigned next = 0;
  const auto pointer = [&](KernelDescriptor::Property property, uint64_t value) {
    if (!descriptor.has(property)) return;
    wave.set_scalar64(next, value);
    next += 2;
  };
  if (descriptor.has(KernelDescriptor::kPrivateSegmentBuffer)) {
    set_private_buffer(wave, next);
    next += 4;
  }
  pointer(KernelDescriptor::kDispatchPtr, request.packet_address);
  pointer(KernelDescriptor::kQueuePtr, request.queue_address);
  pointer(KernelDescriptor::kKernargSegmentPtr, request.kernarg_address);
  pointer(KernelDescriptor::kDispatchId, 0);
  pointer(KernelDescriptor::kFlatScratchInit, 0);
  if (descriptor.has(KernelDescriptor::kPrivateSegmentSize)) wave.scalar[next++] = request.private_segment_size;
  for (uint32_t i = 0; i < descriptor.preload_length(); ++i) {
    wave.scalar[next++] = kernel.memory->at<uint32_t>(request.kernarg_address)[descriptor.preload_offset() + i];
  }
  return next;
}

void set_system_sgprs(const DispatchedKernel& kernel, const uint32_t (&id)[3], unsigned next, Wave& wave) {
  for (int axis = 0; axis < 3; ++axis) {
    if (kernel.descriptor.workgroup_id_enabled(axis)) wave.scalar[next++] = id[axis];
  }
  if (kernel.descriptor.workgroup_info_enabled()) wave.scalar[next++] = 0;
  if (kernel.descriptor.private_offset_enabled() && !target_of_device().architected_flat_scratch) wave.scalar[next++] = 0;
}

void list_work_items(const uint32_t (&sizes)[3], std::vector<uint32_t>& ids) {
  ids.clear();
  for (uint32_t z = 0; z < sizes[2]; ++z)
    for (uint32_t y = 0; y < sizes[1]; ++y)
      for (uint32_t x = 0; x < sizes[0]; ++x) ids.push_back(x | y << 10 | z << 20);
}

// Sets the work-item ids: packed into v0 or, on targets that do not pack them, in up to three registers (as many as the kernel
// asks for).
void set_work_items(const DispatchedKernel& kernel, std::span<const uint32_t> items, Wave& wave) {
  if (target_of_device().rules.packs_work_item_ids) {
    std::copy(items.begin(), items.end(), wave.vector);
    return;
  }
  for (int axis = 0; axis < kernel.descriptor.work_item_ids(); ++axis) {
    const auto id = [axis](uint32_t item) { return item >> (10 * axis) & 0x3ff; };
    std::transform(items.begin(), items.end(), wave.vector + axis * kLanes, id);
  }
}

// The lanes that exist: a partial workgroup at the grid's edge does not fill all of its waves.
uint64_t existing_lanes(std::span<const uint32_t> ids, const uint32_t (&sizes)[3]) {
  uint64_t lanes = 0;
  for (size_t l = 0; l < ids.size(); ++l) {
    const bool exists = (ids[l] & 0x3ff) < sizes[0] && (ids[l] >> 10 & 0x3ff) < sizes[1] && ids[l] >> 20 < sizes[2];
    lanes |= uint64_t{exists} << l;
  }
  return lanes;
}

}  // namespace

void Workgroup::start(const DispatchedKernel& kernel, uint64_t id, uint32_t cu_index, InstructionObserver* observer,
                      IssueLog* issued) {
  this->id = id;
  cu = cu_index;
  epoch = 0;
  unfinished_waves = kernel.waves_per_group;
  turns = 0;
  const size_t per_wave = static_cast<size_t>(kernel.vgprs + kernel.agprs) * kLanes;
  const uint32_t scratch_bytes = kernel.request.private_segment_size;
  waves.resize(kernel.waves_per_group);
  registers.resize(per_wave * kernel.waves_per_group);
  kernel.initial->fill(registers, id);
  // The allocation beyond the requested size is accessible as well, unless such accesses are to be detected.
  const uint32_t asked = kernel.request.group_segment_size;
  lds.resize(kernel.lds_check ? asked : target::allocated_lds(asked));
  kernel.initial->fill(lds, id);
  scratch.resize(static_cast<size_t>(scratch_bytes) * kLanes * kernel.waves_per_group);
  kernel.initial->fill(scratch, id);

  const uint32_t ids[3] = {static_cast<uint32_t>(id % kernel.groups[0]),
                           static_cast<uint32_t>(id / kernel.groups[0] % kernel.groups[1]),
                           static_cast<uint32_t>(id / kernel.groups[0] / kernel.groups[1])};
  uint32_t sizes[3];
  for (int axis = 0; axis < 3; ++axis) {
    sizes[axis] = std::min<uint32_t>(kernel.request.workgroup[axis],
                                     kernel.request.grid[axis] - ids[axis] * kernel.request.workgroup[axis]);
  }
  if (!std::equal(sizes_listed_, sizes_listed_ + 3, kernel.request.workgroup)) {
    std::copy_n(kernel.request.workgroup, 3, sizes_listed_);
    list_work_items(sizes_listed_, work_items_);
  }
  const bool full = std::equal(sizes, sizes + 3, sizes_listed_);
  for (uint32_t w = 0; w < kernel.waves_per_group; ++w) {
    Wave& wave = waves[w];
    Wave fresh;
    fresh.windows = wave.windows;
    wave = fresh;
    kernel.initial->fill({wave.scalar, kFlatScratch}, id + w);
    wave.pc = kernel.entry_op;
    wave.program = kernel.program;
    wave.vector = registers.data() + w * per_wave;
    wave.accumulator = wave.vector + static_cast<size_t>(kernel.vgprs) * kLanes;
    wave.mode = kernel.descriptor.mode();
    wave.index_in_group = w;
    wave.lanes = ~uint64_t{0} >> (kLanes - kernel.wave_size);
    wave.group = this;
    wave.lds = lds.data();
    wave.lds_bytes = static_cast<uint32_t>(lds.size());
    wave.lds_check = kernel.lds_check;
    wave.scratch = scratch.data() + static_cast<size_t>(w) * kLanes * scratch_bytes;
    wave.scratch_bytes = scratch_bytes;
    wave.memory = kernel.memory;
    wave.guard = kernel.guard;
    wave.observer = observer;
    wave.issued = issued;
    set_system_sgprs(kernel, ids, set_user_sgprs(kernel, wave), wave);
    const size_t first = size_t{w} * kernel.wave_size;
    const auto items = std::span(work_items_).subspan(first, std::min<size_t>(kernel.wave_size, work_items_.size() - first));
    set_work_items(kernel, items, wave);
    wave.set_exec(full ? ~uint64_t{0} >> (kLanes - items.size()) : existing_lanes(items, sizes));
  }
}

bool Workgroup::has_met() const {
  const auto waits = [](const Wave& wave) { return wave.state == WaveState::AtBarrier; };
  return unfinished_waves > 0 && static_cast<uint32_t>(std::count_if(waves.begin(), waves.end(), waits)) == unfinished_waves;
}

void Workgroup::release_barrier() {
  for (Wave& wave : waves) {
    if (wave.state == WaveState::AtBarrier) wave.state = WaveState::Running;
  }
  ++epoch;
}

}  // namespace rpd
