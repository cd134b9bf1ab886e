#if BindingServer
  internal import Foundation

  /// The files of a server: pages, styles, scripts, pictures.
  ///
  /// A path consists of names between slashes. Requests with names that are empty, hidden or `..`
  /// are refused before they get here.
  public struct Site: Sendable {
    /// The content of a file.
    public struct Resource: Sendable {
      /// The content.
      public var bytes: [UInt8]
      /// The media type, such as `image/png`; nil to derive it from the file name's extension.
      public var mediaType: String?
      /// The version of the content; nil if the server is to compute it.
      public var version: String?

      /// Creates a resource.
      public init(_ bytes: [UInt8], mediaType: String? = nil, version: String? = nil) {
        self.bytes = bytes
        self.mediaType = mediaType
        self.version = version
      }
    }

    /// The reason why a file isn't sent, other than that it doesn't exist.
    public struct Refusal: Error, Hashable, Sendable {
      /// The HTTP status of the response, such as 403 or 504.
      public var status: Int
      /// The reason, for users.
      public var reason: String

      /// Creates a refusal. Traps if the status isn't an error, 400 to 599.
      public init(status: Int, reason: String) {
        precondition((400..<600).contains(status), "\(status) is no status of a refusal")
        self.status = status
        self.reason = reason
      }
    }

    private let find: @Sendable (String) async throws(Refusal) -> Resource?

    /// Creates a site whose files are returned by a function.
    ///
    /// - Parameter find: Called on any thread with a path without a leading slash. Returns nil if
    ///   the file doesn't exist, which is answered with 404. Errors that it throws become the
    ///   response.
    public init(
      _ find: @escaping @Sendable (_ path: String) async throws(Refusal) -> Resource?
    ) {
      self.find = find
    }

    /// A site with the files of a folder, as they are when they are requested. Links out of the
    /// folder, files of more than 32 MB and special files count as missing.
    public static func folder(_ path: String) -> Site {
      let root = realPath(path)
      return Site { name in
        await withCheckedContinuation { continuation in
          // Reading waits for the disk.
          DispatchQueue.global().async {
            continuation.resume(returning: root.flatMap { file(name, in: $0) })
          }
        }
      }
    }

    /// A site with files that are part of the program, by their paths.
    public static func files(_ files: [String: [UInt8]]) -> Site {
      Site { files[$0].map { Resource($0) } }
    }

    /// A site that first looks up a file in this site, and then in another one.
    public func or(_ other: Site) -> Site {
      Site { path throws(Refusal) in
        if let resource = try await find(path) { return resource }
        return try await other.find(path)
      }
    }

    func resource(at path: String) async throws(Refusal) -> Resource? { try await find(path) }

    // MARK: Folders

    private static let fileByteCountMax = 32 << 20

    private static func realPath(_ path: String) -> String? {
      guard let pointer = realpath(path, nil) else { return nil }
      defer { free(pointer) }
      return String(cString: pointer)
    }

    private static func file(_ name: String, in root: String) -> Resource? {
      guard let path = realPath(root + "/" + name), path.hasPrefix(root + "/") else { return nil }
      // A pipe must not make it wait.
      let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      guard descriptor >= 0 else { return nil }
      defer { close(descriptor) }
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        status.st_size <= fileByteCountMax,
        let bytes = contents(of: descriptor, byteCount: Int(status.st_size))
      else { return nil }
      let time = status.st_mtim
      return Resource(
        bytes, version: "\(status.st_size)-\(time.tv_sec)-\(time.tv_nsec)")
    }

    /// Reads `byteCount` bytes of a file, or all if it has become shorter; nil if it can't be read.
    private static func contents(of descriptor: Int32, byteCount: Int) -> [UInt8]? {
      var hasFailed = false
      let bytes = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
        while count < byteCount {
          let rest = UnsafeMutableRawBufferPointer(
            rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
          let result = read(descriptor, rest.baseAddress, rest.count)
          if result < 0, errno == EINTR { continue }
          hasFailed = result < 0
          guard result > 0 else { return }
          count += result
        }
      }
      return hasFailed ? nil : bytes
    }
  }

  /// What a file is, by the end of its name.
  enum MediaType {
    static func of(_ path: String) -> String {
      let name = path.split(separator: "/").last ?? ""
      let end = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
      return byEnd[end] ?? "application/octet-stream"
    }

    private static let byEnd = [
      "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
      "js": "text/javascript; charset=utf-8", "mjs": "text/javascript; charset=utf-8",
      "json": "application/json", "txt": "text/plain; charset=utf-8", "wasm": "application/wasm",
      "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
      "gif": "image/gif", "webp": "image/webp", "avif": "image/avif", "ico": "image/x-icon",
      "woff2": "font/woff2", "webmanifest": "application/manifest+json",
    ]
  }
#endif
