// SPDX-License-Identifier: Apache-2.0
#include "isolation/process/plugin_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "base/product.hpp"
#include "confine/stranger.hpp"
#include "isolation/description.hpp"
#include "isolation/packed.hpp"
#include "isolation/process/process_services.hpp"
#include "isolation/process/starter_messages.hpp"
#include "isolation/region.hpp"
#include "isolation/shared_memory.hpp"
#include "loader/plugin_loader.hpp"

namespace berth::isolation {
namespace {

constexpr int k_done = 0, k_refused = 3;

template <typename Ops>
const Ops* ops_of(const berth_plugin_v1& plugin, std::string_view id) noexcept {
  for (std::uint32_t i = 0; i < plugin.point_count; ++i)
    if (id == plugin.points[i].id) return static_cast<const Ops*>(plugin.points[i].ops);
  return nullptr;
}

/// One instance, and the requests about it.
class Instance {
 public:
  Instance(HostLine& line, const berth_library_v1& library) : line_(line), library_(library) {}

  /// Carries one request out.
  void serve() {
    const Request request = line_.next();
    forget_if_aged(request.symbols_age, request.sets_age);
    for (std::uint32_t i = 0; i < request.free_count && i < k_frees_max; ++i) free_state(request.frees[i]);
    Reply reply;
    char text[k_note_bytes];
    berth_note_v1 note{sizeof(berth_note_v1), 0, text, sizeof text, 0};
    try {
      reply.code = carry_out(request, reply, note);
    } catch (const std::exception& thrown) {  // a plugin without the wrapper
      reply.code = BERTH_ERROR;
      say(note, thrown.what());
    } catch (...) {
      reply.code = BERTH_ERROR;
      say(note, "unknown exception");
    }
    reply.reason = note.reason;
    reply.note_bytes = note.text_len;
    std::memcpy(line_.region().note, text, std::min<std::uint64_t>(note.text_len, sizeof text));
    line_.reply(reply);
  }

 private:
  static void say(berth_note_v1& note, std::string_view text) noexcept {
    const std::size_t kept = std::min<std::size_t>(text.size(), note.text_cap);
    std::copy_n(text.data(), kept, note.text);
    note.text_len = text.size();
  }

  berth_code carry_out(const Request& request, Reply& reply, berth_note_v1& note) {
    if (request.op == Op::create) return create(request, reply, note);
    berth_cycle_v1 cycle = request.cycle;
    berth_code code = BERTH_OK;
    switch (request.op) {
      case Op::pre_filter: {
        berth_prepare_out_v1 out{sizeof(berth_prepare_out_v1), 0, reinterpret_cast<std::uint64_t*>(request.candidates),
                                 request.word_count};
        code = prepare_->pre_filter(self_, &cycle, &out, &note);
        reply.narrowed = out.narrowed;
        break;
      }
      case Op::pre_score:
        code = prepare_->pre_score(self_, &cycle, reinterpret_cast<const berth_slot*>(request.nodes), request.count,
                                   &note);
        break;
      case Op::filter:
        code = filter(request, cycle, reply, note);
        break;
      case Op::score:
        code = score_->score(self_, &cycle, &request.block, line_.region().raw, &note);
        break;
      case Op::normalize:
        code = score_->normalize(self_, &cycle, reinterpret_cast<const berth_slot*>(request.nodes),
                                 reinterpret_cast<std::int64_t*>(request.scores), request.count, &note);
        break;
      case Op::state_clone: {
        void* to = nullptr;
        code = prepare_->state_clone(self_, cycle.state, &to, &note);
        cycle.state = to;
        break;
      }
      case Op::pod_added:
      case Op::pod_removed: {
        const auto function = request.op == Op::pod_added ? prepare_->pod_added : prepare_->pod_removed;
        code = function(self_, &cycle, reinterpret_cast<const berth_pod_v1*>(request.other_pod), request.other_node,
                        &note);
        break;
      }
      case Op::hint:
        code = requeue_->hint(self_, reinterpret_cast<const berth_event_v1*>(request.event),
                              reinterpret_cast<const berth_pod_v1* const*>(request.nodes), request.count,
                              line_.region().pass, &note);
        break;
      case Op::answer:
      case Op::create:
      case Op::free_states:
        break;
    }
    reply.state = reinterpret_cast<std::uint64_t>(cycle.state);
    return code;
  }

  berth_code filter(const Request& request, const berth_cycle_v1& cycle, Reply& reply, berth_note_v1& note) {
    Region& region = line_.region();
    berth_filter_out_v1 out{sizeof(berth_filter_out_v1),
                            0,
                            region.pass,
                            region.unresolvable,
                            (cycle.flags & BERTH_CYCLE_WANT_REASONS) != 0 ? region.reasons : nullptr,
                            nullptr,
                            &fail_row,
                            (cycle.flags & BERTH_CYCLE_WANT_DETAILS) != 0 ? &add_detail : nullptr,
                            region.pending};
    const berth_code code = filter_->filter(self_, &cycle, &request.block, &out, &note);
    reply.out_flags = out.flags;
    return code;
  }

  berth_code create(const Request& request, Reply& reply, berth_note_v1& note) {
    PackedReader in({line_.region().answered, request.bytes});
    name_ = in.text();
    product_ = in.text();
    args_ = in.text();
    for (std::uint32_t i = 0; i < library_.plugin_count; ++i)
      if (name_ == library_.plugins[i]->name) plugin_ = library_.plugins[i];
    if (plugin_ == nullptr) {
      say(note, "the file has no such plugin");
      return BERTH_ERROR;
    }
    prepare_ = ops_of<berth_prepare_ops_v1>(*plugin_, "berth.prepare/1");
    filter_ = ops_of<berth_filter_ops_v1>(*plugin_, "berth.filter/1");
    score_ = ops_of<berth_score_ops_v1>(*plugin_, "berth.score/1");
    requeue_ = ops_of<berth_requeue_ops_v1>(*plugin_, "berth.requeue/1");
    host_ = {sizeof(berth_host_v1), BERTH_ABI_MINOR,  BERTH_DATA_MODEL, this, {product_.data(), product_.size()},
             &process_service,      request.score_max};
    const berth_binder_v1 binder = process_binder();
    const berth_code code = plugin_->create(&host_, &binder, {args_.data(), args_.size()}, &self_, &note);
    if (code == BERTH_OK && filter_ != nullptr && filter_->budget_ns != nullptr)
      reply.value = filter_->budget_ns(self_);
    return code;
  }

  void free_state(std::uint64_t state) {
    if (prepare_ != nullptr && prepare_->state_free != nullptr && state != 0)
      prepare_->state_free(self_, reinterpret_cast<void*>(state));
  }

  HostLine& line_;
  const berth_library_v1& library_;
  const berth_plugin_v1* plugin_ = nullptr;
  const berth_prepare_ops_v1* prepare_ = nullptr;
  const berth_filter_ops_v1* filter_ = nullptr;
  const berth_score_ops_v1* score_ = nullptr;
  const berth_requeue_ops_v1* requeue_ = nullptr;
  void* self_ = nullptr;
  std::string name_, product_, args_;
  berth_host_v1 host_{};
};

/// Ends with the starter, whatever becomes of it, and has nothing of it but the memory.
bool leave_parent_behind() {
  ::close_range(k_given_descriptor + 1, ~0U, 0);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() == 1) return false;
  ::prctl(PR_SET_NAME, "berth-plugin");
  // A crash is told by how the process ends.
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  return ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
}

loader::LoadRequest load_request(const PluginProgram& program) {
  loader::LoadRequest request;
  request.directory = {program.directory, "berth plugin-host", {}};
  request.files.push_back({program.file, program.sha256, {}});
  for (const auto& [file, sha256] : program.companions) request.files.push_back({file, sha256, {}});
  for (const std::string& plugin : program.plugins) request.wanted.push_back({plugin, {}, false});
  request.strict = true;
  request.allow_draft_interfaces = program.allow_draft_interfaces;
  return request;
}

/// Says why there is no plugin, as the first reply.
int refuse(Region& region, HostLine& line, std::string_view why) {
  Reply reply;
  reply.code = BERTH_ERROR;
  reply.note_bytes = std::min(why.size(), k_note_bytes);
  std::memcpy(region.note, why.data(), reply.note_bytes);
  line.reply(reply);
  return k_refused;
}

int serve(const PluginProgram& program, Region& region) {
  HostLine line(region);
  serve_with(line);
  region.base = reinterpret_cast<std::uint64_t>(&region);
  if (const Status confined = confine::confine_loading_stranger({}, {program.directory}); !confined.ok())
    return refuse(region, line, confined.error().message);
  loader::HostOffer offer{std::string(product()), {}};
  for (const std::string_view service : isolated_services()) offer.services.emplace_back(service);
  const loader::LoadOutcome loaded = loader::PluginLoader(offer).load(load_request(program));
  if (!loaded.report.ok()) return refuse(region, line, loaded.report.render());
  if (loaded.plugins.libraries().empty()) return refuse(region, line, "the file offers none of its plugins");
  const berth_library_v1& library = *loaded.plugins.libraries().front().entry;
  const std::size_t bytes = write_description(library, region.pods);
  if (bytes == 0) return refuse(region, line, "its description is too long");
  if (const Status confined = confine::confine_running_stranger(); !confined.ok())
    return refuse(region, line, confined.error().message);
  Reply described;
  described.bytes = static_cast<std::uint32_t>(bytes);
  line.reply(described);
  for (Instance instance(line, library);;) instance.serve();
}

}  // namespace

int run_plugin_process(const PluginProgram& program) {
  if (!leave_parent_behind()) return k_done;
  Result<SharedMemory> memory = SharedMemory::map(k_given_descriptor, k_region_bytes);
  if (!memory.ok()) return k_refused;
  ::close(k_given_descriptor);
  return serve(program, *reinterpret_cast<Region*>(memory->data()));
}

}  // namespace berth::isolation
