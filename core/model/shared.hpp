// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <spdlog/fmt/fmt.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Values that many objects have in common, as the pods of one workload have nearly everything: one word in the object,
/// one copy in memory.
namespace berth::model {

/// Reads as a `const T`; copies share it. Writing makes an own copy first.
/// Threads: as a T: readers may be many, a writer must be alone with this object (not with those that share).
template <typename T>
class Shared {
 public:
  Shared() noexcept = default;
  Shared(T value) : node_(value == T() ? nullptr : new Node{std::move(value)}) {}
  Shared(const Shared& other) noexcept : node_(other.node_) {
    if (node_ != nullptr) node_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Shared(Shared&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Shared() {
    if (node_ != nullptr && node_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete node_;
  }

  const T& get() const noexcept { return node_ == nullptr ? none() : node_->value; }
  operator const T&() const noexcept { return get(); }
  const T* operator->() const noexcept { return &get(); }
  const T& operator*() const noexcept { return get(); }
  /// True for the T() that needs no memory.
  bool is_none() const noexcept { return node_ == nullptr; }
  /// How many have this copy; about, while other threads share it.
  std::uint32_t owners() const noexcept { return node_ == nullptr ? 0 : node_->owners.load(std::memory_order_relaxed); }
  /// The value, this object's alone.
  T& edit() {
    if (node_ == nullptr || node_->owners.load(std::memory_order_acquire) != 1) {
      Node* const own = new Node{get()};
      *this = Shared();
      node_ = own;
    }
    return node_->value;
  }
  /// Takes the other's copy of an equal value.
  void share(const Shared& equal) noexcept {
    if (node_ != equal.node_) *this = equal;
  }

  friend bool operator==(const Shared& a, const Shared& b) noexcept { return a.node_ == b.node_ || a.get() == b.get(); }

 private:
  struct Node {
    T value;
    std::atomic<std::uint32_t> owners{1};
  };
  static const T& none() noexcept {
    static const T k_none{};
    return k_none;
  }
  Node* node_ = nullptr;  // null: T()
};

/// A vector that is read far more often than made.
template <typename T>
class SharedList : public Shared<std::vector<T>> {
  using Base = Shared<std::vector<T>>;

 public:
  using value_type = T;
  using const_iterator = const T*;
  SharedList() noexcept = default;
  SharedList(std::vector<T> values) : Base(std::move(values)) {}
  SharedList(std::initializer_list<T> values) : Base(std::vector<T>(values)) {}

  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size(); }
  const T* data() const noexcept { return this->get().data(); }
  std::size_t size() const noexcept { return this->get().size(); }
  bool empty() const noexcept { return this->get().empty(); }
  const T& operator[](std::size_t i) const noexcept { return this->get()[i]; }
  const T& front() const noexcept { return this->get().front(); }
  const T& back() const noexcept { return this->get().back(); }

  void push_back(T value) { this->edit().push_back(std::move(value)); }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    return this->edit().emplace_back(std::forward<Args>(args)...);
  }
  void clear() noexcept { *this = SharedList(); }
  friend bool operator==(const SharedList& a, const std::vector<T>& b) noexcept { return a.get() == b; }
  friend bool operator==(const SharedList& a, const SharedList& b) noexcept {
    return static_cast<const Base&>(a) == static_cast<const Base&>(b);
  }
};

/// Likewise a text.
class SharedText : public Shared<std::string> {
 public:
  SharedText() noexcept = default;
  SharedText(std::string text) : Shared(std::move(text)) {}
  SharedText(std::string_view text) : Shared(std::string(text)) {}
  SharedText(const char* text) : Shared(std::string(text)) {}

  operator std::string_view() const noexcept { return get(); }
  bool empty() const noexcept { return get().empty(); }
  std::size_t size() const noexcept { return get().size(); }
  SharedText& operator+=(std::string_view more) {
    edit() += more;
    return *this;
  }
  friend bool operator==(const SharedText& a, std::string_view b) noexcept { return a.get() == b; }
  friend bool operator==(const SharedText& a, const char* b) noexcept { return a.get() == b; }
  friend bool operator==(const SharedText& a, const std::string& b) noexcept { return a.get() == b; }
  friend bool operator==(const SharedText& a, const SharedText& b) noexcept {
    return static_cast<const Shared&>(a) == static_cast<const Shared&>(b);
  }
};

}  // namespace berth::model

template <>
struct fmt::formatter<berth::model::SharedText> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const berth::model::SharedText& text, Context& context) const {
    return fmt::formatter<std::string_view>::format(std::string_view(text), context);
  }
};
