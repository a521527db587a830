#pragma once

#include "core/pattern.hpp"
#include "core/words.hpp"

namespace linkmatrix {

/// Collective operations. Their spellings are the names of the programs of nccl-tests.
enum class Collective {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  alltoall,
  gather,
  scatter,
  sendrecv,  ///< each rank sends to the next rank and receives from the previous one
  send,      ///< one rank sends to another rank: a cell of a matrix
};
enum class ElementType { f32, f64, f16, bf16, f8e4m3, f8e5m2, i8, u8, i32, u32, i64, u64 };
enum class Reduction { sum, prod, min, max, avg };
/// How the collectives of a sample are launched. graph: recorded once and launched as one CUDA graph. blocking: the
/// host waits after each collective.
enum class Launch { queued, graph, blocking };

template <>
struct Words<Collective> {
  static constexpr std::string_view name = "collective";
  static constexpr std::array table{std::pair{Collective::all_reduce, "all_reduce"},
                                    std::pair{Collective::all_gather, "all_gather"},
                                    std::pair{Collective::reduce_scatter, "reduce_scatter"},
                                    std::pair{Collective::broadcast, "broadcast"},
                                    std::pair{Collective::reduce, "reduce"},
                                    std::pair{Collective::alltoall, "alltoall"},
                                    std::pair{Collective::gather, "gather"},
                                    std::pair{Collective::scatter, "scatter"},
                                    std::pair{Collective::sendrecv, "sendrecv"},
                                    std::pair{Collective::send, "send"}};
};
template <>
struct Words<ElementType> {
  static constexpr std::string_view name = "type";
  static constexpr std::array table{std::pair{ElementType::f32, "float"},     std::pair{ElementType::f64, "double"},
                                    std::pair{ElementType::f16, "half"},      std::pair{ElementType::bf16, "bfloat16"},
                                    std::pair{ElementType::f8e4m3, "f8e4m3"}, std::pair{ElementType::f8e5m2, "f8e5m2"},
                                    std::pair{ElementType::i8, "int8"},       std::pair{ElementType::u8, "uint8"},
                                    std::pair{ElementType::i32, "int32"},     std::pair{ElementType::u32, "uint32"},
                                    std::pair{ElementType::i64, "int64"},     std::pair{ElementType::u64, "uint64"}};
};
template <>
struct Words<Reduction> {
  static constexpr std::string_view name = "reduction";
  static constexpr std::array table{std::pair{Reduction::sum, "sum"}, std::pair{Reduction::prod, "prod"},
                                    std::pair{Reduction::min, "min"}, std::pair{Reduction::max, "max"},
                                    std::pair{Reduction::avg, "avg"}};
};
template <>
struct Words<Launch> {
  static constexpr std::string_view name = "launch";
  static constexpr std::array table{std::pair{Launch::queued, "queued"}, std::pair{Launch::graph, "graph"},
                                    std::pair{Launch::blocking, "blocking"}};
};

/// Returns whether the collective reduces elements.
LINKMATRIX_HOST_DEVICE constexpr bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

/// Returns whether the collective has a root rank.
constexpr bool has_root(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce || collective == Collective::gather ||
         collective == Collective::scatter;
}

/// Returns whether libraries implement the collective by sends, without a choice of algorithms.
constexpr bool is_made_of_sends(Collective collective) {
  return collective == Collective::alltoall || collective == Collective::gather || collective == Collective::scatter ||
         collective == Collective::sendrecv || collective == Collective::send;
}

/// Returns whether the collective has an in-place variant.
constexpr bool has_in_place(Collective collective) {
  return collective != Collective::alltoall && collective != Collective::sendrecv && collective != Collective::send;
}

}  // namespace linkmatrix
