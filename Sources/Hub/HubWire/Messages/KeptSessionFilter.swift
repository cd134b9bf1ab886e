import Essentials

/// The sessions of ended programs that a hub is to forget.
package struct KeptSessionFilter: Hashable, Sendable {
  /// The name of their app; nil for all apps. Of a name longer than ``HubStatus/nameByteCountMax`` its beginning, as
  /// the state of the hub has it, is enough.
  package var app: String?
  /// Their user; nil for all users whose sessions the asking program may have forgotten.
  package var userID: UInt32?

  package init(app: String? = nil, userID: UInt32? = nil) {
    self.app = app
    self.userID = userID
  }

  /// Whether a session of an app of a user is meant.
  package func contains(app: String, userID: UInt32) -> Bool {
    if let wanted = self.userID, wanted != userID { return false }
    guard let wanted = self.app else { return true }
    if wanted == app { return true }
    // A hub compares with each kept session: only long names cost copies.
    return app.utf8.count > HubStatus.nameByteCountMax
      && Array(wanted.utf8)[...] == Array(app.utf8).utf8Prefix(HubStatus.nameByteCountMax)
  }
}

extension KeptSessionFilter: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.enclosed { coder throws(HubWireError) in
      try KeptSessionFilter(
        app: coder.field(value) { $0.app }, userID: coder.field(value) { $0.userID })
    }
  }
}
