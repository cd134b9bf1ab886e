#if Messaging
  internal import Essentials
  internal import Glibc
  internal import NIOCore
  internal import NIOHTTP1
  internal import Synchronization
  package import XMPPMachines
  package import XMPPWire

  /// Received files, in a folder of the account's own with a bound of bytes. May be used from any thread.
  ///
  /// A file is written beside its name and renamed when it is complete and its digest is right. What a process leaves that
  /// was killed is continued by the next one, if the whole has a digest.
  package final class FileCache: Sendable {
    package typealias Progress = @Sendable (_ byteCount: Int64, _ all: Int64?) -> Void
    typealias Result = Swift.Result<String, DownloadFailure>

    private static let partSuffix = ".part"

    private struct State {
      /// Those that wait for a download of another caller, by key; empty for one without others.
      var running: [String: [UInt64: CheckedContinuation<Result?, Never>]] = [:]
      var lastWaiting: UInt64 = 0
    }

    private let folder: String
    private let byteCountMax: Int64
    private let settings: FileServerSettings
    private let limits: DownloadLimits
    private let state = Mutex(State())
    private let places = DownloadPlaces()

    /// - Parameter byteCountMax: The bytes of the folder beyond which the files that were used least recently are removed.
    package init(
      folder: String, byteCountMax: Int64, settings: FileServerSettings,
      limits: DownloadLimits = DownloadLimits()
    ) {
      self.folder = folder
      self.byteCountMax = byteCountMax
      self.settings = settings
      self.limits = limits
    }

    /// The path of a file, which is received first unless it is here. Cancellation ends a download; the part that has come
    /// is continued by the next one.
    package func path(
      of file: SharedFile, name: String?, progress: @escaping Progress
    ) async throws(DownloadFailure) -> String {
      let addresses = file.sources.compactMap { HTTPSAddress($0) }
      guard let first = addresses.first else { throw .noAddress }
      let key = Self.key(first, file.metadata, name)
      if let found = await cached(key) { return found }
      let isFirst = state.withLock { state in
        guard state.running[key] == nil else { return false }
        state.running[key] = [:]
        return true
      }
      guard isFirst else {
        if let result = await join(key) { return try result.get() }
        return try await path(of: file, name: name, progress: progress)
      }
      let received = await places.run { await receive(addresses, file.metadata, key, progress) }
      let result = received ?? Self.canceled
      let waiting = state.withLock { $0.running.removeValue(forKey: key) } ?? [:]
      // The end of this task is not that of the others.
      let shared: Result? = if case .failure = result, Task.isCancelled { nil } else { result }
      for continuation in waiting.values { continuation.resume(returning: shared) }
      return try result.get()
    }

    private static let canceled = Result.failure(.broken("it was canceled"))

    /// The result of another caller's download; nil if that has just ended, or was canceled.
    private func join(_ key: String) async -> Result? {
      let number = state.withLock { state in
        state.lastWaiting += 1
        return state.lastWaiting
      }
      return await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isLate = state.withLock { state in
            state.running[key]?[number] = continuation
            return state.running[key] == nil
          }
          if isLate { continuation.resume(returning: nil) }
          if Task.isCancelled { stopWaiting(number, for: key) }
        }
      } onCancel: {
        stopWaiting(number, for: key)
      }
    }

    private func stopWaiting(_ number: UInt64, for key: String) {
      let continuation = state.withLock { $0.running[key]?.removeValue(forKey: number) }
      continuation?.resume(returning: Self.canceled)
    }

    /// Names don't come from peers, but for an end of letters and digits.
    private static func key(
      _ address: HTTPSAddress, _ metadata: FileMetadata, _ name: String?
    ) -> String {
      let text = address.description + "\n" + Hexadecimal.string(metadata.sha256 ?? [])
      let digest = Digest.sha256.digest(of: Array(text.utf8)).prefix(16)
      let parts = (name ?? "").split(separator: ".")
      let isPlain = parts.count > 1 && (parts.last?.utf8.count ?? 9) <= 8
      let end = (parts.last ?? "").lowercased()
      let isSafe = end.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
      return Hexadecimal.string(Array(digest))
        + (isPlain && isSafe && end != "part" ? "." + end : "")
    }

    /// The file, if it is here. It was used now.
    private func cached(_ key: String) async -> String? {
      let path = "\(folder)/\(key)"
      let isHere = await FileUpload.onDisk { () throws(DiskFileError) -> Bool in
        guard access(path, R_OK) == 0 else { return false }
        return unsafe utimensat(AT_FDCWD, path, nil, 0) == 0
      }
      return (try? isHere.get()) == true ? path : nil
    }

    /// The keys of downloads that are under way.
    private var inUse: Set<String> { state.withLock { Set($0.running.keys) } }

    // MARK: Receiving

    private func receive(
      _ addresses: [HTTPSAddress], _ metadata: FileMetadata, _ key: String,
      _ progress: @escaping Progress
    ) async -> Result {
      let (folder, room) = (folder, byteCountMax)
      // An announcement that is too large must not empty the folder.
      let size = metadata.byteCount ?? 0
      if size > limits.byteCountMax {
        return .failure(.tooLarge(byteCountMax: limits.byteCountMax))
      }
      let (path, part) = ("\(folder)/\(key)", "\(folder)/\(key)\(Self.partSuffix)")
      let opened = await FileUpload.onDisk { () throws(DiskFileError) -> DiskFile in
        if mkdir(folder, 0o700) != 0, errno != EEXIST { throw .last() }
        try FileCacheFolder.evict(folder, byteCountMax: room - size, besides: self.inUse)
        return try DiskFile.create(part)
      }
      guard case .success(let file) = opened else {
        guard case .failure(let error) = opened else { return .failure(.noAddress) }
        return .failure(.disk(error.reason))
      }
      var result = DownloadFailure.noAddress
      for address in addresses {
        switch await receive(address, metadata, file, progress) {
        case nil:
          let renamed = await FileUpload.onDisk { () throws(DiskFileError) -> Void in
            guard rename(part, path) == 0 else { throw .last() }
            try FileCacheFolder.evict(folder, byteCountMax: room, besides: self.inUse)
          }
          if case .failure(let error) = renamed { return .failure(.disk(error.reason)) }
          return .success(path)
        case .broken(let reason)?: result = .broken(reason)
        // Another attempt can't use the part.
        case let failure?:
          result = failure
          _ = await FileUpload.onDisk { () throws(DiskFileError) in try file.truncate(to: 0) }
        }
        if Task.isCancelled { break }
      }
      if case .broken = result { return .failure(result) }
      _ = await FileUpload.onDisk { () throws(DiskFileError) in _ = unlink(part) }
      return .failure(result)
    }

    /// Nil when the file is complete.
    private func receive(
      _ address: HTTPSAddress, _ metadata: FileMetadata, _ file: DiskFile,
      _ progress: @escaping Progress
    ) async -> DownloadFailure? {
      let left = await FileUpload.onDisk { () throws(DiskFileError) in try file.byteCount() }
      var machine = DownloadMachine(
        address, announced: metadata, partial: (try? left.get()) ?? 0, limits: limits)
      var action = machine.begin()
      while !Task.isCancelled {
        switch action {
        case .get(let address, let place):
          (machine, action) = await request(machine, address, from: place, file, progress)
        case .write: action = .fail(.broken("there is no body"))
        case .digest:
          let count = machine.byteCount
          let hasDigest = metadata.sha256 != nil
          let digest = await FileUpload.onDisk { () throws(DiskFileError) -> [UInt8] in
            try file.truncate(to: count)
            try file.synchronize()
            return try hasDigest ? file.digest(of: count) : []
          }
          switch digest {
          case .success(let digest): action = machine.handle(digest: digest)
          case .failure(let error): return .disk(error.reason)
          }
        case .pause(let time):
          try? await Task.sleep(for: .nanoseconds(time.nanoseconds))
          action = machine.begin()
        case .done: return nil
        case .fail(let failure): return failure
        }
      }
      return .broken("it was canceled")
    }

    private func request(
      _ machine: DownloadMachine, _ address: HTTPSAddress, from place: Int64, _ file: DiskFile,
      _ progress: @escaping Progress
    ) async -> (DownloadMachine, DownloadMachine.Action) {
      var machine = machine
      let settings = settings
      let size = (machine.byteCountOfFile ?? limits.byteCountMax) - place
      do {
        let channel = try await HTTPConnection.open(
          address, settings, mayBePrivate: settings.allowsPrivateAddresses)
        let start = machine
        return try await HTTPConnection.run(channel, within: settings.timeMax(size)) {
          inbound, outbound in
          var headers = HTTPConnection.headers(address)
          headers.add(name: "accept-encoding", value: "identity")
          if place > 0 { headers.add(name: "range", value: "bytes=\(place)-") }
          let head = HTTPRequestHead(
            version: .http1_1, method: .GET, uri: address.target, headers: headers)
          // A server may answer and close before all of this is written: what came of it counts.
          try? await outbound.write(contentsOf: [.head(head), .end(nil)])
          return await Self.take(inbound, start, file, progress)
        }
      } catch {
        let error = HTTPError(error)
        if error.isPrivate { return (machine, .fail(.privateAddress(address.host))) }
        let action = machine.failed(error.reason)
        return (machine, action)
      }
    }

    /// Takes the answer to a request.
    private static func take(
      _ inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>, _ start: DownloadMachine,
      _ file: DiskFile, _ progress: Progress
    ) async -> (DownloadMachine, DownloadMachine.Action) {
      var machine = start
      do {
        for try await part in inbound {
          switch part {
          case .head(let head):
            let action = machine.handle(DownloadResponse(head))
            guard case .write(let place) = action else { return (machine, action) }
            let truncated = await FileUpload.onDisk { () throws(DiskFileError) in
              try file.truncate(to: place)
            }
            if case .failure(let error) = truncated { return (machine, .fail(.disk(error.reason))) }
          case .body(let buffer):
            let place = machine.byteCount
            if let action = machine.take(buffer.readableBytes) { return (machine, action) }
            let bytes = Array(buffer.readableBytesView)
            let written = await FileUpload.onDisk { () throws(DiskFileError) in
              try file.write(bytes, at: place)
            }
            if case .failure(let error) = written { return (machine, .fail(.disk(error.reason))) }
            progress(machine.byteCount, machine.byteCountOfFile)
          case .end:
            let action = machine.ended()
            return (machine, action)
          }
        }
        let action = machine.failed("the server closed the connection")
        return (machine, action)
      } catch {
        let action = machine.failed(HTTPError(error).reason)
        return (machine, action)
      }
    }
  }

  extension DownloadResponse {
    fileprivate init(_ head: HTTPResponseHead) {
      self.init(
        status: Int(head.status.code),
        contentLength: head.headers.first(name: "content-length").flatMap { Int64($0) },
        contentRange: head.headers.first(name: "content-range"),
        location: head.headers.first(name: "location"))
    }
  }

  /// The files of a cache's folder. Functions block.
  enum FileCacheFolder {
    private struct Entry {
      var name: String
      var byteCount: Int64
      var used: Int64
    }

    /// Removes the files that were used least recently, until the rest has room.
    static func evict(
      _ folder: String, byteCountMax: Int64, besides inUse: Set<String>
    ) throws(DiskFileError) {
      var entries = list(folder)
      var total = entries.reduce(0) { $0 + $1.byteCount }
      guard total > byteCountMax else { return }
      entries.sort { $0.used < $1.used }
      for entry in entries where total > byteCountMax {
        let name = entry.name
        guard !inUse.contains(name.hasSuffix(".part") ? String(name.dropLast(5)) : name) else {
          continue
        }
        if unlink("\(folder)/\(name)") == 0 { total -= entry.byteCount }
      }
    }

    private static func list(_ folder: String) -> [Entry] {
      guard let stream = unsafe opendir(folder) else { return [] }
      defer { unsafe closedir(stream) }
      var entries: [Entry] = []
      while let entry = unsafe readdir(stream) {
        let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
          unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        var information = stat()
        guard lstat("\(folder)/\(name)", &information) == 0,
          information.st_mode & S_IFMT == S_IFREG
        else {
          continue
        }
        entries.append(
          Entry(
            name: name, byteCount: Int64(information.st_size),
            used: Int64(information.st_mtim.tv_sec)))
      }
      return entries
    }
  }
#endif
