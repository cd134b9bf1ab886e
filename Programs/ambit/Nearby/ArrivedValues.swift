/// The values of one opened device that were not shown yet: of each characteristic the last, and
/// how many came. An object of its own for each opening, so that what comes late from one device
/// is never taken for another's.
final class ArrivedValues: Sendable {
  /// The last value of a characteristic, and how many came.
  struct Arrived: Hashable, Sendable {
    var value: [UInt8]
    var count = 1
  }

  private let all = Guarded<[KeptDevice.Key: Arrived]>([:])

  /// Keeps a value. Returns true if it is the first since `take`, which is due then.
  func keep(_ bytes: [UInt8], of key: KeptDevice.Key) -> Bool {
    all.update { all in
      let isFirst = all.isEmpty
      all[key] = Arrived(value: bytes, count: (all[key]?.count ?? 0) + 1)
      return isFirst
    }
  }

  /// What came since the last time.
  func take() -> [KeptDevice.Key: Arrived] {
    all.update { all in
      defer { all = [:] }
      return all
    }
  }
}
