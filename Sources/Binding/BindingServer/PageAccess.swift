#if BindingServer
  public import Foundation
  internal import StateFiles

  /// The browsers that page servers with one ``PageServer/Configuration/keyFile`` have admitted. For
  /// another process of their user, such as a command; the servers notice a change within a second.
  ///
  /// All functions block until the file is read or written.
  public struct PageAccess: Sendable {
    /// A browser that was admitted.
    public struct Browser: Identifiable, Hashable, Sendable {
      /// Names the browser: hexadecimal digits, the beginning of those in its cookie.
      public var id: String
      /// When it was admitted.
      public var admittedAt: Date
      /// When its cookie expires.
      public var end: Date
      /// The port of the server that has admitted it.
      public var port: Int
      /// The address of its connection, or of the proxy's; nil if unknown.
      public var address: String?
      /// Its `User-Agent` field, which any client can choose.
      public var agent: String
    }

    /// How long an invitation holds, in seconds.
    public static let invitationTime = 3_600.0
    private static let idLength = 12

    private let file: AccessFile

    /// Refers to the servers that have a key file at a path.
    public init(keyFile: String) { file = AccessFile(path: keyFile) }

    /// The browsers whose cookies hold, in the order of their admission.
    ///
    /// - Throws: ``PageServerError`` with the code `badKeyFile`.
    public func browsers() throws(PageServerError) -> [Browser] {
      let record = try attempt { () throws(StateFileError) in try file.read() }
      return (record?.sessions ?? []).filter { $0.end > Self.now }.map { session in
        Browser(
          id: String(session.id.prefix(Self.idLength)),
          admittedAt: Date(timeIntervalSince1970: Double(session.admittedAt)),
          end: Date(timeIntervalSince1970: Double(session.end)), port: session.port,
          address: session.peer == "-" ? nil : session.peer, agent: session.agent)
      }
    }

    /// Ends the session of a browser: its streams are closed, and its cookie holds no more.
    ///
    /// - Parameter id: The browser's ``Browser/id``.
    /// - Returns: Whether there was one.
    /// - Throws: ``PageServerError`` with the code `badKeyFile`.
    @discardableResult
    public func end(_ id: String) throws(PageServerError) -> Bool {
      guard id.utf8.count >= Self.idLength else { return false }
      var isFound = false
      try attempt { () throws(StateFileError) in
        try file.change(now: Self.now) { record in
          let count = record.sessions.count
          record.sessions.removeAll { $0.id.hasPrefix(id) }
          isFound = record.sessions.count < count
          return isFound
        }
      }
      return isFound
    }

    /// Invites a browser.
    ///
    /// - Returns: The address to open, of each running server: one of them can be used, once, within
    ///   ``invitationTime``. Empty if no server runs; then there is no invitation.
    /// - Throws: ``PageServerError`` with the code `badKeyFile`.
    public func invite() throws(PageServerError) -> [String] {
      let token = AccessControl.makeTokenText()
      var addresses: [String] = []
      try attempt { () throws(StateFileError) in
        try file.change(now: Self.now) { record in
          addresses = record.servers.filter(\.isRunning).map { "\($0.address)?token=\(token)" }
          guard !addresses.isEmpty else { return false }
          record.invitations.append(
            .init(
              digest: AccessRecord.Invitation.digest(of: token),
              end: Self.now + Int(Self.invitationTime)))
          return true
        }
      }
      return addresses
    }

    private static var now: Int { Int(Date().timeIntervalSince1970) }

    private func attempt<Result>(
      _ body: () throws(StateFileError) -> Result
    ) throws(PageServerError) -> Result {
      do throws(StateFileError) { return try body() } catch {
        throw PageServerError(.badKeyFile, "\(file.path) can't be used: \(error.reason)")
      }
    }
  }
#endif
