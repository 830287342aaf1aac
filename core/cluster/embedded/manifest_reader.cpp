// SPDX-License-Identifier: Apache-2.0
#include "cluster/embedded/manifest_reader.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <unordered_map>

#include "text/parse.hpp"

namespace berth::cluster {
namespace {

namespace fs = std::filesystem;

/// A text and what it is called in problems.
struct Source {
  std::string name;
  std::string text;
};

/// An object as found, before it is decoded.
struct Found {
  const text::Document* document;
  const text::Value* value;
  decode::TypeHint hint;
};

std::optional<std::string> read_all(std::istream& in) {
  constexpr std::size_t k_chunk_bytes = 1 << 18;
  std::string text;
  std::size_t size = 0;
  while (in) {
    text.resize(size + k_chunk_bytes);
    in.read(text.data() + size, k_chunk_bytes);
    size += static_cast<std::size_t>(in.gcount());
  }
  text.resize(size);
  if (in.bad()) return std::nullopt;
  return text;
}

bool is_manifest(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

/// Manifests below a directory in order of their paths. Names that begin with a dot are left out: a mounted ConfigMap
/// has its files once more behind such a name.
std::vector<std::string> list_directory(const std::string& directory, text::Diagnostics& diagnostics) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with('.')) {
      it.disable_recursion_pending();
      continue;
    }
    std::error_code ignored;
    if (it->is_regular_file(ignored) && is_manifest(it->path())) files.push_back(it->path().string());
  }
  if (error) diagnostics.add(directory, {}, {}, "cannot be listed: " + error.message());
  if (!error && files.empty()) diagnostics.add(directory, {}, {}, "holds no manifest", "*.yaml, *.yml or *.json");
  std::sort(files.begin(), files.end());
  return files;
}

void read_file(const std::string& path, std::vector<Source>& sources, text::Diagnostics& diagnostics) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::optional<std::string> text = in ? read_all(in) : std::nullopt;
  if (text) {
    sources.push_back({path, std::move(*text)});
  } else {
    diagnostics.add(path, {}, {}, std::string("cannot be read: ") + std::strerror(errno == 0 ? EIO : errno));
  }
}

std::vector<Source> read_sources(const std::vector<std::string>& paths, std::istream& standard_input,
                                 text::Diagnostics& diagnostics) {
  std::vector<Source> sources;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path == "-") {
      if (auto text = read_all(standard_input)) {
        sources.push_back({path, std::move(*text)});
      } else {
        diagnostics.add(path, {}, {}, "standard input cannot be read");
      }
    } else if (fs::is_directory(path, ignored)) {
      for (const std::string& file : list_directory(path, diagnostics)) read_file(file, sources, diagnostics);
    } else {
      read_file(path, sources, diagnostics);
    }
  }
  return sources;
}

/// Objects of a document in order; lists are opened, also those inside of lists.
void collect(const text::Document& document, const text::Value& value, const decode::TypeHint& hint,
             std::vector<Found>& found, text::Diagnostics& diagnostics) {
  const std::string_view kind = value.text_at("kind");
  const text::Value* items = value.find("items");
  const bool is_list = kind.ends_with("List") && (items != nullptr || kind == "List");
  if (!is_list) {
    found.push_back({&document, &value, hint});
    return;
  }
  if (items == nullptr || items->is_null()) return;
  if (!items->is_sequence()) {
    diagnostics.add(document.file(), items->position(), "items", "must be a list");
    return;
  }
  const decode::TypeHint inner = kind == "List"
                                     ? decode::TypeHint{}
                                     : decode::TypeHint{value.text_at("apiVersion"), kind.substr(0, kind.size() - 4)};
  for (const text::Value& item : items->elements()) collect(document, item, inner, found, diagnostics);
}

/// What a decoded object is called: no two may be called the same.
std::string identity(const decode::Decoded& object) {
  if (const auto* pod = std::get_if<model::PodPtr>(&object))
    return fmt::format("pod \"{}/{}\"", (*pod)->ns, (*pod)->name);
  if (const auto* node = std::get_if<model::NodePtr>(&object)) return fmt::format("node \"{}\"", (*node)->name);
  const model::Object& other = *std::get<model::ObjectPtr>(object);
  return fmt::format("{} \"{}{}{}\"", other.resource, other.ns, other.ns.empty() ? "" : "/", other.name);
}

class KindCounts {
 public:
  void count(std::string_view api_version, std::string_view kind) {
    const auto known = std::find_if(skipped_.begin(), skipped_.end(), [&](const SkippedKind& s) {
      return s.api_version == api_version && s.kind == kind;
    });
    if (known != skipped_.end()) {
      ++known->count;
    } else {
      skipped_.push_back({std::string(api_version), std::string(kind), 1});
    }
  }
  std::vector<SkippedKind> take() { return std::move(skipped_); }

 private:
  std::vector<SkippedKind> skipped_;
};

/// Remembers where each object stood first.
class Places {
 public:
  /// False, with a problem at both places, for an object that stood somewhere before.
  bool enter(const decode::Decoded& object, const Found& found, text::Diagnostics& diagnostics) {
    const text::Value* name = found.value->find_path("metadata.name");
    const text::Position position = name == nullptr ? found.value->position() : name->position();
    std::string called = identity(object);
    const auto [first, fresh] = first_.emplace(std::move(called), Place{found.document, position});
    if (fresh) return true;
    diagnostics.add(found.document->file(), position, "metadata.name",
                    fmt::format("a second {}; the first is at {}:{}:{}", first->first, first->second.document->file(),
                                first->second.position.line, first->second.position.column));
    return false;
  }

 private:
  struct Place {
    const text::Document* document;
    text::Position position;
  };
  std::unordered_map<std::string, Place> first_;
};

}  // namespace

Manifests read_manifests(const std::vector<std::string>& paths, SymbolTable& symbols, const ManifestOptions& options,
                         text::Diagnostics& diagnostics) {
  Manifests out;
  const std::vector<Source> sources =
      read_sources(paths, options.standard_input == nullptr ? std::cin : *options.standard_input, diagnostics);
  out.file_count = sources.size();

  std::vector<text::Document> documents;
  for (const Source& source : sources)
    for (text::Document& document : text::parse(source.text, source.name, diagnostics))
      documents.push_back(std::move(document));
  std::vector<Found> found;
  for (const text::Document& document : documents) {
    text::report_duplicates(document, document.root(), diagnostics);
    collect(document, document.root(), {}, found, diagnostics);
  }

  decode::DecodeOptions decode_options = options.decode;
  if (options.defaulting) {
    // Pods may stand before the classes that they name.
    auto defaulting = std::make_shared<decode::Defaulting>(options.now_ns);
    for (const Found& object : found) defaulting->add_priority_class(*object.document, *object.value, diagnostics);
    decode_options.defaulting = std::move(defaulting);
  }
  KindCounts skipped;
  decode_options.on_unknown_kind = [&](std::string_view api_version, std::string_view kind) {
    skipped.count(api_version, kind);
  };
  const decode::ObjectDecoder decoder(symbols, std::move(decode_options));
  Places places;
  for (const Found& object : found)
    if (auto decoded = decoder.decode(*object.document, *object.value, diagnostics, object.hint))
      if (places.enter(*decoded, object, diagnostics)) {
        out.objects.push_back(std::move(*decoded));
        if (object.document->file() == sources.back().name) ++out.objects_of_last_file;
      }
  out.skipped = skipped.take();
  return out;
}

}  // namespace berth::cluster
