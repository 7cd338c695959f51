"""What programs find when they look for GPUs below ROCr: in the kernel driver's topology and through libdrm."""

from __future__ import annotations

import pytest

PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#define FIND(name) __typeof__(name)* const p_##name = (__typeof__(name)*)dlsym(RTLD_DEFAULT, #name)
int drmOpenRender(int);
int drmClose(int);
int amdgpu_device_initialize(int, uint32_t*, uint32_t*, void**);
int amdgpu_device_deinitialize(void*);
const char* amdgpu_get_marketing_name(void*);
int amdgpu_query_gpu_info(void*, void*);
int main(void) {
  FIND(drmOpenRender); FIND(drmClose); FIND(amdgpu_device_initialize); FIND(amdgpu_device_deinitialize);
  FIND(amdgpu_get_marketing_name); FIND(amdgpu_query_gpu_info);
  for (int node = 0; node < 4; ++node) {
    char path[99], name[99];
    snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%d/properties", node);
    FILE* file = fopen(path, "r");
    if (!file) { printf("no node %d\n", node); continue; }
    unsigned long long value, minor = 0, version = 0;
    while (fscanf(file, "%98s %llu", name, &value) == 2) {
      if (!strcmp(name, "drm_render_minor")) minor = value;
      if (!strcmp(name, "gfx_target_version")) version = value;
    }
    fclose(file);
    printf("node %d: version %llu, minor %llu", node, version, minor);
    int device = p_drmOpenRender(minor);
    uint32_t major, patch, info[64] = {0};
    void* handle;
    if (device >= 0 && !p_amdgpu_device_initialize(device, &major, &patch, &handle)) {
      int unknown = p_amdgpu_query_gpu_info(handle, info);
      printf(", %s, %d, family %u of major %u", p_amdgpu_get_marketing_name(handle), unknown, info[3], major);
      int first = p_amdgpu_device_deinitialize(handle);
      printf(", %d %d", first, p_amdgpu_device_deinitialize(handle) < 0);
    }
    printf(", closed %d\n", device >= 0 ? p_drmClose(device) : device < 0);
  }
  int other[2];
  if (pipe(other)) return 1;
  int refused = p_amdgpu_device_initialize(other[0], 0, 0, 0) < 0;
  printf("%d %d\n", refused, p_drmClose(other[0]));
}
"""


@pytest.fixture(scope="module")
def program(compile_c):
    return compile_c("render_nodes", PROGRAM)


@pytest.mark.parametrize(
    "device, version, name, family",
    [
        ("gfx942", 90402, "AMD Instinct MI300X", 141),
        ("gfx90a", 90010, "AMD Instinct MI250X", 141),
        ("gfx950", 90500, "AMD Instinct MI355X", 141),
        ("gfx1030", 100300, "AMD Radeon RX 6800 XT", 143),
    ],
)
def test_render_nodes_match_the_topology(device, version, name, family, program, rocm_perf):
    done = rocm_perf("run", "--device", f"{device}:2", program)
    assert (done.returncode, done.stderr) == (0, "")
    gpu = f"node {{}}: version {version}, minor {{}}, {name}, 0, family {family} of major 3, 0 1, closed 0"
    assert done.stdout.splitlines() == [
        "node 0: version 0, minor 0, closed 1",
        gpu.format(1, 128),
        gpu.format(2, 129),
        "no node 3",
        "1 0",
    ]
