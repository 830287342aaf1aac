// SPDX-License-Identifier: Apache-2.0
#include "net/dialer.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/guarded.hpp"

namespace berth::net {

using boost::system::error_code;

/// One who waits for the answer. Its own coroutine has it: it goes with that.
struct Addresses::Waiting {
  explicit Waiting(const asio::any_io_executor& executor) : timer(executor) {}
  asio::steady_timer timer;
  std::optional<Answer> answer;
};

struct Addresses::Round {
  std::vector<std::weak_ptr<Waiting>> waiting;
};

Addresses::Addresses(const Url& of, Lookup lookup, std::chrono::nanoseconds longest_wait)
    : host_(of.host), port_(of.port), lookup_(std::move(lookup)), longest_wait_(longest_wait) {}

asio::awaitable<Addresses::Answer> Addresses::look_up_by_system(std::string host, std::string port) {
  asio::ip::tcp::resolver resolver(co_await asio::this_coro::executor);
  auto [error, found] = co_await resolver.async_resolve(host, port, k_await);
  Answer out;
  out.error = error;
  for (const auto& entry : found) out.list.push_back(entry.endpoint());
  co_return out;
}

asio::awaitable<void> Addresses::ask_once(std::shared_ptr<Addresses> self, std::shared_ptr<Round> round) {
  const Answer answer = co_await self->lookup_(self->host_, std::to_string(self->port_));
  std::vector<std::weak_ptr<Waiting>> waiting;
  {
    const Lock lock(self->mutex_);
    if (!answer.error) self->known_ = answer.list;
    waiting.swap(round->waiting);
    self->round_.reset();
  }
  for (const std::weak_ptr<Waiting>& one : waiting) {
    const std::shared_ptr<Waiting> there = one.lock();
    if (!there) continue;
    asio::post(there->timer.get_executor(), [one, answer] {
      const std::shared_ptr<Waiting> still_there = one.lock();
      if (!still_there) return;
      still_there->answer = answer;
      still_there->timer.cancel();
    });
  }
}

asio::awaitable<Result<Addresses::List>> Addresses::look_up(Deadline end) {
  error_code is_name;
  const asio::ip::address address = asio::ip::make_address(host_, is_name);
  if (!is_name) co_return List(1, asio::ip::tcp::endpoint(address, port_));

  const auto executor = co_await asio::this_coro::executor;
  const auto self = shared_from_this();
  const auto own = std::make_shared<Waiting>(executor);
  std::shared_ptr<Round> started;
  List before;
  {
    const Lock lock(mutex_);
    before = known_;
    std::shared_ptr<Round> round = round_.lock();
    if (!round) round_ = round = started = std::make_shared<Round>();
    round->waiting.erase(std::remove_if(round->waiting.begin(), round->waiting.end(),
                                        [](const std::weak_ptr<Waiting>& one) { return one.expired(); }),
                         round->waiting.end());
    round->waiting.push_back(own);
  }
  const Deadline now = std::chrono::steady_clock::now();
  own->timer.expires_at(before.empty() ? end : std::min(now + longest_wait_, now + (end - now) / 2));
  if (started) asio::co_spawn(executor, ask_once(self, std::move(started)), end_of_coroutine);
  co_await own->timer.async_wait(k_await);

  const bool is_temporary = !own->answer || own->answer->error == asio::error::host_not_found_try_again;
  if (is_temporary && !before.empty()) co_return before;
  if (!own->answer) co_return Error{"the name was not resolved in time"};
  if (own->answer->error) co_return Error{own->answer->error.message()};
  co_return std::move(own->answer->list);
}

std::chrono::nanoseconds share_of_time(std::chrono::nanoseconds left, std::size_t addresses,
                                       std::chrono::nanoseconds least) {
  return std::min(left, std::max(left / static_cast<std::int64_t>(addresses), least));
}

asio::awaitable<error_code> connect_in_turn(beast::tcp_stream& stream, const Addresses::List& addresses, Deadline end,
                                            std::chrono::nanoseconds least) {
  error_code first = beast::error::timeout;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Deadline now = std::chrono::steady_clock::now();
    if (now >= end) break;
    stream.expires_at(now + share_of_time(end - now, addresses.size() - i, least));
    auto [error] = co_await stream.async_connect(addresses[i], k_await);
    if (!error) co_return error;
    if (i == 0) first = error;
    stream.close();  // the next may be of another family
  }
  co_return first;
}

}  // namespace berth::net
