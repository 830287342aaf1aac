// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/kernel.hpp"

/// Files of the simulation: sockets between machines, epoll and eventfd. The calls_files.cpp functions end here.
namespace berth::simulation {

struct Epoll;

struct File : std::enable_shared_from_this<File> {
  virtual ~File() = default;
  /// EPOLLIN …, as poll() and epoll_wait() say it.
  virtual std::uint32_t ready() const = 0;
  virtual void closed() {}
  /// Tells those who wait that it may be ready for something.
  void changed();

  Machine* owner = nullptr;
  std::vector<std::pair<std::weak_ptr<Epoll>, int>> watched_by;  // and as what descriptor
};

struct Event final : File {
  std::uint32_t ready() const override;
  std::uint64_t count = 0;
};

struct Epoll final : File {
  struct Entry {
    std::uint32_t events = 0;
    std::uint64_t data = 0;
  };
  std::uint32_t ready() const override { return 0; }
  std::map<int, Entry> entries;
  /// Descriptors to look at, in order: new, changed since they were told, or told each time they are ready (no EPOLLET).
  std::set<int> due;
  void forget(int descriptor) {
    entries.erase(descriptor);
    due.erase(descriptor);
  }
};

struct Socket;
struct Listener final : File {
  std::uint32_t ready() const override;
  std::uint16_t port = 0;
  std::vector<std::shared_ptr<Socket>> arrived;
};

/// An end of a connection. What the other end sends is on its way in `pipe` until it has arrived in `inbox`.
struct Socket final : File {
  enum class State : std::uint8_t { fresh, connecting, open, failed };
  struct Piece {
    std::int64_t arrives_ns = 0;
    std::string bytes;
    bool is_end = false;    // nothing follows
    bool is_break = false;  // the connection breaks
  };
  std::uint32_t ready() const override;
  void closed() override;

  State state = State::fresh;
  int connection = 0;
  int error = 0;  // not yet told
  std::weak_ptr<Socket> peer;
  const Machine* host = nullptr;  // the machine that connected, of both ends
  std::deque<Piece> pipe;
  std::string inbox;
  std::size_t inbox_begin = 0, unread = 0;  // bytes sent to it, and not read by it
  bool has_ended = false;                   // the other side will send no more
  bool is_shut = false;                     // for sending
  bool is_silent = false;                   // nothing arrives here any more
  std::uint16_t local_port = 0, remote_port = 0;
  std::string asks;  // the resource that the last request on it reads; of the machine's end
};

/// What lies between a machine and the server.
struct Link {
  bool is_cut = false;  // nothing passes; what was sent passes when it is whole again
  int cuts = 0;
  std::set<std::string> held;  // resources of which no answer passes
  std::int64_t least_delay_ns = 50'000, most_delay_ns = 2'000'000;
};

/// How often what goes wrong with what is sent, each piece for itself.
struct NetworkFaults {
  double reset = 0;    // the connection breaks instead
  double cut = 0;      // a part arrives, and then the connection breaks
  double silence = 0;  // from then on nothing arrives on it, either way
  double late = 0;     // it takes up to `late_most_ns`
  std::int64_t late_most_ns = 120'000'000'000;
  double in_pieces = 0.1;  // it arrives as several
};

class Network {
 public:
  static Network& the();

  int add(std::shared_ptr<File> file);
  std::shared_ptr<File> find(int descriptor) const;
  template <typename T>
  std::shared_ptr<T> find_as(int descriptor) const {
    return std::dynamic_pointer_cast<T>(find(descriptor));
  }
  void replace(int descriptor, std::shared_ptr<File> by) { files_[descriptor] = std::move(by); }
  int close(int descriptor);
  /// Ends what a machine had open. `quietly`: no one is told, as when the power fails.
  void machine_ended(const Machine& machine, bool quietly);

  int listen(const std::shared_ptr<Listener>& listener);
  void connect(const std::shared_ptr<Socket>& socket, std::uint16_t port);
  /// Bytes taken; -EAGAIN and the like.
  long send(Socket& socket, std::string_view bytes);
  long receive(Socket& socket, char* into, std::size_t size, bool peek);
  void shut(Socket& socket);
  void reset(const std::shared_ptr<Socket>& socket, int error);

  Link& link_of(const Machine& machine) { return links_[machine.number]; }
  void set_cut(const Machine& machine, bool is_cut);
  /// What a machine reads of that resource does not arrive until it is let go.
  void hold(const Machine& machine, const std::string& resource, bool is_held);
  /// Breaks one of a machine's connections. False when it has none.
  bool break_one(const Machine& machine, bool silently);
  NetworkFaults faults;
  /// Hears of all that a machine sends, before it is sent.
  std::function<void(const Machine& from, const Socket& socket, std::string_view bytes)> on_send;
  std::uint64_t faults_done() const noexcept { return faults_done_; }

 private:
  void put(const std::shared_ptr<Socket>& to, std::string bytes, bool is_end, bool is_break = false);
  void pump(const std::shared_ptr<Socket>& socket);
  void try_connect(const std::shared_ptr<Socket>& socket, int tries);
  std::vector<std::shared_ptr<Socket>> sockets_of(const Machine& host) const;

  std::map<int, std::shared_ptr<File>> files_;
  std::map<int, Link> links_;
  std::map<std::uint16_t, std::weak_ptr<Listener>> listeners_;
  int next_descriptor_ = 100'000;
  int next_connection_ = 1;
  std::uint16_t next_port_ = 20'000;
  std::uint64_t faults_done_ = 0;
};

}  // namespace berth::simulation
