#include <gtest/gtest.h>

#include "collective/nccl_log.hpp"

namespace linkmatrix {
namespace {

// Lines of NCCL 2.28.3, NCCL_DEBUG=INFO, on two H200 over NVLink 4, 2026-11-22.
constexpr std::string_view recorded =
    "vm:3198:3209 [0] NCCL INFO Using network Socket\n"
    "vm:3198:3209 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n"
    "vm:3136:3148 [1] NCCL INFO NCCL_ALGO set by environment to Ring\n"
    "vm:3198:3209 [0] NCCL INFO Tree 0 : -1 -> 0 -> 1/-1/-1\n"
    "vm:3198:3210 [1] NCCL INFO Tree 0 : 0 -> 1 -> -1/-1/-1\n"
    "vm:3198:3210 [1] NCCL INFO Ring 00 : 0 -> 1 -> 0\n"
    "vm:3198:3210 [1] NCCL INFO Ring 01 : 0 -> 1 -> 0\n"
    "vm:3198:3209 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1\n"
    "vm:3198:3209 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer\n"
    "vm:3198:3210 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/direct pointer\n"
    "vm:3198:3198 [0] NCCL INFO AllReduce: 65536 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..7}\n"
    "vm:3198:3198 [0] NCCL INFO AllReduce: 16777216 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}\n";

TEST(NcclLog, SaysWhatWasMadeAndByWhichTransports) {
  const auto facts = facts_of_log(recorded);
  EXPECT_EQ(facts.at("NCCL rings"), "2");
  EXPECT_EQ(facts.at("NCCL trees"), "1");
  EXPECT_EQ(facts.at("NCCL transports"), "P2P/direct pointer");
  EXPECT_EQ(facts.at("NCCL network"), "Socket");
  EXPECT_EQ(facts.at("NCCL environment"), "NCCL_ALGO=Ring, NCCL_NVLS_ENABLE=0");
}

TEST(NcclLog, SaysByWhatTheLastCollectiveRan) {
  EXPECT_EQ(last_choice(recorded), "RING, SIMPLE, channels 0..23");
  EXPECT_EQ(last_choice(recorded.substr(0, recorded.rfind("vm:"))), "RING, LL, channels 0..7");
}

TEST(NcclLog, OfAnotherVersionSaysNothingInsteadOfSomethingWrong) {
  EXPECT_TRUE(facts_of_log("").empty());
  EXPECT_TRUE(facts_of_log("vm:1:1 [0] NCCL INFO Init COMPLETE\n\n\n").empty());
  EXPECT_EQ(last_choice("AllReduce: opCount 0 sendbuff 0x7f\n"), "");
  EXPECT_EQ(last_choice("x -> Algo 1 proto 2 time 12.3"), "1, 2") << "2.24 and before have numbers";
}

TEST(NcclLog, KnowsAForcedAlgorithmInEverySpelling) {
  EXPECT_TRUE(is_algorithm("RING, SIMPLE, channels 0..23", "Ring"));
  EXPECT_TRUE(is_algorithm("NVLS_TREE, SIMPLE, channels 0..23", "NVLSTree"));
  EXPECT_TRUE(is_algorithm("COLLNET_DIRECT, SIMPLE", "CollnetDirect"));
  EXPECT_TRUE(is_algorithm("1, 2", "Ring"));
  EXPECT_FALSE(is_algorithm("TREE, SIMPLE, channels 0..23", "Ring"));
  EXPECT_FALSE(is_algorithm("NVLS, SIMPLE", "NVLSTree"));
  EXPECT_FALSE(is_algorithm("0, 2", "Ring"));
  EXPECT_FALSE(is_algorithm("9, 2", "Ring"));
}

}  // namespace
}  // namespace linkmatrix
