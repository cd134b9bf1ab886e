internal import BeaconMachines
internal import Essentials
internal import Foundation
package import StateFiles

/// What a program monitors, as its file has it
/// (docs/decisions/0113-monitored-regions-outlive-the-process.md): the snapshot of the machine that monitors
/// regions, and a line for each condition of its monitors.
///
///     ambit locations 1
///     regions 41524d010100…
///     condition {"monitor":"museum","identifier":"hall",…}
///     end 5a17c0de
package struct LocationFile: Hashable, Sendable {
  /// A program's conditions at most, also those that are not monitored.
  static let conditionCountMax = 1_024
  /// A line's bytes at most: 20 regions with the longest names, in hexadecimal.
  static let lineByteCountMax = 64 * 1_024
  /// A file's bytes at most.
  static let byteCountMax = 4 * 1_024 * 1_024

  private static let form = ChecksummedText(
    name: "ambit locations", version: 1, byteCountMax: byteCountMax)
  private static let regionsWord = Array("regions ".utf8)
  private static let conditionWord = Array("condition ".utf8)
  private static let lineFeed = UInt8(ascii: "\n")

  /// See `RegionMonitor.snapshot`.
  package var regions: [UInt8]
  /// The conditions of its monitors.
  package var conditions: [KeptCondition]

  /// A program that monitors nothing.
  package init() { self.init(regions: RegionMonitor().snapshot, conditions: []) }

  /// A program that monitors regions only.
  package init(regions: [UInt8]) { self.init(regions: regions, conditions: []) }

  package init(regions: [UInt8], conditions: [KeptCondition]) {
    self.regions = regions
    self.conditions = conditions
  }

  /// The whole file, and how many conditions found no room in it.
  package var bytes: (file: [UInt8], leftOutCount: Int) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.nonConformingFloatEncodingStrategy = .ambit
    var body = Self.regionsWord + Array(Hexadecimal.string(regions).utf8) + [Self.lineFeed]
    var keptCount = 0
    for condition in conditions.prefix(Self.conditionCountMax) {
      guard let text = try? encoder.encode(condition) else { continue }
      let line = Self.conditionWord + Array(text)
      let isFitting =
        line.count <= Self.lineByteCountMax && body.count + line.count < Self.byteCountMax - 128
      guard isFitting else { continue }
      body += line + [Self.lineFeed]
      keptCount += 1
    }
    return (Self.form.file(of: body), conditions.count - keptCount)
  }

  /// Reads a whole file.
  package init(decoding bytes: [UInt8]) throws(StateFileDecodingError) {
    self.init()
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .ambit
    var known: Set<[String]> = []
    for (index, line) in try Self.form.lines(of: bytes).enumerated() {
      let number = index + 2
      guard line.count <= Self.lineByteCountMax else {
        throw .damaged("line \(number) is too long")
      }
      if index == 0 {
        regions = try Self.decodeRegions(line)
        continue
      }
      guard index <= Self.conditionCountMax else { throw .damaged("it has too many conditions") }
      guard line.starts(with: Self.conditionWord),
        let condition = try? decoder.decode(
          KeptCondition.self, from: Data(line.dropFirst(Self.conditionWord.count))),
        condition.isValid
      else { throw .damaged("line \(number) is no condition") }
      guard known.insert([condition.monitor, condition.identifier]).inserted else {
        throw .damaged("line \(number) is a second condition of its name")
      }
      conditions.append(condition)
    }
  }

  private static func decodeRegions(_ line: ArraySlice<UInt8>) throws(StateFileDecodingError)
    -> [UInt8]
  {
    guard line.starts(with: regionsWord),
      let snapshot = Hexadecimal.bytes(
        String(decoding: line.dropFirst(regionsWord.count), as: UTF8.self))
    else { throw .damaged("line 2 is no snapshot") }
    do throws(RegionSnapshotError) {
      _ = try RegionMonitor(snapshot: snapshot[...])
    } catch {
      throw .damaged("the regions cannot be read: \(error)")
    }
    return snapshot
  }
}

extension JSONEncoder.NonConformingFloatEncodingStrategy {
  fileprivate static var ambit: Self {
    .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
  }
}

extension JSONDecoder.NonConformingFloatDecodingStrategy {
  fileprivate static var ambit: Self {
    .convertFromString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
  }
}
