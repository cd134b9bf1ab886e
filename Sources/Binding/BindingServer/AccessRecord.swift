#if BindingServer
  internal import Essentials
  internal import Foundation
  internal import StateFiles

  /// The content of an access file: the key that signs cookies, the admitted browsers, invitations and
  /// running servers. Lines with other first words are ignored.
  struct AccessRecord: Hashable {
    /// A browser that has a cookie.
    struct Session: Hashable {
      /// The name in the cookie.
      var id: String
      /// Seconds since 1970, as all times of the file.
      var admittedAt: Int
      var end: Int
      /// The port of the server.
      var port: Int
      /// The address of its connection; `-` if unknown.
      var peer: String
      /// The `User-Agent` field, without control characters.
      var agent: String
    }

    /// A token that admits one browser, known by its digest only.
    struct Invitation: Hashable {
      var digest: String
      var end: Int
    }

    /// A process that serves pages.
    struct Server: Hashable {
      var process: Int32
      /// When the process began, which another process with its number doesn't share.
      var start: UInt64
      var port: Int
      var address: String
    }

    var key: [UInt8]
    var sessions: [Session] = []
    var invitations: [Invitation] = []
    var servers: [Server] = []

    static let keyByteCount = 32
    /// The oldest session ends when there are more.
    static let sessionCountMax = 256
    static let invitationCountMax = 16
    static let agentByteCountMax = 160

    private static let form = ChecksummedText(
      name: "ambit page access", version: 1, byteCountMax: 256 * 1_024)
    static let byteCountMax = form.byteCountMax

    /// A record with a new key.
    init() { key = AccessControl.randomBytes(Self.keyByteCount) }

    /// Decodes a file.
    init(decoding bytes: [UInt8]) throws(StateFileDecodingError) {
      var key: [UInt8]?
      for line in try Self.form.lines(of: bytes) {
        let text = String(decoding: line, as: UTF8.self)
        let words = text.split(separator: " ", maxSplits: 6, omittingEmptySubsequences: false)
          .map(String.init)
        switch words.first {
        case "key": key = key ?? Hexadecimal.bytes(words.dropFirst().first ?? "")
        case "session": if let session = Session(words) { sessions.append(session) }
        case "invitation": if let invitation = Invitation(words) { invitations.append(invitation) }
        case "server": if let server = Server(words) { servers.append(server) }
        default: break
        }
      }
      guard let key, key.count == Self.keyByteCount else { throw .damaged("it has no key") }
      self.key = key
    }

    /// The file of the record, without ended sessions.
    ///
    /// - Parameter now: Seconds since 1970.
    mutating func file(now: Int) -> [UInt8] {
      sessions.removeAll { $0.end <= now }
      invitations.removeAll { $0.end <= now }
      servers.removeAll { !$0.isRunning }
      sessions = sessions.suffix(Self.sessionCountMax)
      invitations = invitations.suffix(Self.invitationCountMax)
      let lines =
        ["key \(Hexadecimal.string(key))"]
        + sessions.map {
          "session \($0.id) \($0.admittedAt) \($0.end) \($0.port) \($0.peer) \($0.agent)"
        }
        + invitations.map { "invitation \($0.digest) \($0.end)" }
        + servers.map { "server \($0.process) \($0.start) \($0.port) \($0.address)" }
      return Self.form.file(of: Array(lines.map { $0 + "\n" }.joined().utf8))
    }
  }

  extension AccessRecord.Session {
    init(
      id: String, admittedAt: Int, end: Int, port: Int, from peer: String?, agent: String?
    ) {
      self.init(
        id: id, admittedAt: admittedAt, end: end, port: port,
        peer: peer.flatMap { $0.contains(where: \.isWhitespace) ? nil : $0 } ?? "-",
        agent: Self.line(agent ?? ""))
    }

    /// A text as a part of a line of the file, which no client can end.
    private static func line(_ text: String) -> String {
      let scalars = text.unicodeScalars.filter { scalar in
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
      }
      let bytes = Array(String(String.UnicodeScalarView(scalars)).utf8)
      return String(
        decoding: bytes.utf8Prefix(AccessRecord.agentByteCountMax), as: UTF8.self)
    }

    fileprivate init?(_ words: [String]) {
      guard words.count == 7, let admittedAt = Int(words[2]), let end = Int(words[3]),
        let port = Int(words[4])
      else { return nil }
      self.init(
        id: words[1], admittedAt: admittedAt, end: end, port: port, peer: words[5],
        agent: words[6])
    }
  }

  extension AccessRecord.Invitation {
    fileprivate init?(_ words: [String]) {
      guard words.count == 3, let end = Int(words[2]) else { return nil }
      self.init(digest: words[1], end: end)
    }

    /// The digest by which a token is found.
    static func digest(of token: String) -> String {
      Hexadecimal.string(SHA256.digest(of: Array(token.utf8)))
    }
  }

  extension AccessRecord.Server {
    fileprivate init?(_ words: [String]) {
      guard words.count == 5, let process = Int32(words[1]), let start = UInt64(words[2]),
        let port = Int(words[3])
      else { return nil }
      self.init(process: process, start: start, port: port, address: words[4])
    }

    /// This process.
    init(port: Int, address: String) {
      self.init(
        process: getpid(), start: Self.start(of: getpid()) ?? 0, port: port, address: address)
    }

    /// Whether the process hasn't ended.
    var isRunning: Bool { Self.start(of: process) == start }

    /// When a process began, in the kernel's unit after the boot (proc(5)); nil if it has ended.
    private static func start(of process: Int32) -> UInt64? {
      guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
        // The second field is a name that may have blanks and parentheses.
        let name = stat.lastIndex(of: ")")
      else { return nil }
      let fields = stat[name...].split(separator: " ")
      return fields.count > 20 ? UInt64(fields[20]) : nil
    }
  }
#endif
