// SPDX-License-Identifier: Apache-2.0
#include "simulation/network.hpp"

#include <errno.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace berth::simulation {
namespace {

constexpr std::size_t k_all = std::numeric_limits<std::size_t>::max();
constexpr std::size_t k_unread_max = std::size_t{1} << 20;
// When a host's TCP gives up on a peer that acknowledges nothing, as the host asks it to.
constexpr std::int64_t k_unanswered_ns = 60'000'000'000;

Kernel& kernel() { return Kernel::the(); }

/// "pods" of "GET /api/v1/pods?watch=1 HTTP/1.1"; empty when it is no such request.
std::string resource_read(std::string_view request) {
  constexpr std::string_view k_get = "GET /api";
  if (!request.starts_with(k_get)) return {};
  const std::string_view path = request.substr(4, request.find_first_of("? ", k_get.size()) - 4);
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

void File::changed() {
  for (auto it = watched_by.begin(); it != watched_by.end();) {
    const std::shared_ptr<Epoll> epoll = it->first.lock();
    const auto entry = epoll ? epoll->entries.find(it->second) : std::map<int, Epoll::Entry>::iterator();
    if (!epoll || entry == epoll->entries.end()) {
      it = watched_by.erase(it);
      continue;
    }
    epoll->due.insert(it->second);
    if ((ready() & (entry->second.events | EPOLLERR | EPOLLHUP)) != 0) kernel().wake(epoll.get(), 1);
    ++it;
  }
  kernel().wake(&Network::the(), k_all);  // threads in poll()
}

std::uint32_t Event::ready() const { return (count > 0 ? EPOLLIN : 0U) | EPOLLOUT; }

std::uint32_t Listener::ready() const { return arrived.empty() ? 0U : EPOLLIN; }

std::uint32_t Socket::ready() const {
  if (state == State::failed) return EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP;
  if (state != State::open) return 0;
  std::uint32_t out = 0;
  if (inbox.size() > inbox_begin || has_ended) out |= EPOLLIN;
  if (has_ended) out |= EPOLLRDHUP;
  const std::shared_ptr<Socket> other = peer.lock();
  if (!other || other->unread < k_unread_max) out |= EPOLLOUT;
  return out;
}

void Socket::closed() {
  const std::shared_ptr<Socket> other = peer.lock();
  if (state == State::open && other && !is_shut) Network::the().shut(*this);
  state = State::failed;
  error = EBADF;
}

Network& Network::the() {
  static Network* const network = new Network;
  return *network;
}

int Network::add(std::shared_ptr<File> file) {
  file->owner = kernel().self()->machine;
  const int descriptor = next_descriptor_++;
  files_.emplace(descriptor, std::move(file));
  return descriptor;
}

std::shared_ptr<File> Network::find(int descriptor) const {
  const auto found = files_.find(descriptor);
  return found == files_.end() ? nullptr : found->second;
}

int Network::close(int descriptor) {
  const auto found = files_.find(descriptor);
  if (found == files_.end()) return -1;
  const std::shared_ptr<File> file = std::move(found->second);
  files_.erase(found);
  for (const auto& [epoll, as] : file->watched_by)
    if (const std::shared_ptr<Epoll> there = epoll.lock()) there->forget(as);
  file->closed();
  return 0;
}

void Network::machine_ended(const Machine& machine, bool quietly) {
  std::vector<int> open;
  for (const auto& [descriptor, file] : files_)
    if (file->owner == &machine) open.push_back(descriptor);
  for (const int descriptor : open) {
    if (quietly)
      if (const auto socket = find_as<Socket>(descriptor)) socket->peer.reset();
    close(descriptor);
  }
}

std::vector<std::shared_ptr<Socket>> Network::sockets_of(const Machine& host) const {
  std::vector<std::shared_ptr<Socket>> out;
  for (const auto& [descriptor, file] : files_)
    if (auto socket = std::dynamic_pointer_cast<Socket>(file); socket && socket->host == &host) out.push_back(socket);
  return out;
}

int Network::listen(const std::shared_ptr<Listener>& listener) {
  if (listener->port == 0) listener->port = next_port_++;
  listeners_[listener->port] = listener;
  return 0;
}

void Network::connect(const std::shared_ptr<Socket>& socket, std::uint16_t port) {
  socket->state = Socket::State::connecting;
  socket->host = socket->owner;
  socket->connection = next_connection_++;
  socket->local_port = next_port_ = static_cast<std::uint16_t>(next_port_ == 65'000 ? 20'001 : next_port_ + 1);
  socket->remote_port = port;
  kernel().note("connect", socket->connection, socket->host->number);
  try_connect(socket, 0);
}

void Network::try_connect(const std::shared_ptr<Socket>& socket, int tries) {
  const Link& link = link_of(*socket->host);
  const std::int64_t delay_ns = kernel().dice().between(link.least_delay_ns, link.most_delay_ns);
  kernel().at(kernel().now_ns() + delay_ns, [this, socket, tries] {
    if (socket->state != Socket::State::connecting) return;
    if (link_of(*socket->host).is_cut) {
      // The first packet is sent again after 1, 2, 4 … seconds.
      if (tries < 6)
        kernel().at(kernel().now_ns() + (std::int64_t{1'000'000'000} << tries),
                    [this, socket, tries] { try_connect(socket, tries + 1); });
      else
        reset(socket, ETIMEDOUT);
      return;
    }
    const auto found = listeners_.find(socket->remote_port);
    const std::shared_ptr<Listener> listener = found == listeners_.end() ? nullptr : found->second.lock();
    if (!listener || !listener->owner->is_alive) return reset(socket, ECONNREFUSED);
    auto other = std::make_shared<Socket>();
    other->state = Socket::State::open;
    other->connection = socket->connection;
    other->host = socket->host;
    other->owner = listener->owner;
    other->peer = socket;
    other->local_port = socket->remote_port;
    other->remote_port = socket->local_port;
    socket->peer = other;
    socket->state = Socket::State::open;
    listener->arrived.push_back(std::move(other));
    listener->changed();
    socket->changed();
  });
}

void Network::put(const std::shared_ptr<Socket>& to, std::string bytes, bool is_end, bool is_break) {
  const Link& link = link_of(*to->host);
  Dice& dice = kernel().dice();
  std::int64_t arrives_ns = kernel().now_ns() + dice.between(link.least_delay_ns, link.most_delay_ns);
  if (!bytes.empty() && dice.roll(faults.late)) {
    arrives_ns += dice.between(0, faults.late_most_ns);
    ++faults_done_;
  }
  if (!to->pipe.empty()) arrives_ns = std::max(arrives_ns, to->pipe.back().arrives_ns);
  to->pipe.push_back({arrives_ns, std::move(bytes), is_end, is_break});
  kernel().at(arrives_ns, [this, to] { pump(to); });
}

void Network::pump(const std::shared_ptr<Socket>& socket) {
  if (socket->state != Socket::State::open || link_of(*socket->host).is_cut || socket->is_silent) return;
  if (!socket->asks.empty() && link_of(*socket->host).held.contains(socket->asks)) return;
  while (!socket->pipe.empty() && socket->pipe.front().arrives_ns <= kernel().now_ns()) {
    const Socket::Piece piece = std::move(socket->pipe.front());
    socket->pipe.pop_front();
    kernel().note("arrives", socket->connection, piece.is_end, piece.bytes);
    if (piece.is_break) {
      if (const std::shared_ptr<Socket> other = socket->peer.lock()) reset(other, ECONNRESET);
      return reset(socket, ECONNRESET);
    }
    socket->inbox += piece.bytes;
    socket->has_ended = socket->has_ended || piece.is_end;
    socket->changed();
  }
}

long Network::send(Socket& socket, std::string_view bytes) {
  if (socket.state == Socket::State::failed) {
    const int error = std::exchange(socket.error, 0);
    return error != 0 && error != EBADF ? -error : -EPIPE;
  }
  if (socket.state != Socket::State::open) return -ENOTCONN;
  if (socket.is_shut) return -EPIPE;
  if (on_send) on_send(*socket.owner, socket, bytes);
  if (std::string resource = resource_read(bytes); !resource.empty()) socket.asks = std::move(resource);
  kernel().note("send", socket.connection, socket.owner->number, bytes);
  const std::shared_ptr<Socket> other = socket.peer.lock();
  const auto taken = static_cast<long>(bytes.size());
  if (!other) return taken;  // the other side has gone without a word
  if (other->state != Socket::State::open) {
    // It is closed there: what is sent is answered with a reset.
    const std::shared_ptr<Socket> self = std::static_pointer_cast<Socket>(socket.shared_from_this());
    const Link& link = link_of(*socket.host);
    kernel().at(kernel().now_ns() + link.most_delay_ns, [this, self] {
      if (!link_of(*self->host).is_cut) reset(self, ECONNRESET);
    });
    return taken;
  }
  if (other->unread >= k_unread_max) return -EAGAIN;
  bytes = bytes.substr(0, k_unread_max - other->unread);
  other->unread += bytes.size();
  Dice& dice = kernel().dice();
  if (dice.roll(faults.silence)) {
    ++faults_done_;
    kernel().note("fault: silence", socket.connection);
    socket.is_silent = other->is_silent = true;
  }
  if (dice.roll(faults.reset)) {
    ++faults_done_;
    kernel().note("fault: reset", socket.connection);
    put(other, {}, false, true);
  } else if (dice.roll(faults.cut)) {
    ++faults_done_;
    kernel().note("fault: cut", socket.connection);
    put(other, std::string(bytes.substr(0, dice.below(bytes.size() + 1))), false);
    put(other, {}, false, true);
  } else if (bytes.size() > 1 && dice.roll(faults.in_pieces)) {
    const std::size_t at = 1 + dice.below(bytes.size() - 1);
    put(other, std::string(bytes.substr(0, at)), false);
    put(other, std::string(bytes.substr(at)), false);
  } else {
    put(other, std::string(bytes), false);
  }
  return static_cast<long>(bytes.size());
}

long Network::receive(Socket& socket, char* into, std::size_t size, bool peek) {
  const std::size_t there = socket.inbox.size() - socket.inbox_begin;
  if (there == 0) {
    if (socket.state == Socket::State::failed) {
      const int error = std::exchange(socket.error, 0);
      return error != 0 ? -error : 0;
    }
    if (socket.has_ended) return 0;
    return socket.state == Socket::State::open ? -EAGAIN : -ENOTCONN;
  }
  const std::size_t count = std::min(size, there);
  std::memcpy(into, socket.inbox.data() + socket.inbox_begin, count);
  if (peek) return static_cast<long>(count);
  socket.inbox_begin += count;
  if (socket.inbox_begin == socket.inbox.size()) {
    socket.inbox.clear();
    socket.inbox_begin = 0;
  }
  const bool was_full = socket.unread >= k_unread_max;
  socket.unread -= count;
  if (was_full)
    if (const std::shared_ptr<Socket> other = socket.peer.lock()) other->changed();
  return static_cast<long>(count);
}

void Network::shut(Socket& socket) {
  if (socket.state != Socket::State::open || std::exchange(socket.is_shut, true)) return;
  const std::shared_ptr<Socket> other = socket.peer.lock();
  if (other && other->state == Socket::State::open) put(other, {}, true);
}

void Network::reset(const std::shared_ptr<Socket>& socket, int error) {
  if (socket->state == Socket::State::failed) return;
  socket->state = Socket::State::failed;
  socket->error = error;
  socket->pipe.clear();
  kernel().note("broken", socket->connection, error);
  socket->changed();
}

void Network::set_cut(const Machine& machine, bool is_cut) {
  Link& link = link_of(machine);
  if (link.is_cut == is_cut) return;
  link.is_cut = is_cut;
  link.cuts += is_cut ? 1 : 0;
  kernel().note(is_cut ? "fault: link cut" : "link whole", machine.number);
  if (!is_cut) {
    for (const std::shared_ptr<Socket>& socket : sockets_of(machine)) pump(socket);
    return;
  }
  ++faults_done_;
  kernel().at(kernel().now_ns() + k_unanswered_ns, [this, number = link.cuts, &link, &machine] {
    if (!link.is_cut || link.cuts != number) return;
    for (const std::shared_ptr<Socket>& socket : sockets_of(machine))
      if (socket->owner == &machine && socket->state == Socket::State::open) {
        socket->peer.reset();
        reset(socket, ETIMEDOUT);
      }
  });
}

void Network::hold(const Machine& machine, const std::string& resource, bool is_held) {
  Link& link = link_of(machine);
  kernel().note(is_held ? "fault: held" : "let go", machine.number);
  if (is_held) {
    ++faults_done_;
    link.held.insert(resource);
    return;
  }
  link.held.erase(resource);
  for (const std::shared_ptr<Socket>& socket : sockets_of(machine)) pump(socket);
}

bool Network::break_one(const Machine& machine, bool silently) {
  std::vector<std::shared_ptr<Socket>> all = sockets_of(machine);
  std::erase_if(all, [&](const auto& s) { return s->owner != &machine || s->state != Socket::State::open; });
  if (all.empty()) return false;
  const std::shared_ptr<Socket>& socket = all[kernel().dice().below(all.size())];
  const std::shared_ptr<Socket> other = socket->peer.lock();
  ++faults_done_;
  kernel().note(silently ? "fault: silent" : "fault: broken", socket->connection);
  if (silently) {
    socket->is_silent = true;
    if (other) other->is_silent = true;
    return true;
  }
  if (other) reset(other, ECONNRESET);
  reset(socket, ECONNRESET);
  return true;
}

void end_program(Machine& machine, int status) {
  kernel().kill(machine, status);
  Network::the().machine_ended(machine, false);
}

}  // namespace berth::simulation
