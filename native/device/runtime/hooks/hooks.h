// The device as an HSA tools library.
//
// ROCr loads every library of HSA_TOOLS_LIB and hands it the table behind its interface. Through it the device sees
// what host threads do: the thunk's model interface shows neither who rang a doorbell nor who waits for what.
// Each group of functions is replaced in a file of its own; all of them work without each other, and without any
// of them the device still executes correctly, only with times that know nothing of the host.
#pragma once

#ifndef AMD_INTERNAL_BUILD
#define AMD_INTERNAL_BUILD  // hsa_api_trace.h is complete only with it
#endif
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

namespace rpd {

// ROCr's own functions, as they were before.
struct OriginalTables {
  CoreApiTable core;
  AmdExtTable amd;
};
OriginalTables& original();

// Says so on stderr, once, if ROCr has not loaded the device as a tools library by the first packet.
void expect_hooks();

void hook_signals(CoreApiTable& core, AmdExtTable& amd);  // waits, loads, stores, async handlers
void hook_queues(CoreApiTable& core, AmdExtTable& amd);   // creation and destruction
void hook_agents(CoreApiTable& core);     // what the device says of itself
void hook_copies(AmdExtTable& amd);
void hook_memory(CoreApiTable& core, AmdExtTable& amd);  // what the program is given, handlers of faults
void hook_virtual_memory(AmdExtTable& amd);  // addresses and memory that the program itself brings together
void hook_managed_memory(AmdExtTable& amd);  // attributes of ranges, prefetches
void hook_shared_memory(AmdExtTable& amd);   // with other processes
void hook_times(AmdExtTable& amd);
void hook_executables(CoreApiTable& core);  // names of kernels, variables

// The type of queue to create where a program asks for `type`.
hsa_queue_type32_t without_global_wave_sync(hsa_queue_type32_t type);

// A program's store to a signal that may be a doorbell: stamps and releases the packets that it submits. False if
// it is no doorbell that we know, and then nothing happened.
bool ring_doorbell(hsa_signal_t signal, hsa_signal_value_t value, void (*store)(hsa_signal_t, hsa_signal_value_t));

}  // namespace rpd
