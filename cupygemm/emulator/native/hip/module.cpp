// Modules: code object -> kernels and device variables, by way of the loader that Python registers.
#include <elf.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "hip/kernel.hpp"

namespace hip {

struct Symbol {
  char* name;
  void* address;
  size_t bytes;
};

struct Module {
  int device;
  std::vector<Kernel*> kernels;
  std::vector<Symbol> symbols;
  std::vector<void*> memory;
};

namespace {

emu_hip_loader g_loader = nullptr;

// The size of the ELF file at `image`, of which at most `limit` bytes can be read; 0 if it is none or would be larger.
size_t elf_size(const void* image, size_t limit) {
  const auto* bytes = static_cast<const char*>(image);
  Elf64_Ehdr header;
  if (limit < sizeof header || memcmp(bytes, ELFMAG, SELFMAG) != 0) return 0;
  memcpy(&header, bytes, sizeof header);
  size_t end = header.e_shoff + size_t(header.e_shnum) * sizeof(Elf64_Shdr);
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > limit || end > limit) return 0;
  for (int i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr section;
    memcpy(&section, bytes + header.e_shoff + size_t(i) * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
      end = section.sh_offset + section.sh_size;
  }
  return end <= limit ? end : 0;
}

void destroy(Module* module) {
  for (Kernel* kernel : module->kernels) {
    emu_kernel_destroy(kernel->executable);
    free(kernel->name);
    delete kernel;
  }
  for (Symbol& symbol : module->symbols) free(symbol.name);
  for (void* memory : module->memory) release(memory);
  delete module;
}

// `limit`: how many bytes there are; nothing tells for an image in memory but the image itself.
hipError_t load(Module** out, const void* image, size_t limit) {
  *out = nullptr;
  const size_t bytes = elf_size(image, limit);
  if (!bytes)
    return fail(hipErrorInvalidImage,
                "not a code object: no whole ELF file (offload bundles are not supported on an emulated GPU)");
  if (!g_loader) return fail(hipErrorNotSupported, "no loader: call cupygemm.emulator.activate before importing cupy");
  auto* module = new Module{current_device(), {}, {}, {}};
  char text[4096] = "";
  const auto error = static_cast<hipError_t>(g_loader(image, bytes, module->device, module, text, sizeof text));
  if (error) {
    destroy(module);
    return fail(error, "%s", text);
  }
  *out = module;
  return hipSuccess;
}

}  // namespace
}  // namespace hip

using namespace hip;

void emu_hip_set_loader(emu_hip_loader loader) { g_loader = loader; }

void emu_hip_module_add_kernel(void* handle, const emu_hip_kernel_info* info) {
  auto* module = static_cast<Module*>(handle);
  auto* kernel = new Kernel{strdup(info->name), info->kernel, module->device, {}, *info};
  kernel->arguments.assign(info->arguments, info->arguments + info->argument_count);
  module->kernels.push_back(kernel);
}

void emu_hip_module_add_symbol(void* handle, const char* name, void* address, size_t bytes) {
  static_cast<Module*>(handle)->symbols.push_back({strdup(name), address, bytes});
}

void* emu_hip_module_reserve(void* handle, size_t bytes) {
  auto* module = static_cast<Module*>(handle);
  void* memory = nullptr;
  if (allocate(&memory, bytes, hipMemoryTypeDevice, module->device) == hipSuccess && memory)
    module->memory.push_back(memory);
  return memory;
}

HIP_API hipError_t hipModuleLoadData(Module** out, const void* image) { return load(out, image, ~size_t{0} >> 1); }

HIP_API hipError_t hipModuleLoad(Module** out, const char* path) {
  *out = nullptr;
  FILE* file = fopen(path, "rb");
  if (!file) return fail(hipErrorFileNotFound, "cannot open %s", path);
  std::vector<char> image;
  char chunk[65536];
  for (size_t got; (got = fread(chunk, 1, sizeof chunk, file)) > 0;) image.insert(image.end(), chunk, chunk + got);
  fclose(file);
  return load(out, image.data(), image.size());
}

HIP_API hipError_t hipModuleUnload(Module* module) {
  const hipError_t error = drain_all();
  destroy(module);
  return error;
}

HIP_API hipError_t hipModuleGetFunction(Kernel** out, Module* module, const char* name) {
  *out = nullptr;
  for (Kernel* kernel : module->kernels)
    if (strcmp(kernel->name, name) == 0) *out = kernel;
  return *out ? hipSuccess : fail(hipErrorNotFound, "the module has no kernel named %s", name);
}

HIP_API hipError_t hipModuleGetGlobal(void** out, size_t* bytes, Module* module, const char* name) {
  for (const Symbol& symbol : module->symbols) {
    if (strcmp(symbol.name, name) != 0) continue;
    if (out) *out = symbol.address;
    if (bytes) *bytes = symbol.bytes;
    return hipSuccess;
  }
  return fail(hipErrorNotFound, "the module has no device variable named %s", name);
}

// Numbers of hipFunction_attribute.
HIP_API hipError_t hipFuncGetAttribute(int* value, int attribute, Kernel* kernel) {
  const emu_hip_kernel_info& info = kernel->info;
  switch (attribute) {
    case 0:
      *value = static_cast<int>(info.max_block);
      break;
    case 1:
      *value = static_cast<int>(info.static_lds);
      break;
    case 2:
      *value = 0;
      break;  // constant bytes
    case 3:
      *value = static_cast<int>(info.private_bytes);
      break;
    case 4:
      *value = static_cast<int>(info.vgprs);  // accumulation registers included: the metadata's count is the total
      break;
    case 5:
    case 6:
    case 7:
      *value = 0;
      break;  // PTX version, binary version, cache mode
    case 8:
      *value = static_cast<int>(device(kernel->device).lds_bytes - info.static_lds);
      break;
    case 9:
      *value = 0;
      break;  // preferred carveout
    default:
      return fail(hipErrorInvalidValue, "unknown function attribute %d", attribute);
  }
  return hipSuccess;
}
