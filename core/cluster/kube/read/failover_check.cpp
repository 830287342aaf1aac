// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/failover_check.hpp"

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/guarded.hpp"
#include "cluster/cluster_writer.hpp"
#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/api_status.hpp"
#include "cluster/kube/read/object_answers.hpp"
#include "net/http_session.hpp"
#include "net/url.hpp"
#include "observe/log.hpp"
#include "text/parse.hpp"

namespace berth::cluster::kube {
namespace {

constexpr std::chrono::milliseconds k_retry{500};
constexpr std::chrono::seconds k_list_quiet_limit{10};  // a list that sends nothing for that long is broken
constexpr std::size_t k_looked_at_max = 100;            // one after the other; more are quicker to list
constexpr int k_tries_max = 5;                          // with a server that answers

using Uids = boost::unordered_flat_set<std::string>;

}  // namespace

struct PlacementCheck::State : std::enable_shared_from_this<PlacementCheck::State> {
  State(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, std::string which, PlacementCheckCalls given,
        std::shared_ptr<const decode::ObjectDecoder> with, const net::HttpClientOptions& client)
      : http(std::make_shared<net::HttpClient::State>(threads, std::move(endpoint), client)),
        selector(std::move(which)),
        calls(std::move(given)),
        decoder(std::move(with)) {}

  asio::awaitable<void> run(std::function<void(bool)> done);

  const std::shared_ptr<net::HttpClient::State> http;
  const std::string selector;
  const PlacementCheckCalls calls;
  const std::shared_ptr<const decode::ObjectDecoder> decoder;
  Mutex call_mutex;  // guards the calls as well
  bool stopped GUARDED_BY(call_mutex) = false;

 private:
  asio::awaitable<Result<ListMetadata>> list(const std::string& from, Uids& uids);
  asio::awaitable<Result<Uids>> waiting();
  asio::awaitable<Status> verify_binding(const model::PodPtr& pod);
  std::vector<model::PodPtr> missing_in(const Uids& uids);
  asio::awaitable<Status> look_at_all(const std::vector<model::PodPtr>& missing);
  template <typename Call>
  void tell(Call&& call) {
    const Lock lock(call_mutex);
    if (!stopped) call();
  }
};

/// One piece of the list of pods that wait, by what the server's store holds: without a version, and without a limit,
/// since a server answers that from its cache once it is as new as its store, and reads pages from the store.
asio::awaitable<Result<ListMetadata>> PlacementCheck::State::list(const std::string& from, Uids& uids) {
  static const decode::WireLayout k_json;
  net::Request request;
  request.target =
      "/api/v1/pods?fieldSelector=" + net::percent_encode(selector + (selector.empty() ? "" : ",") + "spec.nodeName=");
  if (!from.empty()) request.target += "&continue=" + net::percent_encode(from);
  request.accept = k_metadata_only_list;
  Result<std::unique_ptr<net::BodyStream>> body = co_await http->open(std::move(request));
  if (!body.ok()) co_return body.error();
  if ((*body)->status() != 200)
    co_return api_error((*body)->status(), co_await (*body)->refusal_text(k_list_quiet_limit));
  const std::unique_ptr<ListBody> parts =
      make_list_body((*body)->content_type(), k_json, "pods",
                     [&uids](const text::Document* document, const decode::TypeHint&, const text::Diagnostics&) {
                       if (document != nullptr) uids.emplace(document->root().text_at("metadata.uid"));
                     });
  for (;;) {
    const Result<std::string_view> piece = co_await (*body)->read(k_list_quiet_limit);
    if (!piece.ok()) co_return piece.error();
    if (piece->empty()) break;
    if (const Status cut = parts->add(*piece); !cut.ok()) co_return cut.error();
  }
  co_return parts->end();
}

asio::awaitable<Result<Uids>> PlacementCheck::State::waiting() {
  Uids out;
  std::string next;
  do {
    const Result<ListMetadata> listed = co_await list(next, out);
    if (!listed.ok()) co_return listed.error();
    next = listed->next;
  } while (!next.empty());
  co_return out;
}

asio::awaitable<Status> PlacementCheck::State::verify_binding(const model::PodPtr& pod) {
  net::Request request;
  request.target =
      fmt::format("/api/v1/namespaces/{}/pods/{}", net::percent_encode(pod->ns), net::percent_encode(pod->name));
  request.answer_bytes_max = k_object_bytes_max;
  Result<net::Response> response = co_await http->exchange(std::move(request));
  const Result<std::string> body = body_of(std::move(response));
  if (!body.ok()) {
    if (body.error().code != ErrorCode::not_found) co_return body.error();
    tell([&] { calls.is_gone(pod); });
    co_return Unit{};
  }
  text::Diagnostics diagnostics;
  const auto documents = text::parse_go_json(*body, "pod", diagnostics);
  if (documents.empty()) co_return Error{"the pod is not JSON: " + diagnostics.render()};
  const bool was_cut = !diagnostics.empty();
  std::optional<decode::Decoded> now;
  if (!was_cut) now = decoder->decode(documents.front(), documents.front().root(), diagnostics);
  const model::PodPtr* const found = now ? std::get_if<model::PodPtr>(&*now) : nullptr;
  // Who cannot be read as it is now is told of by the watch too, which says why.
  if (found == nullptr) {
    tell([&] { calls.unreadable(decoder->remains_of(documents.front(), documents.front().root(), true, !was_cut)); });
    co_return Unit{};
  }
  const bool is_another = (*found)->uid != pod->uid;
  tell([&] {
    if (is_another || (*found)->finished())
      calls.is_gone(pod);
    else
      calls.changed(std::move(*now));
  });
  co_return Unit{};
}

std::vector<model::PodPtr> PlacementCheck::State::missing_in(const Uids& uids) {
  std::vector<model::PodPtr> out;
  tell([&] { out = calls.known(); });
  std::erase_if(out, [&](const model::PodPtr& pod) { return uids.contains(pod->uid); });
  return out;
}

asio::awaitable<Status> PlacementCheck::State::look_at_all(const std::vector<model::PodPtr>& missing) {
  for (const model::PodPtr& pod : missing) {
    const Status looked = co_await verify_binding(pod);
    if (!looked.ok()) co_return looked;
  }
  co_return Unit{};
}

asio::awaitable<void> PlacementCheck::State::run(std::function<void(bool)> done) {
  for (int refused = 0;;) {
    // The list comes first: whatever is heard of later and missing in it is only asked for in vain.
    const Result<Uids> uids = co_await waiting();
    Status outcome = Unit{};
    if (uids.ok()) {
      const std::vector<model::PodPtr> missing = missing_in(*uids);
      if (missing.size() > k_looked_at_max) {
        tell([&] { done(false); });
        co_return;
      }
      outcome = co_await look_at_all(missing);
    } else {
      outcome = uids.error();
    }
    if (outcome.ok()) break;
    observe::warning("Pending pods cannot be read yet", {{"err", outcome.error().message}});
    // What one pod makes unreadable stays so; the list that follows passes over it.
    if (outcome.error().code != ErrorCode::unreachable && ++refused == k_tries_max) {
      tell([&] { done(false); });
      co_return;
    }
    co_await net::wait_for(k_retry);
  }
  tell([&] { done(true); });
}

PlacementCheck::PlacementCheck(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, std::string selector,
                               PlacementCheckCalls calls, std::shared_ptr<const decode::ObjectDecoder> decoder,
                               const net::HttpClientOptions& client)
    : state_(std::make_shared<State>(threads, std::move(endpoint), std::move(selector), std::move(calls),
                                     std::move(decoder), client)) {}

PlacementCheck::~PlacementCheck() { stop(); }

void PlacementCheck::run(std::function<void(bool)> done) {
  asio::co_spawn(
      state_->http->strand,
      [](std::shared_ptr<State> state, std::function<void(bool)> when) -> asio::awaitable<void> {
        co_await state->run(std::move(when));
      }(state_, std::move(done)),
      net::end_of_coroutine);
}

void PlacementCheck::stop() noexcept {
  const Lock lock(state_->call_mutex);
  state_->stopped = true;
}

}  // namespace berth::cluster::kube
