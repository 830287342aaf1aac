// SPDX-License-Identifier: Apache-2.0
/// berth.test/Third: every extension point through the C++ wrapper, answering as annotations say and tracing each call.
///
/// Args, annotations ("Third/<point>: <answer>") and trace are those of every_point_c/every_point.c. In addition:
///   throw                  anywhere: throws; the wrapper makes an error of it
///   Third/decides: allow_thread <uid>   allows a waiting pod from a thread of the plugin's own
#include <berth/plugin.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace {

using berth::Cycle;
using berth::Pod;
using berth::Slot;
using berth::Verdict;

constexpr const char* k_points[] = {"pre_enqueue", "pre_filter", "pod_added", "pod_removed", "filter", "post_filter",
                                    "pre_score",   "score",      "normalize", "reserve",     "permit", "pre_bind_check",
                                    "pre_bind",    "bind",       "hint",      "decides"};

/// An annotation, taken apart at the first colon or blank.
struct Answer {
  std::string word;
  std::string argument;
  bool is(std::string_view name) const { return word == name; }
  std::uint32_t number() const { return static_cast<std::uint32_t>(std::strtoul(argument.c_str(), nullptr, 10)); }
};

/// What pre_filter leaves: how many pods were imagined on and away.
struct Imagined {
  int added = 0;
  int removed = 0;
};

class Third {
 public:
  static constexpr berth::Identity identity{
      .name = "berth.test/Third", .version = "1.0.0", .summary = "Answers every extension point as annotations say."};
  static constexpr char args_schema[] =
      R"({"type":"object","additionalProperties":false,"required":["trace"],
          "properties":{"trace":{"type":"string","description":"file to append calls to"}}})";
  static constexpr berth::ReasonText reasons[] = {{"the annotation says no", "AnnotationSaysNo"}};
  static constexpr const char* services[] = {"berth.intern/1", "berth.waiting/1", "berth.clock/1", "berth.executor/1"};
  static constexpr const char* rbac[] = {"create core/pods/binding"};
  static constexpr berth::Interest interests[] = {berth::hinted(BERTH_KIND_NODE, BERTH_ACTION_ALL),
                                                  berth::hinted(BERTH_KIND_POD, BERTH_ACTION_ALL)};
  static constexpr berth::Normalize normalization = berth::Normalize::custom;
  using State = Imagined;

  explicit Third(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()),
        waiting_(setup.service<berth::Waiting>()),
        clock_(setup.service<berth::Clock>()),
        created_ns_(clock_.monotonic_ns()),
        executor_(setup.service<berth::Executor>()),
        dry_run_(setup.find_service<berth::DryRun>()),
        writes_(setup.find_service<berth::Writes>()),
        trace_(std::fopen(setup.args()["trace"].string("trace").c_str(), "a"), &std::fclose) {
    if (trace_ == nullptr) throw berth::BadArgs("cannot open the trace file");
    std::setvbuf(trace_.get(), nullptr, _IOLBF, BUFSIZ);
    for (const char* point : k_points) keys_[point] = intern_(std::string("Third/") + point);
    setup.pod_fields(BERTH_POD_ANNOTATIONS | BERTH_POD_IDENTITY | BERTH_POD_NAMESPACE | BERTH_POD_PRIORITY);
    write("create");
  }
  ~Third() {
    if (trace_ != nullptr) write("destroy");
  }
  Third(const Third&) = delete;
  Third& operator=(const Third&) = delete;

  // --- queue: highest priority first, then first come
  std::array<std::uint64_t, 2> key(const berth::QueuedPod& queued) const {
    return {~(static_cast<std::uint64_t>(queued.pod().priority()) + (std::uint64_t{1} << 63)),
            static_cast<std::uint64_t>(queued.enqueued_ns())};
  }
  Verdict pre_enqueue(const berth::QueuedPod& queued) const { return answer("pre_enqueue", queued.pod()); }

  // --- prepare
  Verdict pre_filter(const Cycle& cycle, berth::PreFilter<State>& point) const {
    const Answer said = ask("pre_filter", cycle.pod());
    trace("pre_filter", cycle.pod(),
          " second=" + std::to_string((clock_.monotonic_ns() - created_ns_) / 1'000'000'000));
    if (said.is("narrow")) {
      std::vector<std::uint64_t> keep(point.candidates().size());
      keep[said.number() >> 6] = std::uint64_t{1} << (said.number() & 63);
      point.narrow(keep);
    }
    point.make();
    return verdict("pre_filter", said);
  }
  Verdict pre_score(const Cycle& cycle, berth::PreScore<State>& point) const {
    return answer("pre_score", cycle.pod(), " nodes=" + std::to_string(point.nodes().size()));
  }
  Verdict pod_added(const Cycle& cycle, Pod other, Slot node) const {
    ++cycle.state<State>()->added;
    return answer("pod_added", cycle.pod(), " " + std::string(other.name()) + slot_text(node));
  }
  Verdict pod_removed(const Cycle& cycle, Pod other, Slot node) const {
    ++cycle.state<State>()->removed;
    return answer("pod_removed", cycle.pod(), " " + std::string(other.name()) + slot_text(node));
  }

  // --- filter and score
  void filter(const Cycle& cycle, berth::FilterBlock& block) const {
    const Answer said = ask("filter", cycle.pod());
    const State* state = cycle.state<State>();
    trace("filter", cycle.pod(),
          std::string(cycle.dry_run() ? " dry_run" : "") +
              " added=" + std::to_string(state != nullptr ? state->added : -1) +
              " removed=" + std::to_string(state != nullptr ? state->removed : -1));
    if (said.is("throw") || said.is("error")) fail("filter");
    const bool all = said.is("unschedulable") || said.is("unresolvable") || said.is("pending");
    for (std::uint32_t row = 0; row < block.rows(); ++row) {
      if (all || (said.is("reject") && block.slot(row) == said.number())) {
        block.reject_row(row, berth::Rejection{1, said.is("unresolvable")});
      }
    }
    if (said.is("pending"))
      for (std::uint32_t word = 0; word < block.words(); ++word) block.rejections_are_pending(word, berth::Mask::all());
  }
  void score(const Cycle& cycle, berth::ScoreBlock& block) const {
    const Answer said = ask("score", cycle.pod());
    trace("score", cycle.pod());
    if (said.is("throw") || said.is("error")) fail("score");
    for (std::uint32_t row = 0; row < block.rows(); ++row) {
      block(row) = said.word.empty() ? 10 : std::strtoll(said.word.c_str(), nullptr, 10);
    }
  }
  void normalize(const Cycle& cycle, std::span<const Slot>, std::span<std::int64_t>) const {
    trace("normalize", cycle.pod());
    const Answer said = ask("normalize", cycle.pod());
    if (said.is("throw") || said.is("error")) fail("normalize");
  }

  // --- post-filter
  Verdict post_filter(const Cycle& cycle, berth::PostFilter& point) const {
    const Answer said = ask("post_filter", cycle.pod());
    trace("post_filter", cycle.pod());
    if (said.is("dry_run") && dry_run_) try_every_node(cycle, point);
    if (said.is("set")) {
      point.nominate(said.number());
      return Verdict::ok();
    }
    if (said.is("clear")) point.clear_nomination();
    return said.word.empty() || said.is("dry_run") || said.is("clear") ? Verdict::unschedulable(1)
                                                                       : verdict("post_filter", said);
  }

  // --- reserve and permit
  Verdict reserve(const Cycle& cycle, Slot node) const { return answer("reserve", cycle.pod(), slot_text(node)); }
  void unreserve(const Cycle& cycle, Slot node) const { trace("unreserve", cycle.pod(), slot_text(node)); }
  Verdict permit(const Cycle& cycle, Slot node, berth::Permit& point) const {
    const Answer said = ask("permit", cycle.pod());
    trace("permit", cycle.pod(), slot_text(node));
    if (said.is("wait")) point.timeout_ms(said.number());
    return verdict("permit", said);
  }

  // --- bind
  Verdict pre_bind_check(const Cycle& cycle, Slot node, berth::PreBindFlags&) const {
    return answer("pre_bind_check", cycle.pod(), slot_text(node));
  }
  Verdict pre_bind(const Cycle& cycle, berth::BindCall call) const {
    return finish_bind("pre_bind", cycle, call, "ok");
  }
  Verdict bind(const Cycle& cycle, berth::BindCall call) const { return finish_bind("bind", cycle, call, "skip"); }
  void post_bind(const Cycle& cycle, std::string_view node_name) {
    trace("post_bind", cycle.pod(), " node=" + std::string(node_name));
    const Answer said = ask("decides", cycle.pod());
    if (said.is("allow")) report("allow", said.argument, waiting_.allow(said.argument));
    if (said.is("reject")) report("reject", said.argument, waiting_.reject(said.argument, "turned away"));
    if (said.is("allow_thread")) {
      std::thread([&] { report("allow", said.argument, waiting_.allow(said.argument)); }).join();
    }
  }

  // --- requeue
  bool hint(const berth::Event& event, Pod waiting) const {
    trace("hint", waiting, " interest=" + std::to_string(event.interest()));
    const Answer said = ask("hint", waiting);
    if (said.is("throw") || said.is("error")) fail("hint");
    return !said.is("skip");
  }

 private:
  struct Later {
    berth::BindCall call;
    berth_code code;
  };

  Answer ask(const std::string& point, Pod pod) const {
    const berth::Id value = berth::find_label(pod.annotations(), keys_.at(point));
    if (value == 0) return {};
    const std::string text(intern_.text(value));
    const std::size_t end = text.find_first_of(": ");
    return end == std::string::npos ? Answer{text, ""} : Answer{text.substr(0, end), text.substr(end + 1)};
  }

  [[noreturn]] static void fail(const std::string& point) { throw berth::Failure("Third broke at " + point); }

  static Verdict verdict(const std::string& point, const Answer& said) {
    if (said.is("throw")) fail(point);
    if (said.is("error")) return Verdict::error("Third broke at " + point);
    if (said.is("unschedulable")) return Verdict::unschedulable(1);
    if (said.is("unresolvable")) return Verdict::unresolvable(1);
    if (said.is("pending")) return Verdict::pending(1);
    if (said.is("skip")) return Verdict::skip();
    if (said.is("wait")) return Verdict::wait();
    if (!said.word.empty() && said.word.find_first_not_of("0123456789") == std::string::npos) {
      return Verdict::of(static_cast<berth_code>(std::strtoul(said.word.c_str(), nullptr, 10)));
    }
    return Verdict::ok();
  }

  Verdict answer(const std::string& point, Pod pod, const std::string& more = "") const {
    trace(point, pod, more);
    return verdict(point, ask(point, pod));
  }

  Verdict finish_bind(const std::string& point, const Cycle& cycle, berth::BindCall call, const char* otherwise) const {
    Answer said = ask(point, cycle.pod());
    trace(point, cycle.pod(), " node=" + std::string(call.node_name()));
    if (said.word.empty()) said.word = otherwise;
    if (said.is("async")) {
      auto later = std::make_unique<Later>(Later{call, verdict(point, Answer{said.argument, ""}).code()});
      if (executor_.submit(&complete_later, later.get()) != BERTH_OK) fail(point);
      later.release();
      return Verdict::async();
    }
    if (said.is("write")) {
      auto later = std::make_unique<Later>(Later{call, BERTH_OK});
      const std::string ns(intern_.text(cycle.pod().ns()));
      if (!writes_ || writes_->bind(cycle.pod(), ns, call.node_name(), &written, later.get()) != BERTH_OK) fail(point);
      later.release();
      return Verdict::async();
    }
    return verdict(point, said);
  }
  static void complete_later(void* arg) {
    const std::unique_ptr<Later> later(static_cast<Later*>(arg));
    later->call.complete(later->code, later->code == BERTH_OK ? "" : "completed later with an error");
  }
  static void written(void* arg, berth_code code, berth_str text) {
    const std::unique_ptr<Later> later(static_cast<Later*>(arg));
    later->call.complete(code, berth::view(text));
  }

  void try_every_node(const Cycle& cycle, const berth::PostFilter& point) const {
    for (Slot slot = 0; slot < cycle.slot_count(); ++slot) {
      if ((point.unschedulable()[slot >> 6] >> (slot & 63) & 1) == 0) continue;
      std::vector<std::string> uids;
      dry_run_->pods_on(cycle, slot, [&](Pod pod) { uids.emplace_back(pod.uid()); });
      std::vector<berth_str> borrowed;
      for (const std::string& uid : uids) borrowed.push_back(berth::borrow(uid));
      const Verdict fits = dry_run_->fits_without(cycle, slot, borrowed);
      trace("fits_without", cycle.pod(),
            slot_text(slot) + " without=" + std::to_string(uids.size()) + " code=" + std::to_string(fits.code()));
    }
  }

  static std::string slot_text(Slot node) { return " slot=" + std::to_string(node); }
  void write(const std::string& line) const { std::fprintf(trace_.get(), "Third %s\n", line.c_str()); }
  void trace(const std::string& what, Pod pod, const std::string& more = "") const {
    write(what + " " + std::string(intern_.text(pod.ns())) + "/" + std::string(pod.name()) + more);
  }
  void report(const std::string& what, const std::string& uid, bool done) const {
    write(what + " " + uid + " code=" + std::to_string(done ? BERTH_OK : BERTH_NOT_FOUND));
  }

  berth::Intern intern_;
  berth::Waiting waiting_;
  berth::Clock clock_;
  std::int64_t created_ns_;
  berth::Executor executor_;
  std::optional<berth::DryRun> dry_run_;
  std::optional<berth::Writes> writes_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> trace_;
  std::map<std::string, berth::Id> keys_;
};

}  // namespace

BERTH_PLUGIN(Third)
