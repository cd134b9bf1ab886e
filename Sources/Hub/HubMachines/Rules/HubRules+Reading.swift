import Essentials
import JSONWire

/// Finds the numbers of users and groups.
package protocol AccountNames {
  /// The number of a user; nil if no user has this name.
  func userID(of name: String) -> UInt32?
  /// The number of a group; nil if no group has this name.
  func groupID(of name: String) -> UInt32?
  /// Whether this user namespace knows all users and groups of the machine.
  var areAllKnown: Bool { get }
}

/// The reason why a text has no valid rules.
package struct HubRulesError: Error, Hashable, Sendable, CustomStringConvertible {
  /// `line 3, column 5: rules[2].user: …`, without a full stop.
  package let description: String

  fileprivate init(_ fault: FileFault, in text: [UInt8]) {
    let position = fault.position(in: text).map { "line \($0.line), column \($0.column): " } ?? ""
    description = position + (fault.path.isEmpty ? "" : fault.path + ": ") + fault.reason
  }
}

extension HubRules {
  /// The maximum size of a file.
  package static let byteCountMax = 64 << 10
  /// The maximum number of rules: all are tried for each connection.
  package static let ruleCountMax = 256
  /// The maximum length of a name.
  private static let nameByteCountMax = 256

  /// Reads rules from JSON. Names of users and groups become numbers now, and not with each connection.
  ///
  /// - Parameters:
  ///   - names: The users and groups of this machine.
  ///   - limits: Those of the hub, which no quota may exceed.
  /// - Throws: The first mistake, with its place and the path of the value.
  package init(
    parsing text: [UInt8], names: some AccountNames, limits: HubLimits = HubLimits()
  ) throws(HubRulesError) {
    do throws(FileFault) {
      guard text.count <= Self.byteCountMax else {
        let reason = "a file of rules has at most \(Self.byteCountMax) bytes"
        throw FileFault(offset: nil, path: "", reason: reason)
      }
      let list = try JSONField(parsing: text).object(keys: ["rules"]).required("rules", "an array")
      var rules: [Rule] = []
      for field in try list.array(max: Self.ruleCountMax, of: "rules") {
        rules.append(try Self.rule(field, names, limits))
      }
      self.init(rules, knowsAllAccounts: names.areAllKnown)
    } catch { throw HubRulesError(error, in: text) }
  }

  private static func rule(
    _ field: JSONField, _ names: some AccountNames, _ limits: HubLimits
  ) throws(FileFault) -> Rule {
    let object = try field.object(keys: [
      "access", "user", "group", "unit", "socket", "quotas", "pairings",
    ])
    let access = try object.required("access", "\"allow\" or \"deny\"")
    guard let value = Access(rawValue: try access.string()) else {
      throw access.fault("expected \"allow\" or \"deny\"")
    }
    var rule = Rule(value)
    rule.userID = try object["user"].map { field throws(FileFault) in
      try number(field, "user", names) { names.userID(of: $0) }
    }
    rule.groupID = try object["group"].map { field throws(FileFault) in
      try number(field, "group", names) { names.groupID(of: $0) }
    }
    rule.unit = try object["unit"].map { field throws(FileFault) in try unit(field) }
    rule.socket = try object["socket"].map { field throws(FileFault) in try name(field) }
    if let quotas = object["quotas"] {
      guard value == .allow else { throw quotas.fault("a rule that denies has no quotas") }
      rule.quotas = try HubQuotas(quotas, limits)
    }
    if let pairings = object["pairings"] {
      guard value == .allow else { throw pairings.fault("a rule that denies has no pairings") }
      rule.attendsPairings = try pairings.bool()
    }
    return rule
  }

  /// The number of an account, which is given by name or by itself.
  private static func number(
    _ field: JSONField, _ kind: String, _ names: some AccountNames, _ find: (String) -> UInt32?
  ) throws(FileFault) -> UInt32 {
    let number: UInt32
    if field.isNumber {
      // The highest number means "no user" to the system.
      number = UInt32(try field.integer(0...Int(UInt32.max) - 1))
    } else {
      let name = try name(field)
      guard let found = find(name) else {
        let hint = UInt32(name) == nil ? "" : "; a number has no quotes"
        throw field.fault("\(JSON.quoted(name)) is no \(kind) of this machine\(hint)")
      }
      number = found
    }
    guard number != overflowID || names.areAllKnown else {
      throw field.fault("\(overflowID) is any \(kind) of another namespace; use \"socket\"")
    }
    return number
  }

  /// A name without control characters, which other programs would take for its end.
  private static func name(_ field: JSONField) throws(FileFault) -> String {
    let name = try field.string()
    guard 1...nameByteCountMax ~= name.utf8.count,
      name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
    else {
      throw field.fault("expected 1 to \(nameByteCountMax) bytes without control characters")
    }
    return name
  }

  private static func unit(_ field: JSONField) throws(FileFault) -> String {
    let name = try name(field)
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ ControlGroups.isUnit($0) }) else {
      throw field.fault(
        "expected a unit such as \"guide.service\" or \"user@1000.service/guide.service\"")
    }
    return name
  }
}

extension HubQuotas {
  fileprivate init(_ field: JSONField, _ limits: HubLimits) throws(FileFault) {
    let object = try field.object(keys: [
      "connections", "links", "scans", "services", "serviceBytes", "advertisements", "queuedBytes",
      "keep", "networkRequests",
    ])
    func quota(_ key: String, _ max: Int, from min: Int = 0) throws(FileFault) -> Int? {
      try object[key]?.integer(Swift.min(min, max)...max)
    }
    self.init()
    connectionCount = try quota("connections", limits.connectionCountPerProcessMax, from: 1)
    linkCount = try quota("links", limits.linkCountMax)
    scanCount = try quota("scans", limits.scanCountMax)
    serviceCount = try quota("services", limits.serviceCountMax)
    serviceByteCount = try quota("serviceBytes", limits.serviceByteCountMax)
    advertisementCount = try quota("advertisements", limits.advertisementCountMax)
    queuedByteCount = try quota(
      "queuedBytes", limits.waitingByteCountMax, from: Self.queuedByteCountMin)
    keptSeconds = try quota("keep", Int(limits.keptTimeMax.seconds))
    networkRequestCount = try quota("networkRequests", Self.networkRequestCountMax)
  }
}
