// What libc++'s headers expect from libc++'s library, which is not linked: allocation and the two ways to die.
//
// Linking the library would make the user wait for its build (over a minute) the first time. The headers of the
// containers used here (std::vector, std::map) need no more than this.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) {
  void* memory = nullptr;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  if (posix_memalign(&memory, alignment, bytes ? bytes : 1) != 0) {
    fprintf(stderr, "cupygemm.emulator: out of host memory for %zu bytes\n", bytes);
    abort();
  }
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 16); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { free(p); }
void operator delete[](void* p) noexcept { free(p); }
void operator delete(void* p, std::size_t) noexcept { free(p); }
void operator delete[](void* p, std::size_t) noexcept { free(p); }
void operator delete(void* p, std::align_val_t) noexcept { free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { free(p); }

extern "C" [[noreturn]] void __cxa_pure_virtual() { abort(); }

namespace std {
inline namespace __1 {
[[noreturn]] void __libcpp_verbose_abort(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  abort();
}
}  // namespace __1
}  // namespace std
