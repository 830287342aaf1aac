// SPDX-License-Identifier: Apache-2.0
#include "serving/serving_threads.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <future>
#include <stdexcept>

namespace berth::serving {
namespace {

TEST(ServingThreads, AHandlerThatThrowsIsCountedAndTheNextOneRuns) {
  const auto counts = std::make_shared<ServingCounts>();
  ServingThreads threads(counts, "test");
  threads.start(1);
  boost::asio::post(threads.io(), [] { throw std::length_error("too long"); });
  boost::asio::post(threads.io(), [] { throw 42; });
  std::promise<void> reached;
  boost::asio::post(threads.io(), [&] { reached.set_value(); });
  reached.get_future().wait();
  threads.stop();
  EXPECT_EQ(counts->exceptions, 2U);
}

}  // namespace
}  // namespace berth::serving
