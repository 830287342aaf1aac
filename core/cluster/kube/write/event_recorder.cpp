// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/write/event_recorder.hpp"

#include <atomic>
#include <ctime>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "cluster/kube/read/api_status.hpp"
#include "model/uuid.hpp"
#include "net/http_session.hpp"
#include "observe/log.hpp"
#include "text/json_object.hpp"

namespace berth::cluster::kube {
namespace {

using text::JsonObject;

constexpr std::size_t k_waiting_max = 1000;
constexpr std::int64_t k_series_end_ns = 6LL * 60 * 1'000'000'000;
constexpr std::int64_t k_series_refresh_ns = 30LL * 60 * 1'000'000'000;
constexpr std::chrono::minutes k_tidy_period{1};
constexpr int k_retries = 12;
constexpr std::chrono::milliseconds k_retry_delay{10'000};
constexpr std::size_t k_name_bytes_max = 253;
constexpr double k_jitter_max = 0.25;
constexpr std::int64_t k_ask_again_ns = 60'000'000'000;

std::tm utc(std::int64_t wall_ns) {
  const std::time_t seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return parts;
}

struct SeriesKey {
  bool warning, explained;
  std::string action, reason, controller, ns, name, uid, version, related;
  auto operator<=>(const SeriesKey&) const = default;
};

struct Known {
  std::string event_name;
  std::int64_t count = 1;
  std::int64_t last_ns = 0;     // wall clock
  std::int64_t written_ns = 0;  // when the server last heard of the series
  std::uint64_t turn = 0;       // of its newest event among all
};

/// Which resource of the server takes events.
enum class Api { unknown, asked, events_k8s_io, core };

std::string pod_reference(const PodRef& pod, const std::string& version) {
  JsonObject out;
  out.text("kind", "Pod").text("namespace", pod.ns).text("name", pod.name);
  if (!pod.uid.empty()) out.text("uid", pod.uid);
  out.text("apiVersion", "v1");
  if (!version.empty()) out.text("resourceVersion", version);
  return out.done();
}

std::string namespace_of(const PodRef& pod) { return pod.ns.empty() ? "default" : pod.ns; }

}  // namespace

std::string second_time(std::int64_t wall_ns) {
  const std::tm t = utc(wall_ns);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                     t.tm_min, t.tm_sec);
}

std::string micro_time(std::int64_t wall_ns) {
  const std::tm t = utc(wall_ns);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                     t.tm_min, t.tm_sec, wall_ns % 1'000'000'000 / 1000);
}

struct EventRecorder::State : std::enable_shared_from_this<EventRecorder::State> {
  State(net::IoThreads& io, std::shared_ptr<net::Endpoint> endpoint, const Clock& time, FindPod find, std::string host,
        net::HttpClientOptions client_options)
      : clock(time),
        find_pod(std::move(find)),
        host_name(std::move(host)),
        client(io, std::move(endpoint), std::move(client_options)) {}

  void create(const SeriesKey& key, const EventRecord& event, std::string name, std::int64_t count,
              ClusterWriter::Done done);
  void patch_series(const SeriesKey& key, const Known& known, std::optional<EventRecord> event,
                    ClusterWriter::Done done, int tries = k_retries);
  void send(net::Request request, net::HttpClient::Done done);
  void tidy();
  /// The older half of what was seen once; of everything where that is not enough.
  void forget_old() REQUIRES(mutex);
  /// Calls `then` once it is known which events the server has; that is asked when the first one is to be sent. When
  /// the server does not say, it is taken for one of today and asked again a minute later.
  void when_api_known(std::function<void()> then);
  std::string path_of(const std::string& ns) const;
  std::string new_event(const SeriesKey& key, const EventRecord& event, const std::string& name,
                        std::int64_t count) const;
  std::string series_of(const Known& entry) const;

  const Clock& clock;
  const FindPod find_pod;
  const std::string host_name;

  Mutex mutex;
  std::map<SeriesKey, Known> known GUARDED_BY(mutex);
  std::uint64_t turns GUARDED_BY(mutex) = 0;
  std::size_t waiting GUARDED_BY(mutex) = 0;
  std::int64_t last_name_ns GUARDED_BY(mutex) = 0;
  bool stopped GUARDED_BY(mutex) = false;
  Counts counts GUARDED_BY(mutex);
  std::atomic<Api> api{Api::unknown};               // written under the mutex
  std::int64_t ask_again_ns GUARDED_BY(mutex) = 0;  // wall clock
  std::vector<std::function<void()>> until_api_known GUARDED_BY(mutex);

  net::HttpClient client;
};

void EventRecorder::State::when_api_known(std::function<void()> then) {
  bool ask = false;
  {
    const Lock lock(mutex);
    ask = api == Api::unknown && clock.wall_ns() >= ask_again_ns;
    if (ask) api = Api::asked;
    if (api == Api::asked) {
      until_api_known.push_back(std::move(then));
      then = nullptr;
    }
  }
  if (then) return then();
  if (!ask) return;
  net::Request request;
  request.target = "/apis/events.k8s.io/v1";
  request.retry = {k_retries, k_retry_delay, 1.0, false};
  client.send(std::move(request), [self = weak_from_this()](const Result<net::Response>& response) {
    const auto state = self.lock();
    if (!state) return;
    std::vector<std::function<void()>> waited;
    {
      const Lock lock(state->mutex);
      const int status = response.ok() ? response->status : 0;
      state->api = status == 404 ? Api::core : status == 200 ? Api::events_k8s_io : Api::unknown;
      state->ask_again_ns = state->clock.wall_ns() + k_ask_again_ns;
      waited.swap(state->until_api_known);
    }
    for (const std::function<void()>& call : waited) call();
  });
}

std::string EventRecorder::State::path_of(const std::string& ns) const {
  const std::string_view group = api == Api::core ? "/api/v1" : "/apis/events.k8s.io/v1";
  return fmt::format("{}/namespaces/{}/events", group, net::percent_encode(ns));
}

std::string EventRecorder::State::new_event(const SeriesKey& key, const EventRecord& event, const std::string& name,
                                            std::int64_t count) const {
  const std::int64_t now = clock.wall_ns();
  JsonObject body, metadata;
  metadata.text("name", name).text("namespace", namespace_of(event.regarding));
  const std::string_view type = event.warning ? "Warning" : "Normal";
  const std::string regarding = pod_reference(event.regarding, key.version);
  if (api == Api::core) {
    body.text("kind", "Event").text("apiVersion", "v1").json("metadata", metadata.done());
    body.json("involvedObject", regarding).text("reason", event.reason).text("message", event.note);
    body.json("source", JsonObject().text("component", event.controller).done());
    body.text("firstTimestamp", second_time(now)).text("lastTimestamp", second_time(now));
    body.number("count", count).text("type", type);
    return body.done();
  }
  body.text("kind", "Event").text("apiVersion", "events.k8s.io/v1").json("metadata", metadata.done());
  body.text("eventTime", micro_time(now)).text("reportingController", event.controller);
  body.text("reportingInstance", event.controller + "-" + host_name).text("action", event.action);
  body.text("reason", event.reason).json("regarding", regarding);
  if (event.related) body.json("related", pod_reference(*event.related, {}));
  body.text("note", event.note).text("type", type);
  if (count > 1) {
    JsonObject series;
    series.number("count", count).text("lastObservedTime", micro_time(now));
    body.json("series", series.done());
  }
  return body.done();
}

std::string EventRecorder::State::series_of(const Known& entry) const {
  if (api == Api::core)
    return JsonObject().number("count", entry.count).text("lastTimestamp", second_time(entry.last_ns)).done();
  JsonObject series;
  series.number("count", entry.count).text("lastObservedTime", micro_time(entry.last_ns));
  return JsonObject().json("series", series.done()).done();
}

/// Only silence is worth another try: a server that refuses an event will refuse it again.
void EventRecorder::State::send(net::Request request, net::HttpClient::Done done) {
  request.retry = {k_retries, k_retry_delay, 1.0};
  request.retry.jitter = k_jitter_max;
  request.retry.only_silence = true;
  client.send(std::move(request), [self = weak_from_this(), done = std::move(done)](Result<net::Response> response) {
    if (const auto state = self.lock()) {
      const Lock lock(state->mutex);
      --state->waiting;
    }
    done(std::move(response));
  });
}

void EventRecorder::State::create(const SeriesKey& key, const EventRecord& event, std::string name, std::int64_t count,
                                  ClusterWriter::Done done) {
  when_api_known([this, self = weak_from_this(), key, event, name = std::move(name), count, done = std::move(done)] {
    const auto kept = self.lock();
    if (!kept) return;
    net::Request request;
    request.method = net::Method::post;
    request.target = path_of(namespace_of(event.regarding));
    request.body = new_event(key, event, name, count);
    send(std::move(request), [done](Result<net::Response> response) {
      Result<std::string> answer = body_of(std::move(response));
      if (!answer.ok() && answer.error().code != ErrorCode::stopped)
        observe::V(2).info("An event is lost", {{"err", answer.error().message}});
      done(answer.ok() ? Status(Unit{}) : Status(answer.error()));
    });
  });
}

/// `event`: what to create when the server does not have the event any more. Where that is there by then after all,
/// its series is patched again, up to `tries` times.
void EventRecorder::State::patch_series(const SeriesKey& key, const Known& entry, std::optional<EventRecord> event,
                                        ClusterWriter::Done done, int tries) {
  when_api_known([this, self = weak_from_this(), key, entry, event = std::move(event), done = std::move(done), tries] {
    const auto kept = self.lock();
    if (!kept) return;
    net::Request request;
    request.method = net::Method::patch;
    request.content_type = "application/strategic-merge-patch+json";
    request.target = path_of(key.ns.empty() ? "default" : key.ns) + "/" + net::percent_encode(entry.event_name);
    request.body = series_of(entry);
    send(std::move(request), [self, key, entry, event, done, tries](Result<net::Response> response) {
      Result<std::string> answer = body_of(std::move(response));
      const auto state = self.lock();
      if (state && event && !answer.ok() && answer.error().code == ErrorCode::not_found) {
        const auto wait_for_it = [](State& sender) {
          const Lock lock(sender.mutex);
          ++sender.waiting;
        };
        wait_for_it(*state);
        return state->create(key, *event, entry.event_name, entry.count, [=](Status created) {
          const auto sender = self.lock();
          if (!sender || tries == 0 || created.ok() || created.error().code != ErrorCode::already_exists)
            return done(std::move(created));
          wait_for_it(*sender);
          sender->patch_series(key, entry, event, done, tries - 1);
        });
      }
      done(answer.ok() ? Status(Unit{}) : Status(answer.error()));
    });
  });
}

void EventRecorder::State::tidy() {
  std::vector<std::pair<SeriesKey, Known>> due;
  {
    const Lock lock(mutex);
    const std::int64_t now = clock.wall_ns();
    for (auto it = known.begin(); it != known.end();) {
      Known& entry = it->second;
      const bool ended = now - entry.last_ns >= k_series_end_ns;
      const bool refresh = entry.count > 1 && now - entry.written_ns >= k_series_refresh_ns;
      if (entry.count > 1 && (ended || refresh)) {
        entry.written_ns = now;
        due.emplace_back(it->first, entry);
        ++waiting;
        ++counts.patched;
      }
      it = ended ? known.erase(it) : std::next(it);
    }
  }
  for (const auto& [key, entry] : due) patch_series(key, entry, std::nullopt, [](const Status&) {});
}

void EventRecorder::State::forget_old() {
  std::vector<std::uint64_t> by_age;
  by_age.reserve(known.size());
  for (const auto& [key, entry] : known) by_age.push_back(entry.turn);
  const auto middle = by_age.begin() + static_cast<std::ptrdiff_t>(by_age.size() / 2);
  std::nth_element(by_age.begin(), middle, by_age.end());
  const std::uint64_t newer_from = *middle;
  std::erase_if(known, [&](const auto& each) { return each.second.turn < newer_from && each.second.count == 1; });
  if (known.size() > k_series_max)
    std::erase_if(known, [&](const auto& each) { return each.second.turn < newer_from; });
}

EventRecorder::EventRecorder(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, const Clock& clock,
                             FindPod find_pod, std::string host_name, net::HttpClientOptions client)
    : state_(std::make_shared<State>(threads, std::move(endpoint), clock, std::move(find_pod), std::move(host_name),
                                     std::move(client))) {
  asio::co_spawn(
      threads.context().io,
      [](std::weak_ptr<State> weak) -> asio::awaitable<void> {
        for (;;) {
          co_await net::wait_for(k_tidy_period);
          const auto state = weak.lock();
          if (!state) co_return;
          state->tidy();
        }
      }(state_),
      net::end_of_coroutine);
}

EventRecorder::~EventRecorder() { stop(); }

void EventRecorder::stop() noexcept { state_->client.stop(); }

void EventRecorder::tidy() { state_->tidy(); }

void EventRecorder::record(const EventRecord& event, ClusterWriter::Done done) {
  const model::PodPtr pod = state_->find_pod(event.regarding.ns, event.regarding.name);
  const bool same = pod != nullptr && pod->uid == event.regarding.uid;
  const SeriesKey key{event.warning,
                      event.is_explained,
                      event.action,
                      event.reason,
                      event.controller,
                      event.regarding.ns,
                      event.regarding.name,
                      event.regarding.uid,
                      same ? pod->resource_version.text() : std::string(),
                      event.related ? event.related->uid : std::string()};
  std::optional<Known> series;
  std::string name;
  {
    const Lock lock(state_->mutex);
    const std::int64_t now = state_->clock.wall_ns();
    const auto [it, fresh] = state_->known.try_emplace(key);
    Known& entry = it->second;
    if (!fresh && now - entry.last_ns >= k_series_end_ns) entry = {};  // too long ago to be the same series
    const bool first = entry.event_name.empty();
    entry.last_ns = now;
    entry.turn = ++state_->turns;
    if (!first && ++entry.count > 2) {
      ++state_->counts.folded;
    } else if (state_->waiting >= k_waiting_max) {
      ++state_->counts.dropped;
      if (first) state_->known.erase(it);
    } else if (first) {
      // Two events of one pod in one nanosecond are two events all the same.
      state_->last_name_ns = std::max(now, state_->last_name_ns + 1);
      entry.event_name = fmt::format("{}.{:x}", event.regarding.name, state_->last_name_ns);
      if (entry.event_name.size() > k_name_bytes_max)
        entry.event_name = make_uuid(std::hash<std::string>()(entry.event_name));
      entry.written_ns = now;
      name = entry.event_name;
      ++state_->waiting;
      ++state_->counts.created;
    } else {
      entry.written_ns = now;
      series = entry;
      ++state_->waiting;
      ++state_->counts.patched;
    }
    if (state_->known.size() > k_series_max) state_->forget_old();
  }
  if (!name.empty())
    state_->create(key, event, std::move(name), 1, std::move(done));
  else if (series)
    state_->patch_series(key, *series, event, std::move(done));
  else
    done(Unit{});
}

EventRecorder::Counts EventRecorder::counts() const {
  const Lock lock(state_->mutex);
  return state_->counts;
}

}  // namespace berth::cluster::kube
