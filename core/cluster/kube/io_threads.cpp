// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/io_threads.hpp"

#include <algorithm>

#include "cluster/kube/asio.hpp"

namespace berth::cluster::kube {

IoThreads::IoThreads(std::size_t thread_count)
    : context_(std::make_unique<Context>(std::max<std::size_t>(thread_count, 1))) {
  for (std::size_t i = 0; i < std::max<std::size_t>(thread_count, 1); ++i)
    context_->threads.emplace_back([this] { context_->io.run(); });
}

void IoThreads::stop() noexcept {
  context_->io.stop();
  for (std::thread& thread : context_->threads)
    if (thread.joinable()) thread.join();
  context_->blocking.join();
}

IoThreads::~IoThreads() { stop(); }

}  // namespace berth::cluster::kube
