// How a kernel's or copy's access to unmapped memory is reported to the program.
#pragma once

#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <string>

namespace rpd {

// Ends the process as ROCr does for a fault on the GPU of a node (Runtime::VMFaultHandler): first prints `message`, one line
// that reports which kernel or copy accessed what; then calls the program's system event handlers, and unless one of them
// handles the fault, prints ROCr's line "Memory access fault by GPU node-..." and calls abort(). Returns only if a handler has
// handled the fault.
void report_memory_fault(const std::string& message, uint64_t address, uint32_t node);

// Kernels' accesses are checked before they are made. The remaining case, memory that is unmapped while a kernel uses it,
// raises SIGSEGV or SIGBUS on a thread that holds a FaultReportScope: this too ends the process with a message. Signals on all
// other threads are handled as before.
class FaultReportScope {
 public:
  FaultReportScope();
  ~FaultReportScope();
  FaultReportScope(const FaultReportScope&) = delete;
  FaultReportScope& operator=(const FaultReportScope&) = delete;
};

// Adds a program's handler for system events; earlier handlers stay.
void add_system_event_handler(hsa_amd_system_event_callback_t handler, void* data);

// Registers the location of a device's aperture, so that the message about a signal can give a device address.
void report_memory_faults_in(void* aperture, uint64_t size);

}  // namespace rpd
