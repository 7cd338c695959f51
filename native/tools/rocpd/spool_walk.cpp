#include "rocpd/spool_walk.h"

#include <algorithm>
#include <unordered_map>

namespace rpd::rocpd {
namespace {

using spool::Kind;

class SpoolWalker {
 public:
  SpoolWalker(const Visitor& visitor, DependencyTracker* dependencies) : visitor_(visitor), dependencies_(dependencies) {}

  void on_record(const RecordView& record) {
    switch (record.kind()) {
      case Kind::process:
      case Kind::agent:
      case Kind::queue:
      case Kind::code_object: return visit_metadata(record);
      case Kind::counter: ++counter_count_; return visit_metadata(record);
      case Kind::kernel: return on_kernel(record);
      case Kind::dispatch: return on_dispatch(record);
      case Kind::barrier: return on_barrier(record);
      case Kind::copy: return on_copy(record);
      case Kind::dispatch_end: return on_end(record, dispatches_, visitor_.dispatch);
      case Kind::copy_end: return on_end(record, copies_, visitor_.copy);
      case Kind::counters: return on_counters(record);
      case Kind::errors: return on_errors(record);
      case Kind::region:
        if (visitor_.region) visitor_.region({record.fixed_part<spool::Region>(), record.string<spool::Region>(0)});
        return;
      case Kind::observed: return on_observed(record.fixed_part<spool::Observed>());
      case Kind::signal_destroyed:
        if (dependencies_) dependencies_->signal_destroyed(record.fixed_part<spool::SignalDestroyed>().signal);
        return;
      case Kind::allocation:
        if (visitor_.allocation) visitor_.allocation(record.fixed_part<spool::Allocation>());
        return;
    }
    throw SpoolError("the spool has a record of an unknown kind");
  }

  UnfinishedCounts unfinished() const { return {dispatches_.size(), copies_.size()}; }

 private:
  void visit_metadata(const RecordView& record) {
    if (visitor_.metadata) visitor_.metadata(record);
  }

  void on_kernel(const RecordView& record) {
    const auto kernel = record.fixed_part<spool::Kernel>();
    // A different kernel can be loaded at the same address later, so a dispatch refers to the latest kernel recorded before it.
    kernel_ids_[kernel.kernel_object] = kernel.kernel_id;
    visit_metadata(record);
  }

  void on_dispatch(const RecordView& record) {
    TracedDispatch dispatch;
    dispatch.record = record.fixed_part<spool::Dispatch>();
    const spool::Dispatch& fields = dispatch.record;
    if (const auto kernel = kernel_ids_.find(fields.kernel_object); kernel != kernel_ids_.end())
      dispatch.kernel_id = kernel->second;
    if (dependencies_)
      dispatch.waited_for = dependencies_->dispatch(fields.dispatch_id, fields.queue_id, fields.origin.thread,
                                                    fields.barrier_bit != 0, fields.completion_signal);
    dispatches_[fields.dispatch_id] = std::move(dispatch);
  }

  void on_copy(const RecordView& record) {
    TracedCopy copy;
    copy.record = record.fixed_part<spool::Copy>();
    if (dependencies_) {
      std::vector<uint64_t> signals(copy.record.signal_count);
      record.array<spool::Copy>(signals.size(), signals.data());
      copy.waited_for =
          dependencies_->copy(copy.record.copy_id, copy.record.origin.thread, signals, copy.record.completion_signal);
    }
    copies_[copy.record.copy_id] = std::move(copy);
  }

  void on_barrier(const RecordView& record) {
    if (!dependencies_) return;
    const auto barrier = record.fixed_part<spool::Barrier>();
    std::span<const uint64_t> signals(barrier.signals);
    // If any one of several signals is enough, none of them is certain to have been waited for.
    const auto used = std::count_if(signals.begin(), signals.end(), [](uint64_t s) { return s != 0; });
    if (barrier.waits == spool::Waits::any && used > 1) signals = {};
    dependencies_->barrier(barrier.queue_id, barrier.thread, barrier.barrier_bit != 0, barrier.waits != spool::Waits::none,
                           signals, barrier.completion_signal);
  }

  template <class Operation>
  void on_end(const RecordView& record, std::unordered_map<uint64_t, Operation>& in_flight,
              const std::function<void(const Operation&)>& visit) {
    const auto end = record.fixed_part<spool::End>();
    auto node = in_flight.extract(end.id);
    if (node.empty()) throw SpoolError("the spool has the end of an operation that never began");
    node.mapped().start_ns = end.start_ns;
    node.mapped().end_ns = end.end_ns;
    if (visit) visit(node.mapped());
  }

  void on_counters(const RecordView& record) {
    const auto fields = record.fixed_part<spool::Counters>();
    const auto entry = dispatches_.find(fields.dispatch_id);
    if (entry == dispatches_.end() || fields.count != counter_count_)
      throw SpoolError("the spool has counters that belong to no dispatch");
    auto& counters = entry->second.counters;
    counters.resize(fields.count);
    record.array<spool::Counters>(counters.size(), counters.data());
  }

  void on_errors(const RecordView& record) {
    const auto fields = record.fixed_part<spool::Errors>();
    const auto entry = dispatches_.find(fields.dispatch_id);
    if (entry == dispatches_.end() || fields.count != entry->second.counters.size())
      throw SpoolError("the spool has error bounds that belong to no dispatch");
    entry->second.duration_error = fields.duration;
    entry->second.errors.resize(fields.count);
    record.array<spool::Errors>(fields.count, entry->second.errors.data());
  }

  void on_observed(const spool::Observed& observed) {
    if (dependencies_) dependencies_->observed(observed.thread, observed.signal);
  }

  const Visitor& visitor_;
  DependencyTracker* const dependencies_;
  uint64_t counter_count_ = 0;
  std::unordered_map<uint64_t, uint64_t> kernel_ids_;    // by kernel object
  std::unordered_map<uint64_t, TracedDispatch> dispatches_;  // in flight, by id
  std::unordered_map<uint64_t, TracedCopy> copies_;
};

}  // namespace

UnfinishedCounts walk_spool(const SpoolReader& spool, const Visitor& visitor, DependencyTracker* dependencies) {
  SpoolWalker walker(visitor, dependencies);
  spool.for_each([&](const RecordView& record) { walker.on_record(record); });
  return walker.unfinished();
}

}  // namespace rpd::rocpd
