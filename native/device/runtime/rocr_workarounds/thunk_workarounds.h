// Defects of ROCr's thunk in model mode (seen up to 7.2.4). Two cost time, the others end the program. They are
// worked around by replacing a C library function that libhsa-runtime64 calls at the right moment, and only there. Where
// that library looks otherwise, nothing happens.
#pragma once

namespace rpd {

// hsaKmtOpenKFD sizes an array by a node count that is not initialised in model mode, then zeroes it: by chance up
// to 4 GiB and several seconds. The array is used for nothing. This makes libhsa-runtime64's next large clearing
// skip memory that is fresh from the system, and so already zero.
void avoid_slow_driver_open();

// ROCr's event threads wait for several events at once. When one of them comes, the model forgets for the others
// what they wait for (it takes age 0, "always there"), so that from then on every wait returns at once and the
// thread takes a core for itself. This makes a thread pause that waits far too often.
void avoid_busy_event_threads();

// The model ends the process at a driver call that it does not know. With this the call fails.
void survive_unknown_calls();
// The function that serves the driver call which the calling thread is in; null if it is in none.
void* model_call_in_progress();
// The thread leaves it.
void leave_model();

// The thunk reserves addresses for the device directly behind a program that is linked to a fixed address, where the
// program's heap would grow: malloc does without, but some programs then crash. This leaves room for it.
void leave_heap_room();

// ROCr's event thread confirms the end of a queue with the queue's event, which the thread that destroys the last
// queue destroys without waiting for it. The kernel driver ignores what is raised too late; the model aborts. This
// lets all others into the model first whenever the destroying thread enters it.
void avoid_late_queue_events();
// Called whenever the model calls in a thread that holds its mutex.
void learn_model_mutex();
// The calling thread destroys queues, for as long as this exists.
struct QueueDestruction {
  QueueDestruction();
  ~QueueDestruction();
};

}  // namespace rpd
