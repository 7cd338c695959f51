// Workarounds for defects of ROCr's thunk in model mode (observed in versions up to 7.2.4). Some of the defects only cost time;
// the others end the program. Each workaround replaces a C library function that libhsa-runtime64 calls at the right moment,
// for that library only. If the library is built differently, nothing is replaced.
#pragma once

#include <pthread.h>

namespace rpd {

// hsaKmtOpenKFD sizes two arrays by a node count that is not initialised in model mode. It clears the first array, which is up
// to 4 GiB in size, and this can take seconds; the second array is up to 32 GiB. Neither is ever used, but a process that has
// allocated more memory than the machine has can no longer fork. This makes the first array take no memory and the second
// allocation fail, which the thunk handles.
void survive_unset_node_count();
// To be called once the thunk has been opened: from then on, ROCr's large arrays are not affected.
void on_node_count_set();

// ROCr's event threads wait for several events at once. When one of the events occurs, the model forgets the ages expected for
// the others (it assumes age 0, "always there"), so from then on every wait returns at once and the thread occupies a core.
// This makes a thread pause if it waits far too often.
void avoid_busy_event_threads();

// In the model, when an event occurs, only one of the threads that wait for it stops waiting: that thread resets the event, and
// the others go back to sleep. ROCr's event thread and the thread that destroys a queue wait for the same events, so one of
// them could sleep forever. This makes waits end early, as if by a timeout; ROCr then checks the signal itself and waits again.
void avoid_endless_waits();

// The model ends the process when it receives a driver call that it does not know. This makes the call fail instead.
void survive_unknown_calls();
// The function that serves the driver call in progress on the calling thread; null if there is none.
void* model_call_in_progress();
// Makes the thread leave that call's critical section.
void leave_model();

// Called where the model is about to lock its mutex. If the model is serving the call that sets a trap handler, that call
// returns success.
void serve_trap_handler_call(void* called_from);

// The thunk reserves addresses for the device directly after a program that is linked at a fixed address, where the program's
// heap would grow: malloc copes, but some programs then crash. This leaves room for the heap.
void leave_heap_room();

// The model asserts that there is only one GPU. This makes it accept more.
void allow_several_gpus();

// ROCr's event thread uses a queue's event to confirm that the queue has ended. The thread that destroys the last queue
// destroys that event without waiting for the confirmation. The kernel driver ignores an event raised too late; the model
// aborts. Whenever the destroying thread is about to enter the model, this lets all other threads in first.
void avoid_late_queue_events();
// To be called whenever the model calls the device from a thread that holds the model's mutex.
void learn_model_mutex();
bool is_model_mutex(const pthread_mutex_t* mutex);
// While this object exists, the calling thread counts as destroying queues.
struct QueueDestruction {
  QueueDestruction();
  ~QueueDestruction();
};

}  // namespace rpd
