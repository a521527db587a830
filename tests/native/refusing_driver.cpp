/// A libcuda.so.1 whose calls all return the error REFUSES_WITH, as a driver or MPS without permission does.

#include <cstdlib>
#include <cstring>

namespace {

int refusal() {
  const char* const text = std::getenv("REFUSES_WITH");
  return text == nullptr ? 999 : std::atoi(text);
}

int refuse() { return refusal(); }

}  // namespace

extern "C" {

int cuInit(unsigned) { return refusal(); }

int cuDriverGetVersion(int* version) {
  *version = 99990;  // newer than whatever the run time is of
  return 0;
}

int cuGetProcAddress(const char* symbol, void** function, int, unsigned long long);
int cuGetProcAddress_v2(const char* symbol, void** function, int, unsigned long long, int* found) {
  if (found != nullptr) *found = 0;
  return cuGetProcAddress(symbol, function, 0, 0);
}

int cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return refusal();
}

int cuGetProcAddress(const char* symbol, void** function, int, unsigned long long) {
  struct Known {
    const char* name;
    void* function;
  };
  const Known known[]{
      {"cuInit", reinterpret_cast<void*>(&cuInit)},
      {"cuDriverGetVersion", reinterpret_cast<void*>(&cuDriverGetVersion)},
      {"cuGetExportTable", reinterpret_cast<void*>(&cuGetExportTable)},
      {"cuGetProcAddress", reinterpret_cast<void*>(&cuGetProcAddress_v2)},
  };
  *function = reinterpret_cast<void*>(&refuse);
  for (const Known& one : known)
    if (std::strcmp(symbol, one.name) == 0) *function = one.function;
  return 0;
}
}
