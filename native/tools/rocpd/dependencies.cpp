#include "rocpd/dependencies.h"

#include <algorithm>

namespace rpd::rocpd {
namespace {

SharedKnowledge nothing() {
  static const SharedKnowledge empty = std::make_shared<Knowledge>();
  return empty;
}

const Edge* find(const std::vector<Edge>& frontier, Position position) {
  const auto edge = std::find_if(frontier.begin(), frontier.end(), [&](const Edge& e) { return e.position == position; });
  return edge == frontier.end() ? nullptr : &*edge;
}

}  // namespace

bool DownwardClosedSet::contains(Position position) const {
  if (position.chain >= chains_.size()) return false;
  const Chain& chain = chains_[position.chain];
  return position.index < chain.prefix || std::binary_search(chain.beyond.begin(), chain.beyond.end(), position.index);
}

void DownwardClosedSet::absorb(Chain& chain) {
  auto end = chain.beyond.begin();
  for (; end != chain.beyond.end() && *end <= chain.prefix; ++end)
    if (*end == chain.prefix) ++chain.prefix;
  chain.beyond.erase(chain.beyond.begin(), end);
}

void DownwardClosedSet::insert(Position position) {
  if (contains(position)) return;
  if (position.chain >= chains_.size()) chains_.resize(position.chain + 1);
  Chain& chain = chains_[position.chain];
  chain.beyond.insert(std::lower_bound(chain.beyond.begin(), chain.beyond.end(), position.index), position.index);
  absorb(chain);
}

void DownwardClosedSet::insert_all(const DownwardClosedSet& other) {
  if (chains_.size() < other.chains_.size()) chains_.resize(other.chains_.size());
  for (size_t i = 0; i < other.chains_.size(); ++i) {
    Chain& chain = chains_[i];
    const Chain& more = other.chains_[i];
    chain.prefix = std::max(chain.prefix, more.prefix);
    if (!more.beyond.empty()) {
      std::vector<uint32_t> both;
      std::set_union(chain.beyond.begin(), chain.beyond.end(), more.beyond.begin(), more.beyond.end(),
                     std::back_inserter(both));
      chain.beyond = std::move(both);
    }
    absorb(chain);
  }
}

// An element of one frontier is dropped if its operation is complete on the other side too but is not in the other side's
// frontier, because some element of that frontier then implies it.
SharedKnowledge DependencyTracker::merge(const SharedKnowledge& into, const SharedKnowledge& from, EdgeKind at_least) const {
  if (from->frontier.empty()) return into;
  auto merged = std::make_shared<Knowledge>();
  for (const Edge& edge : into->frontier) {
    const Edge* const other = find(from->frontier, edge.position);
    if (other != nullptr)
      merged->frontier.push_back({edge.id, edge.position, std::min(edge.kind, std::max(other->kind, at_least))});
    else if (!from->complete.contains(edge.position)) merged->frontier.push_back(edge);
  }
  for (const Edge& edge : from->frontier)
    if (!into->complete.contains(edge.position))
      merged->frontier.push_back({edge.id, edge.position, std::max(edge.kind, at_least)});
  merged->complete = into->complete;
  merged->complete.insert_all(from->complete);
  return merged;
}

SharedKnowledge DependencyTracker::after(const SharedKnowledge& before, uint64_t id, Position position) const {
  auto knowledge = std::make_shared<Knowledge>();
  knowledge->complete = before->complete;
  knowledge->complete.insert(position);
  knowledge->frontier.push_back({id, position, EdgeKind::queue});
  return knowledge;
}

DependencyTracker::Queue& DependencyTracker::queue(uint32_t id) {
  const auto [entry, is_new] = queues_.try_emplace(id);
  if (is_new) {
    entry->second = {static_cast<uint32_t>(chain_lengths_.size()), nothing(), nothing()};
    chain_lengths_.push_back(0);
  }
  return entry->second;
}

Position DependencyTracker::next_position(uint32_t chain) { return {chain, chain_lengths_[chain]++}; }

SharedKnowledge DependencyTracker::waited_for(std::span<const uint64_t> signals, SharedKnowledge so_far) const {
  for (const uint64_t signal : signals) {
    const auto entry = signal == 0 ? signals_.end() : signals_.find(signal);
    if (entry != signals_.end()) so_far = merge(so_far, entry->second, EdgeKind::signal);
  }
  return so_far;
}

void DependencyTracker::completes(uint64_t signal, const SharedKnowledge& knowledge) {
  if (signal != 0) signals_[signal] = knowledge;
}

std::vector<Edge> DependencyTracker::dispatch(uint64_t id, uint32_t queue_id, uint32_t thread, bool barrier_bit,
                                              uint64_t completion_signal) {
  Queue& on = queue(queue_id);
  SharedKnowledge before = barrier_bit ? on.all : on.blocking;
  if (const auto host = threads_.find(thread); host != threads_.end()) before = merge(before, host->second, EdgeKind::host);
  const SharedKnowledge done = after(before, id, next_position(on.chain));
  on.all = barrier_bit ? done : merge(on.all, done, EdgeKind::queue);
  completes(completion_signal, done);
  return before->frontier;
}

std::vector<Edge> DependencyTracker::copy(uint64_t id, uint32_t thread, std::span<const uint64_t> signals,
                                          uint64_t completion_signal) {
  SharedKnowledge before = waited_for(signals, nothing());
  if (const auto host = threads_.find(thread); host != threads_.end()) before = merge(before, host->second, EdgeKind::host);
  completes(completion_signal, after(before, id, next_position(kCopies)));
  return before->frontier;
}

void DependencyTracker::barrier(uint32_t queue_id, uint32_t thread, bool barrier_bit, bool blocks,
                                std::span<const uint64_t> signals, uint64_t completion_signal) {
  Queue& on = queue(queue_id);
  SharedKnowledge done = waited_for(signals, barrier_bit ? on.all : on.blocking);
  if (const auto host = threads_.find(thread); host != threads_.end()) done = merge(done, host->second, EdgeKind::host);
  on.all = merge(on.all, done, EdgeKind::queue);
  if (blocks) on.blocking = done;
  completes(completion_signal, done);
}

void DependencyTracker::observed(uint32_t thread, uint64_t signal) {
  const auto entry = signals_.find(signal);
  if (entry == signals_.end()) return;
  SharedKnowledge& host = threads_.try_emplace(thread, nothing()).first->second;
  host = merge(host, entry->second, EdgeKind::host);
}

void DependencyTracker::signal_destroyed(uint64_t signal) { signals_.erase(signal); }

}  // namespace rpd::rocpd
