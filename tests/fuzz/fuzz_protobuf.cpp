// SPDX-License-Identifier: Apache-2.0
/// Reads arbitrary bytes as an API server's protobuf: the first byte says whether as a list of pods, a watch of pods, a
/// list of volumes or one object, the second into what pieces it is cut. Whatever is wrong must be said, and what comes
/// of it must go through the decoder as JSON does.
#include <cstdint>
#include <cstdlib>

#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "pieces.hpp"

namespace {

using namespace berth;

struct Reader {
  SymbolTable symbols;
  decode::ObjectDecoder decoder{symbols, [] {
                                  decode::DecodeOptions options;
                                  options.keeps_pod_body = [](const model::Pod&) { return true; };
                                  return options;
                                }()};
  void decode(const text::Document& document, const text::Value& object) {
    text::Diagnostics problems;
    const auto decoded = decoder.decode(document, object, problems);
    if (decoded && !problems.empty()) std::abort();
    if (!decoded && object.find("kind") != nullptr && object.find("kind")->text() == "Pod" && problems.empty())
      std::abort();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t piece = piece_of(data[1], bytes);
  const auto layout = decode::wire_layout_of(data[0] % 4 == 2 ? "core/v1/persistentvolumes" : "core/v1/pods");
  Reader reader;
  text::Diagnostics problems;
  switch (data[0] % 4) {
    case 0:
    case 2: {
      const auto list = cluster::kube::make_list_body(
          cluster::kube::k_protobuf, layout, "input",
          [&](const text::Document* item, const decode::TypeHint&, const text::Diagnostics& why) {
            if (item == nullptr && why.empty()) std::abort();
            if (item != nullptr) reader.decode(*item, item->root());
          });
      if (add_in_pieces(*list, bytes, piece)) (void)list->end();
      break;
    }
    case 1: {
      const auto watch = cluster::kube::make_watch_body(cluster::kube::k_protobuf, layout, "input",
                                                        [&](std::string_view, const text::Document* document,
                                                            const text::Value* object, const text::Diagnostics& why) {
                                                          if (object == nullptr && why.empty()) std::abort();
                                                          if (object != nullptr) reader.decode(*document, *object);
                                                        });
      add_in_pieces(*watch, bytes, piece);
      break;
    }
    default: {
      const auto documents = cluster::kube::parse_protobuf_object(bytes, "input", problems);
      if (documents.empty() && problems.empty()) std::abort();
      for (const text::Document& document : documents) reader.decode(document, document.root());
    }
  }
  return 0;
}
