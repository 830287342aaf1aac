// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/process/thread_name.hpp"

namespace berth::net {

/// The threads on which everything that talks to the API server runs: no request has a thread of its own.
///
/// Lifetime: outlives every client, reader and writer that uses it. After stop() none of their code runs any more; what
///           was under way is dropped by the destructor.
/// Threads:  stop() from any thread but its own; what counts, from any.
/// Failure:  an exception that leaves what runs here is logged and counted; the thread goes on.
class IoThreads {
 public:
  /// The thread for calls that block has the name "credentials".
  explicit IoThreads(std::size_t thread_count, ThreadName name = "requests");
  ~IoThreads();
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  /// Ends what runs here at once; exec plugins are killed.
  void stop() noexcept;

  /// Runs `work` until it returns; after an exception, which is logged and counted, it runs again. For whole threads.
  static void run_guarded(std::string_view where, const std::function<void()>& work) noexcept;
  /// An exception that was caught where none is expected. `where`: "an I/O thread".
  static void count_exception(std::string_view where, std::string_view what) noexcept;
  /// Of all of this process.
  static std::uint64_t exceptions() noexcept;

  struct Context;  // asio.hpp
  Context& context() noexcept { return *context_; }

 private:
  std::unique_ptr<Context> context_;
};

}  // namespace berth::net
