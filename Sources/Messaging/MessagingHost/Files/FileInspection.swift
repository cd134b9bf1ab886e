#if Messaging
  internal import Essentials
  internal import Glibc
  package import XMPPWire

  /// Reads what a file of this machine is, before it is sent.
  package enum FileInspection {
    /// The largest file that is sent, in bytes.
    package static let byteCountMax: Int64 = 4 << 30

    /// The size, the digest and the kind of a file. Takes a second for a gigabyte.
    package static func metadata(of path: String) async throws(DiskFileError) -> FileMetadata {
      try await FileUpload.onDisk { () throws(DiskFileError) in try read(path) }.get()
    }

    /// The path from the root: a later process may have another current folder.
    package static func absolute(_ path: String) -> String {
      guard !path.hasPrefix("/"), let folder = unsafe getcwd(nil, 0) else { return path }
      defer { unsafe free(folder) }
      return unsafe "\(String(cString: folder))/\(path)"
    }

    private static func read(_ path: String) throws(DiskFileError) -> FileMetadata {
      let file = try DiskFile.open(path)
      let count = try file.byteCount()
      guard count <= byteCountMax else {
        throw DiskFileError("it has \(count) bytes; \(byteCountMax) are the most")
      }
      var header = MediaHeader(byteCount: count)
      while let part = header.request {
        header.take(try file.read(part.count, at: part.offset))
      }
      let name = SharedFile.fileName(path) ?? "file"
      return FileMetadata(
        name: name, mediaType: MediaType.ofName(name), byteCount: count,
        hashes: [FileHash(FileHash.sha256, try file.digest(of: count))], width: header.width,
        height: header.height, duration: header.duration)
    }
  }
#endif
