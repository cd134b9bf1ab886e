import Foundation

/// What the benchmarks of a suite must reach: `Benchmarks/Thresholds/SUITE.json`.
package struct Thresholds: Decodable, Sendable {
  /// A bound on one number that a benchmark prints.
  package struct Threshold: Decodable, Sendable {
    /// The name under which a benchmark reports the number (`Table.judge`).
    package var name: String
    package var atMost: Double?
    package var atLeast: Double?
    /// By how much a smoke run may miss it; the suite's factor if it is absent.
    var smokeTolerance: Double?
    /// False if a smoke run measures something else, so that its number can't be compared.
    var isJudgedInSmoke: Bool?

    private enum CodingKeys: String, CodingKey {
      case name, atMost, atLeast, smokeTolerance
      case isJudgedInSmoke = "smoke"
    }
  }

  /// By what factor a smoke run may miss a threshold: it measures for a moment, often on a machine
  /// that has other things to do, and finds what became several times slower.
  private var smokeTolerance: Double
  package private(set) var thresholds: [Threshold]

  /// Reads the thresholds of a suite.
  package init(suite: String) throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = folder.appending(path: "Thresholds/\(suite).json")
    self = try JSONDecoder().decode(Self.self, from: try Data(contentsOf: file))
    var names: Set<String> = []
    for threshold in thresholds {
      guard (threshold.atMost == nil) != (threshold.atLeast == nil) else {
        throw ChildError("\(file.path): \"\(threshold.name)\" needs atMost or atLeast.")
      }
      guard names.insert(threshold.name).inserted else {
        throw ChildError("\(file.path): \"\(threshold.name)\" is there twice.")
      }
    }
  }

  /// The bound for a number, with a smoke run's tolerance; nil if the number has no threshold.
  package func bound(_ name: String, isSmoke: Bool) -> Bound? {
    guard let threshold = thresholds.first(where: { $0.name == name }),
      !isSmoke || threshold.isJudgedInSmoke != false
    else { return nil }
    let factor = isSmoke ? threshold.smokeTolerance ?? smokeTolerance : 1
    if let atMost = threshold.atMost { return .atMost(atMost * factor) }
    return threshold.atLeast.map { .atLeast($0 / factor) }
  }

  /// A limit of a number.
  package enum Bound: Sendable {
    case atMost(Double)
    case atLeast(Double)

    /// Whether a number keeps it. A number that could not be measured does not.
    package func isMet(by value: Double) -> Bool {
      switch self {
      case .atMost(let limit): value <= limit
      case .atLeast(let limit): value >= limit
      }
    }
  }
}

extension Thresholds.Bound: CustomStringConvertible {
  package var description: String {
    switch self {
    case .atMost(let limit): "≤ \(Table.rounded(limit))"
    case .atLeast(let limit): "≥ \(Table.rounded(limit))"
    }
  }
}
