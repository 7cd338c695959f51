#include "rocpd/trace.h"

#include <algorithm>
#include <unordered_map>

namespace rpd::rocpd {
namespace {

using spool::Kind;

template <class T>
std::string text(const RecordView& record, int index) {
  return std::string(record.string<T>(index));
}

class Reader {
 public:
  Trace read(const SpoolReader& spool) {
    spool.for_each([this](const RecordView& record) { on_record(record); });
    if (!has_process_) throw SpoolError("has no process record");
    trace_.lost_records = spool.lost();
    return std::move(trace_);
  }

 private:
  void on_record(const RecordView& record) {
    switch (record.kind()) {
      case Kind::process: return on_process(record);
      case Kind::agent: return on_agent(record);
      case Kind::counter: return on_counter(record);
      case Kind::queue: return trace_.queues.push_back(record.fixed<spool::Queue>());
      case Kind::code_object:
        return trace_.code_objects.push_back(
            {record.fixed<spool::CodeObject>(), text<spool::CodeObject>(record, 0)});
      case Kind::kernel: return on_kernel(record);
      case Kind::dispatch: return on_dispatch(record);
      case Kind::barrier: return on_barrier(record);
      case Kind::copy: return on_copy(record);
      case Kind::dispatch_end: return on_end(record, dispatches_, trace_.dispatches);
      case Kind::copy_end: return on_end(record, copies_, trace_.copies);
      case Kind::counters: return on_counters(record);
      case Kind::region:
        return trace_.regions.push_back({record.fixed<spool::Region>(), text<spool::Region>(record, 0)});
      case Kind::observed: {
        const auto observed = record.fixed<spool::Observed>();
        return dependencies_.observed(observed.thread, observed.signal);
      }
      case Kind::signal_destroyed:
        return dependencies_.signal_destroyed(record.fixed<spool::SignalDestroyed>().signal);
      case Kind::allocation: return trace_.allocations.push_back(record.fixed<spool::Allocation>());
    }
    throw SpoolError("has a record of an unknown kind");
  }

  void on_process(const RecordView& record) {
    using P = spool::Process;
    trace_.process = {record.fixed<P>(),     text<P>(record, 0), text<P>(record, 1), text<P>(record, 2),
                      text<P>(record, 3), text<P>(record, 4), text<P>(record, 5)};
    has_process_ = true;
  }

  void on_agent(const RecordView& record) {
    using A = spool::Agent;
    trace_.agents.push_back({record.fixed<A>(), text<A>(record, 0), text<A>(record, 1), text<A>(record, 2),
                             text<A>(record, 3), text<A>(record, 4)});
  }

  void on_counter(const RecordView& record) {
    using C = spool::Counter;
    trace_.counters.push_back({text<C>(record, 0), text<C>(record, 1), text<C>(record, 2)});
  }

  void on_kernel(const RecordView& record) {
    const auto kernel = record.fixed<spool::Kernel>();
    // An address can be loaded again with another kernel: a dispatch means the latest before it.
    kernel_ids_[kernel.kernel_object] = kernel.kernel_id;
    trace_.kernels.push_back({kernel, text<spool::Kernel>(record, 0)});
  }

  void on_dispatch(const RecordView& record) {
    Dispatch dispatch;
    dispatch.fixed = record.fixed<spool::Dispatch>();
    const spool::Dispatch& fixed = dispatch.fixed;
    if (const auto kernel = kernel_ids_.find(fixed.kernel_object); kernel != kernel_ids_.end())
      dispatch.kernel_id = kernel->second;
    dispatch.after = dependencies_.dispatch(fixed.queue_id, fixed.origin.thread, fixed.barrier_bit != 0,
                                            fixed.completion_signal);
    remember(dispatches_, fixed.dispatch_id, false, trace_.dispatches.size());
    trace_.dispatches.push_back(std::move(dispatch));
  }

  void on_copy(const RecordView& record) {
    Copy copy;
    copy.fixed = record.fixed<spool::Copy>();
    std::vector<uint64_t> signals(copy.fixed.signal_count);
    record.array<spool::Copy>(signals.size(), signals.data());
    copy.after = dependencies_.copy(copy.fixed.origin.thread, signals, copy.fixed.completion_signal);
    remember(copies_, copy.fixed.copy_id, true, trace_.copies.size());
    trace_.copies.push_back(std::move(copy));
  }

  void on_barrier(const RecordView& record) {
    const auto barrier = record.fixed<spool::Barrier>();
    std::span<const uint64_t> signals(barrier.signals);
    // Of several signals any one of which is enough, none is certain to have been waited for.
    const auto used = std::count_if(signals.begin(), signals.end(), [](uint64_t s) { return s != 0; });
    if (barrier.waits == spool::Waits::any && used > 1) signals = {};
    dependencies_.barrier(barrier.queue_id, barrier.thread, barrier.barrier_bit != 0,
                          barrier.waits != spool::Waits::none, signals, barrier.completion_signal);
  }

  template <class Operation>
  void on_end(const RecordView& record, const std::unordered_map<uint64_t, uint32_t>& indices,
              std::vector<Operation>& operations) {
    const auto end = record.fixed<spool::End>();
    const auto at = indices.find(end.id);
    if (at == indices.end()) throw SpoolError("has the end of an operation that never began");
    Operation& operation = operations[at->second];
    operation.start_ns = end.start_ns;
    operation.end_ns = end.end_ns;
    operation.completed = true;
  }

  void on_counters(const RecordView& record) {
    const auto fixed = record.fixed<spool::Counters>();
    const auto at = dispatches_.find(fixed.dispatch_id);
    if (at == dispatches_.end() || fixed.count != trace_.counters.size())
      throw SpoolError("has counters that fit no dispatch");
    auto& counters = trace_.dispatches[at->second].counters;
    counters.resize(fixed.count);
    record.array<spool::Counters>(counters.size(), counters.data());
  }

  void remember(std::unordered_map<uint64_t, uint32_t>& indices, uint64_t id, bool is_copy, size_t index) {
    indices[id] = static_cast<uint32_t>(index);
    trace_.nodes.push_back({is_copy, static_cast<uint32_t>(index)});
  }

  Trace trace_;
  bool has_process_ = false;
  Dependencies dependencies_;
  std::unordered_map<uint64_t, uint64_t> kernel_ids_;           // by kernel object
  std::unordered_map<uint64_t, uint32_t> dispatches_, copies_;  // index by id
};

}  // namespace

uint32_t Trace::node_of_queue(uint32_t queue_id) const {
  for (const spool::Queue& queue : queues)
    if (queue.queue_id == queue_id) return queue.node_id;
  throw SpoolError("has a dispatch on a queue that was never created");
}

Trace read_trace(const SpoolReader& spool) { return Reader().read(spool); }

}  // namespace rpd::rocpd
