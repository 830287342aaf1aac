// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

// Which lock guards what, in types: Clang refuses to compile a use of a guarded member without its lock
// (-Werror=thread-safety, on wherever Clang compiles this tree). Other compilers see plain members.
//
//   Mutex mutex_;
//   int count_ GUARDED_BY(mutex_) = 0;       // read and written with the lock held
//   void grow() REQUIRES(mutex_);            // the caller holds it
//   ready_.wait(lock, [this]() REQUIRES(mutex_) { return count_ > 0; });
#if defined(__clang__)
#define BERTH_LOCK_ATTRIBUTE(x) __attribute__((x))
#else
#define BERTH_LOCK_ATTRIBUTE(x)
#endif
#define GUARDED_BY(lock) BERTH_LOCK_ATTRIBUTE(guarded_by(lock))
/// Of a pointer: what it points to.
#define PT_GUARDED_BY(lock) BERTH_LOCK_ATTRIBUTE(pt_guarded_by(lock))
#define REQUIRES(...) BERTH_LOCK_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) BERTH_LOCK_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
/// Of a function that needs no lock for what it reads, and says why.
#define UNCHECKED_LOCKS BERTH_LOCK_ATTRIBUTE(no_thread_safety_analysis)

namespace berth {

/// std::mutex with a name for the analysis. Take it with Lock, or with UniqueLock to wait for a condition.
class BERTH_LOCK_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() BERTH_LOCK_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() BERTH_LOCK_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() BERTH_LOCK_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }
  /// In a callback that is called with the lock held, which the analysis cannot see.
  void assert_held() const BERTH_LOCK_ATTRIBUTE(assert_capability(this)) {}

 private:
  friend class UniqueLock;
  std::mutex mutex_;
};

/// Many readers or one writer: ReadLock and WriteLock take it.
class BERTH_LOCK_ATTRIBUTE(capability("mutex")) SharedMutex {
 public:
  void lock() BERTH_LOCK_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() BERTH_LOCK_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  void lock_shared() BERTH_LOCK_ATTRIBUTE(acquire_shared_capability()) { mutex_.lock_shared(); }
  void unlock_shared() BERTH_LOCK_ATTRIBUTE(release_shared_capability()) { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

/// Holds a mutex while it lives.
class BERTH_LOCK_ATTRIBUTE(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) BERTH_LOCK_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  /// Of a mutex that try_lock() has locked.
  Lock(Mutex& mutex, std::adopt_lock_t) REQUIRES(mutex) : mutex_(mutex) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() BERTH_LOCK_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

/// Holds a mutex, but while a ConditionVariable waits with it, and between unlock() and lock().
class BERTH_LOCK_ATTRIBUTE(scoped_lockable) UniqueLock {
 public:
  explicit UniqueLock(Mutex& mutex) BERTH_LOCK_ATTRIBUTE(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;
  ~UniqueLock() BERTH_LOCK_ATTRIBUTE(release_capability()) {}

  void lock() BERTH_LOCK_ATTRIBUTE(acquire_capability()) { lock_.lock(); }
  void unlock() BERTH_LOCK_ATTRIBUTE(release_capability()) { lock_.unlock(); }

 private:
  friend class ConditionVariable;
  std::unique_lock<std::mutex> lock_;
};

class BERTH_LOCK_ATTRIBUTE(scoped_lockable) ReadLock {
 public:
  explicit ReadLock(SharedMutex& mutex) BERTH_LOCK_ATTRIBUTE(acquire_shared_capability(mutex)) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;
  ~ReadLock() BERTH_LOCK_ATTRIBUTE(release_generic_capability()) { mutex_.unlock_shared(); }

 private:
  SharedMutex& mutex_;
};

class BERTH_LOCK_ATTRIBUTE(scoped_lockable) WriteLock {
 public:
  explicit WriteLock(SharedMutex& mutex) BERTH_LOCK_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;
  ~WriteLock() BERTH_LOCK_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  SharedMutex& mutex_;
};

/// std::condition_variable for a UniqueLock. `condition` is called with the lock held.
class ConditionVariable {
 public:
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

  void wait(UniqueLock& lock) { changed_.wait(lock.lock_); }
  template <typename Condition>
  void wait(UniqueLock& lock, Condition condition) {
    changed_.wait(lock.lock_, std::move(condition));
  }
  template <typename Rep, typename Period>
  std::cv_status wait_for(UniqueLock& lock, std::chrono::duration<Rep, Period> limit) {
    return changed_.wait_for(lock.lock_, limit);
  }
  /// False: the limit passed and the condition does not hold.
  template <typename Rep, typename Period, typename Condition>
  [[nodiscard]] bool wait_for(UniqueLock& lock, std::chrono::duration<Rep, Period> limit, Condition condition) {
    return changed_.wait_for(lock.lock_, limit, std::move(condition));
  }
  template <typename Clock, typename Duration>
  std::cv_status wait_until(UniqueLock& lock, std::chrono::time_point<Clock, Duration> due) {
    return changed_.wait_until(lock.lock_, due);
  }

 private:
  std::condition_variable changed_;
};

}  // namespace berth
