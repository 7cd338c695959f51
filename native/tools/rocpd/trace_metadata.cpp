#include "rocpd/trace_metadata.h"

#include <algorithm>

namespace rpd::rocpd {
namespace {

using spool::Kind;

template <class T>
std::string text(const RecordView& record, int index) {
  return std::string(record.string<T>(index));
}

// Queues and streams are named in the order of their first operations: dispatches come first, then copies, then allocations.
class FirstUses {
 public:
  void add(uint32_t key, int kind, uint64_t id) {
    const auto [entry, is_new] = first_.try_emplace(key, kind, id);
    if (!is_new) entry->second = std::min(entry->second, {kind, id});
  }

  std::vector<uint32_t> in_order() const {
    std::vector<std::pair<std::pair<int, uint64_t>, uint32_t>> sorted;
    for (const auto& [key, when] : first_) sorted.emplace_back(when, key);
    std::sort(sorted.begin(), sorted.end());
    std::vector<uint32_t> order;
    for (const auto& [when, key] : sorted) order.push_back(key);
    return order;
  }

 private:
  std::map<uint32_t, std::pair<int, uint64_t>> first_;
};

class TraceMetadataReader {
 public:
  explicit TraceMetadataReader(const SpoolReader& spool) : spool_(spool) {}

  TraceMetadata read() {
    Visitor visitor;
    visitor.metadata = [this](const RecordView& record) { on_metadata(record); };
    visitor.dispatch = [this](const TracedDispatch& dispatch) { on_dispatch(dispatch); };
    visitor.copy = [this](const TracedCopy& copy) { on_copy(copy); };
    visitor.region = [this](const TracedRegion& region) { on_region(region); };
    visitor.allocation = [this](const spool::Allocation& allocation) { on_allocation(allocation); };
    const UnfinishedCounts unfinished = walk_spool(spool_, visitor);
    if (!has_process_) throw SpoolError("the spool has no process record");
    metadata_.unfinished_dispatches = unwritable_ + unfinished.dispatches;
    metadata_.threads.insert(metadata_.process.record.pid);
    metadata_.queues_used = queues_.in_order();
    metadata_.streams_used = streams_.in_order();
    metadata_.lost_records = spool_.lost();
    return std::move(metadata_);
  }

 private:
  void on_metadata(const RecordView& record) {
    switch (record.kind()) {
      case Kind::process: return on_process(record);
      case Kind::agent: return on_agent(record);
      case Kind::counter: return on_counter(record);
      case Kind::queue: return metadata_.queues.push_back(record.fixed_part<spool::Queue>());
      case Kind::code_object:
        return metadata_.code_objects.push_back({record.fixed_part<spool::CodeObject>(), text<spool::CodeObject>(record, 0)});
      case Kind::kernel:
        return metadata_.kernels.push_back({record.fixed_part<spool::Kernel>(), text<spool::Kernel>(record, 0)});
      default: return;
    }
  }

  void on_process(const RecordView& record) {
    using P = spool::Process;
    metadata_.process = {record.fixed_part<P>(), text<P>(record, 0), text<P>(record, 1), text<P>(record, 2),
                         text<P>(record, 3),     text<P>(record, 4), text<P>(record, 5)};
    has_process_ = true;
  }

  void on_agent(const RecordView& record) {
    using A = spool::Agent;
    metadata_.agents.push_back({record.fixed_part<A>(), text<A>(record, 0), text<A>(record, 1), text<A>(record, 2),
                                text<A>(record, 3), text<A>(record, 4)});
  }

  void on_counter(const RecordView& record) {
    using C = spool::Counter;
    metadata_.counters.push_back({text<C>(record, 0), text<C>(record, 1), text<C>(record, 2)});
  }

  // Ids are consecutive, so an id larger than the spool's size means that the spool is damaged; storing it could take any
  // amount of memory.
  void note(OperationIds& written, uint64_t id) {
    if (id > spool_.bytes()) throw SpoolError("the spool has an operation with an impossible number");
    written.add(id);
  }

  void on_dispatch(const TracedDispatch& dispatch) {
    const spool::Dispatch& d = dispatch.record;
    if (!is_writable(dispatch)) {
      ++unwritable_;
      return;
    }
    note(metadata_.dispatches, d.dispatch_id);
    metadata_.threads.insert(d.origin.thread);
    queues_.add(d.queue_id, 0, d.dispatch_id);
    streams_.add(d.origin.stream, 0, d.dispatch_id);
    if (dispatch.counters.empty()) return;
    ++metadata_.dispatches_with_counters;
    if (d.dispatch_id >= first_counted_) return;
    first_counted_ = d.dispatch_id;
    metadata_.counting_node = metadata_.node_of_queue(d.queue_id);
  }

  void on_copy(const TracedCopy& copy) {
    const spool::Copy& c = copy.record;
    note(metadata_.copies, c.copy_id);
    metadata_.threads.insert(c.origin.thread);
    metadata_.copy_directions.insert({c.source_node, c.destination_node});
    streams_.add(c.origin.stream, 1, c.copy_id);
  }

  void on_region(const TracedRegion& region) {
    metadata_.last_correlation = std::max(metadata_.last_correlation, region.record.correlation);
    metadata_.threads.insert(region.record.thread);
    if (!metadata_.functions.contains(region.function)) metadata_.functions.emplace(region.function);
  }

  void on_allocation(const spool::Allocation& allocation) {
    metadata_.threads.insert(allocation.origin.thread);
    streams_.add(allocation.origin.stream, 2, ++allocations_);
  }

  const SpoolReader& spool_;
  TraceMetadata metadata_;
  FirstUses queues_, streams_;
  bool has_process_ = false;
  uint64_t unwritable_ = 0, allocations_ = 0, first_counted_ = UINT64_MAX;
};

}  // namespace

uint32_t TraceMetadata::node_of_queue(uint32_t queue_id) const {
  for (const spool::Queue& queue : queues)
    if (queue.queue_id == queue_id) return queue.node_id;
  throw SpoolError("the spool has a dispatch on a queue that was never created");
}

TraceMetadata read_trace_metadata(const SpoolReader& spool) { return TraceMetadataReader(spool).read(); }

}  // namespace rpd::rocpd
