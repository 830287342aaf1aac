// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/lease/leader_elector.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <utility>

#include "base/guarded.hpp"
#include "cluster/cluster_writer.hpp"
#include "cluster/kube/lease/boot_timer.hpp"
#include "cluster/kube/read/api_status.hpp"
#include "cluster/kube/read/list_splitter.hpp"
#include "cluster/kube/write/event_recorder.hpp"
#include "net/http_session.hpp"
#include "observe/log.hpp"
#include "text/json_object.hpp"

namespace berth::cluster::kube {
namespace {

using text::JsonObject;

constexpr double k_jitter = 1.2;
// Standbys do not all ask in the moment in which a lease runs out.
constexpr double k_expiry_jitter_s = 0.2;
constexpr std::chrono::seconds k_watch_limit{300}, k_lease_watch_slack{30};
constexpr const char* k_too_late = "the lease was not renewed in time";

}  // namespace

struct LeaderElector::State : std::enable_shared_from_this<LeaderElector::State> {
  State(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, const Clock& time, LeaderElectorOptions given,
        LeaderElectorCalls told, const net::HttpClientOptions& client)
      : clock(time),
        options(std::move(given)),
        calls(std::move(told)),
        reign(options.reign ? options.reign : std::make_shared<Reign>(time, options.reign_ns())),
        http(std::make_shared<net::HttpClient::State>(threads, std::move(endpoint), client)),
        turn(http->strand),
        deadline(http->strand) {}

  asio::awaitable<void> run();
  asio::awaitable<void> follow();
  /// What came of a try to get or to keep the lease.
  enum class Tried { failed, is_ours, is_anothers };
  asio::awaitable<Tried> attempt();
  asio::awaitable<void> give_back(bool lost);
  /// Ends what waits.
  void cease() {
    turn.cancel();
    deadline.cancel();
    if (watched != nullptr) watched->cancel();
  }

  const Clock& clock;
  const LeaderElectorOptions options;
  const LeaderElectorCalls calls;
  const std::shared_ptr<Reign> reign;
  const std::shared_ptr<net::HttpClient::State> http;

  std::atomic<bool> leading{false};
  std::atomic<bool> ended{false};  // no campaign any more
  std::atomic<std::int64_t> renewed_ns{0};
  std::atomic<std::uint64_t> slow_renewals{0};
  Mutex call_mutex;  // guards the calls as well
  bool silent GUARDED_BY(call_mutex) = false;

 private:
  template <typename Call>
  void tell(const Call& call) {
    const Lock lock(call_mutex);
    if (!silent && call) call();
  }
  std::string path() const {
    return fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases", net::percent_encode(options.ns));
  }
  std::string own_path() const { return path() + "/" + net::percent_encode(options.name); }
  std::string lock_name() const { return options.ns + "/" + options.name; }
  net::Request request(net::Method method, std::string target, std::string body) const;
  std::string json_of(const std::string& metadata, const LeaseRecord& record) const {
    return lease_json(options.ns, options.name, metadata, record);
  }
  asio::awaitable<Result<Lease>> send(net::Request question);
  asio::awaitable<void> announce(std::string what);
  bool is_valid() const { return observed && clock.monotonic_ns() < observed_ns + observed->duration_ns(); }
  void see(Lease lease) {
    if (!observed || !(observed->record == lease.record)) observed_ns = clock.monotonic_ns();
    observed = std::move(lease);
  }
  /// The answer to a write of ours, which says what was so when it was sent.
  void see_own(Lease lease) {
    observed_ns = sent_ns;
    observed = std::move(lease);
  }
  asio::awaitable<Result<Lease>> write(net::Method method, const std::string& target, const std::string& metadata,
                                       const LeaseRecord& record);
  asio::awaitable<void> acquire();
  asio::awaitable<void> renew();
  asio::awaitable<void> lose_in_time();
  void lose(const std::string& why);
  void end_after_loss();
  asio::awaitable<void> wait_for_turn();
  asio::awaitable<void> read_changes(net::BodyStream& body);
  void take_change(std::string_view line);

  // Only on the strand.
  asio::steady_timer turn;             // of the next attempt
  BootTimer deadline;                  // of the renewal
  net::BodyStream* watched = nullptr;  // while others lead
  std::optional<Lease> observed;
  std::int64_t observed_ns = 0;
  std::int64_t sent_ns = 0;  // of the last write
};

net::Request LeaderElector::State::request(net::Method method, std::string target, std::string body) const {
  net::Request out;
  out.method = method;
  out.target = std::move(target);
  out.body = std::move(body);
  out.timeout = std::chrono::milliseconds(std::max<std::int64_t>(1000, options.renew_deadline_ns / 2'000'000));
  out.timeout_of_all = true;  // a server that cannot be connected to must not cost the time of the next attempt
  return out;
}

asio::awaitable<Result<Lease>> LeaderElector::State::send(net::Request question) {
  Result<net::Response> response = co_await http->exchange(std::move(question));
  Result<std::string> body = body_of(std::move(response));
  if (!body.ok()) co_return body.error();
  Result<Lease> lease = read_lease(*body);
  co_return lease;
}

asio::awaitable<Result<Lease>> LeaderElector::State::write(net::Method method, const std::string& target,
                                                           const std::string& metadata, const LeaseRecord& record) {
  // Whatever the answer takes, and the wait for a connection before it: the time in which we may lead has begun.
  sent_ns = clock.monotonic_ns();
  return send(request(method, target, json_of(metadata, record)));
}

/// One try to get or to keep the lease.
asio::awaitable<LeaderElector::State::Tried> LeaderElector::State::attempt() {
  if (leading && calls.may_renew && !calls.may_renew()) co_return Tried::failed;
  const std::string now = micro_time(clock.wall_ns());
  const std::string own = own_path();
  LeaseRecord wanted;
  wanted.holder = options.identity;
  wanted.duration_s = options.lease_duration_ns / 1'000'000'000;
  wanted.acquired = wanted.renewed = now;

  if (observed && observed->record.holder == options.identity && is_valid()) {
    LeaseRecord kept = wanted;
    if (!observed->record.acquired.empty()) kept.acquired = observed->record.acquired;
    kept.transitions = observed->record.transitions;
    Result<Lease> written = co_await write(net::Method::put, own, observed->metadata_json, kept);
    if (written.ok()) {
      see_own(std::move(*written));
      co_return Tried::is_ours;
    }
    if (ended) co_return Tried::failed;  // who has given the lease back does not take it again
    slow_renewals.fetch_add(1, std::memory_order_relaxed);
  }
  net::Request get = request(net::Method::get, own_path(), {});
  Result<Lease> fetched = co_await send(std::move(get));
  if (ended) co_return Tried::failed;
  if (!fetched.ok()) {
    if (fetched.error().code != ErrorCode::not_found) {
      observe::warning("Error retrieving lease lock", {{"err", fetched.error().message}, {"lock", lock_name()}});
      co_return Tried::failed;
    }
    const std::string all = path(), nothing;
    Result<Lease> made = co_await write(net::Method::post, all, nothing, wanted);
    if (!made.ok()) co_return Tried::failed;
    see_own(std::move(*made));
    co_return Tried::is_ours;
  }
  see(std::move(*fetched));
  const LeaseRecord& seen = observed->record;
  const bool ours = seen.holder == options.identity;
  if (!seen.holder.empty() && !ours && is_valid()) co_return Tried::is_anothers;
  wanted.transitions = ours ? seen.transitions : observed->transitions_of_next();
  if (ours && !seen.acquired.empty()) wanted.acquired = seen.acquired;
  if (leading && !reign->holds()) co_return Tried::failed;
  Result<Lease> written = co_await write(net::Method::put, own, observed->metadata_json, wanted);
  if (!written.ok()) {
    if (!ended) observe::info("Failed to update lease", {{"err", written.error().message}, {"lock", lock_name()}});
    co_return Tried::failed;
  }
  see_own(std::move(*written));
  co_return Tried::is_ours;
}

/// Until the retry period has passed or the lease that others hold has run out, whatever comes first.
asio::awaitable<void> LeaderElector::State::wait_for_turn() {
  double wait_s = static_cast<double>(options.retry_period_ns) * 1e-9 * (1 + k_jitter * http->random_unit());
  if (observed && is_valid()) {
    const std::int64_t left_ns = observed_ns + observed->duration_ns() - clock.monotonic_ns();
    wait_s = std::min(wait_s, static_cast<double>(left_ns) * 1e-9 + 1e-3 + k_expiry_jitter_s * http->random_unit());
  }
  turn.expires_after(std::chrono::nanoseconds(static_cast<std::int64_t>(wait_s * 1e9)));
  co_await turn.async_wait(net::k_await);
}

asio::awaitable<void> LeaderElector::State::acquire() {
  bool follows = false;
  for (;;) {
    // What was won so slowly that it may be over already is renewed before anything is decided.
    const Tried tried = co_await attempt();
    if (ended || (tried == Tried::is_ours && reign->begin(sent_ns))) co_return;
    // From the first look on: a leader that dies right after it must not be noticed a retry period late.
    if (observed && !std::exchange(follows, true))
      asio::co_spawn(
          http->strand, [self = shared_from_this()]() -> asio::awaitable<void> { co_await self->follow(); },
          net::end_of_coroutine);
    co_await wait_for_turn();
    if (ended) co_return;
  }
}

/// Watches the lease while others hold it: who asks once in a while learns too late when it was renewed last. Whatever
/// fails here is only slower without it.
asio::awaitable<void> LeaderElector::State::follow() {
  while (!ended && !leading) {
    const std::int64_t opened_ns = clock.monotonic_ns();
    net::Request request;
    request.target = fmt::format("{}?watch=1&fieldSelector={}&resourceVersion={}&timeoutSeconds={}", path(),
                                 net::percent_encode("metadata.name=" + options.name),
                                 net::percent_encode(observed->version), k_watch_limit.count());
    Result<std::unique_ptr<net::BodyStream>> body = co_await http->open(std::move(request));
    if (body.ok() && (*body)->status() == 200 && !ended && !leading) {
      watched = body->get();
      co_await read_changes(**body);
      watched = nullptr;
    }
    // A watch that held is opened again at once; who is refused comes back once in a retry period.
    const std::int64_t left_ns = opened_ns + options.retry_period_ns - clock.monotonic_ns();
    if (left_ns > 0 && !ended && !leading) co_await net::wait_for(std::chrono::nanoseconds(left_ns));
  }
}

asio::awaitable<void> LeaderElector::State::read_changes(net::BodyStream& body) {
  LineSplitter lines([this](std::string_view line) { take_change(line); });
  for (;;) {
    const Result<std::string_view> piece = co_await body.read(k_watch_limit + k_lease_watch_slack);
    if (!piece.ok() || piece->empty() || leading || ended) co_return;
    if (!lines.add(*piece).ok()) co_return;
  }
}

void LeaderElector::State::take_change(std::string_view line) {
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(line, "lease", diagnostics);
  if (documents.empty() || leading) return;
  const text::Value& root = documents.front().root();
  const std::string_view type = root.text_at("type");
  const text::Value* const object = root.find("object");
  if (object == nullptr || (type != "ADDED" && type != "MODIFIED")) return;
  see(lease_of(*object));
  if (observed->record.holder.empty()) turn.cancel();  // given back: the first to ask has it
}

asio::awaitable<void> LeaderElector::State::run() {
  co_await acquire();
  if (ended) co_return;
  if (watched != nullptr) watched->cancel();
  renewed_ns = sent_ns;
  leading = true;
  observe::info("Successfully acquired lease", {{"lock", lock_name()}, {"identity", options.identity}});
  // The event and the deadline have coroutines of their own: neither may hold up the renewal.
  const auto self = shared_from_this();
  asio::co_spawn(
      http->strand, [self]() -> asio::awaitable<void> { co_await self->announce("became leader"); },
      net::end_of_coroutine);
  asio::co_spawn(
      http->strand, [self]() -> asio::awaitable<void> { co_await self->lose_in_time(); }, net::end_of_coroutine);
  tell(calls.on_started);
  co_await renew();
}

asio::awaitable<void> LeaderElector::State::renew() {
  while (!ended) {
    co_await net::wait_for(std::chrono::nanoseconds(options.retry_period_ns));
    if (ended) co_return;
    // Who was stopped, or suspended, for too long finds that out here, before anything is sent.
    if (!reign->holds()) co_return lose(k_too_late);
    const Tried tried = co_await attempt();
    if (ended) co_return;
    if (tried == Tried::is_anothers) co_return lose(fmt::format("the lease is held by {}", observed->record.holder));
    if (tried != Tried::is_ours) continue;
    if (!reign->confirm(sent_ns)) co_return lose(k_too_late);
    renewed_ns = sent_ns;
  }
}

/// A server that does not answer must not keep us leading: what counts is the time since the last renewal was sent,
/// whatever the attempt under way is waiting for.
asio::awaitable<void> LeaderElector::State::lose_in_time() {
  while (!ended) {
    const std::int64_t left_ns = reign->left_ns();
    if (left_ns <= 0) break;
    co_await deadline.wait(left_ns);
  }
  if (!ended) lose(k_too_late);
}

/// From here on nothing is written any more, and this process ends.
void LeaderElector::State::lose(const std::string& why) {
  if (ended.exchange(true)) return;
  reign->end();
  leading = false;
  cease();
  // Told first: the log may be slow.
  tell(calls.on_lost);
  observe::error("Leaderelection lost", {{"err", why}, {"lock", lock_name()}});
  end_after_loss();
}

/// Others need not wait until the lease runs out. The server may be out of reach, and we do not stay for it.
void LeaderElector::State::end_after_loss() {
  const auto self = shared_from_this();
  const auto told = std::make_shared<bool>(false);
  const auto end = [self, told] {
    if (!std::exchange(*told, true)) self->tell(self->calls.on_ended);
  };
  asio::co_spawn(
      http->strand,
      [self, end]() -> asio::awaitable<void> {
        co_await self->give_back(true);
        end();
      },
      net::end_of_coroutine);
  asio::co_spawn(
      http->strand,
      [self, end]() -> asio::awaitable<void> {
        co_await net::wait_for(std::chrono::nanoseconds(self->options.retry_period_ns));
        end();
      },
      net::end_of_coroutine);
}

asio::awaitable<void> LeaderElector::State::give_back(bool lost) {
  bool written = false;
  // A renewal that was under way may come in between, once.
  for (int tries = 0; tries < 3 && !written; ++tries) {
    net::Request get = request(net::Method::get, own_path(), {});
    Result<Lease> fetched = co_await send(std::move(get));
    if (!fetched.ok() || fetched->record.holder != options.identity) co_return;
    LeaseRecord released;
    released.duration_s = 1;
    released.acquired = released.renewed = micro_time(clock.wall_ns());
    released.transitions = fetched->record.transitions;
    net::Request put = request(net::Method::put, own_path(), json_of(fetched->metadata_json, released));
    const Result<Lease> put_back = co_await send(std::move(put));
    written = put_back.ok();
  }
  if (written) observe::V(lost ? 2 : 0).info("Released lease", {{"lock", lock_name()}});
  co_await announce("stopped leading");
}

asio::awaitable<void> LeaderElector::State::announce(std::string what) {
  const std::int64_t now = clock.wall_ns();
  JsonObject metadata, about, source, event;
  metadata.text("name", fmt::format("{}.{:x}", options.name, now)).text("namespace", options.ns);
  about.text("kind", "Lease").text("namespace", options.ns).text("name", options.name);
  about.text("apiVersion", "coordination.k8s.io/v1");
  source.text("component", options.event_component);
  event.text("kind", "Event").text("apiVersion", "v1").json("metadata", metadata.done());
  event.json("involvedObject", about.done()).text("reason", "LeaderElection");
  event.text("message", options.identity + " " + what).json("source", source.done());
  event.text("firstTimestamp", second_time(now)).text("lastTimestamp", second_time(now)).number("count", 1);
  event.text("type", "Normal");
  net::Request post = request(
      net::Method::post, fmt::format("/api/v1/namespaces/{}/events", net::percent_encode(options.ns)), event.done());
  const Result<net::Response> ignored = co_await http->exchange(std::move(post));  // an event that is lost is lost
  (void)ignored;
}

LeaderElector::LeaderElector(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, const Clock& clock,
                             LeaderElectorOptions options, LeaderElectorCalls calls,
                             const net::HttpClientOptions& client)
    : state_(
          std::make_shared<State>(threads, std::move(endpoint), clock, std::move(options), std::move(calls), client)) {}

LeaderElector::~LeaderElector() { stop(); }

void LeaderElector::start() {
  asio::co_spawn(
      state_->http->strand,
      [](std::shared_ptr<State> state) -> asio::awaitable<void> { co_await state->run(); }(state_),
      net::end_of_coroutine);
}

void LeaderElector::release(std::chrono::milliseconds limit) {
  const bool was_lost = state_->ended.exchange(true);
  state_->reign->end();
  asio::post(state_->http->strand, [state = state_] { state->cease(); });
  if (!state_->leading.exchange(false) || was_lost) return;
  auto released = std::make_shared<std::promise<void>>();
  std::future<void> done = released->get_future();
  asio::co_spawn(
      state_->http->strand,
      [](std::shared_ptr<State> state, std::shared_ptr<std::promise<void>> when) -> asio::awaitable<void> {
        co_await state->give_back(false);
        when->set_value();
      }(state_, released),
      net::end_of_coroutine);
  done.wait_for(limit);
}

void LeaderElector::stop() noexcept {
  state_->ended = true;
  const Lock lock(state_->call_mutex);
  state_->silent = true;
}

bool LeaderElector::is_leading() const noexcept { return state_->leading; }
const std::shared_ptr<Reign>& LeaderElector::reign() const noexcept { return state_->reign; }
std::int64_t LeaderElector::last_renewed_ns() const noexcept { return state_->renewed_ns; }
std::uint64_t LeaderElector::slow_renewals() const noexcept { return state_->slow_renewals; }

}  // namespace berth::cluster::kube
