// What a program gets for a kernel's or copy's access to memory that is not there.
#pragma once

#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <string>

namespace rpd {

// Ends the process as ROCr does (Runtime::VMFaultHandler): the program's system event handlers are asked first, and
// unless one of them takes care of the fault, ROCr's line "Memory access fault by GPU node-..." and abort(). Before
// that `what`, one line that names who accessed what. Returns if a handler took care.
void report_memory_fault(const std::string& what, uint64_t address);

// Kernels' accesses are checked before they are made. What that leaves, memory that is unmapped while a kernel uses
// it, strikes as SIGSEGV or SIGBUS on a thread that has such an object: it ends the process with a line, too. The
// signals of all other threads go where they went before.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

// A program's handler of system events, in addition to others.
void add_system_event_handler(hsa_amd_system_event_callback_t handler, void* data);

// Where the aperture of a device is, so that such a line can give a device address.
void report_memory_faults_in(void* aperture, uint64_t size);

}  // namespace rpd
