// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/answer_body.hpp"

#include "cluster/kube/read/list_splitter.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "text/parse.hpp"

namespace berth::cluster::kube {
namespace {

/// Half a metadata is none: it may leave out that there are more pages.
Result<ListMetadata> metadata_of(const std::vector<text::Document>& documents, const text::Diagnostics& diagnostics) {
  if (documents.empty() || !diagnostics.empty()) return Error{"the metadata of the list cannot be read"};
  const text::Value& root = documents.front().root();
  return ListMetadata{std::string(root.text_at("resourceVersion")), std::string(root.text_at("continue"))};
}

class JsonList final : public ListBody {
 public:
  JsonList(std::string name, OnItem on_item)
      : name_(std::move(name)),
        on_item_(std::move(on_item)),
        splitter_([this](std::string_view item) { take(item); }) {}

  Status add(std::string_view piece) override { return splitter_.add(piece); }
  Result<ListMetadata> end() override {
    if (!splitter_.complete()) return Error{"the list broke off"};
    text::Diagnostics diagnostics;
    const auto documents = text::parse_go_json(splitter_.metadata(), name_, diagnostics);
    return metadata_of(documents, diagnostics);
  }

 private:
  void take(std::string_view item) {
    // Servers write kind and version before the items, which have none of their own.
    if (kind_.empty() && splitter_.kind().ends_with("List"))
      kind_ = splitter_.kind().substr(0, splitter_.kind().size() - 4);
    text::Diagnostics diagnostics;
    const auto documents = text::parse_go_json(item, name_, diagnostics);
    on_item_(documents.empty() ? nullptr : &documents.front(), {splitter_.api_version(), kind_}, diagnostics);
  }

  const std::string name_;
  const OnItem on_item_;
  ListSplitter splitter_;
  std::string kind_;
};

class ProtobufList final : public ListBody {
 public:
  ProtobufList(const decode::WireLayout& layout, std::string name, OnItem on_item)
      : layout_(layout),
        name_(std::move(name)),
        on_item_(std::move(on_item)),
        splitter_([this](std::string_view item) { take(item); }) {}

  Status add(std::string_view piece) override { return splitter_.add(piece); }
  Result<ListMetadata> end() override {
    if (!splitter_.complete()) return Error{"the list broke off"};
    static const decode::WireLayout k_metadata = decode::wire_layout("v1", "ListMeta");
    text::Diagnostics diagnostics;
    const auto documents = text::parse_protobuf(splitter_.metadata(), *k_metadata.message, {}, {}, name_, diagnostics);
    return metadata_of(documents, diagnostics);
  }

 private:
  void take(std::string_view item) {
    text::Diagnostics diagnostics;
    const auto documents =
        text::parse_protobuf(item, *layout_.message, layout_.api_version, layout_.kind, name_, diagnostics);
    on_item_(documents.empty() ? nullptr : &documents.front(), {}, diagnostics);
  }

  const decode::WireLayout layout_;
  const std::string name_;
  const OnItem on_item_;
  ProtobufListSplitter splitter_;
};

class JsonWatch final : public WatchBody {
 public:
  JsonWatch(std::string name, OnEvent on_event)
      : name_(std::move(name)), on_event_(std::move(on_event)), lines_([this](std::string_view line) { take(line); }) {}

  Status add(std::string_view piece) override { return lines_.add(piece); }
  bool is_amid() const noexcept override { return lines_.pending_bytes() > 0; }

 private:
  void take(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    text::Diagnostics diagnostics;
    const auto documents = text::parse_go_json(line, name_, diagnostics);
    const text::Document* const document = documents.empty() ? nullptr : &documents.front();
    const text::Value* const object = document == nullptr ? nullptr : document->root().find("object");
    if (object == nullptr && diagnostics.empty()) diagnostics.add(name_, {}, {}, "an event of the watch has no object");
    on_event_(document == nullptr ? std::string_view() : document->root().text_at("type"),
              object == nullptr ? nullptr : document, object, diagnostics);
  }

  const std::string name_;
  const OnEvent on_event_;
  LineSplitter lines_;
};

class ProtobufWatch final : public WatchBody {
 public:
  ProtobufWatch(std::string name, OnEvent on_event)
      : name_(std::move(name)),
        on_event_(std::move(on_event)),
        frames_([this](std::string_view frame) { take(frame); }) {}

  Status add(std::string_view piece) override { return frames_.add(piece); }
  bool is_amid() const noexcept override { return frames_.pending_bytes() > 0; }

 private:
  void take(std::string_view frame) {
    text::Diagnostics diagnostics;
    const Result<ProtobufEvent> event = read_protobuf_event(frame);
    if (!event.ok()) diagnostics.add(name_, {}, {}, event.error().message);
    std::vector<text::Document> documents;
    if (event.ok()) documents = parse_protobuf_object(event->object, name_, diagnostics);
    const text::Document* const document = documents.empty() ? nullptr : &documents.front();
    on_event_(event.ok() ? event->type : std::string_view(), document,
              document == nullptr ? nullptr : &document->root(), diagnostics);
  }

  const std::string name_;
  const OnEvent on_event_;
  FrameSplitter frames_;
};

bool is_protobuf(std::string_view content_type, const decode::WireLayout& layout) {
  return layout.message != nullptr && content_type.starts_with(k_protobuf);
}

}  // namespace

std::unique_ptr<ListBody> make_list_body(std::string_view content_type, const decode::WireLayout& layout,
                                         std::string name, ListBody::OnItem on_item) {
  if (is_protobuf(content_type, layout))
    return std::make_unique<ProtobufList>(layout, std::move(name), std::move(on_item));
  return std::make_unique<JsonList>(std::move(name), std::move(on_item));
}

std::unique_ptr<WatchBody> make_watch_body(std::string_view content_type, const decode::WireLayout& layout,
                                           std::string name, WatchBody::OnEvent on_event) {
  if (is_protobuf(content_type, layout)) return std::make_unique<ProtobufWatch>(std::move(name), std::move(on_event));
  return std::make_unique<JsonWatch>(std::move(name), std::move(on_event));
}

std::vector<text::Document> parse_protobuf_object(std::string_view bytes, std::string name,
                                                  text::Diagnostics& diagnostics) {
  const Result<ProtobufObject> object = read_protobuf_object(bytes);
  if (!object.ok()) {
    diagnostics.add(name, {}, {}, object.error().message);
    return {};
  }
  const decode::WireLayout layout = decode::wire_layout(object->api_version, object->kind);
  if (layout.message == nullptr) {
    diagnostics.add(name, {}, {},
                    "no layout is known of " + std::string(object->api_version) + " " + std::string(object->kind));
    return {};
  }
  return text::parse_protobuf(object->message, *layout.message, layout.api_version, layout.kind, std::move(name),
                              diagnostics);
}

}  // namespace berth::cluster::kube
