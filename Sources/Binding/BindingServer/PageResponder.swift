#if BindingServer
  internal import BindingMachines
  internal import Foundation
  internal import HTTPTypes
  internal import HummingbirdCore
  internal import Logging
  internal import NIOCore
  internal import NIOHTTPTypes
  internal import ServiceLifecycle

  /// Answers requests: pages and files, the stream of events down, messages up.
  ///
  /// Its functions are concurrent, as hummingbird's are: a writer goes from none to another isolation.
  struct PageResponder: Sendable {
    let site: Site
    /// The content security policies of pages, by their paths.
    let policies: [String: String]
    /// The file of the page at the root.
    let start: String
    /// The further addresses of pages, with their files.
    let routes: [(route: PageRoute, file: String)]
    let access: AccessControl
    let live: LiveHost
    let uploadFolder: UploadFolder
    let streams = OpenStreams()
    let times: ConnectionTimes
    let logger: Logger

    @concurrent
    func respond(
      to request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel
    ) async throws {
      let port = channel.localAddress?.port ?? 0
      let (path, query) = Self.parts(of: request.head.path ?? "")
      let refusal = refusal(of: request, channel)
      let isIn = isAdmitted(request, port)
      guard refusal == nil, isIn, path == "/live", request.method == .post else {
        // Read an unused body, too; otherwise the client may not see the answer. One that waits for
        // leave to send its body gets the answer instead.
        let waits = Self.expectsContinue(request)
        if !waits, Self.hasBody(request),
          try await body(of: request, channel, isWanted: false) == nil
        {
          throw ConnectionEnd()
        }
        try await respond(to: request, path, query, refusal, isIn: isIn, writer, channel)
        if waits { throw ConnectionEnd() }
        return
      }
      try await takeMessage(request, query, writer, channel)
    }

    @concurrent
    private func respond(
      to request: Request, _ path: String, _ query: [String: String], _ refusal: Site.Refusal?,
      isIn: Bool, _ writer: consuming ResponseWriter, _ channel: any Channel
    ) async throws {
      if let refusal {
        return try await writer.write(.init(code: refusal.status), refusal.reason)
      }
      let port = channel.localAddress?.port ?? 0
      if !isIn {
        // Only GET uses the token up, not HEAD.
        guard request.method == .get, let token = query["token"],
          let cookie = access.cookie(
            for: token, port: port, isSecure: target(of: request, channel).scheme == "https",
            .init(address: channel.remoteAddress?.ipAddress, agent: request.headers[.userAgent]),
            user: { ConnectionUser.of(channel) })
        else {
          return try await writer.write(.unauthorized, Self.tokenMessage)
        }
        return try await writer.redirect(to: Self.withoutToken(request), cookie: cookie)
      }
      if query["token"] != nil {
        return try await writer.redirect(to: Self.withoutToken(request), cookie: nil)
      }
      switch (path, request.method) {
      case ("/live", .get): try await openStream(request, query, writer, channel)
      case ("/live", _): try await writer.refuse(allowed: "GET, POST")
      case (_, .get), (_, .head): try await sendFile(at: path, request, writer, channel)
      default: try await writer.refuse(allowed: "GET, HEAD")
      }
    }

    /// The path without its query, as it is written, and the parts of the query.
    static func parts(of target: String) -> (path: String, query: [String: String]) {
      let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      var query: [String: String] = [:]
      for pair in parts.dropFirst().first?.split(separator: "&") ?? [] {
        let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(sides[0])
        query[name] = sides.dropFirst().first.flatMap { String($0).removingPercentEncoding } ?? ""
      }
      return (String(parts.first ?? ""), query)
    }

    /// The target of a request, as it is written, without the token.
    private static func withoutToken(_ request: Request) -> String {
      let parts = (request.head.path ?? "").split(
        separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      let others =
        parts.dropFirst().first?.split(separator: "&")
        .filter { $0 != "token" && !$0.hasPrefix("token=") } ?? []
      return String(parts.first ?? "") + (others.isEmpty ? "" : "?" + others.joined(separator: "&"))
    }

    // MARK: Live

    /// Ends the streams of browsers whose sessions other processes have ended.
    func endRefusedStreams() {
      access.refresh()
      streams.endAll { access.isAdmitted($0) }
    }

    @concurrent
    private func openStream(
      _ request: Request, _ query: [String: String], _ writer: consuming ResponseWriter,
      _ channel: any Channel
    ) async throws {
      guard access.isFromHere(request.headers, target(of: request, channel)) else {
        return try await writer.write(.forbidden, "Streams are only for this server's own pages.")
      }
      guard let tabs = Self.tabs(in: query["tab"] ?? "") else {
        return try await writer.write(.badRequest, "tab is the name of a tab, or of several.")
      }
      let session = access.session(request.headers, port: channel.localAddress?.port ?? 0)
      let requests = Self.addresses(in: query["at"] ?? "").map { path, query in
        var request = PageRequest(query: query, session: session)
        request.address = path
        return request
      }
      let missingCount = max(0, tabs.count - requests.count)
      let others = Array(repeating: PageRequest(session: session), count: missingCount)
      switch await live.open(tabs, requests + others) {
      case .failure(let refused):
        let status: HTTPResponse.Status =
          switch refused.reason {
          case .noRoom: .serviceUnavailable
          case .unknownPage: .notFound
          case .badTabs: .badRequest
          }
        try await writer.write(status, "No stream for these tabs: \(refused.reason).")
      case .success(let (stream, pipe)):
        if let session { streams.add(stream, of: session, pipe) }
        defer { streams.remove(stream) }
        try await send(pipe, as: stream, writer, channel)
      }
    }

    /// The tabs' addresses, encoded and with commas between: paths from the server's root on, and queries.
    private static func addresses(in text: String) -> [(path: String, query: [String: String])] {
      text.split(separator: ",", omittingEmptySubsequences: false).map { encoded in
        let address = encoded.removingPercentEncoding ?? ""
        let path = file(at: "/" + address.prefix { $0 != "?" }, start: "") ?? ""
        // Forms write a plus for a space.
        let text = address.drop { $0 != "?" }.replacing("+", with: "%20")
        let pairs = parts(of: String(text)).query.filter { !$0.key.isEmpty }
        let query = Dictionary(pairs.map { ($0.removingPercentEncoding ?? $0, $1) }) {
          _, last in last
        }
        return (path, query)
      }
    }

    /// The names of tabs in a query; nil if one is invalid.
    private static func tabs(in text: String) -> [TabName]? {
      let names = text.split(separator: ",", omittingEmptySubsequences: false)
      let tabs = names.compactMap { TabName($0) }
      return tabs.count == names.count ? tabs : nil
    }

    /// Sends what comes through the pipe until either side ends. Ends at once when the server is to
    /// shut down, and when the client has closed its connection, which is noticed without a write.
    @concurrent
    private func send(
      _ pipe: EventPipe, as stream: StreamID, _ writer: consuming ResponseWriter,
      _ channel: any Channel
    ) async throws {
      defer {
        pipe.finish()
        live.closed(stream)
      }
      try await channel.onInputClosed { pipe.finish() }
      _ = try await writer.writeHead(HTTPResponse(status: .ok, headerFields: Self.streamFields))
      await withGracefulShutdownHandler {
        await pipe.run(on: channel, head: Self.streamHead)
      } onGracefulShutdown: {
        pipe.finish()
      }
      channel.close(after: times.streamEnd)
      // Waits until all has left: closing drops what hasn't.
      try await channel.writeAndFlush(HTTPResponsePart.end(nil))
      throw ConnectionEnd()
    }

    /// How long a browser waits before it connects again, in milliseconds.
    private static let streamHead = Array("retry: 500\n\n".utf8)

    private static let streamFields: HTTPFields = {
      var fields: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store",
        .xContentTypeOptions: "nosniff",
      ]
      if let buffering = HTTPField.Name("X-Accel-Buffering") { fields[buffering] = "no" }
      return fields
    }()

    @concurrent
    private func takeMessage(
      _ request: Request, _ query: [String: String], _ writer: consuming ResponseWriter,
      _ channel: any Channel
    ) async throws {
      let isFromHere = access.isFromHere(request.headers, target(of: request, channel))
      if !isFromHere, access.noteForeignOrigin() { reportForeignOrigin(of: request) }
      if Self.expectsContinue(request) {
        guard isFromHere else {
          try await writer.write(.forbidden, Self.foreignMessage)
          throw ConnectionEnd()
        }
        if !Self.isTooLong(request) {
          try await writer.writeInformationalHead(HTTPResponse(status: .continue))
        }
      }
      guard let body = try await body(of: request, channel, isWanted: isFromHere) else {
        try await writer.write(.contentTooLarge, "A message is shorter.")
        throw ConnectionEnd()
      }
      guard isFromHere else {
        return try await writer.write(.forbidden, Self.foreignMessage)
      }
      // The session may have been ended while the body came.
      guard isAdmitted(request, channel.localAddress?.port ?? 0) else {
        return try await writer.write(.unauthorized, Self.tokenMessage)
      }
      guard body.count <= BindingLimits.bodyByteCountMax else {
        return try await writer.write(.contentTooLarge, "A message is shorter.")
      }
      if query["upload"] != nil { return try await takePart(request, body, writer) }
      // With the names of tabs, and without a message, it is a sign of life, or of the end.
      if let names = query["tab"] ?? query["left"] {
        guard let tabs = Self.tabs(in: names), tabs.count <= BindingLimits.tabCountMax else {
          return try await writer.write(.badRequest, "tab is the name of a tab, or of several.")
        }
        guard query["tab"] == nil else {
          return try await write(await live.takeBeat(of: tabs), writer)
        }
        await live.leave(tabs)
        return try await write(.accepted, writer)
      }
      let message: PageMessage
      do throws(PageMessage.Fault) {
        message = try PageMessage(body)
      } catch {
        switch error {
        case .malformed(let why): return try await writer.write(.badRequest, why)
        case .tooLarge(let what):
          return try await writer.write(.contentTooLarge, "The request is too large: \(what).")
        }
      }
      try await write(await live.receive(message), writer)
    }

    @concurrent
    private func write(
      _ answer: LiveMachine.Answer, _ writer: consuming ResponseWriter
    ) async throws {
      switch answer {
      case .accepted:
        try await writer.writeResponse(
          HTTPResponse(status: .noContent, headerFields: [.cacheControl: "no-store"]))
      case .conflict:
        try await writer.write(.conflict, "Another view model is shown: take a snapshot.")
      case .malformed(let why): try await writer.write(.badRequest, why)
      }
    }

    /// Why a request isn't for this server; nil if it is.
    private func refusal(of request: Request, _ channel: any Channel) -> Site.Refusal? {
      // The first Host is the authority; a second one is among the fields (RFC 9112 §3.2).
      if request.headers.contains(where: { $0.name.canonicalName == "host" }) {
        return Site.Refusal(status: 400, reason: "A request must have one Host field.")
      }
      guard access.isForThisHost(target(of: request, channel).authority) else {
        return Site.Refusal(status: 421, reason: "The Host field does not match this server.")
      }
      return nil
    }

    /// The address that the client has used, which a reverse proxy may report.
    private func target(of request: Request, _ channel: any Channel) -> AccessControl.Target {
      access.target(
        request.headers, authority: request.head.authority,
        peer: channel.remoteAddress?.ipAddress)
    }

    private func isAdmitted(_ request: Request, _ port: Int) -> Bool {
      !access.needsToken || access.session(request.headers, port: port) != nil
    }

    /// Reports the first message of a page at another address: an attack, or a proxy that isn't known.
    private func reportForeignOrigin(of request: Request) {
      let origin = (request.headers[.origin] ?? "another site").filter { !$0.isNewline }
      logger.warning(
        """
        a message of a page at \(origin.prefix(100)) was refused, as all of such pages are; if a proxy serves \
        that page, name the page's address as the public one
        """)
    }

    private static let tokenMessage =
      "Open the address that the program prints; it holds for one browser."
    private static let foreignMessage =
      "Messages are only accepted from this server's own pages. Behind a reverse proxy, the server "
      + "needs its public address."

    private static func hasBody(_ request: Request) -> Bool {
      request.headers[.transferEncoding] != nil || request.headers[.contentLength] ?? "0" != "0"
    }

    /// Whether a client waits for an interim response before it sends the body.
    private static func expectsContinue(_ request: Request) -> Bool {
      request.headers[.expect]?.lowercased() == "100-continue"
    }

    private static let readByteCountMax = 8 * BindingLimits.bodyByteCountMax

    /// Whether a body is so long that it isn't even read.
    private static func isTooLong(_ request: Request) -> Bool {
      request.headers[.contentLength].flatMap { Int($0) } ?? 0 > readByteCountMax
    }

    /// A request's body; nil if it is so long that it isn't even read. One that is merely too long is
    /// read, so that the client, which writes it first, sees the answer, but not kept whole.
    private func body(
      of request: Request, _ channel: any Channel, isWanted: Bool
    ) async throws -> [UInt8]? {
      let keptByteCountMax = isWanted ? BindingLimits.bodyByteCountMax : 0
      if Self.isTooLong(request) { return nil }
      return try await channel.closing(after: times.request) {
        var count = 0
        var bytes: [UInt8] = []
        for try await part in request.body {
          count += part.readableBytes
          if bytes.count <= keptByteCountMax { bytes += part.readableBytesView }
          guard count <= Self.readByteCountMax else { return nil }
        }
        return bytes
      }
    }

    // MARK: Files

    @concurrent
    private func sendFile(
      at path: String, _ request: Request, _ writer: consuming ResponseWriter,
      _ channel: any Channel
    ) async throws {
      guard let name = Self.file(at: path, start: start) else {
        return try await writer.write(.notFound, "There is no such file.")
      }
      let file = routes.first { $0.route.parameters(of: name) != nil }?.file ?? name
      let own = Self.ownFiles[file].map { Site.Resource($0) }
      let found: Site.Resource?
      do throws(Site.Refusal) {
        found = if let own { own } else { try await site.resource(at: file) }
      } catch {
        return try await writer.write(.init(code: error.status), error.reason)
      }
      guard let resource = found else {
        return try await writer.write(.notFound, "There is no such file.")
      }
      let version = resource.version ?? Self.version(of: resource.bytes)
      var fields: HTTPFields = [
        .contentType: resource.mediaType ?? MediaType.of(file), .cacheControl: "no-cache",
        .eTag: "\"\(version)\"", .xContentTypeOptions: "nosniff",
        .contentSecurityPolicy: policies[file] ?? ContentSecurityPolicy.text(),
      ]
      if let policy = HTTPField.Name("Referrer-Policy") { fields[policy] = "no-referrer" }
      if request.headers[.ifNoneMatch] == "\"\(version)\"" {
        return try await writer.writeResponse(
          HTTPResponse(status: .notModified, headerFields: fields))
      }
      fields[.contentLength] = "\(resource.bytes.count)"
      let head = HTTPResponse(status: .ok, headerFields: fields)
      guard request.method != .head else { return try await writer.writeResponse(head) }
      let (bytes, partByteCount) = (resource.bytes, Self.partByteCount)
      guard bytes.count > partByteCount else {
        try await writer.write(
          response: head, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        return try await channel.waitForEventLoop()
      }
      // Part for part, as the client takes them: an answer that is all written counts as over, and its
      // connection as idle.
      try await channel.waitForEachWrite()
      var body = try await writer.writeHead(head)
      for start in stride(from: 0, to: bytes.count, by: partByteCount) {
        let part = ByteBuffer(bytes: bytes[start..<min(start + partByteCount, bytes.count)])
        try await body.write(part)
        try await channel.waitForEventLoop()
      }
      // Nothing more, but not before the last part has left.
      try await body.write(ByteBuffer())
      try await body.finish(nil)
    }

    private static let partByteCount = 64 * 1_024

    /// The name of the site's file for a request's path; nil if the path is invalid. No part of it
    /// is empty, hidden or `..`, even after decoding, so that the path can't leave the site.
    static func file(at path: String, start: String) -> String? {
      guard path.hasPrefix("/"), let decoded = path.removingPercentEncoding else { return nil }
      if decoded == "/" { return start }
      let names = decoded.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
      let isFit = names.allSatisfy { name in
        !name.isEmpty && !name.hasPrefix(".")
          && !name.unicodeScalars.contains {
            $0 == "\\" || $0.properties.generalCategory == .control
          }
      }
      // A percent-encoded slash doesn't separate names.
      let isWritten = path.count(where: { $0 == "/" }) == names.count
      return isFit && isWritten ? names.joined(separator: "/") : nil
    }

    private static func version(of bytes: [UInt8]) -> String {
      SHA256.digest(of: bytes).prefix(12).map { String($0, radix: 36) }.joined(separator: ".")
    }

    private static let ownFiles = [
      "binding.js": PackageResources.binding_min_js, "binding.css": PackageResources.binding_css,
    ]
  }

  /// Ends a connection: what still comes from its client isn't read.
  private struct ConnectionEnd: Error {}

  /// What a page may load and run: its own.
  enum ContentSecurityPolicy {
    static func text(allowsWebAssembly: Bool = false) -> String {
      let scripts = "'self'" + (allowsWebAssembly ? " 'wasm-unsafe-eval'" : "")
      return "default-src 'self'; script-src \(scripts); img-src 'self' data: blob:; "
        + "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    }
  }

  extension ResponseWriter {
    /// Writes a short answer for people.
    @concurrent
    consuming func write(_ status: HTTPResponse.Status, _ text: String) async throws {
      let bytes = ByteBuffer(string: text + "\n")
      let fields: HTTPFields = [
        .contentType: "text/plain; charset=utf-8", .cacheControl: "no-store",
        .contentLength: "\(bytes.readableBytes)", .xContentTypeOptions: "nosniff",
      ]
      try await write(
        response: HTTPResponse(status: status, headerFields: fields),
        body: ResponseBody(byteBuffer: bytes))
    }

    @concurrent
    consuming func refuse(allowed: String) async throws {
      try await writeResponse(
        HTTPResponse(
          status: .methodNotAllowed, headerFields: [.allow: allowed, .contentLength: "0"]))
    }

    @concurrent
    consuming func redirect(to path: String, cookie: String?) async throws {
      // Of two slashes at the beginning a browser takes what follows for a host.
      let path = "/" + path.drop { $0 == "/" || $0 == "\\" }
      var fields: HTTPFields = [
        .location: path, .cacheControl: "no-store", .contentLength: "0",
      ]
      fields[.setCookie] = cookie
      try await writeResponse(HTTPResponse(status: .seeOther, headerFields: fields))
    }
  }
#endif
