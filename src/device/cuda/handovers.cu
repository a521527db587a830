#include <array>
#include <cuda/atomic>

#include "device/cuda/handles.hpp"
#include "device/cuda/handovers.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/timer.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr int threads = 256;

using Word = unsigned long long;
using SystemWord = ::cuda::atomic_ref<Word, ::cuda::thread_scope_system>;

enum class Wait : int { seen, never_seen, over };

__device__ Word& word_at(std::byte* memory, std::uint64_t at) { return *reinterpret_cast<Word*>(memory + at); }

__device__ void set(std::byte* memory, std::uint64_t at, Word number) {
  SystemWord(word_at(memory, at)).store(number, ::cuda::memory_order_release);
}

/// Waits for `number`, or for the end of the rounds. Called by one thread. Polls once more after the patience.
__device__ Wait wait_for(std::byte* memory, std::uint64_t at, Word number, const HandoverTerms& terms,
                         HandoverWatch& watch) {
  watch.record_poll(nanoseconds());
  std::uint64_t waited_ns = 0;
  const SystemWord word(word_at(memory, at));
  for (;;) {
    const Word found = word.load(::cuda::memory_order_acquire);
    if (found == no_more_rounds) return Wait::over;
    if (found >= number) return Wait::seen;
    if (waited_ns > terms.patience_ns) return Wait::never_seen;
    waited_ns += terms.counted(watch.record_poll(nanoseconds()));
  }
}

/// Returns whether the block was stopped for so long that the other side may have given up. Called by the same thread
/// at the end.
__device__ std::uint64_t has_stalled(const HandoverTerms& terms, HandoverWatch& watch) {
  watch.record_poll(nanoseconds());
  return terms.has_long_gap(watch.longest_ns) ? 1 : 0;
}

/// Writes the data of a round with plain stores of all threads of the block. They meet at a barrier before one thread
/// sets the flag. The test checks that the release of the flag orders the stores of the whole block.
__device__ void write_words(std::byte* data, std::uint64_t number, WriteFault fault) {
  const std::uint64_t skipped = fault == WriteFault::drop ? number % handover_words : handover_words;
  for (std::uint32_t word = threadIdx.x; word < handover_words; word += blockDim.x)
    if (word != skipped) word_at(data, handover_offset(number, word)) = pattern_word(number, word);
}

__device__ Word wrong_words(std::byte* data, std::uint64_t number) {
  Word wrong = 0;
  for (std::uint32_t word = threadIdx.x; word < handover_words; word += blockDim.x)
    wrong += word_at(data, handover_offset(number, word)) != pattern_word(number, word) ? 1 : 0;
  return wrong;
}

__global__ void write_kernel(HandoverPlace place, HandoverTerms terms, HandoverEnd* end) {
  __shared__ Wait answer;
  const std::uint64_t since = nanoseconds();
  std::byte* const data = place.area + handover_data_at;
  HandoverWatch watch{since};
  std::uint64_t answered = 0;
  bool unseen = false;
  while (answered < terms.rounds) {
    const std::uint64_t round = answered + 1, number = terms.first + round;
    if (terms.fault != WriteFault::reorder) write_words(data, number, terms.fault);
    __syncthreads();
    if (threadIdx.x == 0) {
      const std::uint64_t elapsed_ns = nanoseconds() - since;
      if (terms.is_over(round, elapsed_ns)) {
        set(place.area, handover_flag_at, no_more_rounds);
        answer = Wait::over;
      } else {
        if (terms.sets_flag(round, elapsed_ns)) set(place.area, handover_flag_at, number);
        answer = wait_for(place.answers, handover_answer_at, number, terms, watch);
      }
    }
    __syncthreads();
    unseen = answer == Wait::never_seen;
    if (answer != Wait::seen) break;
    if (terms.fault == WriteFault::reorder) write_words(data, number, terms.fault);
    answered = round;
  }
  if (threadIdx.x == 0) *end = {answered, 0, 0, unseen ? 1u : 0u, has_stalled(terms, watch)};
}

__global__ void check_kernel(HandoverPlace place, HandoverTerms terms, HandoverEnd* end) {
  __shared__ Wait flag;
  __shared__ Word wrong, first_wrong;
  if (threadIdx.x == 0) wrong = 0, first_wrong = no_more_rounds;
  std::byte* const data = place.area + handover_data_at;
  HandoverWatch watch{nanoseconds()};
  std::uint64_t checked = 0;
  bool unseen = false;
  while (checked < terms.rounds) {
    const std::uint64_t round = checked + 1, number = terms.first + round;
    if (threadIdx.x == 0) flag = wait_for(place.area, handover_flag_at, number, terms, watch);
    __syncthreads();
    unseen = flag == Wait::never_seen;
    if (flag != Wait::seen) break;
    if (const Word mine = wrong_words(data, number); mine > 0) {
      atomicAdd(&wrong, mine);
      atomicMin(&first_wrong, static_cast<Word>(round));
    }
    __syncthreads();  // all threads have read; the answer lets the other side write
    if (threadIdx.x == 0) set(place.answers, handover_answer_at, number);
    checked = round;
  }
  __syncthreads();
  if (threadIdx.x == 0)
    *end = {checked, wrong, wrong > 0 ? first_wrong : 0, unseen ? 1u : 0u, has_stalled(terms, watch)};
}

}  // namespace

void launch_writer(const HandoverPlace& place, const HandoverTerms& terms, HandoverEnd* end, cudaStream_t stream) {
  write_kernel<<<1, threads, 0, stream>>>(place, terms, end);
  check_launch("visibility writer");
}

void launch_checker(const HandoverPlace& place, const HandoverTerms& terms, HandoverEnd* end, cudaStream_t stream) {
  check_kernel<<<1, threads, 0, stream>>>(place, terms, end);
  check_launch("visibility checker");
}

void load_handover_kernels() {
  cudaFuncAttributes attributes;
  for (const void* kernel :
       std::array{reinterpret_cast<const void*>(write_kernel), reinterpret_cast<const void*>(check_kernel)})
    check(cudaFuncGetAttributes(&attributes, kernel), "kernels", "cudaFuncGetAttributes");
}

}  // namespace linkmatrix::cuda
