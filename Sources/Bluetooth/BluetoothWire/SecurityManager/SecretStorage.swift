/// Secret numbers that are overwritten when nothing refers to them any more.
///
/// All copies of a key share one of these, so that no copy of it stays behind in memory that was freed.
/// What the processor's registers and the stack had of it while it was used, and the packets and texts that
/// it came in or goes out by, aren't covered (docs/decisions/0108-secrets-are-overwritten.md).
final class SecretStorage: @unchecked Sendable {
  // Sendable because nothing changes before the end, when only one thread can know of it.
  private(set) var high: UInt128
  private(set) var low: UInt128

  init(high: UInt128 = 0, low: UInt128) {
    self.high = high
    self.low = low
  }

  deinit {
    overwrite(&high)
    overwrite(&low)
  }
}

/// The words of a cipher's key, overwritten like `SecretStorage`.
final class SecretWords: @unchecked Sendable {
  // Sendable for the same reason.
  private(set) var words: [UInt32]

  init(_ words: consuming [UInt32]) { self.words = words }

  deinit { overwrite(&words) }
}

/// Puts zero where a secret was. A call that the compiler can't look into, so that it leaves it in.
@inline(never) @_optimize(none)
private func overwrite(_ number: inout UInt128) { number = 0 }

@inline(never) @_optimize(none)
private func overwrite(_ words: inout [UInt32]) {
  for index in words.indices { words[index] = 0 }
}

/// Overwrites secret bytes with zeros, unless another array shares their storage.
@inline(never) @_optimize(none)
package func overwrite(_ bytes: inout [UInt8]) {
  for index in bytes.indices { bytes[index] = 0 }
}
