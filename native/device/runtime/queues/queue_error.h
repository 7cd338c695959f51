// How a queue that cannot continue informs the program.
//
// A real device writes an error code into the queue's queue_inactive_signal; ROCr's handler for that signal
// (AqlQueue::DynamicQueueEventsHandler) maps the code to a status, suspends the queue and calls the callback that the program
// gave to hsa_queue_create. HIP's callback prints the status and aborts the process.
//
// On the software device, suspending fails: the thunk's model does not implement the ioctl for it and aborts with "model:
// Unimplemented KFD ioctl" before the callback is called. So if the hooks have seen the queue's creation (queue_hooks.cpp), the
// callback is called directly, with the status that ROCr would pass; otherwise the error is reported through ROCr.
#pragma once

#include <cstdint>
#include <string>

namespace rpd {

class AqlQueue;
class Device;

// Values of queue_inactive_signal that ROCr recognises.
namespace queue_error {
inline constexpr int64_t kInvalidDimension = 0x2;
inline constexpr int64_t kInvalidGroupMemory = 0x4;
inline constexpr int64_t kInvalidCode = 0x8;
inline constexpr int64_t kInvalidPacket = 0x20;
inline constexpr int64_t kGroupTooLarge = 0x40;
inline constexpr int64_t kOutOfRegisters = 0x80;
inline constexpr int64_t kInvalidVendorPacket = 0x100;
inline constexpr int64_t kApertureViolation = 0x20000000;
inline constexpr int64_t kIllegalInstruction = 0x40000000;
inline constexpr int64_t kException = 0x80000000;
}  // namespace queue_error

// Prints `reason` and reports the error as described above. The queue must not process any more packets.
void report_queue_error(Device& device, AqlQueue& queue, const std::string& reason, int64_t error_code);

}  // namespace rpd
