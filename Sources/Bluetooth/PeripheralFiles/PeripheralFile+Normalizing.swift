import BluetoothInterface
import BluetoothWire
import Essentials

extension PeripheralFile {
  /// Takes out what `init(_:)` refuses, so that every recording can be read again: devices do what
  /// the specification forbids, captures are damaged, and a file has bounds.
  /// - Returns: How much was taken out: values, notifications, answers, changes of advertising.
  mutating func normalize() -> Int {
    var dropped = normalizeHead()
    for index in services.indices {
      dropped += services[index].characteristics.drop(after: Limits.characteristicCount)
      for place in services[index].characteristics.indices {
        dropped += services[index].characteristics[place].normalize()
      }
    }
    dropped += normalizeAnswers()
    dropped += breakCircles()
    dropped += advertising?.normalize() ?? 0
    dropped += fitIntoText()
    normalizeDuration()
    return dropped
  }

  private mutating func normalizeHead() -> Int {
    var dropped = services.drop(after: Limits.serviceCount)
    if let name, !(1...Limits.nameByteCount).contains(name.utf8.count) {
      var short = name.unicodeScalars
      while String(short).utf8.count > Limits.nameByteCount { short.removeLast() }
      self.name = short.isEmpty ? nil : String(short)
      dropped += short.isEmpty ? 0 : 1
    }
    if let address, address.kind == .random, address.randomKind != .static { self.address = nil }
    dropped += advertisedServices.drop(after: Limits.serviceCount)
    // A file has services or advertising. Of a device without either is known that it is there.
    if services.isEmpty, advertising == nil { advertising = Advertising() }
    return dropped
  }

  private mutating func normalizeAnswers() -> Int {
    var dropped = 0
    let isNotified = services.map { $0.characteristics.map(\.isNotified) }
    for index in characteristicIndices {
      for number in self[index].answers.indices {
        dropped += self[index].answers[number].notifications.drop {
          let isTarget = isNotified[safe: $0.target.service]?[safe: $0.target.characteristic]
          return isTarget != true || !Limits.allows($0.time, $0.value)
        }
      }
    }
    return dropped
  }

  /// Included services that are there, and in no circle: that is the device's mistake.
  private mutating func breakCircles() -> Int {
    var dropped = 0
    let all = services.indices
    for index in all {
      var known: Set<Int> = []
      dropped += services[index].includedServices.drop {
        !all.contains($0) || !known.insert($0).inserted
      }
    }
    while case .circle(let index) = publicationOrder() {
      dropped += services[index].includedServices.count
      services[index].includedServices = []
    }
    return dropped
  }

  private mutating func normalizeDuration() {
    let last = services.flatMap(\.characteristics).compactMap(\.notifications.last?.time).max()
    duration = duration.map {
      max(min($0, Limits.longestTime), last ?? .zero, Limits.shortestInterval)
    }
  }
}

extension PeripheralFile.Limits {
  /// Whether a time and a value are within the limits of a file.
  fileprivate static func allows(_ time: TimeSpan, _ value: [UInt8]) -> Bool {
    (.zero...longestTime).contains(time) && value.count <= valueByteCount
  }
}

extension PeripheralFile.Characteristic {
  fileprivate mutating func normalize() -> Int {
    typealias Limits = PeripheralFile.Limits
    var dropped = values.drop { $0.count > Limits.valueByteCount }
    if let error = readError, error.rawValue == 0 {
      readError = nil
      dropped += 1
    }
    dropped += descriptors.drop { $0.uuid == 0x2902 }
    dropped += descriptors.drop(after: Limits.descriptorCount)
    for index in descriptors.indices where descriptors[index].value.count > Limits.valueByteCount {
      descriptors[index].value = []
      dropped += 1
    }
    let isNotified = isNotified
    dropped += notifications.drop { !isNotified || !Limits.allows($0.time, $0.value) }
    dropped += notifications.drop(after: Limits.notificationCount)
    notifications.order(by: \.time)
    dropped += answers.drop {
      $0.written.count > Limits.valueByteCount || $0.error?.rawValue == 0
    }
    dropped += answers.drop(after: Limits.answerCount)
    for index in answers.indices {
      if let value = answers[index].value, value.count > Limits.valueByteCount {
        answers[index].value = nil
        dropped += 1
      }
      dropped += answers[index].notifications.drop(after: Limits.notificationCount)
    }
    return dropped
  }
}

extension PeripheralFile.Advertising {
  /// Both payloads as a file can have them, and whether something had to go.
  static func limited(
    _ data: [UInt8], _ scanResponse: [UInt8]
  ) -> (data: [UInt8], scanResponse: [UInt8], isCut: Bool) {
    let legacy = PeripheralFile.Limits.legacyAdvertisingByteCount
    if data.isEmpty, scanResponse.count > legacy {
      // Scannable extended advertising has all its data in its scan response; a file has no place for
      // a long one.
      let short = wholeStructures(scanResponse)
      return (short, [], short.count < scanResponse.count)
    }
    let short = wholeStructures(data)
    // Extended advertising has no scan response here.
    let isExtended = max(short.count, scanResponse.count) > legacy
    let response = isExtended ? [] : scanResponse
    return (short, response, short.count < data.count || response.count < scanResponse.count)
  }

  /// As many structures of advertising data as there is room for: each begins with its length.
  private static func wholeStructures(_ data: [UInt8]) -> [UInt8] {
    let room = PeripheralFile.Limits.advertisingByteCount
    guard data.count > room else { return data }
    var end = 0
    while let length = data[safe: end], length > 0, end + 1 + Int(length) <= room {
      end += 1 + Int(length)
    }
    return Array(data.prefix(end))
  }

  fileprivate mutating func normalize() -> Int {
    typealias Limits = PeripheralFile.Limits
    interval = min(max(interval, .milliseconds(20)), .seconds(10_485))
    if let rssi, !(-127...20).contains(rssi) { self.rssi = nil }
    let first = Self.limited(data, scanResponse)
    (data, scanResponse) = (first.data, first.scanResponse)
    var dropped = first.isCut ? 1 : 0
    dropped += changes.drop { !(.zero...Limits.longestTime).contains($0.time) }
    dropped += changes.drop(after: Limits.advertisingChangeCount)
    changes.order(by: \.time)
    for index in changes.indices {
      let limited = Self.limited(changes[index].data, changes[index].scanResponse)
      (changes[index].data, changes[index].scanResponse) = (limited.data, limited.scanResponse)
      dropped += limited.isCut ? 1 : 0
    }
    let last = changes.last?.time ?? .zero
    duration = duration.map { max(min($0, Limits.longestTime), last, Limits.shortestInterval) }
    return dropped
  }
}

extension Array {
  /// Removes elements; returns their number.
  fileprivate mutating func drop(where isDropped: (Element) -> Bool) -> Int {
    let before = count
    removeAll(where: isDropped)
    return before - count
  }

  /// Removes the elements after the first `count`; returns their number.
  fileprivate mutating func drop(after count: Int) -> Int {
    let surplus = Swift.max(0, self.count - count)
    removeLast(surplus)
    return surplus
  }

  /// Sorts by time unless it is; what comes at the same time keeps its order.
  fileprivate mutating func order(by time: (Element) -> TimeSpan) {
    guard zip(self, dropFirst()).contains(where: { time($0) > time($1) }) else { return }
    self = enumerated().sorted {
      (time($0.element), $0.offset) < (time($1.element), $1.offset)
    }.map(\.element)
  }
}
