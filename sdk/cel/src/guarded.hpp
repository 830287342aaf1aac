// SPDX-License-Identifier: Apache-2.0
/// Which lock guards what, for Clang's analysis of threads; other compilers see plain members. As plugins/shared/guarded.hpp, which
/// this library may not include.
#pragma once
#include <mutex>

#if defined(__clang__)
#define BERTH_CEL_LOCK(x) __attribute__((x))
#else
#define BERTH_CEL_LOCK(x)
#endif
#define BERTH_CEL_GUARDED_BY(lock) BERTH_CEL_LOCK(guarded_by(lock))

namespace berth::cel {

/// std::mutex with a name for the analysis. Lock takes it.
class BERTH_CEL_LOCK(capability("mutex")) Mutex {
 public:
  void lock() BERTH_CEL_LOCK(acquire_capability()) { mutex_.lock(); }
  void unlock() BERTH_CEL_LOCK(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a mutex while it lives.
class BERTH_CEL_LOCK(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) BERTH_CEL_LOCK(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() BERTH_CEL_LOCK(release_capability()) { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

}  // namespace berth::cel
