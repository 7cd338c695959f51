#include "rocpd/process_description.h"

#include <algorithm>

namespace rpd::rocpd {
namespace {

using spool::Kind;

template <class T>
std::string text(const RecordView& record, int index) {
  return std::string(record.string<T>(index));
}

// Queues and streams are named in the order of their first operations: dispatches come first, then copies, then allocations.
class Appearances {
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

class Survey {
 public:
  explicit Survey(const SpoolReader& spool) : spool_(spool) {}

  ProcessDescription make() {
    Visitor visitor;
    visitor.description = [this](const RecordView& record) { on_description(record); };
    visitor.dispatch = [this](const Dispatch& dispatch) { on_dispatch(dispatch); };
    visitor.copy = [this](const Copy& copy) { on_copy(copy); };
    visitor.region = [this](const Region& region) { on_region(region); };
    visitor.allocation = [this](const spool::Allocation& allocation) { on_allocation(allocation); };
    const Unfinished unfinished = walk_spool(spool_, visitor);
    if (!has_process_) throw SpoolError("has no process record");
    description_.unfinished_dispatches = unwritable_ + unfinished.dispatches;
    description_.threads.insert(description_.process.fixed.pid);
    description_.queues_used = queues_.in_order();
    description_.streams_used = streams_.in_order();
    description_.lost_records = spool_.lost();
    return std::move(description_);
  }

 private:
  void on_description(const RecordView& record) {
    switch (record.kind()) {
      case Kind::process: return on_process(record);
      case Kind::agent: return on_agent(record);
      case Kind::counter: return on_counter(record);
      case Kind::queue: return description_.queues.push_back(record.fixed<spool::Queue>());
      case Kind::code_object:
        return description_.code_objects.push_back({record.fixed<spool::CodeObject>(), text<spool::CodeObject>(record, 0)});
      case Kind::kernel: return description_.kernels.push_back({record.fixed<spool::Kernel>(), text<spool::Kernel>(record, 0)});
      default: return;
    }
  }

  void on_process(const RecordView& record) {
    using P = spool::Process;
    description_.process = {record.fixed<P>(),  text<P>(record, 0), text<P>(record, 1), text<P>(record, 2),
                            text<P>(record, 3), text<P>(record, 4), text<P>(record, 5)};
    has_process_ = true;
  }

  void on_agent(const RecordView& record) {
    using A = spool::Agent;
    description_.agents.push_back({record.fixed<A>(), text<A>(record, 0), text<A>(record, 1), text<A>(record, 2),
                                   text<A>(record, 3), text<A>(record, 4)});
  }

  void on_counter(const RecordView& record) {
    using C = spool::Counter;
    description_.counters.push_back({text<C>(record, 0), text<C>(record, 1), text<C>(record, 2)});
  }

  // Ids are consecutive, so an id larger than the spool's size means that the spool is damaged; storing it could take any
  // amount of memory.
  void note(Written& written, uint64_t id) {
    if (id > spool_.bytes()) throw SpoolError("has an operation with an impossible number");
    written.add(id);
  }

  void on_dispatch(const Dispatch& dispatch) {
    const spool::Dispatch& d = dispatch.fixed;
    if (!is_writable(dispatch)) {
      ++unwritable_;
      return;
    }
    note(description_.dispatches, d.dispatch_id);
    description_.threads.insert(d.origin.thread);
    queues_.add(d.queue_id, 0, d.dispatch_id);
    streams_.add(d.origin.stream, 0, d.dispatch_id);
    if (dispatch.counters.empty()) return;
    ++description_.dispatches_with_counters;
    if (d.dispatch_id >= first_counted_) return;
    first_counted_ = d.dispatch_id;
    description_.counting_node = description_.node_of_queue(d.queue_id);
  }

  void on_copy(const Copy& copy) {
    const spool::Copy& c = copy.fixed;
    note(description_.copies, c.copy_id);
    description_.threads.insert(c.origin.thread);
    description_.copy_directions.insert({c.source_node, c.destination_node});
    streams_.add(c.origin.stream, 1, c.copy_id);
  }

  void on_region(const Region& region) {
    description_.last_correlation = std::max(description_.last_correlation, region.fixed.correlation);
    description_.threads.insert(region.fixed.thread);
    if (!description_.functions.contains(region.function)) description_.functions.emplace(region.function);
  }

  void on_allocation(const spool::Allocation& allocation) {
    description_.threads.insert(allocation.origin.thread);
    streams_.add(allocation.origin.stream, 2, ++allocations_);
  }

  const SpoolReader& spool_;
  ProcessDescription description_;
  Appearances queues_, streams_;
  bool has_process_ = false;
  uint64_t unwritable_ = 0, allocations_ = 0, first_counted_ = UINT64_MAX;
};

}  // namespace

uint32_t ProcessDescription::node_of_queue(uint32_t queue_id) const {
  for (const spool::Queue& queue : queues)
    if (queue.queue_id == queue_id) return queue.node_id;
  throw SpoolError("has a dispatch on a queue that was never created");
}

ProcessDescription read_process_description(const SpoolReader& spool) { return Survey(spool).make(); }

}  // namespace rpd::rocpd
