// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/kube_reader.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <mutex>

#include "base/check.hpp"
#include "cluster/kube/placement_check.hpp"

namespace berth::cluster::kube {
namespace {

constexpr std::string_view k_pods = "core/v1/pods", k_nodes = "core/v1/nodes";
constexpr std::array k_volumes = {std::string_view("core/v1/persistentvolumeclaims"),
                                  std::string_view("core/v1/persistentvolumes")};
// Until a snapshot is taken for what the watch has not told: of little, soon; of all pods, only when the watch is
// broken.
constexpr std::chrono::milliseconds k_soon{50}, k_when_broken{90'000};
// Finished pods use nothing; the server leaves them out, and tells of their end as of a deletion.
constexpr std::string_view k_pod_selector = "status.phase!=Succeeded,status.phase!=Failed";

std::uint64_t number_of(const model::ResourceVersion& version) { return version.number(); }

/// True when `b` says nothing that `a` did not: the same version again, or an older one of the same object.
template <typename T>
bool is_old_news(const T& a, const T& b) {
  if (a.uid != b.uid) return false;
  if (a.resource_version == b.resource_version) return !b.resource_version.empty();
  const std::uint64_t known = number_of(a.resource_version), given = number_of(b.resource_version);
  return known != 0 && given != 0 && given < known;
}

/// Names an object within its resource; a view of the object.
struct Key {
  std::string_view ns, name;
  friend bool operator==(const Key&, const Key&) = default;
};
Key key_of(const model::Pod& pod) { return {pod.ns, pod.name}; }
Key key_of(const model::Node& node) { return {{}, node.name}; }
Key key_of(const model::Object& object) { return {object.ns, object.name}; }

/// The three kinds of a sink's calls, by type.
struct Calls {
  ClusterSink& sink;
  void added(const model::PodPtr& pod) { sink.pod_added(pod); }
  void added(const model::NodePtr& node) { sink.node_added(node); }
  void added(const model::ObjectPtr& object) { sink.object_added(object); }
  void updated(const model::PodPtr& a, const model::PodPtr& b) { sink.pod_updated(a, b); }
  void updated(const model::NodePtr& a, const model::NodePtr& b) { sink.node_updated(a, b); }
  void updated(const model::ObjectPtr& a, const model::ObjectPtr& b) { sink.object_updated(a, b); }
  void deleted(const model::PodPtr& pod) { sink.pod_deleted(pod); }
  void deleted(const model::NodePtr& node) { sink.node_deleted(node); }
  void deleted(const model::ObjectPtr& object) { sink.object_deleted(object); }
};

}  // namespace

struct KubeReader::State {
  class Feed;
  template <typename Ptr>
  class Collection;

  State(SymbolTable& table, decode::DecodeOptions options)
      : decoder(std::make_shared<decode::ObjectDecoder>(table, std::move(options))) {}
  /// Some resource is in sync now; the last one makes the cluster known.
  void one_more_synced();
  PlacementCheckCalls placement_calls();

  const std::shared_ptr<const decode::ObjectDecoder> decoder;
  std::vector<std::shared_ptr<Feed>> feeds;
  std::vector<std::unique_ptr<Reflector>> reflectors;  // parallel to feeds
  Collection<model::PodPtr>* pods = nullptr;
  Reflector* pod_reflector = nullptr;
  std::unique_ptr<PlacementCheck> placement_check;
  std::mutex delivery;  // guards the calls of the sink; comes before any other lock
  ClusterSink* sink = nullptr;
  std::size_t unsynced = 0;
  std::atomic<bool> synced{false};
};

class KubeReader::State::Feed : public ReflectorSink {
 public:
  Feed(State& state, std::string resource) : state_(state), resource_(std::move(resource)) {}
  const std::string& resource() const noexcept { return resource_; }
  bool is_synced() const noexcept { return synced_; }
  virtual std::size_t size() const = 0;

 protected:
  void in_sync() {
    if (!synced_.exchange(true)) state_.one_more_synced();
  }
  State& state_;

 private:
  const std::string resource_;
  std::atomic<bool> synced_{false};
};

template <typename Ptr>
class KubeReader::State::Collection final : public Feed {
 public:
  using Feed::Feed;

  void snapshot_started() override {
    const std::lock_guard lock(mutex_);
    ++round_;
  }
  void snapshot_failed() override {}

  void present(decode::Decoded object, bool) override {
    Ptr* const fresh = std::get_if<Ptr>(&object);
    if (fresh == nullptr) return;
    const std::lock_guard delivering(state_.delivery);
    Ptr before;
    {
      const std::lock_guard lock(mutex_);
      if (!forgotten_.empty() && forgotten_.contains((*fresh)->uid)) return;
      const auto [entry, is_new] = entries_.insert({*fresh, round_});
      if (!is_new) {
        entry->round = round_;
        if (is_old_news(*entry->object, **fresh)) return;
        before = std::exchange(entry->object, *fresh);  // by the same name: it stays where it is
      }
    }
    Calls calls{*state_.sink};
    if (before == nullptr)
      calls.added(*fresh);
    else
      calls.updated(before, *fresh);
  }

  void absent(const decode::Decoded& last_state) override {
    const Ptr* const gone = std::get_if<Ptr>(&last_state);
    if (gone == nullptr) return;
    const std::lock_guard delivering(state_.delivery);
    Ptr before;
    {
      const std::lock_guard lock(mutex_);
      forgotten_.erase((*gone)->uid);
      before = take(**gone);
    }
    if (before != nullptr) Calls{*state_.sink}.deleted(before);
  }
  /// It is gone, and what the watch still has to tell of it is old.
  void forget(const Ptr& object) {
    const std::lock_guard delivering(state_.delivery);
    Ptr before;
    {
      const std::lock_guard lock(mutex_);
      before = take(*object);
      if (before != nullptr) forgotten_.insert(object->uid);
    }
    if (before != nullptr) Calls{*state_.sink}.deleted(before);
  }

  void snapshot_ended() override {
    std::vector<Ptr> gone;
    {
      const std::lock_guard lock(mutex_);
      forgotten_.clear();
      boost::unordered::erase_if(entries_, [&](const Entry& entry) {
        if (entry.round == round_) return false;
        gone.push_back(entry.object);
        return true;
      });
    }
    for (const Ptr& object : gone) {
      const std::lock_guard delivering(state_.delivery);
      Calls{*state_.sink}.deleted(object);
    }
    in_sync();
  }

  void not_served() override { in_sync(); }

  Ptr find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : found->object;
  }
  std::size_t size() const override {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }
  std::vector<Ptr> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<Ptr> out;
    out.reserve(entries_.size());
    for (const Entry& entry : entries_) out.push_back(entry.object);
    return out;
  }

 private:
  struct Entry {
    mutable Ptr object;
    mutable std::uint64_t round = 0;  // the snapshot that it was last seen in
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const noexcept {
      std::size_t out = boost::hash<std::string_view>()(key.ns);
      boost::hash_combine(out, key.name);
      return out;
    }
    std::size_t operator()(const Entry& entry) const noexcept { return (*this)(key_of(*entry.object)); }
  };
  struct Equal {
    using is_transparent = void;
    static Key key(const Key& key) noexcept { return key; }
    static Key key(const Entry& entry) noexcept { return key_of(*entry.object); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const noexcept {
      return key(a) == key(b);
    }
  };
  /// The object of that name and uid, which is no longer here then; null: there was none. Under the lock.
  Ptr take(const typename Ptr::element_type& object) {
    const auto found = entries_.find(key_of(object));
    if (found == entries_.end() || found->object->uid != object.uid) return nullptr;
    Ptr out = found->object;
    entries_.erase(found);
    return out;
  }

  mutable std::mutex mutex_;  // guards what follows; a leaf
  boost::unordered_flat_set<Entry, Hash, Equal> entries_;
  boost::unordered_flat_set<std::string> forgotten_;  // uids
  std::uint64_t round_ = 0;                           // of snapshots
};

void KubeReader::State::one_more_synced() {
  const std::lock_guard delivering(delivery);
  if (--unsynced != 0) return;
  synced = true;
  sink->synced();
}

KubeReader::KubeReader(IoThreads& threads, std::shared_ptr<Endpoint> endpoint, SymbolTable& symbols,
                       KubeReaderOptions options) {
  decode::DecodeOptions decode = options.decode;
  decode.watched = options.resources;
  state_ = std::make_unique<State>(symbols, std::move(decode));
  std::vector<std::string> resources{std::string(k_nodes), std::string(k_pods)};
  for (const std::string& resource : options.resources)
    if (std::find(resources.begin(), resources.end(), resource) == resources.end()) resources.push_back(resource);
  for (const std::string& resource : resources) {
    if (resource == k_pods) {
      auto pods = std::make_shared<State::Collection<model::PodPtr>>(*state_, resource);
      state_->pods = pods.get();
      state_->feeds.push_back(std::move(pods));
    } else if (resource == k_nodes) {
      state_->feeds.push_back(std::make_shared<State::Collection<model::NodePtr>>(*state_, resource));
    } else {
      state_->feeds.push_back(std::make_shared<State::Collection<model::ObjectPtr>>(*state_, resource));
    }
    HttpClientOptions client = options.client;
    client.seed += state_->feeds.size();
    const ResourceTarget target{resource, resource == k_pods ? std::string(k_pod_selector) : std::string()};
    state_->reflectors.push_back(std::make_unique<Reflector>(threads, endpoint, target, state_->feeds.back(),
                                                             state_->decoder, client, options.reflector));
    if (resource == k_pods) state_->pod_reflector = state_->reflectors.back().get();
  }
  state_->placement_check = std::make_unique<PlacementCheck>(
      threads, endpoint, std::string(k_pod_selector), state_->placement_calls(), state_->decoder, options.client);
}

KubeReader::~KubeReader() { stop(); }

void KubeReader::start(ClusterSink& sink) {
  BERTH_CHECK(state_->sink == nullptr, "a reader is started once");
  state_->sink = &sink;
  state_->unsynced = state_->feeds.size();
  for (const auto& reflector : state_->reflectors) reflector->start();
}

void KubeReader::stop() noexcept {
  state_->placement_check->stop();
  for (const auto& reflector : state_->reflectors) reflector->stop();
}

model::PodPtr KubeReader::find_pod(std::string_view ns, std::string_view name) const {
  return state_->pods->find({ns, name});
}

PlacementCheckCalls KubeReader::State::placement_calls() {
  PlacementCheckCalls out;
  out.known = [this] {
    std::vector<model::PodPtr> waiting = pods->all();
    std::erase_if(waiting, [](const model::PodPtr& pod) { return pod->node_name != 0; });
    return waiting;
  };
  out.changed = [this](decode::Decoded pod) { pods->present(std::move(pod), false); };
  out.is_gone = [this](const model::PodPtr& pod) { pods->forget(pod); };
  return out;
}

void KubeReader::catch_up(std::function<void()> done) {
  std::vector<Reflector*> volumes;
  for (std::size_t i = 0; i < state_->feeds.size(); ++i)
    if (std::find(k_volumes.begin(), k_volumes.end(), state_->feeds[i]->resource()) != k_volumes.end())
      volumes.push_back(state_->reflectors[i].get());
  const auto behind = std::make_shared<std::atomic<std::size_t>>(volumes.size() + 1);
  const auto one_less = [behind, done = std::move(done)] {
    if (behind->fetch_sub(1) == 1) done();
  };
  for (Reflector* const reflector : volumes) reflector->catch_up(one_less, k_soon);
  Reflector* const pods = state_->pod_reflector;
  state_->placement_check->run([pods, one_less](bool is_complete) {
    if (!is_complete) {
      pods->catch_up(one_less, k_soon);
      return;
    }
    one_less();
    pods->catch_up([] {}, k_when_broken);
  });
}

std::vector<model::PodPtr> KubeReader::pods() const { return state_->pods->all(); }

bool KubeReader::is_synced() const noexcept { return state_->synced; }

std::vector<KubeReader::Progress> KubeReader::progress() const {
  std::vector<Progress> out;
  for (std::size_t i = 0; i < state_->feeds.size(); ++i)
    out.push_back({state_->feeds[i]->resource(), state_->feeds[i]->size(), state_->feeds[i]->is_synced(),
                   state_->reflectors[i]->counts()});
  return out;
}

}  // namespace berth::cluster::kube
