#if Messaging
  package import Essentials
  package import XMPPWire

  /// Why a file was not received.
  package enum DownloadFailure: Error, Hashable, Sendable {
    /// No address of the file is one of `https`.
    case noAddress
    /// A host has only addresses that aren't public.
    case privateAddress(String)
    case tooManyRedirects
    /// A redirection leads to no address of `https`.
    case badRedirect
    /// The server refuses it, with this status of HTTP.
    case refused(Int)
    /// The file is larger than this, or than it was announced.
    case tooLarge(byteCountMax: Int64)
    /// It has another size or digest than was announced.
    case wrongContent
    case broken(String)
    /// The file can't be written here.
    case disk(String)
  }

  /// The head of a response.
  package struct DownloadResponse: Hashable, Sendable {
    package var status: Int
    package var contentLength: Int64?
    /// The first byte and the size of the file of `Content-Range` (RFC 9110, §14.4); the size is nil for `*`.
    package var range: (first: Int64, total: Int64?)?
    package var location: String?

    package init(
      status: Int, contentLength: Int64? = nil, contentRange: String? = nil, location: String? = nil
    ) {
      self.status = status
      self.contentLength = contentLength
      self.location = location
      range = contentRange.flatMap(Self.range)
    }

    private static func range(_ text: String) -> (first: Int64, total: Int64?)? {
      guard text.lowercased().hasPrefix("bytes ") else { return nil }
      let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 2,
        let first = parts[0].split(separator: "-").first.flatMap({ Int64($0) })
      else { return nil }
      return (first, Int64(parts[1]))
    }

    package static func == (a: Self, b: Self) -> Bool {
      (a.status, a.contentLength, a.location) == (b.status, b.contentLength, b.location)
        && a.range?.first == b.range?.first && a.range?.total == b.range?.total
    }

    package func hash(into hasher: inout Hasher) {
      hasher.combine(status)
      hasher.combine(contentLength)
    }
  }

  package struct DownloadLimits: Hashable, Sendable {
    /// The largest file.
    package var byteCountMax: Int64 = 256 << 20
    package var redirectMax = 5
    /// Attempts in sequence that bring nothing.
    package var failureMax = 4
    /// Attempts in all: a server that sends a byte each time has no end.
    package var attemptMax = 20
    package var firstPause: TimeSpan = .seconds(1)
    package init() {}
  }

  /// One file that is received over HTTP. Pure: the host makes requests, writes, and computes the digest.
  package struct DownloadMachine: Sendable {
    package enum Action: Hashable, Sendable {
      /// Request the file from this byte; 0 for all of it.
      case get(HTTPSAddress, from: Int64)
      /// The body follows. Write it from this byte, and remove what the file has there.
      case write(from: Int64)
      /// All bytes are there: compute the digest.
      case digest
      /// Try again after this time: `get` follows.
      case pause(TimeSpan)
      case done
      case fail(DownloadFailure)
    }

    let limits: DownloadLimits
    let announced: FileMetadata
    private let origin: HTTPSAddress
    private var address: HTTPSAddress
    private var redirectCount = 0
    private var failureCount = 0
    private var attemptCount = 0
    /// The bytes that are on the disk.
    package private(set) var byteCount: Int64
    /// Whether these are of another attempt, so that a wrong digest may be theirs.
    private var isResumed = false
    /// The size of the file, as it was announced or as the server has it.
    private var total: Int64?
    /// Whether this attempt has brought anything.
    private var hasProgress = false

    /// - Parameter partial: The bytes that an earlier process has left. They are used only with a digest of the whole.
    package init(
      _ address: HTTPSAddress, announced: FileMetadata, partial: Int64 = 0,
      limits: DownloadLimits = DownloadLimits()
    ) {
      origin = address
      self.address = address
      self.announced = announced
      self.limits = limits
      total = announced.byteCount
      byteCount = announced.sha256 == nil ? 0 : max(0, partial)
      isResumed = byteCount > 0
    }

    /// The bytes of the whole file, if they are known.
    package var byteCountOfFile: Int64? { total }

    private var most: Int64 { min(limits.byteCountMax, announced.byteCount ?? .max) }

    package mutating func begin() -> Action {
      if let size = announced.byteCount, size > limits.byteCountMax {
        return .fail(.tooLarge(byteCountMax: limits.byteCountMax))
      }
      if let size = announced.byteCount, byteCount > size { restart() }
      if let size = announced.byteCount, byteCount == size, isResumed { return .digest }
      hasProgress = false
      return .get(address, from: byteCount)
    }

    private mutating func restart() {
      byteCount = 0
      isResumed = false
    }

    package mutating func handle(_ response: DownloadResponse) -> Action {
      switch response.status {
      case 301, 302, 303, 307, 308: return redirect(response.location)
      case 200:
        restart()
        return check(response.contentLength, total: response.contentLength)
      case 206:
        guard byteCount > 0, let range = response.range, range.first == byteCount else {
          restart()
          return failed("the server answers with another part of the file")
        }
        isResumed = true
        return check(response.contentLength, total: range.total)
      // The file ends before the part, or there is no such part.
      case 416 where byteCount > 0:
        restart()
        return failed("the server refuses a part of the file")
      case 408, 425, 429, 500...: return failed("the server answers with status \(response.status)")
      default: return .fail(.refused(response.status))
      }
    }

    private mutating func redirect(_ location: String?) -> Action {
      redirectCount += 1
      guard redirectCount <= limits.redirectMax else { return .fail(.tooManyRedirects) }
      guard let next = location.flatMap({ address.resolving($0) }) else {
        return .fail(.badRedirect)
      }
      address = next
      return .get(next, from: byteCount)
    }

    private mutating func check(_ length: Int64?, total: Int64?) -> Action {
      for size in [total, length.map { $0 &+ byteCount }].compactMap(\.self) {
        guard size >= 0 else { return .fail(.broken("the server's sizes are no sizes")) }
        guard size <= most else { return .fail(.tooLarge(byteCountMax: most)) }
        if let announced = announced.byteCount, size != announced { return .fail(.wrongContent) }
        self.total = size
      }
      return .write(from: byteCount)
    }

    /// Bytes of the body have come; nil to go on. They are written after that.
    package mutating func take(_ count: Int) -> Action? {
      guard Int64(count) <= most - byteCount else { return .fail(.tooLarge(byteCountMax: most)) }
      byteCount += Int64(count)
      hasProgress = hasProgress || count > 0
      return nil
    }

    /// The body has ended as the server wanted.
    package mutating func ended() -> Action {
      if let total, byteCount < total {
        return failed("the server has sent only a part of the file")
      }
      return .digest
    }

    /// The connection failed.
    package mutating func failed(_ reason: String) -> Action {
      failureCount = hasProgress ? 1 : failureCount + 1
      attemptCount += 1
      guard failureCount <= limits.failureMax, attemptCount < limits.attemptMax else {
        return .fail(.broken(reason))
      }
      if announced.sha256 == nil { restart() }
      (redirectCount, address) = (0, origin)
      if byteCount > 0 { isResumed = true }
      return .pause(limits.firstPause * (1 << Int64(failureCount - 1)))
    }

    /// The digest (SHA-256) of the whole file.
    package mutating func handle(digest: [UInt8]) -> Action {
      guard let expected = announced.sha256, expected != digest else { return .done }
      guard isResumed else { return .fail(.wrongContent) }
      restart()
      (redirectCount, address) = (0, origin)
      return begin()
    }
  }
#endif
