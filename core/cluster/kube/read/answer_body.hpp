// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "decode/object_decoder.hpp"
#include "decode/wire_schema.hpp"
#include "text/value.hpp"

/// Lists and watches while they arrive, in whatever encoding the server chose: cut into objects, each parsed, none
/// kept.
///
/// Place:   between the bytes of a connection and the object decoder, which sees no difference between encodings.
/// Threads: one.
namespace berth::cluster::kube {

struct ListMetadata {
  std::string version;
  std::string next;  // where the next page begins; empty: this was the last
};

class ListBody {
 public:
  /// An item; with problems, what of it can be read: then `document` may be null.
  using OnItem = std::function<void(const text::Document* document, const decode::TypeHint& hint,
                                    const text::Diagnostics& diagnostics)>;

  virtual ~ListBody() = default;
  /// Fails on what cannot be a list; nothing more is taken then.
  virtual Status add(std::string_view piece) = 0;
  /// No more will come. Fails when the list broke off.
  virtual Result<ListMetadata> end() = 0;
};

class WatchBody {
 public:
  /// `object` is a part of the document. With problems, what of it can be read: then both may be null, and `type`
  /// empty.
  using OnEvent = std::function<void(std::string_view type, const text::Document* document, const text::Value* object,
                                     const text::Diagnostics& diagnostics)>;

  virtual ~WatchBody() = default;
  /// Fails on what cannot be a watch; nothing more is taken then.
  virtual Status add(std::string_view piece) = 0;
  /// True when some event has come in part.
  virtual bool is_amid() const noexcept = 0;
};

/// `content_type`: of the answer. `layout`: of the resource; without a message the answer is taken for JSON.
/// `name`: for problems. Requires: `layout` outlives what is made.
std::unique_ptr<ListBody> make_list_body(std::string_view content_type, const decode::WireLayout& layout,
                                         std::string name, ListBody::OnItem on_item);
std::unique_ptr<WatchBody> make_watch_body(std::string_view content_type, const decode::WireLayout& layout,
                                           std::string name, WatchBody::OnEvent on_event);

/// One object with its envelope, as in the body of a refusal; its kind has to have a layout. With problems, what of it
/// can be read, or nothing.
std::vector<text::Document> parse_protobuf_object(std::string_view bytes, std::string name,
                                                  text::Diagnostics& diagnostics);

}  // namespace berth::cluster::kube
