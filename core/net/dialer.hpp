// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "base/result.hpp"
#include "net/asio.hpp"
#include "net/url.hpp"

// Internal to HTTP clients and its tests.
namespace berth::net {

using Deadline = std::chrono::steady_clock::time_point;

/// The addresses of one host. However many ask, the system is asked once at a time: its answer cannot be hurried or
/// called off, and those who wait for it may give up before it comes.
///
/// Lifetime: shared with what asks the system, which ends when the answer comes or when the I/O threads go.
/// Threads:  any of the same I/O threads; a coroutine that asks runs on an executor that runs one thing at a time.
/// Failure:  the system's words, or that it did not answer in time. Addresses from before stand in for an answer that is
///           late or temporarily not to be had.
class Addresses : public std::enable_shared_from_this<Addresses> {
 public:
  using List = std::vector<asio::ip::tcp::endpoint>;
  struct Answer {
    boost::system::error_code error;
    List list;
  };
  /// Looks up a host and a port.
  using Lookup = std::function<asio::awaitable<Answer>(std::string host, std::string port)>;
  static asio::awaitable<Answer> look_up_by_system(std::string host, std::string port);

  /// `longest_wait`: for an answer while there are addresses from before; never more than half of the time that is left.
  explicit Addresses(const Url& of, Lookup lookup = look_up_by_system,
                     std::chrono::nanoseconds longest_wait = std::chrono::seconds(2));

  /// As the system sorts them; the host itself when it is an address.
  asio::awaitable<Result<List>> look_up(Deadline end);

 private:
  struct Waiting;
  struct Round;
  static asio::awaitable<void> ask_once(std::shared_ptr<Addresses> self, std::shared_ptr<Round> round);

  const std::string host_;
  const std::uint16_t port_;
  const Lookup lookup_;
  const std::chrono::nanoseconds longest_wait_;

  Mutex mutex_;  // guards who waits in the round as well
  List known_ GUARDED_BY(mutex_);
  std::weak_ptr<Round> round_ GUARDED_BY(mutex_);  // the coroutine that asks has it
};

/// The part of the time that one of so many addresses gets: an equal one, but not less than `least` while there is that
/// much.
std::chrono::nanoseconds share_of_time(std::chrono::nanoseconds left, std::size_t addresses,
                                       std::chrono::nanoseconds least);

/// Connects to the first address that answers, one after another, so that one that is silent leaves time for the rest.
/// Failure: that of the first address; the stream is closed then.
/// Source:  Go 1.25 src/net/dial.go (dialSerial, partialDeadline). Departs: no second family at the same time.
asio::awaitable<boost::system::error_code> connect_in_turn(beast::tcp_stream& stream, const Addresses::List& addresses,
                                                           Deadline end,
                                                           std::chrono::nanoseconds least = std::chrono::seconds(2));

}  // namespace berth::net
