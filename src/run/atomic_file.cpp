#include "run/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/descriptor.hpp"
#include "core/error.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr mode_t all_may = 0666;  // the system removes the bits of the umask
constexpr int most_links = 40;    // limit of the kernel

fs::path beside(const fs::path& file, int number) {
  fs::path partial = file;
  partial += "." + std::to_string(::getpid()) + "." + std::to_string(number) + ".partial";
  return partial;
}

/// Creates the temporary file. Removes an existing file and follows no link, because in a shared folder another user
/// could have linked the predictable name to a file of this user.
int open_new(const fs::path& file) {
  ::unlink(file.c_str());
  return ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, all_may);
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Syncs to disk. Ignores EINVAL, which file systems without a disk return.
bool sync(int descriptor) { return ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP; }

BadInput unwritable(const fs::path& file, int error) {
  return BadInput("--record '" + file.string() + "' cannot be written (" + std::strerror(error) +
                  "): name a file in an existing folder with write permission");
}

/// Follows the links of a path; the target may be missing. Throws BadInput for a cycle of links.
fs::path where_links_lead(const fs::path& file) {
  std::error_code failure;
  fs::path at = file;
  for (int links = 0; fs::is_symlink(at, failure); ++links) {
    if (links == most_links) throw unwritable(file, ELOOP);
    const fs::path next = fs::read_symlink(at, failure);
    if (failure) throw unwritable(file, failure.value());
    at = at.parent_path() / next;
  }
  if (at == file) return file;
  const fs::path plain = fs::weakly_canonical(at, failure);
  return failure ? at : plain;
}

void sync_folder(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const Descriptor open{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (open.is_open()) (void)sync(open.number());  // some file systems cannot sync a folder; the file is already written
}

}  // namespace

std::string write_whole(const std::string& text, const fs::path& file, int number,
                        const std::function<bool()>& is_current) {
  const fs::path partial = beside(file, number);
  Descriptor out{open_new(partial)};
  if (!out.is_open()) return std::strerror(errno);
  bool good = write_all(out.number(), text) && sync(out.number());
  good = good && out.close() == 0;
  int error = good ? 0 : errno;
  const bool wanted = is_current();
  if (good && wanted && ::rename(partial.c_str(), file.c_str()) != 0) error = errno;
  if (error != 0 || !wanted) {
    ::unlink(partial.c_str());
    return error == 0 ? "" : std::strerror(error);
  }
  sync_folder(file);
  return "";
}

void remove_partial(const fs::path& file, int number) { ::unlink(beside(file, number).c_str()); }

fs::path target_of(const fs::path& file) {
  const fs::path target = where_links_lead(file);
  for (const char* system : {"/dev/", "/proc/"})  // a rename would replace a device by a file
    for (const fs::path& name : {file, target})
      if (name.string().starts_with(system))
        throw BadInput("--record '" + file.string() +
                       "' is not a regular file: name a file in a folder with write permission");
  return target;
}

void check_writable(const fs::path& file) {
  const fs::path partial = beside(file, 0);
  const Descriptor opened{open_new(partial)};
  const int error = errno;
  ::unlink(partial.c_str());
  if (!opened.is_open()) throw unwritable(file, error);
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) throw unwritable(file, EISDIR);
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
    throw BadInput("--record '" + file.string() +
                   "' is not a file: name a file in an existing folder with write permission");
}

}  // namespace linkmatrix
