/// The values of one opened device that were not shown yet: of each characteristic the last, and
/// how many came. An object of its own for each opening, so that what comes late from one device
/// is never taken for another's.
package final class ArrivedValues: Sendable {
  /// The last value of a characteristic, and how many came.
  package struct Arrived: Hashable, Sendable {
    package var value: [UInt8]
    package var count = 1
  }

  private let all = Guarded<[KeptDevice.Key: Arrived]>([:])

  package init() {}

  /// Keeps a value. Returns true if it is the first since `take`, which is due then.
  package func keep(_ bytes: [UInt8], of key: KeptDevice.Key) -> Bool {
    all.update { all in
      let isFirst = all.isEmpty
      all[key] = Arrived(value: bytes, count: (all[key]?.count ?? 0) + 1)
      return isFirst
    }
  }

  /// What came since the last time.
  package func take() -> [KeptDevice.Key: Arrived] {
    all.update { all in
      defer { all = [:] }
      return all
    }
  }
}
