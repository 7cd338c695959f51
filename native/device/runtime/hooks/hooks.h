// The device as an HSA tools library.
//
// ROCr loads every library listed in HSA_TOOLS_LIB and passes it the function table behind the HSA interface. Through this
// table the device sees what host threads do: the thunk's model interface shows neither which thread rang a doorbell nor which
// thread waits for what. Each group of functions is replaced in a separate file. The groups are independent. Even without any
// of them the device executes correctly, but its times then take no account of the host.
#pragma once

#ifndef AMD_INTERNAL_BUILD
#define AMD_INTERNAL_BUILD  // hsa_api_trace.h is complete only with this macro
#endif
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

namespace rpd {

// ROCr's own functions, as they were before the hooks replaced them.
struct OriginalTables {
  CoreApiTable core;
  AmdExtTable amd;
};
OriginalTables& original();

// Warns on stderr, once, if ROCr has not loaded the device as a tools library by the time of the first packet.
void expect_hooks();

void hook_signals(CoreApiTable& core, AmdExtTable& amd);  // waits, loads, stores, async handlers
void hook_queues(CoreApiTable& core, AmdExtTable& amd);   // creation, destruction, priorities, CU masks
void hook_agents(CoreApiTable& core);     // what the device reports about itself
void hook_copies(AmdExtTable& amd);
void hook_memory(CoreApiTable& core, AmdExtTable& amd);  // memory given to the program, fault handlers
void hook_virtual_memory(AmdExtTable& amd);  // memory that the program itself maps to addresses
void hook_managed_memory(AmdExtTable& amd);  // attributes of address ranges
void hook_ipc_memory(AmdExtTable& amd);   // memory shared with other processes
void hook_times(AmdExtTable& amd);
void hook_executables(CoreApiTable& core);  // kernel names, variables: reports/kernel_names.cpp

// The type of queue to create if a program requests `type`.
hsa_queue_type32_t without_global_wave_sync(hsa_queue_type32_t type);

// Handles a program's store to a signal that may be a doorbell: stamps and releases the packets that it submits. Does nothing
// and returns false if the signal is not a known doorbell.
bool ring_doorbell(hsa_signal_t signal, hsa_signal_value_t value, void (*store)(hsa_signal_t, hsa_signal_value_t));

}  // namespace rpd
