// The names of CUDA's runtime that the microbenchmarks use, as HIP's. hipify would write these into the sources.
#pragma once
#include <hip/hip_runtime.h>

#define cudaDeviceProp hipDeviceProp_t
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaEventCreate hipEventCreate
#define cudaEventElapsedTime hipEventElapsedTime
#define cudaEventQuery hipEventQuery
#define cudaEventRecord hipEventRecord
#define cudaEventSynchronize hipEventSynchronize
#define cudaEvent_t hipEvent_t
#define cudaErrorNotReady hipErrorNotReady
#define cudaFree hipFree
#define cudaGetDevice hipGetDevice
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetDeviceProperties hipGetDeviceProperties
#define cudaGetLastError hipGetLastError
#define cudaMalloc hipMalloc
#define cudaMallocManaged hipMallocManaged
#define cudaMemcpy hipMemcpy
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor hipOccupancyMaxActiveBlocksPerMultiprocessor
#define cudaSetDevice hipSetDevice

// What the sources ask of the machine, which the software device has no sensors for.
struct GPU_stats {
  double clock, power, temperature;
};
inline unsigned int getGPUClock() { return 2100; }
inline GPU_stats getGPUStats(int) { return {}; }
inline void initMeasureMetric() {}
inline void measureDRAMBytesStart() {}
inline void measureL2BytesStart() {}
inline const double* measureDRAMBytesStop() { return nullptr; }
inline const double* measureL2BytesStop() { return nullptr; }
