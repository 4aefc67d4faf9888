/* How Python drives the stand-in runtime: devices, and the loader that turns code objects into kernels. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "exec/api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  char name[128];
  char arch[32];          /* gfx942 */
  char gcn_arch_name[64]; /* gfx942:sramecc+:xnack- */
  int32_t major, minor, wave_size, multiprocessors, clock_khz, memory_clock_khz, memory_bus_bits, integrated;
  uint64_t memory_bytes, l2_bytes, lds_bytes;
} emu_hip_device;

enum emu_hip_option {
  EMU_HIP_CHECK = 1, /* launches run under the checkers; fresh device memory is filled with 0xff */
  EMU_HIP_DEFER = 2  /* work on streams is carried out only when something waits for it, streams in random order */
};

void emu_hip_configure(const emu_hip_device* devices, int count, unsigned options, unsigned seed);
int emu_hip_current_device(void);

/* What a kernel takes: one entry an argument, in order. Kinds of hidden arguments follow the code object's metadata. */
enum emu_hip_argument_kind {
  EMU_ARG_EXPLICIT = 0,
  EMU_ARG_BLOCK_COUNT_X,
  EMU_ARG_BLOCK_COUNT_Y,
  EMU_ARG_BLOCK_COUNT_Z,
  EMU_ARG_GROUP_SIZE_X,
  EMU_ARG_GROUP_SIZE_Y,
  EMU_ARG_GROUP_SIZE_Z,
  EMU_ARG_REMAINDER_X,
  EMU_ARG_REMAINDER_Y,
  EMU_ARG_REMAINDER_Z,
  EMU_ARG_GRID_DIMS,
  EMU_ARG_DYNAMIC_LDS_SIZE,
  EMU_ARG_ZERO
};

typedef struct {
  uint32_t kind, offset, size;
} emu_hip_argument;

/* What the kernel descriptor makes the hardware allocate, which may be more than the code uses. */
typedef struct {
  uint32_t vgprs, agprs, sgprs;      /* as the assembler's directives give them: not rounded to granules */
  uint32_t workgroup_processor_mode; /* RDNA: a workgroup may use both compute units of a processor */
} emu_hip_descriptor;

typedef struct {
  const char* name;
  emu_kernel* kernel; /* owned by the module from here on */
  const emu_hip_argument* arguments;
  uint32_t argument_count, kernarg_bytes;
  uint32_t static_lds, private_bytes, vgprs, agprs, sgprs, max_block;
  emu_hip_descriptor descriptor;
} emu_hip_kernel_info;

/* Called by hipModuleLoadData with the code object. Adds kernels and symbols to `module`; returns a hipError_t, with
 * its text in `error`. */
typedef int (*emu_hip_loader)(const void* image, size_t bytes, int device, void* module, char* error,
                              size_t error_bytes);

void emu_hip_set_loader(emu_hip_loader loader);
void emu_hip_module_add_kernel(void* module, const emu_hip_kernel_info* info);
void emu_hip_module_add_symbol(void* module, const char* name, void* address, size_t bytes);
/* Device memory that lives as long as the module: for the code object's data. Null if there is none left. */
void* emu_hip_module_reserve(void* module, size_t bytes);

/* A launch that was carried out while somebody profiled. */
typedef struct {
  const char* kernel; /* valid until profiling ends */
  int32_t device;
  uint32_t grid[3], block[3]; /* workgroups, work-items in one */
  uint32_t lds_bytes, private_bytes;
  emu_hip_descriptor descriptor;
  emu_counters counters;
} emu_hip_dispatch;

/* Between begin and end launches are counted and logged; the log is dropped when everybody who began has ended.
   `begin` returns the number of the next dispatch; `dispatch_at` fails for a number that is not in the log. */
uint64_t emu_hip_profile_begin(void);
void emu_hip_profile_end(void);
int emu_hip_dispatch_at(uint64_t number, emu_hip_dispatch* out);

/* A function of a ROCm library that the emulated GPU lacks was called: says so once on stderr. */
void emu_unsupported(const char* function);

#ifdef __cplusplus
}
#endif
