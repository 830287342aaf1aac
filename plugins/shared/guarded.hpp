// SPDX-License-Identifier: Apache-2.0
/// Which lock guards what, in types: Clang with -Werror=thread-safety refuses to compile a use of a guarded member without
/// its lock. Other compilers see plain members.
///
///   void grow() REQUIRES(mutex_);        // the caller holds it
///   guarded::Mutex mutex_;               // const guarded::Lock lock(mutex_);
///   int count_ GUARDED_BY(mutex_) = 0;   // read and written with the lock held
///
/// No lock may be held while a service of the host is called: the host may call back on another thread.
#pragma once
#include <mutex>

#if defined(__clang__)
#define BERTH_LOCK_ATTRIBUTE(x) __attribute__((x))
#else
#define BERTH_LOCK_ATTRIBUTE(x)
#endif
#define GUARDED_BY(lock) BERTH_LOCK_ATTRIBUTE(guarded_by(lock))
#define REQUIRES(...) BERTH_LOCK_ATTRIBUTE(requires_capability(__VA_ARGS__))

namespace guarded {

/// std::mutex with a name for the analysis. Lock takes it.
class BERTH_LOCK_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() BERTH_LOCK_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() BERTH_LOCK_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  /// In a callback that is called with the lock held, which the analysis cannot see.
  void assert_held() const BERTH_LOCK_ATTRIBUTE(assert_capability(this)) {}

 private:
  std::mutex mutex_;
};

/// Holds a mutex while it lives.
class BERTH_LOCK_ATTRIBUTE(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) BERTH_LOCK_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() BERTH_LOCK_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

}  // namespace guarded
