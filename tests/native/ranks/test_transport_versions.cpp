#include <dlfcn.h>
#include <gtest/gtest.h>

#include "ranks/facts.hpp"

namespace linkmatrix::ranks {
namespace {

const std::vector<std::string> mapped{
    "7f00-7f01 r-xp 00000000 08:01 41 /usr/lib/x86_64-linux-gnu/libucp_tools.so.0",
    "7f01-7f02 rw-p 00000000 00:00 0",
    "7f02-7f03 r-xp 00000000 08:01 42 /opt/with space/libucp.so.0.0.0",
    "7f03-7f04 r-xp 00000000 08:01 43 /opt/vendor/libfabric-1a2b3c.so.1",
};

TEST(TransportVersions, ALibraryIsFoundByItsWholeNameWhereverItLies) {
  EXPECT_EQ(library_file(mapped, "libucp"), "/opt/with space/libucp.so.0.0.0");
  EXPECT_EQ(library_file(mapped, "libfabric"), "/opt/vendor/libfabric-1a2b3c.so.1");
  EXPECT_EQ(library_file(mapped, "libgdrapi"), "");
  EXPECT_EQ(library_file({}, "libucp"), "");
}

TEST(TransportVersions, WhatIsLoadedSaysItsVersionAndWhatIsNotIsLeftOut) {
  EXPECT_FALSE(transport_versions().contains("GDRCopy"));
  bool any = false;
  for (const auto& [name, file] : {std::pair{"UCX", "libucp.so.0"}, {"libfabric", "libfabric.so.1"}}) {
    if (::dlopen(file, RTLD_LAZY) == nullptr) continue;
    any = true;
    const Software found = transport_versions();
    ASSERT_TRUE(found.contains(name));
    EXPECT_TRUE(::isdigit(static_cast<unsigned char>(found.at(name).front())) &&
                found.at(name).find('.') != std::string::npos)
        << name << " " << found.at(name);
  }
  if (!any) GTEST_SKIP() << "neither UCX nor libfabric is installed here";
}

}  // namespace
}  // namespace linkmatrix::ranks
