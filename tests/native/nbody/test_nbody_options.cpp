#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../parsed_options.hpp"
#include "nbody/options.hpp"

namespace linkmatrix {
namespace {

NbodyOptions parsed_nbody(std::vector<std::string> words) { return parsed(parse_nbody_options, std::move(words)); }

std::string refusal(const std::vector<std::string>& words) {
  return message([&] { parsed_nbody(words); });
}

TEST(NbodyOptions, AreFloatAndStrongUnlessSaidOtherwise) {
  const NbodyOptions o = parsed_nbody({});
  EXPECT_EQ(o.precisions, std::vector{Precision::f32});
  EXPECT_EQ(o.scalings, std::vector{Scaling::strong});
  EXPECT_TRUE(o.bodies.empty());
  EXPECT_TRUE(o.measure.verify);
}

TEST(NbodyOptions, NameBodiesOnceAndInOrder) {
  EXPECT_EQ(parsed_nbody({"--bodies", "4096,1024"}).bodies, (std::vector<std::uint64_t>{1024, 4096}));
  EXPECT_EQ(parsed_nbody({"--sweep", "1000:16000:4"}).bodies, (std::vector<std::uint64_t>{1000, 4000, 16000}));
  EXPECT_NE(refusal({"--bodies", "1024,1024"}).find("names 1024 twice"), std::string::npos);
  EXPECT_NE(refusal({"--bodies", "1024", "--sweep", "1:2"}).find("given twice"), std::string::npos);
  EXPECT_NE(refusal({"--sweep", "4096:1024"}).find("the smaller number first"), std::string::npos);
}

TEST(NbodyOptions, SayWhatIsWrongInOneSentence) {
  for (const auto& [words, sentence] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--precision", "half"}, "unknown precision 'half': use float or double"},
           {{"--precision", "float,float"}, "--precision 'float,float' names float twice: name each value once"},
           {{"--testcase", "nbody_float"},
            "unknown --testcase 'nbody_float': did you mean nbody_float_weak? --list shows all"},
           {{"--testcase", "nbody_float_weak", "--scaling", "weak"},
            "test cases are selected twice: use either --testcase, or --precision and --scaling"},
           {{"--scaling", "none"}, "unknown scaling 'none': use strong or weak"},
           {{"--backend", "rocm"}, "unknown back end 'rocm': use auto, cuda or host"}})
    EXPECT_EQ(refusal(words), sentence);
  EXPECT_NE(refusal({"--bodies", "0"}).find("--bodies"), std::string::npos);
  EXPECT_NE(refusal({"--counts", "two"}).find("--counts"), std::string::npos);
}

TEST(NbodyOptions, RefuseWhatDoesNothing) {
  const auto why = [](const std::vector<std::string>& words, bool has_ranks) -> std::string {
    try {
      refuse_unused(parsed_nbody(words), has_ranks);
    } catch (const BadInput& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(why({"--devices", "0"}, false), "");
  EXPECT_NE(why({"--devices", "0"}, true).find("the launcher chooses the ranks"), std::string::npos);
  EXPECT_NE(why({"--backend", "host"}, true).find("--backend does nothing in this run"), std::string::npos);
  EXPECT_NE(why({"--memory", "host"}, false).find("--memory does nothing in this run"), std::string::npos);
  EXPECT_NE(why({"--simulate-fault", "corrupt:gpu0", "--no-verify"}, false).find("does nothing"), std::string::npos);
  for (const std::string kind : {"shared", "reorder", "drop", "drop-flag", "flip"}) {
    EXPECT_NE(why({"--simulate-fault", kind + ":gpu0"}, false).find("does nothing"), std::string::npos) << kind;
    EXPECT_EQ(nbody_help().find(kind + ","), std::string::npos) << kind;
  }
}

}  // namespace
}  // namespace linkmatrix
