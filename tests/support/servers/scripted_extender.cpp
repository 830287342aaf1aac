// SPDX-License-Identifier: Apache-2.0
#include "support/servers/scripted_extender.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>

#include "net/http_message.hpp"
#include "support/servers/loopback.hpp"

namespace berth::tests {

namespace {

constexpr std::chrono::seconds k_patience{30};
constexpr std::chrono::milliseconds k_drip{5};

std::string text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// The bytes of an answer.
std::string bytes_of(const ScriptedExtender::Answer& answer) {
  using Way = ScriptedExtender::Answer::Way;
  constexpr std::size_t k_chunk = 7;
  if (answer.way == Way::raw) return answer.body;
  const std::string status = fmt::format("{} Scripted\r\n{}", answer.status, answer.headers);
  if (answer.way == Way::until_close) return "HTTP/1.0 " + status + "\r\n" + answer.body;
  if (answer.way == Way::chunked) {
    std::string out = "HTTP/1.1 " + status + "Transfer-Encoding: chunked\r\n\r\n";
    for (std::size_t i = 0; i < answer.body.size(); i += k_chunk) {
      const std::string piece = answer.body.substr(i, k_chunk);
      out += fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
    }
    return out + "0\r\n\r\n";
  }
  const std::size_t size = answer.body.size() + (answer.way == Way::plain ? 0 : 1'000'000);
  return "HTTP/1.1 " + status + fmt::format("Content-Length: {}\r\n\r\n", size) + answer.body;
}

}  // namespace

struct ScriptedExtender::State {
  State(Script answers, Options how) : script(std::move(answers)), options(std::move(how)) {
    if (options.tls) authority = certify(tls);
    if (!options.client_authority.empty()) {
      tls.add_certificate_authority(asio::buffer(options.client_authority));
      tls.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    }
    port = listen_on_loopback(acceptor);
    asio::io_context& io = threads.context().io;
    const Serve each = [this](std::shared_ptr<net::ByteStream> client) { return serve(std::move(client)); };
    asio::co_spawn(io,
                   serve_connections(io, acceptor, options.tls ? &tls : nullptr, each,
                                     [this] {
                                       const std::lock_guard lock(mutex);
                                       ++connections;
                                     }),
                   net::end_of_coroutine);
  }

  asio::awaitable<void> serve(std::shared_ptr<net::ByteStream> client) {
    using Way = Answer::Way;
    const auto open = std::make_shared<Open>();
    connections_open.push_back(open);
    const std::shared_ptr<void> end(nullptr, [open](void*) { open->farewell = nullptr; });
    open->farewell = [weak = std::weak_ptr<net::ByteStream>(client)] {
      if (const std::shared_ptr<net::ByteStream> stream = weak.lock()) say_farewell(stream);
    };
    beast::flat_buffer buffer;
    for (;;) {
      http::request_parser<http::string_body> request;
      request.body_limit(boost::none);
      open->reads = true;
      const net::ByteStream::Moved asked_for = co_await net::read_message(*client, buffer, request, net::Until::end);
      open->reads = false;
      if (asked_for.error) co_return;
      const Answer answer = script(remember(request.get()));
      if (answer.way == Way::silent) continue;  // the next read ends when the client gives up
      if (answer.way == Way::hang_up) break;
      const std::string bytes = answer.before + bytes_of(answer);
      const net::ByteStream::Moved written = co_await client->write(asio::buffer(bytes));
      while (!written.error && answer.way == Way::drip) {
        co_await net::wait_for(k_drip);
        const net::ByteStream::Moved one = co_await client->write(asio::buffer(" ", 1));
        if (one.error) co_return;
      }
      if (written.error || answer.way == Way::until_close || answer.way == Way::cut_short) break;
    }
    boost::system::error_code ignored;
    client->socket().socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  }

  static void say_farewell(const std::shared_ptr<net::ByteStream>& client) {
    // Over TLS it is written at once; what it waits for is the client's.
    if (const auto secured = std::dynamic_pointer_cast<net::TlsBytes>(client)) {
      secured->stream.async_shutdown([secured](const boost::system::error_code&) {});
      return;
    }
    boost::system::error_code ignored;
    client->socket().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }

  /// A connection whose answer is not yet written to the end is waited for.
  void close_when_quiet(std::promise<void>& closed) {
    asio::post(threads.context().io, [this, &closed] {
      for (const auto& open : connections_open)
        if (open->farewell && !open->reads) return close_when_quiet(closed);
      for (const auto& open : connections_open)
        if (open->farewell) std::exchange(open->farewell, nullptr)();
      closed.set_value();
    });
  }

  template <typename Message>
  Question remember(const Message& request) {
    Question question;
    question.method = text_of(request.method_string());
    question.target = text_of(request.target());
    question.verb = question.target.substr(question.target.rfind('/') + 1);
    question.host = text_of(request[http::field::host]);
    question.content_type = text_of(request[http::field::content_type]);
    question.authorization = text_of(request[http::field::authorization]);
    boost::system::error_code malformed;
    question.body = boost::json::parse(request.body(), malformed);
    const std::lock_guard lock(mutex);
    questions.push_back(question);
    asked.notify_all();
    return question;
  }

  const Script script;
  const Options options;
  asio::ssl::context tls{asio::ssl::context::tls_server};
  std::string authority;
  net::IoThreads threads{1};
  asio::ip::tcp::acceptor acceptor{threads.context().io};
  std::uint16_t port = 0;
  struct Open {
    bool reads = false;  // a question is waited for
    std::function<void()> farewell;
  };
  std::vector<std::shared_ptr<Open>> connections_open;  // only on the thread
  mutable std::mutex mutex;                             // guards all below
  mutable std::condition_variable asked;
  std::vector<Question> questions;
  std::size_t connections = 0;
};

ScriptedExtender::ScriptedExtender(Script script, Options options)
    : state_(std::make_unique<State>(std::move(script), std::move(options))) {}
ScriptedExtender::~ScriptedExtender() { state_->threads.stop(); }

std::string ScriptedExtender::url() const {
  return fmt::format("{}://127.0.0.1:{}/scheduler", state_->options.tls ? "https" : "http", state_->port);
}
std::uint16_t ScriptedExtender::port() const { return state_->port; }
const std::string& ScriptedExtender::authority() const { return state_->authority; }

std::vector<ScriptedExtender::Question> ScriptedExtender::questions() const {
  const std::lock_guard lock(state_->mutex);
  return state_->questions;
}

std::vector<ScriptedExtender::Question> ScriptedExtender::questions(const std::string& verb) const {
  std::vector<Question> all = questions();
  std::erase_if(all, [&](const Question& question) { return question.verb != verb; });
  return all;
}

std::size_t ScriptedExtender::connections() const {
  const std::lock_guard lock(state_->mutex);
  return state_->connections;
}

void ScriptedExtender::close_connections() {
  std::promise<void> closed;
  state_->close_when_quiet(closed);
  closed.get_future().wait();
}

void ScriptedExtender::refuse_connections() { state_->acceptor.close(); }

bool ScriptedExtender::await_questions(std::size_t count) const {
  std::unique_lock lock(state_->mutex);
  return state_->asked.wait_for(lock, k_patience, [&] { return state_->questions.size() >= count; });
}

}  // namespace berth::tests
