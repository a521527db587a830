#include "core/visibility.hpp"

#include <vector>

#include "core/units.hpp"

namespace linkmatrix {

std::string sentence_of(const Visibility& seen, const std::string& writer, const std::string& reader) {
  std::vector<std::string> found;
  if (seen.wrong_words > 0)
    found.push_back(std::to_string(seen.wrong_words) + " stale words after a visible flag in " +
                    std::to_string(seen.rounds) + " rounds, the first in round " + std::to_string(seen.first_wrong));
  const std::string after = " after " + std::to_string(seen.rounds) + " rounds";
  if (seen.unseen_flags > 0)
    found.push_back("flag never visible: " + reader + " waited for the flag of " + writer + after);
  if (seen.unseen_answers > 0)
    found.push_back("answer never visible: " + writer + " waited for the flag of " + reader + after);
  if (seen.interrupted > 0)
    found.push_back(writer + " or " + reader +
                    " was stopped or preempted, and the other endpoint did not get an answer" + after);
  return join(found, "; ");
}

}  // namespace linkmatrix
