#if Messaging
  internal import Essentials
  internal import NIOCore
  internal import NIOHTTP1
  internal import NIOPosix
  internal import XMPPMachines
  internal import XMPPWire

  /// Puts a file at an upload service (XEP-0363, §4). The file is read as the server takes it.
  enum FileUpload {
    private static let partByteCount = 64 << 10
    /// Threads that wait for files. Those of the stores have none: digests of large files would hold up messages.
    private static let threads: NIOThreadPool = {
      let pool = NIOThreadPool(numberOfThreads: 4)
      pool.start()
      return pool
    }()

    private enum Step: Sendable {
      case status(Int)
      /// All of the file was given to the connection.
      case written
      /// The connection takes no more. The answer may be on its way.
      case interrupted
      case failed(UploadEnd)
    }

    /// Runs one attempt. Cancellation ends the connection.
    ///
    /// - Parameter progress: Called with the bytes that the connection has taken, from any thread.
    static func run(
      _ job: UploadJob, _ settings: FileServerSettings,
      progress: @escaping @Sendable (Int64) -> Void
    ) async -> UploadEnd {
      let size = job.metadata.byteCount ?? 0
      let file: DiskFile
      switch await onDisk({ () throws(DiskFileError) in try DiskFile.open(job.path) }) {
      case .success(let open): file = open
      case .failure(let error): return .unreadable(error.reason)
      }
      guard case .success(size) = await onDisk({ () throws(DiskFileError) in try file.byteCount() })
      else { return .changed }
      do {
        // The account's own server has named it: it may be in the same private network.
        let channel = try await HTTPConnection.open(job.slot.put, settings, mayBePrivate: true)
        return try await HTTPConnection.run(channel, within: settings.timeMax(size)) {
          inbound, outbound in
          try await exchange(job, file, size, inbound, outbound, progress)
        }
      } catch {
        return .broken(HTTPError(error).reason)
      }
    }

    /// A server may answer before it has the file, and take no more of it.
    private static func exchange(
      _ job: UploadJob, _ file: DiskFile, _ size: Int64,
      _ inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>,
      _ outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>,
      _ progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> UploadEnd {
      try await withThrowingTaskGroup(of: Step.self) { group in
        group.addTask {
          for try await part in inbound {
            if case .head(let head) = part { return .status(Int(head.status.code)) }
          }
          throw HTTPError(reason: "the server closed the connection")
        }
        group.addTask {
          do {
            return try await write(job, file, size, outbound, progress)
          } catch {
            return .interrupted
          }
        }
        defer { group.cancelAll() }
        var isWritten = false
        while let step = try await group.next() {
          switch step {
          case .written: isWritten = true
          case .interrupted: continue
          case .failed(let end): return end
          case .status(200..<300) where !isWritten:
            // Its last part may have been taken a moment ago.
            guard case .written? = try await group.next() else {
              return .broken("the server answers before it has the file")
            }
            return .status(201)
          case .status(let code): return .status(code)
          }
        }
        return .broken("the server closed the connection")
      }
    }

    private static func write(
      _ job: UploadJob, _ file: DiskFile, _ size: Int64,
      _ outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>,
      _ progress: @Sendable (Int64) -> Void
    ) async throws -> Step {
      var headers = HTTPConnection.headers(job.slot.put)
      headers.add(name: "content-length", value: "\(size)")
      headers.add(
        name: "content-type", value: job.metadata.mediaType ?? "application/octet-stream")
      for field in job.slot.headers { headers.replaceOrAdd(name: field.name, value: field.value) }
      let head = HTTPRequestHead(
        version: .http1_1, method: .PUT, uri: job.slot.put.target, headers: headers)
      var next: [HTTPClientRequestPart] = [.head(head)]
      let digest = UploadDigest()
      var place: Int64 = 0
      var reported: Int64 = 0
      while place < size {
        let count = Int(min(Int64(partByteCount), size - place))
        let start = place
        let part: [UInt8]
        switch await onDisk({ () throws(DiskFileError) in try file.read(count, at: start) }) {
        case .success(let bytes): part = bytes
        case .failure(let error): return .failed(.unreadable(error.reason))
        }
        guard part.count == count else { return .failed(.changed) }
        digest.append(part)
        place += Int64(count)
        // The last part is held back: a file that has changed does not become one of the server.
        if place == size, let expected = job.metadata.sha256, digest.finish() != expected {
          return .failed(.changed)
        }
        next.append(.body(.byteBuffer(ByteBuffer(bytes: part))))
        if place == size { break }
        try await outbound.write(contentsOf: next)
        next = []
        if place - reported >= max(Int64(1 << 18), size / 100) {
          reported = place
          progress(place)
        }
      }
      // The end leaves with the last part: a server that has it may answer and close the connection before another write.
      try await outbound.write(contentsOf: next + [.end(nil)])
      if size > 0 { progress(size) }
      return .written
    }

    /// Runs a call that waits for a disk on a thread for that.
    static func onDisk<Value: Sendable>(
      _ body: @escaping @Sendable () throws(DiskFileError) -> Value
    ) async -> Result<Value, DiskFileError> {
      let result = try? await threads.runIfActive {
        () -> Result<Value, DiskFileError> in
        do throws(DiskFileError) {
          return .success(try body())
        } catch {
          return .failure(error)
        }
      }
      return result ?? .failure(DiskFileError("the process ends"))
    }
  }

  /// The digest of the parts of one task, which may change its thread.
  private final class UploadDigest: @unchecked Sendable {
    // Used by one task, in sequence.
    private let digest = DigestStream()

    func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { unsafe digest.append($0) } }
    func finish() -> [UInt8] { digest.finish() }
  }
#endif
