// Who may use the engine: dispatches of several queues take turns.
//
// A dispatch that has begun keeps the engine to its end, unless it waits for memory to change, or another one that has
// begun can go on, or it has taken long and another one waits to begin. What decides is what the dispatches have
// executed and the order in which they came; how fast the host is decides nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

namespace rpd {

class Turns {
 public:
  // Of one dispatch.
  struct Seat {
    enum class State : uint8_t { Absent, Queued, Parked, Running };
    std::atomic<State> state = State::Absent;
    bool begun = false;
    uint64_t submitted = 0;  // virtual time
    std::chrono::steady_clock::time_point queued;
    std::function<bool()> can_go_on;  // while parked
  };

  // may_begin: whether no dispatch that was submitted earlier is still on its way into the line.
  explicit Turns(std::function<bool(const Seat&)> may_begin) : may_begin_(std::move(may_begin)) {}

  // To get in line, in the order of submission among those that have not begun, and out of it or off the engine.
  void queue(Seat& seat, uint64_t submitted);
  void leave(Seat& seat);
  // Of a seat that has the engine: to the end of the line, or aside until `can_go_on`.
  void pass(Seat& seat);
  void park(Seat& seat, std::function<bool()> can_go_on);
  // Whether the seat has the engine now. To be asked again and again: whoever asks gives the engine on if it is free.
  bool has_engine(Seat& seat);

  // Whether the one that has the engine should pass it on after so many instructions.
  bool should_pass(uint64_t instructions);

  // Whether somebody is on the engine or in line for it.
  bool any_active() const;
  // Whether somebody is aside.
  bool any_parked() const;
  // Of every change of who has the engine.
  uint64_t changes() const;

 private:
  void admit_parked();
  void give_on();
  void set_running(Seat* seat);

  const std::function<bool(const Seat&)> may_begin_;
  mutable std::mutex mutex_;
  std::list<Seat*> line_;
  std::list<Seat*> parked_;  // in the order in which they came
  Seat* running_ = nullptr;
  uint64_t changes_ = 0;
};

}  // namespace rpd
