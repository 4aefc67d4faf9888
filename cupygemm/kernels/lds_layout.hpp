// Where the tile of an operand lies in LDS for matrix instructions: kRows rows, K contiguous, in chunks of 16 bytes,
// which is what one lane reads and writes at a time.
//
// LDS serves kLdsLine bytes a clock, a 128-bit access therefore 8 lanes at a time, or 16 on gfx950. Those lanes touch
// the same chunk of consecutive rows (reading fragments), all chunks of a row (copying where K is contiguous) or the
// same chunk of every kPack-th row (transposing on the way in). A layout is good if each of these spreads over all
// banks.
#pragma once
#include "prelude.hpp"

namespace cg {

constexpr int kChunkBytes = 16;

// Rows kPad bytes longer than they need to be, and kGroupPad bytes more after every 8 rows. With kPad = 16, 8
// consecutive rows start in different banks; with kGroupPad = 16, every eighth row does so too. Offsets are linear, so
// that all of a thread's accesses are one register plus constants.
template <int kElementBytes, int kRows, int kDepth, int kPad, int kGroupPad>
struct PaddedRows {
  static constexpr int kPitch = kDepth * kElementBytes + kPad;
  static constexpr int kBytes = kRows * kPitch + (kRows - 1) / 8 * kGroupPad;
  static_assert(kPad % kChunkBytes == 0 && kGroupPad % kChunkBytes == 0, "chunks must stay aligned to 16 bytes");

  CG_DEVICE constexpr int offset(int row, int chunk) {
    return row * kPitch + row / 8 * kGroupPad + chunk * kChunkBytes;
  }
  // The row that lanes take i-th when they copy whole rows. Where 8 lanes take two rows of 4 chunks, neighbours would
  // meet in a bank, since padding moved them apart; rows 4 apart lie side by side.
  CG_DEVICE constexpr int copied_row(int i) {
    return kPitch == 4 * kChunkBytes + 16 ? i / 8 * 8 + i % 8 / 2 + i % 2 * 4 : i;
  }
  // The address of (row + rows, chunk + chunks) in the tile at `tile`, where `offset` is that of (row, chunk) and
  // `rows` is a multiple of 8 or stays inside the row's group of 8. The constant comes last: added to the offset first,
  // each sum would be kept in a register across the loop.
  template <class Byte>
  CG_DEVICE Byte* moved(Byte* tile, int offset, int rows, int chunks) {
    return tile + offset + (rows * kPitch + rows / 8 * kGroupPad + chunks * kChunkBytes);
  }
};

// No padding: chunk c of row r lies where chunk c XOR permutation(r) would. Where two rows make a line of banks, every
// kPack-th row would lie in the same half of it: so that kTransposed rows are written without conflicts, the rows of a
// pair change places in every second 8 * kPack rows.
template <int kElementBytes, int kRows, int kDepth, bool kTransposed>
struct PermutedRows {
  static constexpr int kPitch = kDepth * kElementBytes, kChunks = kPitch / kChunkBytes;
  static constexpr int kBytes = kRows * kPitch;
  static_assert((kChunks & (kChunks - 1)) == 0, "the permutation needs a power of two of chunks in a row");

  // Rows that share 128 bytes differ in the position within it already.
  static constexpr int kRowsPerLine = max_of(1, 128 / kPitch);
  static constexpr bool kPairs = kTransposed && kLdsLine == 2 * kPitch;
  CG_DEVICE constexpr int permutation(int row) {
    return (row / kRowsPerLine ^ row / kRowsPerLine / 8) & (min_of(kChunks, kLdsLine / kChunkBytes) - 1);
  }
  // Where row `row` lies.
  CG_DEVICE constexpr int place_of(int row) {
    constexpr int kPack = kChunkBytes / kElementBytes;
    return kPairs ? row ^ (row / (8 * kPack) & 1) : row;
  }
  CG_DEVICE constexpr int offset(int row, int chunk) {
    return place_of(row) * kPitch + (chunk ^ permutation(row)) * kChunkBytes;
  }
  CG_DEVICE constexpr int copied_row(int i) { return i; }
  // The address of (row | rows, chunk | chunks), where neither pair has a bit in common: the permutation and the
  // exchange of rows are linear over XOR.
  template <class Byte>
  CG_DEVICE Byte* moved(Byte* tile, int offset, int rows, int chunks) {
    const int exchanged = kPairs ? place_of(rows) & 1 : 0, added = kPairs ? rows & ~1 : rows;
    return tile + (offset ^ ((chunks ^ permutation(rows)) * kChunkBytes + exchanged * kPitch)) + added * kPitch;
  }
};

// Lanes that LDS serves at a time.
constexpr int kTogether = kLdsLine / kChunkBytes;

// Whether the lanes that touch chunk `chunk` of rows first, first + step, ... meet in no bank.
template <class Layout>
CG_DEVICE constexpr bool spreads(int first, int step, int chunk) {
  int taken = 0;
  for (int i = 0; i < kTogether; ++i) taken |= 1 << Layout::offset(first + i * step, chunk) / kChunkBytes % kTogether;
  return taken == (1 << kTogether) - 1;
}

// The same for all places where fragments are read (consecutive rows from a multiple of 8 or 16 on), or where runs of
// `step` transposed rows are written (every step-th row).
template <class Layout>
CG_DEVICE constexpr bool reads_spread(int rows, int chunks) {
  for (int row = 0; row < rows; row += kTogether)
    for (int chunk = 0; chunk < chunks; ++chunk)
      if (!spreads<Layout>(row, 1, chunk)) return false;
  return true;
}
// And where whole rows are copied, each lane taking a chunk.
template <class Layout>
CG_DEVICE constexpr bool copies_spread(int rows, int chunks) {
  for (int piece = 0; piece < rows * chunks; piece += kTogether) {
    int taken = 0;
    for (int i = piece; i < piece + kTogether; ++i)
      taken |= 1 << Layout::offset(Layout::copied_row(i / chunks), i % chunks) / kChunkBytes % kTogether;
    if (taken != (1 << kTogether) - 1) return false;
  }
  return true;
}
template <class Layout>
CG_DEVICE constexpr bool transposes_spread(int rows, int chunks, int step) {
  constexpr int kRest = kTogether - 1;
  for (int first = 0; first + kRest * step < rows; first += first % step == step - 1 ? kRest * step + 1 : 1)
    for (int chunk = 0; chunk < chunks; ++chunk)
      if (!spreads<Layout>(first, step, chunk)) return false;
  return true;
}

}  // namespace cg
