/* The executor's C interface: opcode table, memory map, kernels, launches. Plain C types; all functions are thread-safe
   unless they say otherwise. A failing call returns nonzero (or null) and leaves its text in emu_last_report of the
   calling thread. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Opcode table: rows 0 .. emu_op_count() - 1; null past the end. ---- */
uint32_t emu_op_count(void);
const char* emu_op_name(uint32_t op);
const char* emu_op_signature(uint32_t op);
uint32_t emu_op_flags(uint32_t op);
uint32_t emu_insn_size(void); /* sizeof(Insn), for the decoder to check its layout */

/* ---- Memory map: every allocation a kernel may touch, with its real size. `device` groups allocations: a launch sees
   those of its own device and those of device -1 (host memory visible to all). ---- */
int emu_memory_add(uint64_t address, uint64_t bytes, int device);
int emu_memory_remove(uint64_t address);

enum emu_arch { EMU_CDNA3 = 0, EMU_CDNA4 = 1, EMU_RDNA3 = 2, EMU_RDNA4 = 3, EMU_CDNA2 = 4, EMU_RDNA35 = 5 };

/* Which preloaded registers the kernel descriptor asks for, in the ABI's order. */
enum emu_enable {
  EMU_PRIVATE_SEGMENT_BUFFER = 1 << 0,
  EMU_DISPATCH_PTR = 1 << 1,
  EMU_QUEUE_PTR = 1 << 2,
  EMU_KERNARG_PTR = 1 << 3,
  EMU_DISPATCH_ID = 1 << 4,
  EMU_FLAT_SCRATCH_INIT = 1 << 5,
  EMU_PRIVATE_SEGMENT_SIZE = 1 << 6,
  EMU_WORKGROUP_ID_X = 1 << 8,
  EMU_WORKGROUP_ID_Y = 1 << 9,
  EMU_WORKGROUP_ID_Z = 1 << 10,
  EMU_WORKGROUP_INFO = 1 << 11,
  EMU_PRIVATE_SEGMENT = 1 << 12 /* the wave's scratch offset */
};

typedef struct {
  const char* name;
  const char* target; /* gfx1201 and so on, for reports; copied, as is the name */
  const void* insns;  /* array of Insn (machine.hpp), copied */
  uint32_t insn_count;
  uint32_t arch;                                          /* enum emu_arch */
  uint32_t wave_size;                                     /* 32 or 64 */
  uint32_t enable;                                        /* enum emu_enable bits */
  uint32_t user_sgprs;                                    /* .amdhsa_user_sgpr_count: system SGPRs follow them */
  uint32_t kernarg_preload_offset, kernarg_preload_count; /* dwords loaded into SGPRs after the user SGPRs */
  uint32_t workitem_id_dims;                              /* .amdhsa_system_vgpr_workitem_id: 0 x, 1 x y, 2 x y z */
  uint32_t vgprs, agprs, sgprs;                           /* registers used */
  uint32_t static_lds, private_bytes, kernarg_bytes;
  uint32_t float_mode; /* FLOAT_MODE of the descriptor: round_32, round_16_64, denorm_32, denorm_16_64, 2 bits each */
  uint32_t dx10_clamp, ieee, fp16_ovfl;
  uint32_t entry;           /* index of the kernel's first instruction */
  uint64_t code_base;       /* what s_getpc_b64 gives */
  const char* const* lines; /* text of assembly lines, indexed by Insn::line, copied; may be null */
  uint32_t line_count;
} emu_kernel_desc;

typedef struct emu_kernel emu_kernel;

emu_kernel* emu_kernel_create(const emu_kernel_desc* desc);
void emu_kernel_destroy(emu_kernel* kernel);

enum emu_launch_flag { EMU_CHECK = 1 };

/* What a launch did, summed over its waves. An instruction counts once for every wave that issues it. */
typedef struct {
  uint64_t waves;
  uint64_t valu, vopd, matrix; /* a VOPD pair is one VALU instruction; matrix instructions are VALU instructions too */
  uint64_t salu, branch, smem, lds;
  uint64_t vmem_read, vmem_write; /* atomics with a result are reads, without one writes; scratch is memory too */
  uint64_t barrier;
  uint64_t lds_cycles, lds_conflicts;                            /* the first include the second: count_lds.cpp */
  uint64_t bytes_read, bytes_written, lines_read, lines_written; /* count_global.cpp */
  uint64_t valu_flops, matrix_flops, matrix_iops;
} emu_counters;

typedef struct {
  uint32_t grid[3];  /* workgroups */
  uint32_t block[3]; /* work-items in a workgroup */
  uint32_t dynamic_lds;
  const void* kernargs; /* kernarg_bytes of them, copied */
  size_t kernarg_bytes;
  int device;             /* whose allocations may be touched */
  uint32_t threads;       /* host threads; 0: one a CPU */
  uint32_t flags;         /* enum emu_launch_flag */
  uint64_t budget;        /* backward branches a wave may take before the launch is stopped as endless; 0: no limit */
  emu_counters* counters; /* filled in, unless null: then nothing is counted */
} emu_launch_desc;

/* Runs the grid to its end. 0: done. */
int emu_launch(const emu_kernel* kernel, const emu_launch_desc* desc);

/* The last failure of this thread, or "" */
const char* emu_last_report(void);

#ifdef __cplusplus
}
#endif
