// SPDX-License-Identifier: Apache-2.0
/// example.com/CloudDisk: attaches a pod's disk to the node before the pod is bound, and detaches it when that comes to
/// nothing.
///
/// Assumes: a pod names its disk by the annotation example.com/disk. A cloud attaches and detaches disks over HTTP
///          (cloud.py says how); both may be asked twice.
/// Steps:   pre_bind hands the request to the executor and returns; the binding goes on when the cloud has answered.
///          When the attachment fails, or anything after it, unreserve has the disk detached again, in the background
///          as well.
#include <berth/plugin.hpp>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "../http_client/http_client.hpp"

namespace {

constexpr std::string_view k_annotation = "example.com/disk";

/// What the cloud is asked, in a form that any thread may use.
class Cloud {
 public:
  Cloud(std::string_view address, std::chrono::milliseconds limit) : url_(http::Url::parse(address)), limit_(limit) {}

  /// Blocks. Empty when it is done, else why not.
  std::string attach(const std::string& disk, const std::string& node) const { return ask("attach", disk, node); }
  std::string detach(const std::string& disk, const std::string& node) const { return ask("detach", disk, node); }

 private:
  std::string ask(const char* verb, const std::string& disk, const std::string& node) const {
    try {
      const std::string target =
          "/disks/" + http::percent_encode(disk) + "/" + verb + "?node=" + http::percent_encode(node);
      const http::Answer answer = http::exchange("POST", url_, target, {}, limit_);
      if (answer.status == 200) return {};
      return std::string(verb) + " disk " + disk + ": " + answer.body;
    } catch (const std::exception& problem) {
      return std::string(verb) + " disk " + disk + ": " + problem.what();
    }
  }

  http::Url url_;
  std::chrono::milliseconds limit_;
};

class CloudDisk {
 public:
  static constexpr berth::Identity identity{.name = "example.com/CloudDisk",
                                            .version = "1.0.0",
                                            .summary = "Attaches the disk of a pod to its node before binding.",
                                            .deps = BERTH_DEP_POD_IDENTITY};

  static constexpr char args_schema[] = R"({
    "type": "object",
    "additionalProperties": false,
    "required": ["cloudAddress"],
    "properties": {
      "cloudAddress": {"type": "string", "pattern": "^http://[^/]", "description": "Where the cloud listens."},
      "timeoutMilliseconds": {"type": "integer", "minimum": 1, "maximum": 60000, "default": 5000,
                              "description": "How long it may take to answer."}
    }
  })";

  static constexpr const char* services[] = {berth::Intern::id, berth::Executor::id};
  static constexpr std::array<berth::Interest, 0> interests{};

  explicit CloudDisk(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()),
        executor_(setup.service<berth::Executor>()),
        log_(setup.find_service<berth::Log>()),
        cloud_(make_cloud(setup.args())),
        key_(intern_(k_annotation)) {
    setup.pod_fields(BERTH_POD_IDENTITY | BERTH_POD_ANNOTATIONS);
  }

  berth::Verdict pre_bind_check(const berth::Cycle& cycle, berth::Slot, berth::PreBindFlags&) const {
    return disk_of(cycle.pod()).empty() ? berth::Verdict::skip() : berth::Verdict::ok();
  }

  berth::Verdict pre_bind(const berth::Cycle& cycle, berth::BindCall call) {
    const berth::Pod pod = cycle.pod();
    const Attachment wanted{std::string(disk_of(pod)), std::string(call.node_name())};
    remember(std::string(pod.uid()), wanted);
    run_later(wanted.disk, [this, wanted, call](const std::string& refusal) {
      const std::string problem = refusal.empty() ? cloud_.attach(wanted.disk, wanted.node) : refusal;
      call.complete(problem.empty() ? static_cast<berth_code>(BERTH_OK) : static_cast<berth_code>(BERTH_ERROR),
                    problem);
    });
    return berth::Verdict::async();
  }

  berth::Verdict reserve(const berth::Cycle&, berth::Slot) { return berth::Verdict::ok(); }

  /// Called for every failure, also where nothing was attached.
  void unreserve(const berth::Cycle& cycle, berth::Slot) {
    const std::optional<Attachment> undone = forget(std::string(cycle.pod().uid()));
    if (!undone) return;
    run_later(undone->disk, [this, undone = *undone](const std::string& refusal) {
      const std::string problem =
          refusal.empty() ? cloud_.detach(undone.disk, undone.node) : "detach disk " + undone.disk + ": " + refusal;
      if (!problem.empty() && log_) log_->write(BERTH_LOG_WARN, problem);
    });
  }

  /// The pod is bound: the disk stays where it is.
  void post_bind(const berth::Cycle& cycle, std::string_view) { forget(std::string(cycle.pod().uid())); }

 private:
  struct Attachment {
    std::string disk, node;
  };
  /// Called once: when its turn comes, with an empty text; else with why it never will. Must not throw.
  using Task = std::function<void(const std::string& refusal)>;
  struct Turn {
    CloudDisk& plugin;
    std::string disk;
  };

  static Cloud make_cloud(const berth::Json& args) {
    const std::chrono::milliseconds limit(args["timeoutMilliseconds"].integer_or("timeoutMilliseconds", 5000));
    try {
      return Cloud(args["cloudAddress"].string("cloudAddress"), limit);
    } catch (const http::Failure& problem) {
      throw berth::BadArgs(std::string("cloudAddress: ") + problem.what());
    }
  }

  std::string_view disk_of(berth::Pod pod) const {
    for (const berth::Label& annotation : pod.annotations())
      if (annotation.key == key_) return intern_.text(annotation.value);
    return {};
  }

  void remember(const std::string& uid, const Attachment& attachment) {
    const std::lock_guard lock(mutex_);
    attachments_[uid] = attachment;
  }
  std::optional<Attachment> forget(const std::string& uid) {
    const std::lock_guard lock(mutex_);
    const auto found = attachments_.extract(uid);
    return found.empty() ? std::nullopt : std::optional<Attachment>(found.mapped());
  }

  /// Hands the task to the executor, behind others about the same disk: a detachment must not overtake the attachment
  /// of the next attempt.
  void run_later(const std::string& disk, Task task) {
    {
      const std::lock_guard lock(mutex_);
      auto& queue = tasks_[disk];
      queue.push_back(std::move(task));
      if (queue.size() != 1) return;
    }
    auto turn = std::make_unique<Turn>(Turn{*this, disk});
    const berth_code code = executor_.submit(
        [](void* arg) {
          const std::unique_ptr<Turn> turn(static_cast<Turn*>(arg));
          turn->plugin.run_tasks(turn->disk);
        },
        turn.get());
    if (code == BERTH_OK) {
      static_cast<void>(turn.release());
      return;
    }
    // Others may have queued behind this one since: their turn does not come either.
    std::deque<Task> refused;
    {
      const std::lock_guard lock(mutex_);
      refused = std::move(tasks_.extract(disk).mapped());
    }
    for (const Task& each : refused) each("the host does not take the task");
  }
  void run_tasks(const std::string& disk) {
    for (;;) {
      Task task;
      {
        const std::lock_guard lock(mutex_);
        task = tasks_[disk].front();
      }
      task({});
      const std::lock_guard lock(mutex_);
      const auto queue = tasks_.find(disk);
      queue->second.pop_front();
      if (!queue->second.empty()) continue;
      tasks_.erase(queue);
      return;
    }
  }

  berth::Intern intern_;
  berth::Executor executor_;
  std::optional<berth::Log> log_;
  Cloud cloud_;
  berth::Id key_;
  std::mutex mutex_;
  std::map<std::string, Attachment> attachments_;  // guarded by mutex_; by uid: asked for, and not settled yet
  std::map<std::string, std::deque<Task>> tasks_;  // likewise; by disk, the first one is being carried out
};

}  // namespace

BERTH_PLUGIN(CloudDisk)
