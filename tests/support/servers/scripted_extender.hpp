// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace berth::tests {

/// An extender that answers as a test tells it, and remembers what it was asked. Listens on a free port of 127.0.0.1.
/// Threads: any; it has one of its own, on which the script runs.
class ScriptedExtender {
 public:
  struct Question {
    std::string method, target, host, content_type, authorization;
    std::string verb;         // last part of the target
    boost::json::value body;  // null when it was no JSON
  };
  struct Answer {
    enum class Way : std::uint8_t {
      plain,
      chunked,
      until_close,  // HTTP/1.0: the end of the connection ends the body
      cut_short,    // less than was nominated
      drip,         // a byte now and then, for ever
      silent,       // nothing at all
      raw,          // the body is all that is written, header included
      hang_up       // nothing, and the connection is closed
    };
    std::string body = "{}";
    unsigned status = 200;
    Way way = Way::plain;
    std::string headers = {};  // "Retry-After: 1\r\n"
    std::string before = {};   // bytes in front of it all

    static Answer of(const boost::json::value& body) { return {boost::json::serialize(body)}; }
  };
  using Script = std::function<Answer(const Question& question)>;
  struct Options {
    bool tls = false;
    std::string client_authority = {};  // PEM: clients need a certificate that it signed
  };

  explicit ScriptedExtender(Script script) : ScriptedExtender(std::move(script), Options()) {}
  ScriptedExtender(Script script, Options options);
  ~ScriptedExtender();
  ScriptedExtender(const ScriptedExtender&) = delete;
  ScriptedExtender& operator=(const ScriptedExtender&) = delete;

  /// "http://127.0.0.1:PORT/scheduler".
  std::string url() const;
  std::uint16_t port() const;
  /// PEM of the authority that signed its certificate; empty without TLS.
  const std::string& authority() const;
  std::vector<Question> questions() const;
  std::vector<Question> questions(const std::string& verb) const;
  /// Connections that were opened.
  std::size_t connections() const;
  /// Closes every connection, as a server does with those that were idle for a while. When it returns, the clients'
  /// kernels know.
  void close_connections();
  /// A client that connects from now on is refused. Only from inside the script.
  void refuse_connections();
  /// Waits for that many questions; false after half a minute.
  bool await_questions(std::size_t count) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::tests
