#include "ranks/cell_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "core/error.hpp"
#include "core/statistics.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double bin_width = 0.001, lowest = -13.9;  // logarithms; lowest: ln(1e-6)
constexpr std::size_t bins = 34700;                  // from 1e-6 to 1e9
constexpr std::size_t columns_at_once = 1024;        // 16 KiB per read
constexpr std::size_t most_pending = 256;            // cells per row in memory
constexpr double most_unwritten = 10;                // maximum seconds of results that a killed job loses
constexpr std::size_t header_bytes = 256;            // the format requires a multiple of 64

/// Returns the header of NumPy's format 1.0 (numpy.lib.format): magic, length, Python dictionary, spaces, newline.
std::string header(std::size_t n) {
  const std::string shape = std::to_string(n) + ", " + std::to_string(n);
  const std::string words =
      "{'descr': [('value', '<f4'), ('low', '<f4'), ('high', '<f4'), ('samples', '<u2'), ('status', '|u1'), "
      "('converged', '|u1')], 'fortran_order': False, 'shape': (" +
      shape + "), }";
  constexpr std::size_t before = 10;  // magic, version, length
  std::string text("\x93NUMPY\x01\x00", 8);
  const std::size_t length = header_bytes - before;
  text += static_cast<char>(length & 0xFF);
  text += static_cast<char>(length >> 8);
  text += words + std::string(length - words.size() - 1, ' ') + "\n";
  return text;
}

/// Replaces an existing file. Does not follow a link of another user.
int open_new(const std::filesystem::path& file) {
  ::unlink(file.c_str());
  return ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
}

double median_or_zero(std::vector<double> values) { return values.empty() ? 0 : median(std::move(values)); }

}  // namespace

void Quantiles::add(double value) {
  if (!(value > 0)) return;
  least_ = count_ == 0 ? value : std::min(least_, value);
  most_ = count_ == 0 ? value : std::max(most_, value);
  ++count_;
  if (bins_.empty()) bins_.resize(bins);
  const double bin = (std::log(value) - lowest) / bin_width;
  ++bins_[static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(bins - 1)))];
}

double Quantiles::at(double share) const {
  const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_ - 1));
  std::uint64_t seen = 0;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    seen += bins_[bin];
    if (seen > wanted)
      return std::clamp(std::exp(lowest + (static_cast<double>(bin) + 0.5) * bin_width), least_, most_);
  }
  return most_;
}

std::vector<std::string> CellFile::status_words(CellStatus blank) {
  std::vector<std::string> words{std::string(word(blank))};
  for (const auto& [status, text] : Words<CellStatus>::table)
    if (status != blank) words.emplace_back(text);
  return words;
}

CellFile::CellFile(Guarded<Record>& record, std::filesystem::path file, std::size_t n, bool bidirectional,
                   LinkClass link_class, CellStatus blank)
    : record_{record},
      file_{std::move(file)},
      n_{n},
      bidirectional_{bidirectional},
      link_class_{std::move(link_class)},
      blank_{blank},
      out_{open_new(file_)},
      pending_(n) {
  std::uint8_t next = 1;
  for (const auto& [status, text] : Words<CellStatus>::table)
    codes_.at(static_cast<std::size_t>(status)) = status == blank ? std::uint8_t{0} : next++;
  const std::uint64_t bytes = header_bytes + n * n * sizeof(Cell);
  // reserves the space now, because a full disk at the end would lose the measurement
  if (out_.number() < 0 || ::posix_fallocate(out_.number(), 0, static_cast<off_t>(bytes)) != 0)
    throw BadInput("--record: " + file_.string() + " cannot be created: the cells need " + std::to_string(bytes >> 20) +
                   " MiB of disk space in the folder of the record");
  const std::string text = header(n);
  if (::pwrite(out_.number(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw BadInput("--record: " + file_.string() + " cannot be written");
  Cell diagonal;
  diagonal.status = code(CellStatus::not_applicable);
  for (std::size_t d = 0; d < n_; ++d) write(d, d, {&diagonal, 1});
  counts_[0] = n_ * (n_ - 1);
  counts_[diagonal.status] += n_;
  change([this](MatrixResult& result) { result.large = counted(); });
}

void CellFile::put(const CellIndex& index, const CellValue& cell) {
  if (cell.verified && cell.status != CellStatus::corrupt) verified_ += bidirectional_ ? 2 : 1;
  add(index, {static_cast<float>(cell.value), static_cast<float>(cell.low), static_cast<float>(cell.high),
              static_cast<std::uint16_t>(std::min(cell.samples, 65535)), code(cell.status),
              static_cast<std::uint8_t>(cell.converged)});
}

void CellFile::mark(const CellIndex& index, CellStatus status) {
  Cell cell;
  cell.status = code(status);
  add(index, cell);
}

void CellFile::fail(const CellIndex& index, CellStatus status) {
  const std::uint8_t was = cell_at(index).status;
  if (was == code(CellStatus::corrupt)) return;
  if (was == code(CellStatus::ok)) verified_ -= std::min<std::uint64_t>(verified_, bidirectional_ ? 2 : 1);
  for (int directions = bidirectional_ ? 2 : 1; directions > 0 && was != 0; --directions)
    --counts_[was], ++counts_[0];  // blank
  mark(index, status);
}

void CellFile::add_lost(const Lost& endpoint) {
  record_.change([&](Record& record) { record.lost.push_back(endpoint); });
}

void CellFile::change(const std::function<void(MatrixResult&)>& change) {
  record_.change([&](Record& record) { change(record.results.back()); });
}

void CellFile::add(const CellIndex& index, const Cell& cell) {
  add_once(index, cell);
  if (bidirectional_) add_once({index.column, index.row}, cell);
  if (seconds_since(flushed_) < most_unwritten) return;
  flush_all();
  change([this](MatrixResult& result) { result.large = counted(), result.cells_verified = verified_; });
}

void CellFile::add_once(const CellIndex& index, const Cell& cell) {
  if (cell.status == code(CellStatus::corrupt))
    corrupt_.insert(index);
  else if (!corrupt_.empty() && corrupt_.contains(index))
    return;
  if (counts_[0] > 0) --counts_[0];
  ++counts_[cell.status];
  std::vector<Pending>& row = pending_[index.row];
  row.push_back({static_cast<std::uint32_t>(index.column), cell});
  if (row.size() >= most_pending) flush(index.row);
}

void CellFile::flush_all() {
  for (std::size_t row = 0; row < n_; ++row) flush(row);
  flushed_ = Clock::now();
}

/// Writes the pending cells of a row. Writes nearby cells and the bytes between them in one piece.
void CellFile::flush(std::size_t row) {
  std::vector<Pending>& cells = pending_[row];
  std::stable_sort(cells.begin(), cells.end(), [](const Pending& a, const Pending& b) { return a.column < b.column; });
  for (std::size_t from = 0, to = 0; from < cells.size(); from = to) {
    while (to < cells.size() && cells[to].column - cells[from].column < columns_at_once) ++to;
    std::vector<Cell> piece(cells[to - 1].column - cells[from].column + 1);
    read(row, cells[from].column, piece);
    for (std::size_t k = from; k < to; ++k) piece[cells[k].column - cells[from].column] = cells[k].cell;
    write(row, cells[from].column, piece);
  }
  cells.clear();
}

void CellFile::read(std::size_t row, std::size_t column, std::span<Cell> cells) const {
  const auto at = static_cast<off_t>(header_bytes + (row * n_ + column) * sizeof(Cell));
  if (::pread(out_.number(), cells.data(), cells.size_bytes(), at) != static_cast<ssize_t>(cells.size_bytes()))
    throw DeviceError(file_.string() + " cannot be read: check its file system");
}

void CellFile::write(std::size_t row, std::size_t column, std::span<const Cell> cells) {
  const auto at = static_cast<off_t>(header_bytes + (row * n_ + column) * sizeof(Cell));
  if (::pwrite(out_.number(), cells.data(), cells.size_bytes(), at) != static_cast<ssize_t>(cells.size_bytes()))
    throw DeviceError(file_.string() + " cannot be written: check its file system");
}

CellFile::Cell CellFile::cell_at(const CellIndex& index) const {
  const std::vector<Pending>& row = pending_[index.row];
  for (auto pending = row.rbegin(); pending != row.rend(); ++pending)
    if (pending->column == index.column) return pending->cell;
  Cell cell;
  read(index.row, index.column, {&cell, 1});
  return cell;
}

std::optional<double> CellFile::value(const CellIndex& index) const {
  const Cell cell = cell_at(index);
  return cell.samples == 0 ? std::nullopt : std::optional<double>(cell.value);
}

std::optional<Interval> CellFile::interval(const CellIndex& index) const {
  const Cell cell = cell_at(index);
  return cell.samples == 0 ? std::nullopt : std::optional<Interval>({cell.low, cell.high});
}

CellStatus CellFile::status(const CellIndex& index) const {
  const std::uint8_t wanted = cell_at(index).status;
  for (const auto& [status, text] : Words<CellStatus>::table)
    if (code(status) == wanted) return status;
  return CellStatus::not_run;
}

/// Returns the part of the summary that needs no reading of the file.
CellSummary CellFile::counted() const {
  CellSummary out{file_.filename().string(), status_words(blank_), {}, {}, {}, {}};
  for (std::size_t status = 0; status < out.statuses.size(); ++status) out.counts.push_back(counts_[status]);
  return out;
}

void CellFile::finish() {
  flush_all();
  std::map<std::string, Quantiles> classes;
  std::vector<Cell> cells(n_);
  std::vector<double> row_medians;
  counts_ = {};
  for (std::size_t row = 0; row < n_; ++row) {
    read(row, 0, cells);
    std::vector<double> values;
    for (std::size_t column = 0; column < n_; ++column) {
      ++counts_[cells[column].status];
      if (cells[column].samples == 0) continue;
      values.push_back(cells[column].value);
      classes[link_class_(row, column)].add(cells[column].value);
    }
    row_medians.push_back(median_or_zero(std::move(values)));
  }
  CellSummary out = counted();
  out.row_medians = std::move(row_medians);
  out.column_medians = column_medians();
  for (const auto& [name, values] : classes)
    out.classes.push_back({name, values.count(), values.least(), values.at(0.5), values.most()});
  change([&](MatrixResult& result) { result.large = std::move(out), result.cells_verified = verified_; });
}

std::vector<double> CellFile::column_medians() const {
  std::vector<double> medians;
  for (std::size_t first = 0; first < n_; first += columns_at_once) {
    std::vector<Cell> cells(std::min(columns_at_once, n_ - first));
    std::vector<std::vector<double>> values(cells.size());
    for (std::size_t row = 0; row < n_; ++row) {
      read(row, first, cells);
      for (std::size_t k = 0; k < cells.size(); ++k)
        if (cells[k].samples > 0) values[k].push_back(cells[k].value);
    }
    for (auto& column : values) medians.push_back(median_or_zero(std::move(column)));
  }
  return medians;
}

}  // namespace linkmatrix::ranks
