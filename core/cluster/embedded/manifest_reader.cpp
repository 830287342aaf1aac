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

#include "text/json_list.hpp"
#include "text/parse.hpp"

namespace berth::cluster {
namespace {

namespace fs = std::filesystem;

/// A text and what it is called in problems.
struct Source {
  std::string name;
  std::string text;           // empty: it stays in the file
  bool is_in_file = false;    // and has to be read from there
  bool may_be_split = false;  // long enough to be read item by item, if it is a list
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

/// The text of a file; a problem, and nothing, when it cannot be read.
std::optional<std::string> read_file(const std::string& path, text::Diagnostics& diagnostics) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::optional<std::string> text = in ? read_all(in) : std::nullopt;
  if (!text) diagnostics.add(path, {}, {}, std::string("cannot be read: ") + std::strerror(errno == 0 ? EIO : errno));
  return text;
}

/// Finds what there is to read. Long files that can be read again later stay where they are.
class SourceReader {
 public:
  SourceReader(std::size_t whole_bytes_max, text::Diagnostics& diagnostics)
      : whole_bytes_max_(whole_bytes_max), diagnostics_(diagnostics) {}

  std::vector<Source> read(const std::vector<std::string>& paths, std::istream& standard_input) {
    for (const std::string& path : paths) {
      std::error_code ignored;
      if (path == "-") {
        add(path, read_all(standard_input), "standard input cannot be read");
      } else if (fs::is_directory(path, ignored)) {
        for (const std::string& file : list_directory(path, diagnostics_)) add_file(file);
      } else {
        add_file(path);
      }
    }
    return std::move(sources_);
  }

 private:
  void add(const std::string& name, std::optional<std::string> text, const char* problem) {
    if (!text && problem != nullptr) diagnostics_.add(name, {}, {}, problem);
    if (!text) return;
    const bool is_long = text->size() > whole_bytes_max_;
    sources_.push_back({name, std::move(*text), false, is_long});
  }
  void add_file(const std::string& path) {
    std::error_code error;
    const bool is_long = fs::is_regular_file(path, error) && fs::file_size(path, error) > whole_bytes_max_ && !error;
    if (is_long && std::ifstream(path, std::ios::binary))
      sources_.push_back({path, {}, true, true});
    else
      add(path, read_file(path, diagnostics_), nullptr);
  }

  const std::size_t whole_bytes_max_;
  text::Diagnostics& diagnostics_;
  std::vector<Source> sources_;
};

/// Takes a source apart as split_json_list() does.
std::optional<std::string> split(const Source& source, const std::function<bool(std::string_view)>& item) {
  if (!source.is_in_file) {
    std::string_view left = source.text;
    return text::split_json_list(
        [&left](char* out, std::size_t room) {
          const std::size_t size = left.copy(out, room);
          left.remove_prefix(size);
          return size;
        },
        item);
  }
  std::ifstream in(source.name, std::ios::binary);
  std::optional<std::string> rest = text::split_json_list(
      [&in](char* out, std::size_t room) {
        in.read(out, static_cast<std::streamsize>(room));
        return static_cast<std::size_t>(in.gcount());
      },
      item);
  return in.bad() ? std::nullopt : std::move(rest);
}

/// What the items of a list are when they do not say so.
decode::TypeHint hint_of_items(const text::Value& list) {
  const std::string_view kind = list.text_at("kind");
  if (kind == "List") return {};
  return {list.text_at("apiVersion"), kind.substr(0, kind.size() - 4)};
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
  const decode::TypeHint inner = hint_of_items(value);
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
  /// `file` outlives this.
  bool enter(const decode::Decoded& object, const Found& found, std::string_view file, text::Diagnostics& diagnostics) {
    const text::Value* name = found.value->find_path("metadata.name");
    const text::Position position = name == nullptr ? found.value->position() : name->position();
    std::string called = identity(object);
    const auto [first, fresh] = first_.emplace(std::move(called), Place{file, position});
    if (fresh) return true;
    diagnostics.add(found.document->file(), position, "metadata.name",
                    fmt::format("a second {}; the first is at {}:{}:{}", first->first, first->second.file,
                                first->second.position.line, first->second.position.column));
    return false;
  }

 private:
  struct Place {
    std::string_view file;
    text::Position position;
  };
  std::unordered_map<std::string, Place> first_;
};

/// What one source holds: a document with all that is in it, or a list whose items are still in the source.
struct Part {
  const Source* source;
  text::Document document;  // of a list all but its items
  bool is_split = false;
  std::vector<text::Document> priority_classes;  // of a list
  std::vector<Found> found = {};                 // of a document
};

/// True unless an item is no priority class for certain, by its text.
bool may_be_priority_class(std::string_view item) {
  return item.find("\"PriorityClass") != std::string_view::npos || item.find("\\u") != std::string_view::npos;
}

/// The source as a list whose items stay there; nothing: it is not one, or not a sound one.
std::optional<Part> as_list(const Source& source) {
  Part part{&source, {}, true, {}};
  const auto rest = split(source, [&](std::string_view item) {
    if (!may_be_priority_class(item)) return true;
    std::optional<text::Document> document = text::read_json_item(item, source.name);
    if (!document) return false;
    const std::string_view kind = document->root().text_at("kind");
    if (kind == "PriorityClass" || kind.ends_with("List")) part.priority_classes.push_back(std::move(*document));
    return true;
  });
  if (!rest) return std::nullopt;
  text::Diagnostics problems;
  std::vector<text::Document> documents = text::parse_json(*rest, source.name, problems);
  if (documents.empty()) return std::nullopt;
  part.document = std::move(documents.front());
  const text::Value& root = part.document.root();
  text::report_duplicates(part.document, root, problems);
  if (!problems.empty() || !root.text_at("kind").ends_with("List")) return std::nullopt;
  return part;
}

/// Reads sources once: the texts, then the priority classes in them, then the objects.
class Reading {
 public:
  Reading(SymbolTable& symbols, const ManifestOptions& options, text::Diagnostics& diagnostics)
      : symbols_(symbols), options_(options), diagnostics_(diagnostics) {}

  Manifests run(std::vector<Source>& sources) {
    out_.file_count = sources.size();
    for (Source& source : sources) parse(source);
    for (Part& part : parts_) {
      if (part.is_split) continue;
      text::report_duplicates(part.document, part.document.root(), diagnostics_);
      collect(part.document, part.document.root(), {}, part.found, diagnostics_);
    }
    decode::DecodeOptions decode_options = options_.decode;
    if (options_.defaulting) decode_options.defaulting = defaulting();
    KindCounts skipped;
    decode_options.on_unknown_kind = [&](std::string_view api_version, std::string_view kind) {
      skipped.count(api_version, kind);
    };
    const decode::ObjectDecoder decoder(symbols_, std::move(decode_options));
    for (const Part& part : parts_) {
      const bool is_last = part.source->name == sources.back().name;
      for (const Found& object : part.found) decode(decoder, object, *part.source, is_last);
      if (part.is_split) decode_items(decoder, part, is_last);
    }
    out_.skipped = skipped.take();
    out_.objects.shrink_to_fit();  // they stay for as long as a simulation
    return std::move(out_);
  }

 private:
  void parse(Source& source) {
    if (source.may_be_split)
      if (std::optional<Part> list = as_list(source)) {
        parts_.push_back(std::move(*list));
        return;
      }
    if (source.is_in_file) {
      std::optional<std::string> text = read_file(source.name, diagnostics_);
      if (!text) return;
      source.text = std::move(*text);
      source.is_in_file = false;
    }
    for (text::Document& document : text::parse(source.text, source.name, diagnostics_))
      parts_.push_back({&source, std::move(document), false, {}});
  }

  /// Pods may stand before the classes that they name.
  std::shared_ptr<const decode::Defaulting> defaulting() {
    auto out = std::make_shared<decode::Defaulting>(options_.now_ns);
    for (const Part& part : parts_) {
      for (const Found& object : part.found) out->add_priority_class(*object.document, *object.value, diagnostics_);
      std::vector<Found> found;
      for (const text::Document& document : part.priority_classes)
        collect(document, document.root(), {}, found, diagnostics_);
      for (const Found& object : found) out->add_priority_class(*object.document, *object.value, diagnostics_);
    }
    return out;
  }

  void decode(const decode::ObjectDecoder& decoder, const Found& object, const Source& source, bool is_last) {
    std::optional<decode::Decoded> decoded = decoder.decode(*object.document, *object.value, diagnostics_, object.hint);
    if (!decoded || !places_.enter(*decoded, object, source.name, diagnostics_)) return;
    out_.objects.push_back(std::move(*decoded));
    if (is_last) ++out_.objects_of_last_file;
  }

  void decode_items(const decode::ObjectDecoder& decoder, const Part& list, bool is_last) {
    const decode::TypeHint hint = hint_of_items(list.document.root());
    std::vector<Found> found;
    const auto rest = split(*list.source, [&](std::string_view item) {
      const std::optional<text::Document> document = text::read_json_item(item, list.source->name);
      if (!document) return false;
      found.clear();
      text::report_duplicates(*document, document->root(), diagnostics_);
      collect(*document, document->root(), hint, found, diagnostics_);
      for (const Found& object : found) decode(decoder, object, *list.source, is_last);
      return diagnostics_.empty();
    });
    // Reading the list as a whole then says what is wrong, and where.
    if (!rest) diagnostics_.add(list.source->name, {}, {}, "cannot be read item by item");
  }

  SymbolTable& symbols_;
  const ManifestOptions& options_;
  text::Diagnostics& diagnostics_;
  Manifests out_;
  std::vector<Part> parts_;
  Places places_;
};

}  // namespace

Manifests read_manifests(const std::vector<std::string>& paths, SymbolTable& symbols, const ManifestOptions& options,
                         text::Diagnostics& diagnostics) {
  std::istream& standard_input = options.standard_input == nullptr ? std::cin : *options.standard_input;
  std::vector<Source> sources = SourceReader(options.whole_bytes_max, diagnostics).read(paths, standard_input);
  const bool may_split =
      std::any_of(sources.begin(), sources.end(), [](const Source& source) { return source.may_be_split; });
  if (may_split && diagnostics.empty()) {
    text::Diagnostics problems;
    Manifests out = Reading(symbols, options, problems).run(sources);
    if (problems.empty()) return out;
  }
  // What is wrong is told from the texts as a whole, where it has its place.
  for (Source& source : sources) source.may_be_split = false;
  return Reading(symbols, options, diagnostics).run(sources);
}

}  // namespace berth::cluster
