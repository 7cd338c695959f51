// Schedules the engines of all devices as if they were one: dispatches of several queues take turns on it.
//
// A dispatch that has begun keeps the engine until it ends, unless it waits for memory to change, a parked dispatch can
// continue, or it has run for a long time while another one is in line. The schedule depends only on what the dispatches have
// executed and on the order in which they were submitted, not on the speed of the host.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

namespace rpd {

class EngineScheduler {
 public:
  // One dispatch's place in the schedule.
  struct Entry {
    enum class State : uint8_t { Absent, Queued, Parked, Running };
    std::atomic<State> state = State::Absent;
    bool begun = false;
    uint64_t submitted = 0;  // virtual time
    std::chrono::steady_clock::time_point queued;
    std::function<bool()> can_resume;  // while parked
  };

  // `may_begin` tells whether an entry may begin, that is, whether no dispatch submitted earlier is still on its way into the
  // line.
  explicit EngineScheduler(std::function<bool(const Entry&)> may_begin) : may_begin_(std::move(may_begin)) {}

  // queue() puts an entry in line for the engine, in order of submission among the entries that have not begun; leave() removes
  // it from the line or takes the engine away from it.
  void queue(Entry& entry, uint64_t submitted);
  void leave(Entry& entry);
  // Called for the entry that has the engine: pass() moves it to the end of the line, and park() sets it aside until
  // `can_resume` returns true.
  void pass(Entry& entry);
  void park(Entry& entry, std::function<bool()> can_resume);
  // Whether the entry has the engine now. Must be called repeatedly: each call hands the engine, if free, to the next entry.
  bool has_engine(Entry& entry);

  // Whether the entry that has the engine should pass it on after executing this many instructions in its turn.
  bool should_pass(uint64_t instructions);

  // Whether any entry has the engine or is in line for it.
  bool any_active() const;
  // Whether any entry is parked.
  bool any_parked() const;
  // The number of times that the engine has changed hands.
  uint64_t changes() const;

 private:
  void admit_parked();
  void hand_over();
  void set_running(Entry* entry);

  const std::function<bool(const Entry&)> may_begin_;
  mutable std::mutex mutex_;
  std::list<Entry*> line_;
  std::list<Entry*> parked_;  // in order of arrival
  Entry* running_ = nullptr;
  uint64_t changes_ = 0;
};

}  // namespace rpd
