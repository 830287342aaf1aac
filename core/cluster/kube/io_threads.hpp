// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>

namespace berth::cluster::kube {

/// The threads on which everything that talks to the API server runs: no request has a thread of its own.
///
/// Lifetime: outlives every client, reader and writer that uses it. After stop() none of their code runs any more; what
///           was under way is dropped by the destructor.
/// Threads:  stop() from any thread but its own.
class IoThreads {
 public:
  explicit IoThreads(std::size_t thread_count);
  ~IoThreads();
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  void stop() noexcept;

  struct Context;  // asio.hpp
  Context& context() noexcept { return *context_; }

 private:
  std::unique_ptr<Context> context_;
};

}  // namespace berth::cluster::kube
