#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ranks/messages.hpp"
#include "ranks/options.hpp"
#include "ranks/payload.hpp"
#include "ranks/wire.hpp"

namespace linkmatrix::ranks {

/// What a rank says of itself, and its memory.
struct Introduction {
  Card card;
  std::unique_ptr<Payload> payload;  ///< of a rank that cannot take part, one that is not used
};

/// Of this rank: makes its memory, or says in the card why it cannot.
Introduction introduce(Wire& wire, const NetworkOptions& options);

/// Every rank's card, by rank, at rank 0; nothing elsewhere. All ranks together. Throws TimedOut.
std::vector<Card> gather(Wire& wire, const Card& card);

/// What rows and columns call a rank: "n3:gpu0".
std::string label_of(const Card& card);

}  // namespace linkmatrix::ranks
