import BindingMachines
import Essentials
import Testing

@Suite("The difference of two orders of keys")
struct KeyedDifferenceTests {
  /// What a page does with the changes.
  private static func applied(_ changes: [KeyedDifference.Change], to old: [String]) -> [String]? {
    var keys = old
    for change in changes {
      switch change {
      case .remove(let key): keys.removeAll { $0 == key }
      case .insert(let key, let next), .move(let key, let next):
        keys.removeAll { $0 == key }
        guard let next else {
          keys.append(key)
          continue
        }
        guard let index = keys.firstIndex(of: next) else { return nil }
        keys.insert(key, at: index)
      }
    }
    return keys
  }

  @Test("the difference of equal orders is empty")
  func equal() {
    #expect(KeyedDifference.changes(from: ["a", "b"], to: ["a", "b"]) == [])
    #expect(KeyedDifference.changes(from: [], to: []) == [])
  }

  @Test("the difference moves one key when one key has moved", arguments: [0, 3, 7])
  func oneMove(_ index: Int) {
    let old = (0..<8).map(String.init)
    var new = old
    new.insert(new.remove(at: 2), at: index)
    let changes = KeyedDifference.changes(from: old, to: new)
    #expect(changes.count == (index == 2 ? 0 : 1))
    #expect(Self.applied(changes, to: old) == new)
  }

  @Test("the difference turns the old order into the new one, from 3,000 seeds")
  func random() {
    for seed in 0..<3_000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let keys = (0..<Int.random(in: 0...12, using: &random)).map(String.init)
      let old = keys.shuffled(using: &random).filter { _ in Bool.random(using: &random) }
      let new = keys.shuffled(using: &random).filter { _ in Bool.random(using: &random) }
      let changes = KeyedDifference.changes(from: old, to: new)
      #expect(Self.applied(changes, to: old) == new, "seed \(seed)")
      let common = Set(old).intersection(new)
      let moves = changes.count { if case .move = $0 { true } else { false } }
      let staying = Self.longestCommonOrder(
        old.filter(common.contains), new.filter(common.contains))
      #expect(moves == common.count - staying, "seed \(seed): more moves than it takes")
      #expect(changes.count == moves + old.count + new.count - 2 * common.count, "seed \(seed)")
    }
  }

  /// The length of the longest common subsequence, by the textbook's table.
  private static func longestCommonOrder(_ a: [String], _ b: [String]) -> Int {
    var table = Array(repeating: Array(repeating: 0, count: b.count + 1), count: a.count + 1)
    for (i, x) in a.enumerated() {
      for (j, y) in b.enumerated() {
        table[i + 1][j + 1] = x == y ? table[i][j] + 1 : max(table[i][j + 1], table[i + 1][j])
      }
    }
    return table[a.count][b.count]
  }
}
