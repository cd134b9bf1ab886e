import BluetoothInterface
import Essentials

extension HubStatus: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    var status = try HubStatus(
      version: coder.name(value) { $0.version }, processID: coder.field(value) { $0.processID },
      uptime: coder.field(value) { $0.uptime }, radio: coder.field(value) { $0.radio },
      counts: coder.field(value) { $0.counts }, programs: coder.field(value) { $0.programs },
      links: coder.field(value) { $0.links })
    // A field is written if a later one is.
    if value?.networkProblem != nil || value?.bondFile != nil {
      status.networkPrograms = try coder.addedField(value, default: []) { $0.networkPrograms }
    } else {
      status.networkPrograms = try coder.lastAddedField(value, default: []) { $0.networkPrograms }
    }
    if value?.bondFile != nil {
      status.networkProblem = try coder.addedField(value, default: nil) { $0.networkProblem }
    } else {
      status.networkProblem = try coder.lastAddedField(value, default: nil) { $0.networkProblem }
    }
    status.bondFile = try coder.lastAddedField(value, default: nil) { $0.bondFile }
    return status
  }
}

extension HubStatus.BondFile: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try HubStatus.BondFile(
        path: coder.identity(value) { $0.path }, problem: coder.field(value) { $0.problem },
        bondCount: coder.field(value) { $0.bondCount })
    }
  }
}

extension HubStatus.Radio: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try HubStatus.Radio(
        name: coder.field(value) { $0.name }, state: coder.field(value) { $0.state },
        address: coder.field(value) { $0.address }, problem: coder.field(value) { $0.problem },
        isSimulated: coder.field(value) { $0.isSimulated })
    }
  }
}

extension HubStatus.Counts: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      var counts = HubStatus.Counts()
      counts.connectionCount = try coder.field(value) { $0.connectionCount }
      counts.otherProgramCount = try coder.field(value) { $0.otherProgramCount }
      counts.otherLinkCount = try coder.field(value) { $0.otherLinkCount }
      counts.refusedCount = try coder.field(value) { $0.refusedCount }
      counts.limitedRequestCount = try coder.field(value) { $0.limitedRequestCount }
      counts.droppedValueCount = try coder.field(value) { $0.droppedValueCount }
      counts.droppedReportCount = try coder.field(value) { $0.droppedReportCount }
      counts.expiredRequestCount = try coder.field(value) { $0.expiredRequestCount }
      counts.refusals = try coder.lastAddedField(value, default: HubStatus.Refusals()) {
        $0.refusals
      }
      return counts
    }
  }
}

extension HubStatus.Refusals: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      var refusals = HubStatus.Refusals()
      refusals.shortenedKeepingCount = try coder.field(value) { $0.shortenedKeepingCount }
      refusals.unkeptSessionCount = try coder.field(value) { $0.unkeptSessionCount }
      refusals.networkConnectionCount = try coder.field(value) { $0.networkConnectionCount }
      refusals.networkRequestCount = try coder.field(value) { $0.networkRequestCount }
      refusals.otherNetworkProgramCount = try coder.field(value) { $0.otherNetworkProgramCount }
      refusals.descriptorShortageCount = try coder.lastAddedField(value, default: 0) {
        $0.descriptorShortageCount
      }
      return refusals
    }
  }
}

extension HubStatus.NetworkProgram: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      var program = try HubStatus.NetworkProgram(
        processID: coder.field(value) { $0.processID }, userID: coder.field(value) { $0.userID },
        name: coder.name(value) { $0.name })
      program.serviceCount = try coder.field(value) { $0.serviceCount }
      program.recordCount = try coder.field(value) { $0.recordCount }
      program.browserCount = try coder.field(value) { $0.browserCount }
      program.queryCount = try coder.field(value) { $0.queryCount }
      program.waitingByteCount = try coder.field(value) { $0.waitingByteCount }
      return program
    }
  }

  static func codedList<C: HubCoder>(
    _ values: [Self]?, by coder: inout C
  ) throws(HubWireError) -> [Self] {
    try codedElements(values, max: HubStatus.networkProgramCountMax, by: &coder)
  }
}

extension HubStatus.Program: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      var program = try HubStatus.Program(
        connection: coder.field(value) { $0.connection }, app: coder.name(value) { $0.app },
        processID: coder.field(value) { $0.processID },
        userID: coder.field(value) { $0.userID }, age: coder.field(value) { $0.age })
      program.sessionCount = try coder.field(value) { $0.sessionCount }
      program.scanCount = try coder.field(value) { $0.scanCount }
      program.advertisementCount = try coder.field(value) { $0.advertisementCount }
      program.linkCount = try coder.field(value) { $0.linkCount }
      program.subscriptionCount = try coder.field(value) { $0.subscriptionCount }
      program.serviceCount = try coder.field(value) { $0.serviceCount }
      program.listenerCount = try coder.field(value) { $0.listenerCount }
      program.channelCount = try coder.field(value) { $0.channelCount }
      program.requestCount = try coder.field(value) { $0.requestCount }
      program.waitingByteCount = try coder.field(value) { $0.waitingByteCount }
      program.unhandledEventCount = try coder.field(value) { $0.unhandledEventCount }
      program.droppedCount = try coder.field(value) { $0.droppedCount }
      program.lateCount = try coder.field(value) { $0.lateCount }
      program.isHeldBack = try coder.field(value) { $0.isHeldBack }
      // A field is written if a later one is.
      if value?.lastUse != nil || value?.unit != nil {
        program.keptFor = try coder.addedField(value, default: .zero) { $0.keptFor }
      } else {
        program.keptFor = try coder.lastAddedField(value, default: .zero) { $0.keptFor }
      }
      if value?.unit != nil {
        program.lastUse = try coder.addedField(value, default: nil) { $0.lastUse }
      } else {
        program.lastUse = try coder.lastAddedField(value, default: nil) { $0.lastUse }
      }
      program.unit = try coder.lastAddedField(value, default: nil) { $0.unit.map(HubName.init) }?
        .text
      return program
    }
  }

  static func codedList<C: HubCoder>(
    _ values: [Self]?, by coder: inout C
  ) throws(HubWireError) -> [Self] {
    try codedElements(values, max: HubStatus.programCountMax, by: &coder)
  }
}

extension HubStatus.Link: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      var link = try HubStatus.Link(
        peer: coder.name(value) { $0.peer }, name: coder.optionalName(value) { $0.name },
        role: coder.field(value) { $0.role }, stage: coder.name(value) { $0.stage })
      link.isEncrypted = try coder.field(value) { $0.isEncrypted }
      link.isHeldBack = try coder.field(value) { $0.isHeldBack }
      link.queuedByteCount = try coder.field(value) { $0.queuedByteCount }
      link.operationCount = try coder.field(value) { $0.operationCount }
      link.users = try UInt64.codedElements(
        value?.users, max: HubStatus.userCountMax, by: &coder)
      link.userCount = try coder.field(value) { $0.userCount }
      return link
    }
  }

  static func codedList<C: HubCoder>(
    _ values: [Self]?, by coder: inout C
  ) throws(HubWireError) -> [Self] {
    try codedElements(values, max: HubStatus.linkCountMax, by: &coder)
  }
}

/// A name as a value of its own, which may be missing.
private struct HubName: HubCodable, Equatable {
  var text: String

  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try HubName(text: coder.name(value) { $0.text })
  }
}

extension HubCoder {
  /// A text of at most ``HubStatus/nameByteCountMax`` bytes. A longer one is cut between two characters.
  fileprivate mutating func name<Record>(
    _ record: Record?, _ get: (Record) -> String
  ) throws(HubWireError) -> String {
    let max = HubStatus.nameByteCountMax
    let text = record.map(get)
    let encoded = text.map { Array($0.utf8) }
    let bytes = try bytes(encoded.map { $0.utf8Prefix(max) }, max: max)
    if let text { return text }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
    return text
  }

  /// A name that may be missing.
  fileprivate mutating func optionalName<Record>(
    _ record: Record?, _ get: (Record) -> String?
  ) throws(HubWireError) -> String? {
    let text = record.map(get)
    guard try Bool.coded(text.map { $0 != nil }, by: &self) else { return nil }
    return try name(text.flatMap(\.self)) { $0 }
  }
}
