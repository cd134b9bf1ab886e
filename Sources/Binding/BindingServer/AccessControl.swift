#if BindingServer
  internal import Essentials
  internal import Foundation
  internal import HTTPTypes
  internal import Synchronization

  /// Decides which requests are allowed: by their host, by their origin, and by a cookie where the
  /// server can be reached from other machines.
  final class AccessControl: Sendable {
    private let names: Set<String>
    private let proxies: TrustedProxies
    /// The origin of pages at the public address, which a proxy may not report.
    private let publicOrigin: String?
    let needsToken: Bool
    private let key: [UInt8]
    /// Whether cookies outlive this run. Those of a key made for this run don't expire: a small
    /// machine's clock may be at 1970 when it starts.
    private let isKeyKept: Bool
    /// The sessions in the file of the key; nil if every signed cookie holds.
    private let list: AccessList?
    private let now: @Sendable () -> TimeInterval
    /// Tokens that haven't been used yet.
    private let tokens = Mutex<[Token]>([])
    private let hasRefusedOrigin = Mutex(false)

    private struct Token {
      var text: String
      /// The only user of this machine that the token lets in; nil for anyone.
      var user: UInt32?
    }

    /// At most this many unused tokens are kept; the oldest are dropped for new ones.
    private static let tokenCountMax = 16
    private static let cookieLifetime: TimeInterval = 30 * 24 * 3_600

    /// - Parameters:
    ///   - names: Names of the host beside `localhost`.
    ///   - proxies: The reverse proxies whose fields are believed.
    ///   - publicAddress: Where browsers find the server; nil for its own address.
    ///   - key: What cookies are signed with; nil for one of this run.
    ///   - list: The sessions that hold, of those that were signed; nil for all.
    ///   - now: Seconds since 1970.
    init(
      names: [String], proxies: TrustedProxies = TrustedProxies(), publicAddress: URL? = nil,
      needsToken: Bool, key: [UInt8]?, list: AccessList? = nil,
      now: @escaping @Sendable () -> TimeInterval = { Date().timeIntervalSince1970 }
    ) {
      self.names = Set(names.map { $0.lowercased() }).union(["localhost"])
      self.proxies = proxies
      publicOrigin = publicAddress.flatMap(Self.origin)
      self.needsToken = needsToken
      self.key = key ?? Self.randomBytes(32)
      isKeyKept = key != nil
      self.list = list
      self.now = now
    }

    // MARK: The host

    /// Whether a request is for this server by a name that it knows, or by an address. A page of
    /// elsewhere whose name is made to lead here (DNS rebinding) is not.
    func isForThisHost(_ authority: String?) -> Bool {
      guard let authority else { return false }
      guard let host = Self.host(of: authority) else { return false }
      return names.contains(host) || Self.isAddress(host)
    }

    /// The host of an authority, without its port, in lower case; nil if more than a port follows the host (RFC 9110,
    /// section 7.2): of two hosts one may be another's.
    private static func host(of authority: String) -> String? {
      let text = authority.lowercased()
      let isLiteral = text.hasPrefix("[")
      let host = isLiteral ? text.dropFirst().prefix { $0 != "]" } : text.prefix { $0 != ":" }
      let rest = text[host.endIndex...].dropFirst(isLiteral ? 1 : 0)
      guard !isLiteral || host.endIndex < text.endIndex,
        rest.isEmpty || (rest.first == ":" && rest.dropFirst().utf8.allSatisfy { 48...57 ~= $0 })
      else { return nil }
      return String(host)
    }

    private static func isAddress(_ host: String) -> Bool {
      var v4 = in_addr()
      var v6 = in6_addr()
      return inet_pton(AF_INET, host, &v4) == 1 || inet_pton(AF_INET6, host, &v6) == 1
    }

    // MARK: The origin

    /// How a client has addressed the server.
    struct Target: Equatable {
      var scheme: String
      var authority: String?
    }

    /// The target of a request: that of its connection, or of the one to the trusted proxy that it
    /// came by. Of several values the last one is that of the trusted proxy.
    func target(_ fields: HTTPFields, authority: String?, peer: String?) -> Target {
      let direct = Target(scheme: "http", authority: authority)
      guard let peer, proxies.contains(peer) else { return direct }
      func last(_ name: HTTPField.Name) -> String? {
        fields[name]?.split(separator: ",").last?.trimmingCharacters(in: .whitespaces)
      }
      return Target(
        scheme: last(Self.forwardedScheme)?.lowercased() ?? direct.scheme,
        authority: last(Self.forwardedHost) ?? authority)
    }

    /// Whether a request comes from a page of this server, or from no page, by its `Sec-Fetch-Site`
    /// and `Origin` fields. A page at the public address is one, also where no proxy reports it.
    ///
    /// A proxy that isn't known to be one may have ended TLS. Then the browser's own word, which it
    /// only gives for TLS and for this machine, counts for the scheme.
    func isFromHere(_ fields: HTTPFields, _ target: Target) -> Bool {
      let site = fields[Self.fetchSite]
      if let site, site != "same-origin", site != "none" { return false }
      guard let origin = fields[.origin]?.lowercased() else { return true }
      guard let separator = origin.range(of: "://") else { return false }
      let scheme = String(origin[..<separator.lowerBound])
      if Self.withoutDefaultPort(origin, scheme) == publicOrigin { return true }
      guard scheme == target.scheme || site == "same-origin", let authority = target.authority
      else { return false }
      return Self.withoutDefaultPort(String(origin[separator.upperBound...]), scheme)
        == Self.withoutDefaultPort(authority.lowercased(), scheme)
    }

    /// The origin of an address, as browsers write it.
    private static func origin(of address: URL) -> String? {
      guard let scheme = address.scheme?.lowercased(), let host = address.host()?.lowercased()
      else { return nil }
      let authority = host.contains(":") ? "[\(host)]" : host
      let port = address.port.map { ":\($0)" } ?? ""
      return withoutDefaultPort("\(scheme)://\(authority)\(port)", scheme)
    }

    /// Whether a refusal of another origin is the first one of this run.
    func noteForeignOrigin() -> Bool {
      hasRefusedOrigin.withLock { hasRefused in
        defer { hasRefused = true }
        return !hasRefused
      }
    }

    /// Browsers leave out the default port of a scheme; proxies may write it.
    private static func withoutDefaultPort(_ authority: String, _ scheme: String) -> String {
      let port = scheme == "https" ? ":443" : ":80"
      return authority.hasSuffix(port) ? String(authority.dropLast(port.count)) : authority
    }

    private static let fetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .origin
    private static let forwardedHost = HTTPField.Name("X-Forwarded-Host") ?? .origin
    private static let forwardedScheme = HTTPField.Name("X-Forwarded-Proto") ?? .origin

    // MARK: Tokens and cookies

    /// A token that lets one browser in, once.
    ///
    /// - Parameter user: The only user of this machine that it lets in; nil for anyone.
    func makeToken(onlyFor user: UInt32? = nil) -> String {
      let token = Self.makeTokenText()
      tokens.withLock { tokens in
        tokens.append(Token(text: token, user: user))
        if tokens.count > Self.tokenCountMax { tokens.removeFirst() }
      }
      return token
    }

    static func makeTokenText() -> String { Hexadecimal.string(randomBytes(24)) }

    /// A browser that is admitted, as far as its request shows it.
    struct Visitor {
      var address: String?
      var agent: String?
    }

    /// Trades a token for a cookie; nil if it isn't one, or was used, or is another user's.
    ///
    /// - Parameters:
    ///   - visitor: What the list of sessions shows of the browser.
    ///   - isSecure: Whether the browser is to send it over TLS only.
    ///   - user: The user at the other end of the connection; nil if unknown. Only looked up for a token
    ///     that needs it.
    func cookie(
      for token: String, port: Int, isSecure: Bool = false, _ visitor: Visitor = Visitor(),
      user: () -> UInt32? = { nil }
    ) -> String? {
      let isKnown = tokens.withLock { tokens in
        // All tokens are compared, so that the time doesn't depend on the match.
        let matches = tokens.map { Self.isEqual($0.text, token) }
        guard let index = matches.firstIndex(of: true) else { return false }
        if let owner = tokens[index].user, owner != user() { return false }
        tokens.remove(at: index)
        return true
      }
      let time = Int(now())
      guard isKnown || list?.redeem(token, now: time) == true else { return nil }
      let end = time + Int(Self.cookieLifetime)
      let id = Hexadecimal.string(Self.randomBytes(16))
      list?.admit(
        .init(
          id: id, admittedAt: time, end: end, port: port, from: visitor.address,
          agent: visitor.agent))
      let name = "\(id).\(end)"
      let value = "\(name).\(signature(of: name))"
      return "\(Self.cookieName(port))=\(value); HttpOnly; SameSite=Lax; Path=/; "
        + "Max-Age=\(Int(Self.cookieLifetime))" + (isSecure ? "; Secure" : "")
    }

    /// The session of a request's cookie that was signed here and holds; nil if there is none.
    func session(_ fields: HTTPFields, port: Int) -> String? {
      for cookie in fields[values: .cookie].flatMap({ $0.split(separator: ";") }) {
        let parts = cookie.split(separator: "=", maxSplits: 1)
        guard parts.count == 2,
          parts[0].trimmingCharacters(in: .whitespaces) == Self.cookieName(port)
        else { continue }
        let value = parts[1].trimmingCharacters(in: .whitespaces)
        let id = String(value.prefix { $0 != "." })
        if isValid(value), isAdmitted(id) { return id }
      }
      return nil
    }

    /// Whether a session hasn't been ended.
    func isAdmitted(_ id: String) -> Bool { list?.isAdmitted(id) ?? true }

    /// Reads what other processes have changed.
    func refresh() { list?.refresh(now: Int(now())) }

    /// Whether other processes can end sessions.
    var isShared: Bool { list != nil }

    /// Enters a server among those that invitations are for, or removes it.
    func setRunning(_ isRunning: Bool, _ server: AccessRecord.Server) {
      list?.setRunning(isRunning, server, now: Int(now()))
    }

    /// Whether the value of a cookie was signed here and holds.
    func isValid(_ value: String) -> Bool {
      let parts = value.split(separator: ".")
      guard parts.count == 3, let end = Double(parts[1]) else { return false }
      return Self.isEqual(signature(of: "\(parts[0]).\(parts[1])"), String(parts[2]))
        && (!isKeyKept || end > now())
    }

    /// Cookies are the same for all ports of a host; this server's isn't another's.
    private static func cookieName(_ port: Int) -> String { "ambit-\(port)" }

    private func signature(of text: String) -> String {
      Hexadecimal.string(SHA256.authenticationCode(of: Array(text.utf8), key: key))
    }

    static func randomBytes(_ count: Int) -> [UInt8] {
      var random = SystemRandomNumberGenerator()
      return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    /// Compares in a time that depends on the length only.
    private static func isEqual(_ a: String, _ b: String) -> Bool {
      let (a, b) = (Array(a.utf8), Array(b.utf8))
      guard a.count == b.count else { return false }
      return zip(a, b).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
  }
#endif
