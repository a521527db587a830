#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "confined.hpp"
#include "own_folder.hpp"
#include "sysfs_tree.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

/// A folder to write to, beside what must not be written.
class Confined : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "sys");
    std::ofstream(outside_) << "whole";
  }
  void TearDown() override { fs::remove_all(own_); }
  std::string outside() const {
    std::ifstream in(outside_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Whether a description was taken as far as it goes; what it may write is in the folder alone.
  bool makes(const std::string& description) const {
    std::ofstream(own_ / "description") << description;
    try {
      SysfsTree(root_).add(own_ / "description");
    } catch (const std::exception&) {
      return false;
    }
    return true;
  }

  fs::path own_ = own_folder("confined"), root_ = own_ / "tree", outside_ = own_ / "outside";
};

TEST_F(Confined, AreFilesOfTheFolderAndWhatLinksInItLeadTo) {
  fs::create_directory_symlink(root_ / "sys", root_ / "inside");
  for (const char* name : {"file", "new/folder/file", "sys/../file", "inside/file"})
    EXPECT_EQ(confined(root_, root_ / name), root_ / name);
}

TEST_F(Confined, AreNoPathsThatLeaveIt) {
  fs::create_directory_symlink(own_, root_ / "out");
  fs::create_symlink(own_ / "not there yet", root_ / "nowhere");
  for (const std::string& name : {outside_.string(), std::string("../outside"), std::string("sys/../../outside"),
                                  std::string("out/outside"), std::string("nowhere"), std::string("a\0b", 3)})
    EXPECT_THROW(confined(root_, root_ / name), std::runtime_error) << name;
  EXPECT_THROW(confined(root_, own_ / "tree and more"), std::runtime_error);
}

TEST_F(Confined, IsATreeWhoseDescriptionNamesFilesElsewhere) {
  const std::string function = "pci; a/0000:16:00.0; class=0x020700\n", file = outside_.string();
  EXPECT_TRUE(makes(function));
  for (const std::string& line :
       {"pci; a/0000:17:00.0; " + file + "=spoilt", "pci; " + file + "/0000:17:00.0; class=1",
        std::string("pci; a/0000:17:00.0; ../../../../../outside=spoilt"), "net; ib0; 0000:16:00.0; master=" + file,
        "net; " + file + "; 0000:16:00.0; operstate=up"})
    EXPECT_FALSE(makes(line)) << line;
  EXPECT_EQ(outside(), "whole");
}

}  // namespace
}  // namespace linkmatrix
