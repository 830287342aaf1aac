// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>

namespace berth::simulation {

/// The C library's own function of that name, for threads that are not simulated.
template <typename Function>
Function* real_call(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace berth::simulation

/// REAL(nanosleep)(…): looked up once. No static local, whose guard would call what it is looked up for.
#define REAL(name)                                                                         \
  ([]() noexcept {                                                                         \
    static decltype(&::name) found = nullptr;                                              \
    if (found == nullptr) found = ::berth::simulation::real_call<decltype(::name)>(#name); \
    return found;                                                                          \
  }())
