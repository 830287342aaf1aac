// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/list_question.hpp"

#include <spdlog/fmt/fmt.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/api_status.hpp"
#include "decode/wire_schema.hpp"
#include "net/http_session.hpp"
#include "net/url.hpp"

namespace berth::cluster::kube {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::steady_clock;

constexpr milliseconds k_look_up{50};  // from the wait for a step, to see whether it is to go on

/// One page: what a step on the strand needs, also when its caller waits no longer.
struct Page {
  std::shared_ptr<net::HttpClient::State> http;
  net::Request request;
  milliseconds quiet_limit;
  std::unique_ptr<net::BodyStream> body = nullptr;
};
using Step = asio::awaitable<Result<std::string>> (*)(Page& page);

asio::awaitable<Result<std::string>> open_page(Page& page) {
  Result<std::unique_ptr<net::BodyStream>> opened = co_await page.http->open(page.request);
  if (!opened.ok()) co_return opened.error();
  page.body = std::move(*opened);
  if (page.body->status() == 200) co_return std::string();
  co_return api_error(page.body->status(), co_await page.body->refusal_text(page.quiet_limit));
}

asio::awaitable<Result<std::string>> read_page(Page& page) {
  const Result<std::string_view> piece = co_await page.body->read(page.quiet_limit);
  if (!piece.ok()) co_return piece.error();
  co_return std::string(*piece);
}

/// Ends with the list.
class ListReading {
 public:
  ListReading(net::HttpClient& client, const ListQuestion& question)
      : client_(client), question_(question), end_(Time::now() + question.limit) {}

  Result<ListMetadata> page(std::string target, const decode::WireLayout& layout, const ListBody::OnItem& take) {
    const auto page = std::make_shared<Page>(Page{client_.state(), {}, question_.quiet_limit});
    page->request.target = std::move(target);
    page->request.timeout = question_.quiet_limit;
    if (layout.message != nullptr) page->request.accept = "application/vnd.kubernetes.protobuf,application/json";
    if (Result<std::string> opened = run(page, open_page); !opened.ok()) return opened.error();
    const std::unique_ptr<ListBody> list =
        make_list_body(page->body->content_type(), layout, question_.target.resource, take);
    for (;;) {
      const Result<std::string> piece = run(page, read_page);
      if (!piece.ok()) return piece.error();
      if (piece->empty()) return list->end();
      if (const Status cut = list->add(*piece); !cut.ok()) return cut.error();
    }
  }

 private:
  /// A step has an end of its own, so that nothing is left over for long when this waits no longer.
  Result<std::string> run(const std::shared_ptr<Page>& page, Step step) {
    const auto answered = std::make_shared<std::promise<Result<std::string>>>();
    std::future<Result<std::string>> answer = answered->get_future();
    asio::co_spawn(
        page->http->strand,
        [](std::shared_ptr<Page> of, Step taken,
           std::shared_ptr<std::promise<Result<std::string>>> into) -> asio::awaitable<void> {
          Result<std::string> outcome = Error{"the client failed"};
          try {
            outcome = co_await taken(*of);
          } catch (const std::exception& error) {
            outcome = Error{error.what()};
          }
          into->set_value(std::move(outcome));
        }(page, step, answered),
        net::end_of_coroutine);
    const Time::time_point quiet_end = Time::now() + 2 * question_.quiet_limit;  // of opening and of a refusal's text
    while (answer.wait_for(k_look_up) != std::future_status::ready) {
      if (question_.goes_on && !question_.goes_on()) return Error{"the list is wanted no longer"};
      if (Time::now() >= end_) return Error{fmt::format("the list took more than {} ms", question_.limit.count())};
      if (Time::now() >= quiet_end)
        return Error{fmt::format("no answer within {} ms", 2 * question_.quiet_limit.count())};
    }
    return answer.get();
  }

  net::HttpClient& client_;
  const ListQuestion& question_;
  const Time::time_point end_;
};

}  // namespace

Result<std::size_t> ask_for_list(net::HttpClient& client, const ListQuestion& question,
                                 const std::function<void(const text::Value& object)>& take) {
  const decode::WireLayout layout = decode::wire_layout_of(question.target.resource);
  std::size_t unreadable = 0;
  const auto take_item = [&](const text::Document* document, const decode::TypeHint&, const text::Problems&) {
    if (document != nullptr)
      take(document->root());
    else
      ++unreadable;
  };
  std::string base = fmt::format("{}?limit={}", question.target.path(), question.page_items);
  if (!question.target.field_selector.empty())
    base += "&fieldSelector=" + net::percent_encode(question.target.field_selector);
  ListReading reading(client, question);
  for (std::string next;;) {
    Result<ListMetadata> read =
        reading.page(base + (next.empty() ? "" : "&continue=" + net::percent_encode(next)), layout, take_item);
    if (!read.ok()) return read.error();
    // A server that goes on for ever with the same page ends with the limit.
    if (read->next.empty()) return unreadable;
    next = std::move(read->next);
  }
}

}  // namespace berth::cluster::kube
